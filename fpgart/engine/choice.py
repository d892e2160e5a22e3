# SPDX-License-Identifier: Apache-2.0
"""Which driver executes the kernels."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fpgart import config, log
from fpgart._native import lib
from fpgart.engine.contents import Contents
from fpgart.engine.driver import DriverError, say
from fpgart.engine.interface import Engine, NoEngine
from fpgart.engine.opencl_engine import OpenCLEngine

ADVICE = (
    "no engine to build and run kernels with was found: install one with pip install 'pyopencl[pocl]', "
    "or apt install libpocl2 on Debian and Ubuntu, or pip install 'fpgart[intel]'"
)
OCLGRIND = "liboclgrind-rt-icd.so"
OCLGRIND_FOLDERS = ("/usr/lib/oclgrind", "/usr/lib64/oclgrind", "/usr/local/lib/oclgrind", "/usr/local/lib")
OCLGRIND_ADVICE = (
    "Oclgrind, which checks kernels, was not found: apt install oclgrind, or name its driver in FPGART_ENGINE"
)
ENGINES = ("auto", "pocl", "intel", "oclgrind", "none")
STANDARD_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
)


def wheel_folders() -> list[Path]:
    return [Path(entry) for entry in sys.path if entry and Path(entry).is_dir()]


def pocl_libraries() -> Iterator[Path]:
    """PoCL from the wheel that pyopencl[pocl] brings, then the system's."""
    for folder in wheel_folders():
        for place in ("pyopencl/.libs", "pocl_binary_distribution/.libs"):
            yield from sorted((folder / place).glob("libpocl*.so*"))
    for system in LIBRARY_FOLDERS:
        yield from sorted(Path(system).glob("libpocl.so.*"))


def intel_libraries() -> Iterator[Path]:
    """Intel's CPU runtime, from its wheel (which puts it in the environment's lib folder)."""
    for folder in wheel_folders():
        yield from (folder.parent.parent / name for name in ("libintelocl.so", "lib/libintelocl.so"))
        if folder.name in ("site-packages", "dist-packages"):
            yield folder.parent.parent.parent / "lib" / "libintelocl.so"
    for system in ("/opt/intel/oneapi/compiler/latest/lib", *LIBRARY_FOLDERS):
        yield Path(system) / "libintelocl.so"


def oclgrind_libraries() -> Iterator[Path]:
    """Oclgrind, from the system's package or built by hand."""
    for folder in OCLGRIND_FOLDERS:
        yield Path(folder) / OCLGRIND


def candidates(wanted: str) -> list[tuple[str, Path]]:
    """Name and file of every driver that is there, best first."""
    if "/" in wanted:
        return [(Path(wanted).name, Path(wanted))]
    known = {"pocl": pocl_libraries, "intel": intel_libraries}
    named = {**known, "oclgrind": oclgrind_libraries}
    chosen = known if wanted == "auto" else {wanted: named[wanted]} if wanted in named else {}
    found: dict[Path, str] = {}
    for name, search in chosen.items():
        for path in search():
            if path.exists():
                found.setdefault(path.resolve(), name)
    return [(name, path) for path, name in found.items()]


def let_linker_be_found() -> None:
    """PoCL aborts the process when its compiler finds no `ld`, as under `env -i` or a PATH of one's own.

    So for PoCL the standard folders are behind what PATH has now, whatever becomes of PATH later.
    """
    say("PATH", os.pathsep.join(filter(None, (os.environ.get("PATH", ""), *STANDARD_PATH))))


def let_threads_stay() -> None:
    """Have PoCL bind its threads to processors, unless the user decided about that.

    The thread that launches sleeps so shortly between kernels that Linux otherwise often leaves all of
    PoCL's threads on one processor: kernels of a millisecond then take twice as long.
    """
    if len(os.sched_getaffinity(0)) == os.cpu_count():
        say("POCL_AFFINITY", "1", unless_set=True)


def let_kernels_run_beside_each_other(path: Path) -> None:
    """Have PoCL offer a device that runs kernels on our threads, which channels need.

    Not where the host itself uses this PoCL, too: it would see one device more.
    """
    if path.name.startswith("libpocl") and not lib.driver_is_open(str(path).encode()):
        say("POCL_DEVICES", "pthread basic", unless_set=True)


def wanted_engine() -> str:
    """FPGART_ENGINE; where it leaves the choice, and kernels are to be checked, the engine that can."""
    wanted = config.ENGINE.value
    return "oclgrind" if wanted == "auto" and "kernels" in config.CHECK.value else wanted


def checks_kernels(wanted: str) -> bool:
    """Whether that engine, by name or path, tells what kernels do wrong."""
    return wanted == "oclgrind" or Path(wanted).name == OCLGRIND


@dataclass(frozen=True)
class PassedOver:
    """A driver that cannot serve as the engine here."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Choice:
    """The engine, and the drivers that were tried before it."""

    engine: Engine
    passed_over: tuple[PassedOver, ...] = ()


def opened(wanted: str, contents: Contents | None) -> Iterator[Engine | PassedOver]:
    """Every driver that `wanted` admits, best first, opened when its turn comes; one given by its path as it is."""
    for name, path in candidates(wanted):
        try:
            let_linker_be_found()
            let_threads_stay()
            let_kernels_run_beside_each_other(path)
            if path.name == OCLGRIND:
                from fpgart.engine.oclgrind import Oclgrind  # only who checks pays for it

                yield Oclgrind("oclgrind", path, contents)
            else:
                yield OpenCLEngine(name, path, must_build="/" not in wanted)
        except DriverError as error:
            yield PassedOver(path, str(error))


def choose(contents: Contents | None = None) -> Choice:
    """The first driver that works among those FPGART_ENGINE admits; a `NoEngine` if none does.

    `contents` is for engines that check which bytes somebody has written.
    """
    wanted = wanted_engine()
    if wanted == "none":
        return Choice(NoEngine("FPGART_ENGINE=none: there is nothing to build kernels with"))
    if "/" not in wanted and wanted not in ENGINES:
        return Choice(NoEngine(f"FPGART_ENGINE={wanted}: not one of {', '.join(ENGINES)}, nor a driver's path"))
    passed_over: list[PassedOver] = []
    for found in opened(wanted, contents):
        if not isinstance(found, PassedOver):
            return Choice(found, tuple(passed_over))
        log.note(f"{found}")
        passed_over.append(found)
    advice = OCLGRIND_ADVICE if checks_kernels(wanted) else ADVICE
    if not passed_over:
        log.note(advice)
    return Choice(NoEngine("\n".join([advice, *map(str, passed_over)])), tuple(passed_over))


def choose_engine(contents: Contents | None = None) -> Engine:
    """The engine that is chosen, or a `NoEngine`."""
    return choose(contents).engine
