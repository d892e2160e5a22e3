# SPDX-License-Identifier: Apache-2.0
"""Chooses the engine: the OpenCL driver that executes the kernels."""

from __future__ import annotations

import fcntl  # noqa: F401
import math  # noqa: F401
import os
import select  # noqa: F401
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from fpgart._native import lib
from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.option_values import ENGINES
from fpgart.engine.compiling.cache import cache_folder
from fpgart.engine.contents import Contents
from fpgart.engine.driver import Driver, DriverError, open_driver, set_variable
from fpgart.engine.interface import Engine, NoEngine

if TYPE_CHECKING:
    from fpgart.engine.compiling.known_steps import KnownSteps
    from fpgart.engine.isolated.spawning import Isolation
    from fpgart.engine.opencl_engine.engine import OpenCLEngine

OCLGRIND = "liboclgrind-rt-icd.so"
INTEL = "libintelocl.so"
EMULATOR = "libintelocl_emu.so"
SYCL_RUNTIME = b"libsycl.so.8"
EMULATOR_WORKERS = 64
"""Threads of the emulator: each kernel that waits for others occupies one. With too few, programs wait for ever."""
OCLGRIND_FOLDERS = ("/usr/lib/oclgrind", "/usr/lib64/oclgrind", "/usr/local/lib/oclgrind", "/usr/local/lib")
AUTO = ("pocl", "intel")
"""The engines that are chosen without a wish, best first."""
NO_CACHE = "POCL_KERNEL_CACHE"
"""PoCL keeps no compiled kernels if this variable is 0."""
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
    """Returns the numbers behind ".so." in the name of the file that `path` leads to, as (2, 10, 0)."""
    numbers = path.resolve().name.partition(".so.")[2].split(".")
    return tuple(int(number) for number in numbers if number.isdecimal())


def pocl_libraries() -> Iterator[Path]:
    """Yields each installed PoCL, the newest first: the system's, and that of the wheel which pyopencl[pocl] brings."""
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
    """Yields the paths at which a driver of Intel's may be. Its wheel puts it into the environment's lib folder."""
    for folder in wheel_folders():
        yield from (folder.parent.parent / name for name in (library, f"lib/{library}"))
        if folder.name in ("site-packages", "dist-packages"):
            yield folder.parent.parent.parent / "lib" / library
    for system in ("/opt/intel/oneapi/compiler/latest/lib", *LIBRARY_FOLDERS):
        yield Path(system) / library


def oclgrind_libraries() -> Iterator[Path]:
    """Yields the paths at which Oclgrind may be, from the system's package or built by hand."""
    for folder in OCLGRIND_FOLDERS:
        yield Path(folder) / OCLGRIND


def candidates(wanted: str) -> list[tuple[str, Path]]:
    """Returns name and file of every driver that exists, best first."""
    if "/" in wanted:
        return [(Path(wanted).name, Path(wanted))]
    searches: dict[str, Callable[[], Iterator[Path]]] = {
        "pocl": pocl_libraries,
        "intel": partial(of_intel, INTEL),
        "emulator": partial(of_intel, EMULATOR),
        "oclgrind": oclgrind_libraries,
    }
    found: dict[Path, str] = {}
    for name in AUTO if wanted == "auto" else {wanted} & searches.keys():
        for path in searches[name]():
            if path.exists():
                found.setdefault(path.resolve(), name)
    return [(name, path) for path, name in found.items()]


def set_path_for_linker() -> None:
    """Appends the standard folders to the PATH that PoCL reads, so that its compiler finds `ld`.

    PoCL aborts the process if it does not find `ld`, as under `env -i`. The value is fixed: later changes of the
    process's PATH do not affect it.
    """
    own = "" if config.Option.distrusted else os.environ.get("PATH", "")
    set_variable("PATH", os.pathsep.join(filter(None, (own, *STANDARD_PATH))))


def offer_device_on_callers(path: Path, *, has_host: bool) -> None:
    """Makes PoCL offer a device that runs kernels on the driver's threads, which channels need.

    It does not if the host itself uses this PoCL, because the host would see an additional device.
    """
    if path.name.startswith("libpocl") and not (has_host and lib.driver_is_open(str(path).encode())):
        set_variable("POCL_DEVICES", "pthread basic", unless_set=True)


def set_concurrency_of_emulator(path: Path) -> None:
    """Makes Intel's emulator run many kernels at the same time, and give its pipes the depths of the source."""
    if path.name.startswith(EMULATOR):
        set_variable("CL_CONFIG_CPU_TBB_NUM_WORKERS", str(EMULATOR_WORKERS), unless_set=True)
        set_variable("CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE", "default", unless_set=True)


def set_cache_folder(path: Path) -> None:
    """Makes PoCL keep compiled kernels in a folder that can be written. Raises DriverError if there is none."""
    if path.name.startswith("libpocl"):
        for name, value in cache_folder().variables.items():
            set_variable(name, value)


def wanted_engine() -> str:
    """Returns FPGART_ENGINE; if that is "auto", the engine with a feature that no other engine has, if it is wanted.

    These features are the checking of kernels, and SPIR-V for FPGAs, which the SYCL runtime may have.
    """
    wanted = config.ENGINE.value
    if wanted != "auto":
        return wanted
    if "kernels" in config.CHECK.value:
        return "oclgrind"
    return "emulator" if is_sycl_host() and candidates("emulator") else wanted


def is_sycl_host() -> bool:
    """True if the SYCL runtime is in this process."""
    return bool(lib.driver_is_open(SYCL_RUNTIME))


def checks_kernels(wanted: str) -> bool:
    """True if that engine, given by name or path, reports errors of kernels."""
    return wanted == "oclgrind" or Path(wanted).name == OCLGRIND


def missing() -> str:
    """Returns a sentence if the engine requested by name or path is not installed; "" if it is, or none is named."""
    wanted = wanted_engine()
    asked = f"{config.ENGINE.name}={wanted}"
    if "/" in wanted:
        advice = f"; {ENGINES['oclgrind']}" if checks_kernels(wanted) else ""
        return "" if Path(wanted).is_file() else f"{asked}: there is no such file{advice}"
    if wanted not in ENGINES:
        file = f"; the path of a file contains a slash: ./{wanted}" if ".so" in wanted else ""
        return f"{asked}: not one of {', '.join(ENGINES)}, nor the path of a driver{file}"
    if ENGINES[wanted] and not candidates(wanted):
        asker = asked if config.ENGINE.value == wanted else f"{config.CHECK.name}={','.join(config.CHECK.value)}"
        return f"{asker}: this engine is not installed; {ENGINES[wanted]}"
    return ""


class PassedOver(NamedTuple):
    """A driver that cannot be the engine here."""

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
    """Returns the engine for a driver, of the class that fits whether its kernels can access this process's memory."""
    if driver.shares_memory and config.ENGINE_BUFFERS.value == "auto":
        engine = _sharing_engine(name, driver)
        if config.COMPILE_APART.value:
            from fpgart.engine.compiling.compiler_process import CompilerProcess  # not for hosts that use no engine

            engine.compiler_process = CompilerProcess(name, engine.version, engine.path, known_steps(engine))
        return engine
    from fpgart.engine.copying.resident import ResidentEngine  # its import takes time

    return ResidentEngine(name, driver)


def _sharing_engine(name: str, driver: Driver) -> OpenCLEngine:
    """Returns the engine for a driver whose kernels can access this process's memory."""
    if driver.path.name.startswith(EMULATOR):
        from fpgart.engine.opencl_engine.emulator import EmulatorEngine

        return EmulatorEngine(name, driver)
    from fpgart.engine.opencl_engine.engine import OpenCLEngine  # not where another process has it

    return OpenCLEngine(name, driver)


def known_steps(engine: OpenCLEngine) -> KnownSteps:
    """Returns the known steps of an engine.

    Its file, its release and the processor that it compiles for identify it.
    """
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


def check_data(path: Path) -> None:
    """Raises DriverError for a PoCL of the system without its data: the OpenCL C functions that it links to kernels.

    Such a PoCL offers a device, and fails at the first build.
    """
    for folder in path.parents if str(path.parent) in LIBRARY_FOLDERS else ():
        data = folder.parent / "share" / "pocl"
        if folder.name in ("lib", "lib64") and not any(data.glob("kernel-*.bc")):
            raise DriverError(f"{path}: its data are not in {data}; on Debian: apt install --reinstall libpocl2-common")


def prepare(path: Path, *, has_host: bool = True) -> None:
    """Sets the variables that the driver at `path` needs when it is opened. Raises DriverError.

    `has_host`: true if a host, which may use the same driver, is in this process.
    """
    if config.Option.distrusted:
        lib.environment_seal()
    if path.name.startswith("libpocl"):
        from fpgart.engine.room import check_room  # at the first build

        check_room(path)
        check_data(path)
    set_path_for_linker()
    offer_device_on_callers(path, has_host=has_host)
    set_concurrency_of_emulator(path)
    set_cache_folder(path)


def import_meanwhile(more: Callable[[], None] | None) -> None:
    """Starts a thread that imports the modules of engines while the dynamic linker loads a driver's libraries.

    `more` is called on that thread afterwards. The linker loads one library at a time. The extension modules fcntl,
    math and select, which those modules import, are therefore imported at the top of this module: here they would wait
    for the driver's libraries.
    """

    def work() -> None:
        with suppress(Exception):  # the next import of the module raises it again
            import_module("fpgart.engine.opencl_engine.engine")
            import_module("fpgart.engine.compiling.compiler_process")
            import_module("fpgart.engine.compiling.known_steps")
            if more is not None:
                more()

    with suppress(RuntimeError):  # without a thread they are imported when needed
        threading.Thread(target=work, name="fpgart engine", daemon=True).start()


def opened(
    wanted: str, contents: Contents | None, meanwhile: Callable[[], None] | None
) -> Iterator[Engine | PassedOver]:
    """Opens and yields the drivers that `wanted` admits, best first, one at a time."""
    for name, path in candidates(wanted):
        try:
            prepare(path)
            if path.name == OCLGRIND:
                from fpgart.engine.copying.oclgrind import Oclgrind  # only who checks pays for it

                yield Oclgrind("oclgrind", path, contents)
            else:
                import_meanwhile(meanwhile)
                driver = open_driver(path, must_build="/" not in wanted)
                try:
                    yield engine_on(name, driver)
                except CLError:
                    driver.close()
                    raise
        except (DriverError, CLError) as error:
            yield PassedOver(path, str(error))


def why_none(passed_over: list[PassedOver]) -> str:
    """Returns the message for the case that no engine works: which files failed and why, or what to install."""
    if "/" in wanted_engine() and passed_over:
        said = f"{config.ENGINE.name}={passed_over[0]}"
        return f"{said}; name another driver, or leave {config.ENGINE.name} unset for the engine that fpgart chooses"
    advice = f"install an engine: {ENGINES['pocl']}; or {ENGINES['intel']}"
    if not passed_over:
        return f"no engine to build and run kernels with is installed; {advice}"
    return "\n".join(["no engine to build and run kernels with works; tried:", *map(str, passed_over), advice])


def choose(
    contents: Contents | None = None, isolation: Isolation | None = None, meanwhile: Callable[[], None] | None = None
) -> Choice:
    """Returns the first driver that works among those FPGART_ENGINE admits; a `NoEngine` if none does.

    `contents` is for engines that check which bytes have been written. With `isolation` the engine runs in a board
    process. An engine that checks kernels always runs in this process, because it reads each access's memory
    beforehand. `meanwhile` is called on another thread while the driver's libraries are loaded into this process.
    """
    wanted = wanted_engine()
    if isolation is not None and is_isolated():
        return Choice(isolated(isolation))
    if wanted == "none":
        return Choice(NoEngine("FPGART_ENGINE=none: no engine to build kernels with"))
    words = missing()
    passed_over: list[PassedOver] = []
    for found in opened(wanted, contents, meanwhile) if not words else ():
        if not isinstance(found, PassedOver):
            return Choice(found, tuple(passed_over))
        log.note(str(found))
        passed_over.append(found)
    words = words or why_none(passed_over)
    log.note(words)
    return Choice(NoEngine(words), tuple(passed_over))


def is_isolated() -> bool:
    """True if the engine that is wanted can run in another process."""
    wanted = wanted_engine()
    return wanted != "none" and not checks_kernels(wanted) and not missing()


def isolated(isolation: Isolation) -> Engine:
    """Returns the engine of a board process; a `NoEngine` if the process does not start, or has no engine."""
    from fpgart.engine.isolated.spawning import ProcessError  # only who isolates pays for it

    try:
        spawned = isolation.take_spawned()
        from fpgart.engine.isolated.engine import IsolatedEngine  # while the process starts

        return IsolatedEngine(isolation.memory, spawned, isolation.start)
    except ProcessError as error:
        log.note(str(error))
        return NoEngine(str(error))


def choose_engine(
    contents: Contents | None = None, isolation: Isolation | None = None, meanwhile: Callable[[], None] | None = None
) -> Engine:
    """Returns the engine that is chosen, or a `NoEngine`; the arguments are those of `choose`."""
    return choose(contents, isolation, meanwhile).engine
