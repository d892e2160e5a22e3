# SPDX-License-Identifier: Apache-2.0
"""The facts of a report: traffic, buffers and their lives, copies and their causes, advice."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from fpgart.watch.family import LOADING, PROGRAMMING, movement
from fpgart.watch.mistake import Mistake


@dataclass(slots=True)
class Traffic:
    """MMD calls of one kind on one device."""

    calls: int = 0
    bytes: int = 0
    microseconds: float = 0.0


@dataclass(slots=True)
class Copy:
    """A device operation that moved bytes, with its cause."""

    at: float
    """Microseconds since the trace began."""
    what: str
    buffer: int
    size: int
    cause: str
    source: int = 0
    """The buffer that the bytes came from, if it is another one."""
    command: int = 0
    """The number, in the trace, of the command that caused it; 0 if the trace does not say."""
    site: int = 0
    """The number, in the trace, of the place in the host's code that enqueued that command."""


@dataclass(slots=True)
class HeldBlock:
    """A block that held a buffer, from `begin` until `end` microseconds (None: to the end of the trace)."""

    words: str
    begin: float
    end: float | None = None


@dataclass(slots=True)
class BufferLife:
    """A buffer from its creation to its release, in microseconds (None: not seen)."""

    number: int
    size: int = 0
    created: float | None = None
    released: float | None = None
    parent: int = 0
    made_by: str = ""
    """The call that allocated it, for unified shared memory."""
    in_place: bool = False
    """True if kernels work on the host's memory, so that it never moves."""
    kind: str = "buffer"
    migrations: int = 0
    """The number of times that a shared allocation moved between the host and a device."""
    places: list[HeldBlock] = field(default_factory=list)
    banks: list[str] = field(default_factory=list)
    """For each bank that the host requested in vain, the reason."""
    copies: int = 0
    copied_bytes: int = 0


@dataclass(slots=True)
class CableTraffic:
    """The traffic of one device's kernels through one I/O channel."""

    cable: str
    writes: bool
    launches: int = 0
    packets: int = 0
    bytes: int = 0
    microseconds: float = 0.0
    """The time from the first to the last packet, summed over the launches."""


@dataclass(slots=True)
class DeclaredPipe:
    """A pipe of SPIR-V: the bytes of a packet, the packets that it holds, and the kernels that use it."""

    packet: int
    capacity: int
    kernels: list[str]


@dataclass(slots=True)
class KernelRuns:
    """Runs of one kernel on one device."""

    launches: int = 0
    microseconds: float = 0.0
    compile_microseconds: float = 0.0
    """The time of the engine's compiler before the first run, which is no time of the kernel."""


@dataclass(slots=True)
class Modelled:
    """Steps of one kind, or runs of one kernel, in the simulated clock."""

    count: int = 0
    bytes: int = 0
    nanoseconds: int = 0
    bounds: dict[str, int] = field(default_factory=dict)
    """By resource, the number of steps that it bounds."""


@dataclass(slots=True)
class ModelledChannel:
    """A channel in the simulated clock; `depth` as declared, None where it has none."""

    depth: int | None
    packets: int = 0
    waits: dict[tuple[str, bool], int] = field(default_factory=dict)
    """By kernel, and true if it writes, the nanoseconds that it waited."""


PROGRAM = "program"
CERTAIN = ("copy", "programming", "program load")
"""Nouns of advice that follows from the order of the host's calls alone."""


@dataclass(slots=True)
class Advice:
    """Advice for the host: what to do instead, and what that saves."""

    words: str
    copies: int = 0
    """The number of copies, or of what `noun` names ("time": how often the advice applies)."""
    bytes: int = 0
    buffers: list[int] = field(default_factory=list)
    """The buffers or allocations concerned, each once."""
    noun: str = "copy"
    nanoseconds: int = 0
    """Time of the board by the model (docs/time.md), or as `measured` in the run; 0 if the trace does not say."""
    measured: bool = False
    share: float = 0.0
    """The part of the simulated time without programming that it saves; 0 if that is not known."""
    hint: bool = False
    """True if it depends on more than the host's calls, such as addresses from an allocator: no gate counts it."""
    sites: dict[int, int] = field(default_factory=dict)
    """By the number of a call's place in the trace, how often that call causes it."""
    places: list[str] = field(default_factory=list)
    """The places of these calls, the most frequent first."""
    stacks: list[dict[str, object]] = field(default_factory=list)
    """The same with whole stacks, for JSON."""

    @property
    def certain(self) -> bool:
        """True if it follows from the order of the host's calls alone, and is the same in every run."""
        return self.noun in CERTAIN and not self.hint and not self.measured


@dataclass(frozen=True, slots=True)
class Finding:
    """A change of a buffer in a heap, and the bytes that this saves."""

    words: str
    bytes: int
    buffer: int


@dataclass(frozen=True, slots=True)
class CheckFinding(Mistake):
    """A mistake of the host that `--check` found in a traced run; "" for what is not known."""

    made_at: str = ""
    misused_at: str = ""
    against: str = ""
    against_at: str = ""
    file: str = ""
    line: int = 0
    """The line of the misuse, else of the object's creation; 0 without debug information."""


@dataclass(slots=True)
class Run:
    """The command line, time and computer of the run; "" and 0 if the trace does not say."""

    command: list[str] = field(default_factory=list)
    began: int = 0
    """Nanoseconds since 1970, by UTC."""
    version: str = ""
    """The version of fpgart."""
    computer: str = ""
    engine: str = ""
    engine_version: str = ""


@dataclass(slots=True)
class Report:
    """The facts that `fpgart report` shows."""

    boards: dict[int, str] = field(default_factory=dict)
    dsps: set[int] = field(default_factory=set)
    """Devices whose board is no FPGA board."""
    unlocked: Traffic = field(default_factory=Traffic)
    """Host memory that a board uses and the system did not lock."""
    lock_limit: int = 0
    """The most bytes that the system locks (RLIMIT_MEMLOCK)."""
    run: Run = field(default_factory=Run)
    whole: bool = False
    """True if the trace has its last event; false after a crash."""
    microseconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """Calls that failed, except probes."""
    probes: Counter[str] = field(default_factory=Counter)
    """Queries that the driver does not support: hosts ask every device for those of other vendors."""
    traffic: defaultdict[tuple[int, str], Traffic] = field(default_factory=lambda: defaultdict(Traffic))
    kernels: defaultdict[tuple[int, str], KernelRuns] = field(default_factory=lambda: defaultdict(KernelRuns))
    cables: dict[tuple[int, str], CableTraffic] = field(default_factory=dict)
    """By device and I/O channel."""
    processes: list[str] = field(default_factory=list)
    """The facts of each process of a merged trace."""
    buffers: dict[int, BufferLife] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)
    programmed: list[tuple[int, str]] = field(default_factory=list)
    programming_microseconds: float = 0.0
    skipped_migrations: int = 0
    advice: list[Advice] = field(default_factory=list)
    modelled: defaultdict[tuple[int, str], Modelled] = field(default_factory=lambda: defaultdict(Modelled))
    """By device, and kernel or kind of step (FPGART_TIME=model)."""
    pipes: dict[tuple[int, str], DeclaredPipe] = field(default_factory=dict)
    """By device and pipe."""
    channels: dict[tuple[int, str], ModelledChannel] = field(default_factory=dict)
    """By device and channel, in the simulated clock."""
    untold: dict[tuple[int, str], str] = field(default_factory=dict)
    """By device and kernel, why the simulated clock lacks some or all of its waits at channels."""
    modelled_nanoseconds: int = 0
    """The end of the last step."""
    busy: Counter[tuple[int, str]] = field(default_factory=Counter)
    """By device and resource, nanoseconds of the simulated clock."""
    activities: dict[str, int] = field(default_factory=dict)
    """By activity, nanoseconds from the first command to the last end, in the simulated clock if there is one."""
    savings: int = 0
    """Nanoseconds on the board that all advice saves, without programming; an operation that is saved twice counts
    once."""
    heap_advice: list[Finding] = field(default_factory=list)
    """Advice on heaps whose buffers kernels see through regions (66AK2x)."""

    findings: list[CheckFinding] = field(default_factory=list)
    """The mistakes that `--check` found in the run."""

    @property
    def copies_to_avoid(self) -> list[Advice]:
        """The advice that saves copies, in every run of the host."""
        return [advice for advice in self.advice if advice.noun == "copy" and advice.certain]

    @property
    def loading(self) -> str:
        """The word for bringing programs onto the boards."""
        return LOADING if self.boards and self.dsps.issuperset(self.boards) else PROGRAMMING

    def movement(self, device: int, call: str) -> str:
        """Returns the name of a call through the MMD on a device."""
        return movement(call, fpga=device not in self.dsps)
