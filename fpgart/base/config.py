# SPDX-License-Identifier: Apache-2.0
"""Declares every option of the driver once: the environment, `fpgart info` and the documentation read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from fpgart.base.option_paths import Holds, absolute, names_files
from fpgart.base.option_values import (
    CHECKS,
    ENGINES,
    PLATFORMS,
    Launches,
    checks,
    compiler_mode,
    count,
    job,
    launches,
    names,
    one_of,
    platform,
    presence,
    rank,
    seconds,
    seed,
    size,
    switch,
)

T = TypeVar("T")
PREFIX = "FPGART_"
RUN = "FPGART_RUN"
"""Set by `fpgart run`: distinguishes the programs of one run from others."""
OWN_NAMES = frozenset({RUN, "FPGART_ONLY"})
"""Variables that `fpgart run` sets for the driver and its libraries; they are no options."""


class OptionError(Exception):
    """The error of a value that an option does not accept; the message lists accepted ones."""


class Option(Generic[T]):
    """One environment variable: its name, reader, default, documentation, and the kind of paths in it."""

    folder = ""
    """The folder of relative paths; "" for the working directory at the time of their use."""
    distrusted = False
    """True if options that name files or code have no effect."""

    def __init__(
        self, name: str, read: Callable[[str], T], default: T, sentence: str, holds: Holds = Holds.NOTHING
    ) -> None:
        self.name = name
        self.read = read
        self.default = default
        self.sentence = sentence
        self.holds = holds
        self._value: T | None = None
        OPTIONS[name] = self  # type: ignore[assignment]

    @property
    def text(self) -> str:
        """The value in the environment; "" if it is not set, or has no effect."""
        text = os.environ.get(self.name, "")
        return "" if self.distrusted and names_files(text, self.holds) else text

    @property
    def is_set(self) -> bool:
        return bool(self.text) or (self.read is presence and self.name in os.environ)

    @property
    def value(self) -> T:
        """The value in effect, read once. Raises OptionError for a value that is not accepted."""
        if self._value is None:
            self._value = self._checked(self.text) if self.is_set else self.default
        return self._value

    def _checked(self, text: str) -> T:
        try:
            return self.read(absolute(text, self.holds, self.folder))
        except ValueError as error:
            raise OptionError(f"{self.name}={text}: {error}") from None

    def forget(self) -> None:
        """Forgets the values: the next use of an option reads the environment again."""
        self._value = None


OPTIONS: dict[str, Option[object]] = {}


def stay_in(folder: str) -> None:
    """Makes relative paths begin in `folder`, also after the process has changed its working directory."""
    Option.folder = folder


def distrust_environment() -> str:
    """Ignores options that name files or code, because the process has other rights than its user.

    Returns a sentence that names those that are set; "" for none.
    """
    refused = [option.name for option in OPTIONS.values() if option.is_set]
    Option.distrusted = True
    refused = [name for name in refused if not OPTIONS[name].is_set]
    for option in OPTIONS.values():
        option.forget()
    if not refused:
        return ""
    return f"this process runs with rights other than those of its user, so these are not obeyed: {', '.join(refused)}"


def kernels_run_apart() -> bool:
    """True if kernels run in another process, the driver's or a service's."""
    return ISOLATE.value or bool(SERVED.value)


def working_folder() -> str:
    """Returns the working directory; "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def with_absolute_paths(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment with the options' relative paths made absolute."""
    changed, folder = dict(variables), working_folder()
    for option in OPTIONS.values():
        text = changed.get(option.name)
        if text:
            changed[option.name] = absolute(text, option.holds, folder)
    return changed


def misspelt(names: Iterable[str]) -> list[str]:
    """Returns a sentence for each variable whose name looks like an option's and is none."""
    known = [name.removeprefix(PREFIX) for name in OPTIONS if name.startswith(PREFIX)]
    sentences = []
    for name in names:
        if name.startswith(PREFIX) and name not in OPTIONS and name not in OWN_NAMES:
            from difflib import get_close_matches  # rarely needed

            near = get_close_matches(name.removeprefix(PREFIX), known, 1)
            advice = f"is {PREFIX}{near[0]} meant?" if near else "`fpgart info` lists those that there are"
            sentences.append(f"{name} is not an option: {advice}")
    return sentences


BOARD: Option[tuple[str, ...]] = Option(
    "FPGART_BOARD",
    names,
    ("usm_s10",),
    "Boards, one per device: names, or paths of board_spec.xml files, separated by commas.",
    holds=Holds.NAMES,
)
ENGINE = Option(
    "FPGART_ENGINE",
    str,
    "auto",
    f"Engine that runs kernels: {', '.join(ENGINES)}, or the path of a driver (.so).",
    holds=Holds.NAMES,
)
ENGINE_BUFFERS = Option(
    "FPGART_ENGINE_BUFFERS",
    one_of("auto", "own"),
    "auto",
    "Memory of kernels: that of the boards if the engine shares it (auto), or buffers of the engine (own).",
)
LIBPYTHON = Option(
    "FPGART_LIBPYTHON",
    str,
    "",
    "The libpython for hosts that are not written in Python, if the Python that fpgart is installed for has none.",
    holds=Holds.FILE,
)
PLATFORM = Option(
    "FPGART_PLATFORM",
    platform,
    "auto",
    f"Platform that hosts see: {', '.join(PLATFORMS)}. auto follows the board: any (all names of Intel's and "
    "Altera's platforms in one) or ti.",
)
LOG = Option(
    "FPGART_LOG",
    str,
    "",
    "The log, of errors, facts, warnings and findings: stderr, or the path of a file. Without it, warnings and "
    "findings are written to stderr.",
    holds=Holds.FILE_OR_STDERR,
)
SUMMARY = Option(
    "FPGART_SUMMARY",
    str,
    "",
    "Summary of transfers at the end of the process: stderr, or the path of a file that gets it.",
    holds=Holds.FILE_OR_STDERR,
)
EXIT_TIMEOUT = Option(
    "FPGART_EXIT_TIMEOUT", seconds, 5.0, "Seconds for which the end of the process waits for unfinished commands."
)
TRACE = Option(
    "FPGART_TRACE",
    str,
    "",
    "File for a trace of calls, transfers and memory, which Perfetto opens; .gz compresses it. %p is the process ID.",
    holds=Holds.FILE,
)
MMD_CALLS = Option(
    "FPGART_MMD_CALLS",
    str,
    "",
    "File that gets a line for each call of libfpgart_mmd.so (docs/mmd.md), without values that differ between runs.",
    holds=Holds.FILE,
)
FAULTS = Option(
    "FPGART_FAULTS",
    str,
    "",
    "Calls of boards or of the API that fail, take longer or hang, as in write:fail:nth=3 (docs/faults.md).",
)
CALLS = Option(
    "FPGART_CALLS",
    str,
    "",
    "File that gets a line of JSON for each call of the API, with its place in the host's code (`fpgart errors`).",
    holds=Holds.FILE,
)
TIME = Option(
    "FPGART_TIME",
    one_of("real", "model"),
    "real",
    "Times that profiling reports: real (how long the simulation took) or model (how long the board would take).",
)
LEAKS = Option(
    "FPGART_LEAKS",
    switch,
    False,
    "1: report objects that the host did not release, with the calls that created them, at the end.",
)
WRAPPERS: Option[tuple[str, ...]] = Option(
    "FPGART_WRAPPERS",
    names,
    (),
    "Functions and files of the host that only wrap calls (with * and ?), separated by commas; callers are named.",
)
WATCHDOG = Option(
    "FPGART_WATCHDOG", seconds, 0.0, "Seconds without progress after which fpgart reports who waits for whom; 0: never."
)
LIVE = Option("FPGART_LIVE", switch, False, "1: `fpgart top` shows this host; `fpgart run` sets it.")
CAPTURE = Option(
    "FPGART_CAPTURE", str, "", "Folder for captured launches, which `fpgart replay` runs again.", holds=Holds.FOLDER
)
CAPTURE_KERNELS: Option[tuple[Launches, ...]] = Option(
    "FPGART_CAPTURE_KERNELS",
    launches,
    (Launches("*", 1, 1),),
    "Launches to capture: names of kernels (with * and ?), each with or without :n or :n-m, separated by commas.",
)
USE_FILE = Option(
    "FPGART_USE_FILE", str, "", "File that gets a line when a process has run its first kernel.", holds=Holds.FILE
)
CHECK: Option[tuple[str, ...]] = Option(
    "FPGART_CHECK",
    checks,
    (),
    f"Families of mistakes to report: {', '.join(CHECKS)}, separated by commas; all means all except kernels.",
)
FINDINGS = Option(
    "FPGART_FINDINGS",
    str,
    "",
    "File that gets a line of JSON for each finding of FPGART_CHECK, and for each leak that FPGART_LEAKS reports.",
    holds=Holds.FILE,
)
WARM_MEMORY = Option(
    "FPGART_WARM_MEMORY", size, 1 << 30, "Bytes of freed board memory whose pages are kept for later buffers."
)
NO_INTERLEAVING: Option[tuple[str, ...]] = Option(
    "FPGART_NO_INTERLEAVING",
    names,
    (),
    "Global memories whose banks are separate although the board interleaves them: names, or all.",
)
USM_POINTERS = Option(
    "FPGART_USM_POINTERS",
    one_of("mapped", "encoded"),
    "mapped",
    "Pointers to device memory: mapped (kernels can follow those stored in memory) or encoded, as on a board.",
)
USM_TOUCHES = Option(
    "FPGART_USM_TOUCHES",
    one_of("auto", "on", "off"),
    "auto",
    "Migration of shared memory to the host when the host accesses it: on, off, auto (with traces and the check usm).",
)
USM_FAULTS = Option(
    "FPGART_USM_FAULTS",
    one_of("auto", "on", "off"),
    "auto",
    "SIGSEGV when the host accesses device allocations, with FPGART_ISOLATE: on, off, auto (with the check usm).",
)
MODELS: Option[tuple[str, ...]] = Option(
    "FPGART_MODELS",
    names,
    (),
    "Modules, or paths of .py files, with Python models of kernels, separated by commas.",
    holds=Holds.CODE,
)
ISOLATE = Option(
    "FPGART_ISOLATE", switch, False, "1: kernels and their engine run in a separate process (docs/isolation.md)."
)
SERVED = Option(
    "FPGART_SERVED",
    str,
    "",
    "Name of a service (`fpgart board serve`), or path of its socket, whose boards are those of FPGART_BOARD.",
    holds=Holds.SOCKET,
)
KERNEL_TIMEOUT = Option(
    "FPGART_KERNEL_TIMEOUT",
    seconds,
    0.0,
    "With FPGART_ISOLATE: seconds after which a kernel is stopped, with the process that it runs in; 0: never.",
)
COMPILE_APART = Option(
    "FPGART_COMPILE_APART",
    switch,
    True,
    "1: the engine compiles and links programs in a separate process (docs/isolation.md).",
)
COMPILE_TIMEOUT = Option(
    "FPGART_COMPILE_TIMEOUT",
    seconds,
    300.0,
    "Seconds after which compiling or linking a program is stopped, and fails; 0: never.",
)
COMPILE_MEMORY = Option(
    "FPGART_COMPILE_MEMORY",
    size,
    2 << 30,
    "Bytes of memory that compiling or linking a program may use before it fails; 0: as many as there are.",
)
PROGRAM_SECONDS = Option(
    "FPGART_PROGRAM_SECONDS", seconds, 0.0, "Seconds that programming a board takes, as on real boards."
)
COMPILER_MODE = Option(
    "CL_CONTEXT_COMPILER_MODE_INTELFPGA",
    compiler_mode,
    4,
    "Programs of contexts: 0 from .aocx, 1 into a library, 2 from it, 3 preloaded, 4 online, 5 split kernels.",
    holds=Holds.FIXED_FILES,
)
LIBRARY_ROOT = Option(
    "CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA",
    str,
    "",
    "Folder of the program library (aocl_program_library).",
    holds=Holds.FOLDER,
)
CHANNEL_DEPTH = Option(
    "CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE",
    one_of("ignoredepth", "default", "strict"),
    "ignoredepth",
    "Depth of channels: ignoredepth (a fast depth), default (the depth in the source, else a fast one) or strict.",
)
CHANNEL_FACTOR = Option(
    "FPGART_CHANNEL_FACTOR",
    count,
    1,
    "Factor for the depths of channels in the source, where those depths count (`fpgart channels`).",
)
CHANNEL_SEED = Option(
    "FPGART_CHANNEL_SEED",
    seed,
    0,
    "Unless 0, packets of channels arrive at other times, chosen at random with this seed (`fpgart channels`).",
)
DEADLOCK_SECONDS = Option(
    "FPGART_DEADLOCK_SECONDS",
    seconds,
    10.0,
    "Seconds after which kernels that wait for each other, while the host waits for them, are stopped; 0: never.",
)
TOPOLOGY = Option(
    "FPGART_TOPOLOGY",
    str,
    "",
    "Cables between I/O channels of boards: a .toml file, a name such as ring, or a list (docs/clusters.md).",
    holds=Holds.NAMES,
)
RANK: Option[tuple[int, int]] = Option(
    "FPGART_RANK",
    rank,
    (0, 1),
    "Rank and number of the processes of a topology, as in 1/4, if no launcher (mpirun, srun) sets them.",
)
JOB = Option(
    "FPGART_JOB", job, "", "Name of the job that the processes of a topology belong to, if no launcher sets one."
)
CABLE_SECONDS = Option(
    "FPGART_CABLE_SECONDS",
    seconds,
    60.0,
    "Seconds for which kernels wait until a process takes the other end of a cable; then their commands fail.",
)
CABLES = Option(
    "FPGART_CABLES",
    one_of("auto", "memory", "zeromq"),
    "auto",
    "Transport of packets between processes: memory, zeromq, or auto (memory in a machine, ZeroMQ between machines).",
)
MEETING = Option(
    "FPGART_MEETING",
    str,
    "",
    "Folder that all machines of a topology share, where processes find each other for cables between machines.",
    holds=Holds.FOLDER,
)
ADDRESS = Option(
    "FPGART_ADDRESS", str, "", "Name or address by which other machines reach this one; default: the host name."
)
EAGER = Option(
    "AOCL_EAGERLY_LOAD_FIRST_BINARY", switch, True, "1: the driver loads the first .aocx of a device at once."
)
PROFILING = Option(
    "ACL_RUNTIME_PROFILING_ACTIVE",
    switch,
    False,
    "1: the driver counts kernels for profile.mon (clGetProfile...).",
    holds=Holds.FIXED_FILES,
)
TRACK_LEAKS = Option("ACL_TRACK_LEAKS", switch, False, "The same as FPGART_LEAKS.")
EMULATOR_DEVICES = Option(
    "CL_CONTEXT_EMULATOR_DEVICE_INTELFPGA", count, 0, "Number of devices, each with the first board of FPGART_BOARD."
)
CPU_EMULATE_DEVICES = Option(
    "CL_CONFIG_CPU_EMULATE_DEVICES", count, 0, "The same; the name that hosts for the newer emulator use."
)
OFFLINE_DEVICE = Option(
    "CL_CONTEXT_OFFLINE_DEVICE_INTELFPGA",
    str,
    "",
    "A board instead of those of FPGART_BOARD, or (+NAME) in addition to them.",
    holds=Holds.NAMES,
)
SIMULATOR_DEVICES = Option(
    "CL_CONTEXT_MPSIM_DEVICE_INTELFPGA",
    count,
    0,
    "Number of simulator devices, whose memories are unknown until a binary is loaded.",
)
NULL_ADDRESS = Option(
    "CL_ALLOW_GLOBAL_MEM_AT_NULL_ADDRESS_INTELFPGA", switch, False, "1: a buffer may begin at address 0."
)
NO_MAPPING = Option(
    "TI_OCL_DSP_NOMAP",
    presence,
    False,
    "If set to any value, 66AK2x boards have only the memory in the low 2 GiB, which is never mapped.",
)


def touches_are_watched() -> bool:
    """True if the host's accesses to shared memory are observed."""
    if USM_TOUCHES.value == "auto":
        return bool(TRACE.value) or "usm" in CHECK.value
    return USM_TOUCHES.value == "on"


def host_accesses_fail() -> bool:
    """True if the host has no access to device allocations, as on a board.

    Raises OptionError if the option asks for it, but kernels in this process need the host's mapping.
    """
    if USM_FAULTS.value == "on" and not kernels_run_apart():
        raise OptionError(
            f"{USM_FAULTS.name}=on needs {ISOLATE.name}=1: kernels in the host's process use the host's mapping"
        )
    return kernels_run_apart() and (USM_FAULTS.value == "on" or (USM_FAULTS.value == "auto" and "usm" in CHECK.value))
