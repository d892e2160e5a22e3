# SPDX-License-Identifier: Apache-2.0
"""The choice of the driver that executes the kernels."""

from __future__ import annotations

import fcntl  # noqa: F401
import math  # noqa: F401
import os
import select  # noqa: F401
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from fpgart._native import lib
from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError
from fpgart.base.named_tuples import NamedTuple
from fpgart.engine.compiling.cache import cache_folder
from fpgart.engine.contents import Contents
from fpgart.engine.driver import Driver, DriverError, open_driver, say
from fpgart.engine.interface import Engine, NoEngine

if TYPE_CHECKING:
    from fpgart.engine.compiling.known_steps import KnownSteps
    from fpgart.engine.isolated.spawning import Isolation
    from fpgart.engine.opencl_engine.engine import OpenCLEngine

OCLGRIND = "liboclgrind-rt-icd.so"
EMULATOR = "libintelocl_emu.so"
SYCL_RUNTIME = b"libsycl.so.8"
EMULATOR_WORKERS = 64
"""Threads of the emulator: each kernel that waits for others occupies one. With too few, programs wait for ever."""
OCLGRIND_FOLDERS = ("/usr/lib/oclgrind", "/usr/lib64/oclgrind", "/usr/local/lib/oclgrind", "/usr/local/lib")
HOW_TO_GET = {
    "pocl": "PoCL: pip install 'pyopencl[pocl]', or, for newer processors, apt install libpocl2 on Debian and Ubuntu",
    "intel": "Intel's CPU runtime: pip install 'fpgart[intel]'",
    "emulator": "Intel's FPGA emulator: pip install 'fpgart[sycl]'",
    "oclgrind": "Oclgrind, which checks kernels: apt install oclgrind, or name its driver in FPGART_ENGINE",
}
ENGINES = ("auto", "pocl", "intel", "emulator", "oclgrind", "none")
NO_CACHE = "POCL_KERNEL_CACHE"
"""PoCL keeps nothing where this is 0."""
STANDARD_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
)
# The wheel's file name has no version. It is PoCL 3.0, whose library is libpocl.so.2.9.0 elsewhere.
VERSION_IN_WHEEL = (2, 9, 0)


def wheel_folders() -> list[Path]:
    return [Path(entry) for entry in sys.path if entry and Path(entry).is_dir()]


def library_version(path: Path) -> tuple[int, ...]:
    """The numbers behind ".so." in the name of the file that `path` leads to: (2, 10, 0) of libpocl.so.2.10.0."""
    numbers = path.resolve().name.partition(".so.")[2].split(".")
    return tuple(int(number) for number in numbers if number.isdecimal())


def pocl_libraries() -> Iterator[Path]:
    """Every PoCL, the newest first: the system's, and that of the wheel which pyopencl[pocl] brings."""
    wheels = [
        (VERSION_IN_WHEEL, path)
        for folder in wheel_folders()
        for place in ("pyopencl/.libs", "pocl_binary_distribution/.libs")
        for path in sorted((folder / place).glob("libpocl*.so*"))
    ]
    systems = [
        (library_version(path), path)
        for folder in LIBRARY_FOLDERS
        for path in sorted(Path(folder).glob("libpocl.so.*"))
    ]
    for _, path in sorted(wheels + systems, key=itemgetter(0), reverse=True):
        yield path


def of_intel(library: str) -> Iterator[Path]:
    """Where a driver of Intel's may be: its wheel puts it in the environment's lib folder."""
    for folder in wheel_folders():
        yield from (folder.parent.parent / name for name in (library, f"lib/{library}"))
        if folder.name in ("site-packages", "dist-packages"):
            yield folder.parent.parent.parent / "lib" / library
    for system in ("/opt/intel/oneapi/compiler/latest/lib", *LIBRARY_FOLDERS):
        yield Path(system) / library


def intel_libraries() -> Iterator[Path]:
    """Intel's CPU runtime."""
    return of_intel("libintelocl.so")


def emulator_libraries() -> Iterator[Path]:
    """Intel's FPGA emulator."""
    return of_intel(EMULATOR)


def oclgrind_libraries() -> Iterator[Path]:
    """Oclgrind, from the system's package or built by hand."""
    for folder in OCLGRIND_FOLDERS:
        yield Path(folder) / OCLGRIND


def candidates(wanted: str) -> list[tuple[str, Path]]:
    """Name and file of every driver that is there, best first."""
    if "/" in wanted:
        return [(Path(wanted).name, Path(wanted))]
    known = {"pocl": pocl_libraries, "intel": intel_libraries}
    named = {**known, "emulator": emulator_libraries, "oclgrind": oclgrind_libraries}
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
    own = "" if config.Option.distrusted else os.environ.get("PATH", "")
    say("PATH", os.pathsep.join(filter(None, (own, *STANDARD_PATH))))


def let_kernels_run_beside_each_other(path: Path, *, has_host: bool) -> None:
    """Have PoCL offer a device that runs kernels on our threads, which channels need.

    Not where the host itself uses this PoCL, too: it would see one device more.
    """
    if path.name.startswith("libpocl") and not (has_host and lib.driver_is_open(str(path).encode())):
        say("POCL_DEVICES", "pthread basic", unless_set=True)


def let_kernels_wait_for_each_other(path: Path) -> None:
    """Have Intel's emulator run many kernels at the same time, and give its pipes the depths of the source."""
    if path.name.startswith(EMULATOR):
        say("CL_CONFIG_CPU_TBB_NUM_WORKERS", str(EMULATOR_WORKERS), unless_set=True)
        say("CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE", "default", unless_set=True)


def let_kernels_be_kept(path: Path) -> None:
    """Have PoCL keep compiled kernels in a folder that can be written. Raises DriverError where there is none."""
    if path.name.startswith("libpocl"):
        for name, value in cache_folder().variables.items():
            say(name, value)


def wanted_engine() -> str:
    """FPGART_ENGINE; where it leaves the choice, the engine that does what others cannot.

    These are checking kernels, and SPIR-V for FPGAs, which the SYCL runtime may have.
    """
    wanted = config.ENGINE.value
    if wanted != "auto":
        return wanted
    if "kernels" in config.CHECK.value:
        return "oclgrind"
    return "emulator" if lib.driver_is_open(SYCL_RUNTIME) and candidates("emulator") else wanted


def checks_kernels(wanted: str) -> bool:
    """Whether that engine, by name or path, tells what kernels do wrong."""
    return wanted == "oclgrind" or Path(wanted).name == OCLGRIND


def missing() -> str:
    """A sentence when the engine that is asked for by name or path is not there; "" when it is, or none is named."""
    wanted = wanted_engine()
    asked = f"{config.ENGINE.name}={wanted}"
    if "/" in wanted:
        advice = f"; {HOW_TO_GET['oclgrind']}" if checks_kernels(wanted) else ""
        return "" if Path(wanted).is_file() else f"{asked}: there is no such file{advice}"
    if wanted not in ENGINES:
        return f"{asked}: not one of {', '.join(ENGINES)}, nor the path of a driver"
    if wanted in HOW_TO_GET and not candidates(wanted):
        asker = asked if config.ENGINE.value == wanted else f"{config.CHECK.name}={','.join(config.CHECK.value)}"
        return f"{asker}: this engine is not installed; {HOW_TO_GET[wanted]}"
    return ""


class PassedOver(NamedTuple):
    """A driver that cannot serve as the engine here."""

    path: Path
    reason: str

    def __str__(self) -> str:
        said = self.reason.removeprefix(f"{self.path}: ").removeprefix(f"{self.path} ")
        return f"{self.path}: {said}"


class Choice(NamedTuple):
    """The engine, and the drivers that were tried before it."""

    engine: Engine
    passed_over: tuple[PassedOver, ...] = ()


def engine_on(name: str, driver: Driver) -> OpenCLEngine:
    """The engine for a driver, whether or not its kernels reach this process's memory."""
    if driver.shares_memory and config.ENGINE_BUFFERS.value == "auto":
        engine = _sharing_engine(name, driver)
        if config.COMPILE_APART.value:
            from fpgart.engine.compiling.compiler_process import CompilerProcess  # not for hosts that use no engine

            engine.compiler_process = CompilerProcess(name, engine.version, engine.path, known_steps(engine))
        return engine
    from fpgart.engine.copying.resident import ResidentEngine  # only who needs it pays for it

    return ResidentEngine(name, driver)


def _sharing_engine(name: str, driver: Driver) -> OpenCLEngine:
    """The engine for a driver whose kernels reach this process's memory."""
    if driver.path.name.startswith(EMULATOR):
        from fpgart.engine.opencl_engine.emulator import EmulatorEngine

        return EmulatorEngine(name, driver)
    from fpgart.engine.opencl_engine.engine import OpenCLEngine  # not where another process has it

    return OpenCLEngine(name, driver)


def known_steps(engine: OpenCLEngine) -> KnownSteps:
    """Of an engine: by its file, its release, and the processor that it compiles for."""
    from fpgart.engine.compiling.known_steps import KnownSteps

    cache = ""
    if os.environ.get(NO_CACHE) != "0":
        with suppress(DriverError):  # engines that keep nothing themselves need no folder
            cache = cache_folder().folder
    facts = os.stat(engine.path)
    device = (
        engine.device_info(query).rstrip(b"\0").decode(errors="replace")
        for query in (cl.CL_DEVICE_NAME, cl.CL_DEVICE_VERSION, cl.CL_DRIVER_VERSION)
    )
    file = (os.path.realpath(engine.path), str(facts.st_size), str(facts.st_mtime_ns))
    return KnownSteps(cache, (*file, engine.version, *device))


def prepare(path: Path, *, has_host: bool = True) -> None:
    """Have the driver at `path` find what it needs when it is opened. Raises DriverError.

    `has_host`: whether a host, which may use the same driver, is in this process.
    """
    if config.Option.distrusted:
        lib.environment_seal()
    if path.name.startswith("libpocl"):
        from fpgart.engine.room import check_room  # at the first build

        check_room(path)
    let_linker_be_found()
    let_kernels_run_beside_each_other(path, has_host=has_host)
    let_kernels_wait_for_each_other(path)
    let_kernels_be_kept(path)


def import_meanwhile() -> None:
    """Have the modules of engines imported while the dynamic linker loads a driver's libraries.

    The linker loads one library at a time, so what these modules import from libraries has been imported above.
    """

    def work() -> None:
        with suppress(Exception):  # which whoever imports them next gets
            import_module("fpgart.engine.opencl_engine.engine")
            import_module("fpgart.engine.compiling.compiler_process")
            import_module("fpgart.engine.compiling.known_steps")

    with suppress(RuntimeError):  # without threads they are imported later
        threading.Thread(target=work, name="fpgart engine", daemon=True).start()


def opened(wanted: str, contents: Contents | None) -> Iterator[Engine | PassedOver]:
    """Every driver that `wanted` admits, best first, opened when its turn comes; one given by its path as it is."""
    for name, path in candidates(wanted):
        try:
            prepare(path)
            if path.name == OCLGRIND:
                from fpgart.engine.copying.oclgrind import Oclgrind  # only who checks pays for it

                yield Oclgrind("oclgrind", path, contents)
            else:
                import_meanwhile()
                driver = open_driver(path, must_build="/" not in wanted)
                try:
                    yield engine_on(name, driver)
                except CLError:
                    driver.close()
                    raise
        except (DriverError, CLError) as error:
            yield PassedOver(path, str(error))


def why_none(passed_over: list[PassedOver]) -> str:
    """What to say when no engine works: which files were tried and what came of it, or what to install."""
    if "/" in wanted_engine() and passed_over:
        said = f"{config.ENGINE.name}={passed_over[0]}"
        return f"{said}; name another driver, or leave {config.ENGINE.name} unset for the engine that fpgart chooses"
    advice = f"install an engine: {HOW_TO_GET['pocl']}; or {HOW_TO_GET['intel']}"
    if not passed_over:
        return f"no engine to build and run kernels with is installed; {advice}"
    return "\n".join(["no engine to build and run kernels with works; tried:", *map(str, passed_over), advice])


def choose(contents: Contents | None = None, isolation: Isolation | None = None) -> Choice:
    """The first driver that works among those FPGART_ENGINE admits; a `NoEngine` if none does.

    `contents` is for engines that check which bytes somebody has written. With `isolation` the engine runs in a board
    process, unless it checks kernels: then it sees each access beforehand, and belongs to this process.
    """
    wanted = wanted_engine()
    if isolation is not None and is_isolated():
        return Choice(isolated(isolation))
    if wanted == "none":
        return Choice(NoEngine("FPGART_ENGINE=none: no engine to build kernels with"))
    words = missing()
    passed_over: list[PassedOver] = []
    for found in opened(wanted, contents) if not words else ():
        if not isinstance(found, PassedOver):
            return Choice(found, tuple(passed_over))
        log.note(str(found))
        passed_over.append(found)
    words = words or why_none(passed_over)
    log.note(words)
    return Choice(NoEngine(words), tuple(passed_over))


def is_isolated() -> bool:
    """Whether the engine that is wanted can run in a process of its own."""
    wanted = wanted_engine()
    return wanted != "none" and not checks_kernels(wanted) and not missing()


def isolated(isolation: Isolation) -> Engine:
    """The engine of a board process; a `NoEngine` if it does not start, or has none."""
    from fpgart.engine.isolated.spawning import ProcessError  # only who isolates pays for it

    try:
        spawned = isolation.take_spawned()
        from fpgart.engine.isolated.engine import IsolatedEngine  # while the process starts

        return IsolatedEngine(isolation.memory, spawned, isolation.start)
    except ProcessError as error:
        log.note(str(error))
        return NoEngine(str(error))


def choose_engine(contents: Contents | None = None, isolation: Isolation | None = None) -> Engine:
    """The engine that is chosen, or a `NoEngine`."""
    return choose(contents, isolation).engine
