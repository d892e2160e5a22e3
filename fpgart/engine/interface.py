# SPDX-License-Identifier: Apache-2.0
"""The interface of engines, which execute kernels. Addresses are integers; sizes are in bytes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, CLError, CompilerNotAvailable
from fpgart.base.named_tuples import NamedTuple

if TYPE_CHECKING:
    from fpgart.base.shared_memory import SharedMemory
    from fpgart.channels.interface import KernelNetwork
    from fpgart.channels.links import Links
    from fpgart.engine.mirrors import Mirrors
    from fpgart.kernels.interface import KernelInterface

Plugs = Callable[[], "Links"]
"""Takes the ends of a board's cables, when a program with channels is there for the first time."""


def no_plugs() -> Links:
    """A board without cables."""
    return {}


class ArgumentKind(enum.IntEnum):
    """How a launch passes an argument; the numbers are those of engine/calls.h."""

    BYTES = 0
    POINTER = 1
    LOCAL = 2
    NULL = 3


BYTES, POINTER, LOCAL, NULL = (int(kind) for kind in ArgumentKind)
ARGUMENT = Struct("IIQ")
"""`struct argument` (engine/calls.h): kind, size and value."""
SUBMISSION = Struct("QQ72sIIQ")
"""`struct submission` (engine/calls.h): a launch in an array of several."""
_LAYOUTS = [Struct("IIQ" * count) for count in range(64)]


def pack_arguments(arguments: list[tuple[int, int, int | bytes]]) -> bytes:
    """Lay out kind, size (bytes) and value of each argument for EngineKernel.launch().

    The value is the bytes themselves for BYTES, an address of this process for POINTER, else ignored.
    """
    count = len(arguments)
    flat: list[int] = []
    tail = b""
    end = 16 * count
    for kind, size, value in arguments:
        if kind == BYTES:
            assert isinstance(value, bytes)
            flat += (kind, size, end)
            padded = value + bytes(-size % 16)
            tail += padded
            end += len(padded)
        else:
            assert isinstance(value, int)
            flat += (kind, size, value)
    layout = _LAYOUTS[count] if count < len(_LAYOUTS) else Struct("IIQ" * count)
    return layout.pack(*flat) + tail


class Reach(NamedTuple):
    """What a pointer argument may reach: `size` bytes from `address` in this process; size 0 where nobody knows.

    `flags` says what kernels may do there: CL_MEM_READ_WRITE, CL_MEM_READ_ONLY or CL_MEM_WRITE_ONLY. `resident`:
    nobody else gets there but through the board's Mmd, which tells the engine's mirrors.
    """

    address: int
    size: int
    flags: int = cl.CL_MEM_READ_WRITE
    resident: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size


NOWHERE = Reach(0, 0)


class Fault(enum.Enum):
    """What a kernel did wrong."""

    READ = "out-of-bounds read"
    WRITE = "out-of-bounds write"
    FORBIDDEN = "access that the buffer's flags exclude"
    UNWRITTEN = "use of a value that nobody wrote"
    RACE = "data race"
    DIVERGENCE = "barrier that not all work-items reach"
    OTHER = "other"


class Access(NamedTuple):
    """Who did it, and where in the program's source; an empty `item` or 0 where the engine does not say."""

    item: tuple[int, ...] = ()
    line: int = 0
    column: int = 0


class Misuse(NamedTuple):
    """Something that a kernel did wrong in one launch, as the engine saw it.

    `arguments`: the indices of those that it may concern, none for private and local memory. `offset`: bytes
    from where the argument's reach begins. `times`: how often in this launch. A race has two accesses.
    `unwritten`: begin and end, in bytes from there too, of what nobody had written before the launch.
    """

    fault: Fault
    kernel: str
    words: str
    accesses: tuple[Access, ...] = ()
    space: str = ""
    size: int = 0
    arguments: tuple[int, ...] = ()
    offset: int = 0
    times: int = 1
    unwritten: tuple[tuple[int, int], ...] = ()


class Batch(Protocol):
    """Launches that the engine runs one behind the other; nobody waits in between."""

    failure: CLError | None
    """Why the last launch failed that wait() has told of, where there are words for it."""
    takes_more: bool
    """Whether it takes more while launches run; otherwise those have ended before it does."""

    def add(self, kernel: EngineKernel, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        """Put a launch behind the others, as EngineKernel.launch()."""

    def submit(self) -> tuple[int, CLError | None]:
        """Hand what was added over to the engine, up to the first that fails: how many, and that one's error.

        What failed is not in the batch any more, and neither is what was added behind it.
        """

    def wait(self, most: int) -> list[int]:
        """Wait for the oldest launch that is left; its status, and those behind it that have ended, `most` at most."""


class EngineKernel(Protocol):
    """A kernel that can be launched."""

    launched: bool
    new_batch: Callable[[int], Batch] | None
    """A batch for that many launches of kernels of its engine, and more if more come; None where they run one by one.
    """
    last_ns: int
    """How long it last ran, in nanoseconds."""
    compile_ns: int
    """The nanoseconds that the engine's compiler took in the first launch; 0 where the engine does not tell."""
    wants_reaches: bool
    """Whether launch() is told what each pointer may reach."""
    waits_for_others: bool
    """Whether it may wait for kernels that run beside it, so that it needs a thread of its own, and a network."""

    @property
    def interface(self) -> KernelInterface:
        """What the engine says of the kernel."""

    def accepts(self, index: int, size: int) -> bool:
        """Whether argument `index`, passed by value, has `size` bytes; raises EXHAUSTED."""

    def work_group_info(self, query: int) -> bytes:
        """The driver's answer to clGetKernelWorkGroupInfo, as bytes."""

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        """The driver's answer to clGetKernelSubGroupInfo; raises CLError where it has none."""

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The local size that the engine would choose for an ND-range; one number per dimension.

        `arguments`: the size of each, and its value if it is passed by value.
        Raises CLError where the engine does not offer cl_khr_suggested_local_work_size.
        """

    def on_own_thread(self) -> EngineKernel:
        """The same kernel, to be run by the thread that launches it, if the engine can do that."""

    def launch(
        self,
        image: bytes,
        dimensions: int,
        sizes: bytes,
        has_local: bool,
        reaches: tuple[Reach, ...] = (),
        network: KernelNetwork | None = None,
    ) -> None:
        """Run to the end; raises CLError.

        `image` has the arguments as pack_arguments() lays them out, `sizes` the global offset, global
        size and local size, three 64-bit numbers each.
        """


class BuiltProgram(Protocol):
    """A program of the engine, from its creation through compiling and linking."""

    def build(self, options: str) -> str:
        """Compile and link; returns the log. Raises BuildFailed."""

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        """Compile only; returns the log. Raises BuildFailed."""

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        """Interfaces of all kernels, by name; those that are `known` need not be found out."""

    def kernel(self, name: str) -> EngineKernel:
        """A launchable kernel."""

    def binary(self) -> bytes:
        """The driver's own binary."""

    def specialize(self, id: int, value: bytes) -> None:
        """Set a specialisation constant; raises CLError."""

    def network(self, plugs: Plugs = no_plugs) -> KernelNetwork | None:
        """What its kernels share on a board that has just been programmed with it; None for nothing.

        `plugs` takes the ends of the board's cables; it raises OutOfResources where they are taken. The program's
        autorun kernels are running.
        """


class BuildFailed(Exception):
    """A build step failed: `status` and the compiler's log."""

    def __init__(self, status: int, log: str) -> None:
        super().__init__(log)
        self.status = status
        self.log = log


class Engine(Protocol):
    """A driver for the CPU that builds and runs OpenCL C."""

    name: str
    version: str
    path: str
    works_on_own_buffers: bool
    """Whether kernels work on copies of what their arguments reach, so that pointers in memory lead nowhere."""
    memory: SharedMemory | None
    """The only memory that kernels reach, if they run in another process."""
    mirrors: Mirrors | None
    """What it has of the boards' memory in buffers of its own; boards have to tell what is read and written there."""

    def device_info(self, query: int) -> bytes:
        """The answer of the driver's device to clGetDeviceInfo; empty where it has none."""

    def from_source(self, source: str) -> BuiltProgram:
        """A program from OpenCL C."""

    def from_il(self, il: bytes) -> BuiltProgram:
        """A program from SPIR-V; raises CLError where the driver takes none."""

    def from_binary(self, binary: bytes) -> BuiltProgram:
        """A program from what binary() gave; raises InvalidBinary."""

    def link(self, options: str, programs: list[BuiltProgram]) -> tuple[BuiltProgram, str]:
        """Link compiled programs; returns program and log. Raises BuildFailed or CLError."""


class NoEngine:
    """Stands in where there is no engine: all works but building programs."""

    name = "none"
    version = ""
    path = ""
    works_on_own_buffers = False
    memory: SharedMemory | None = None
    mirrors: Mirrors | None = None

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def device_info(self, query: int) -> bytes:
        return b""

    def from_source(self, source: str) -> BuiltProgram:
        return Unbuildable(self.reason)

    def from_il(self, il: bytes) -> BuiltProgram:
        return Unbuildable(self.reason)

    def from_binary(self, binary: bytes) -> BuiltProgram:
        return Unbuildable(self.reason)

    def link(self, options: str, programs: list[BuiltProgram]) -> tuple[BuiltProgram, str]:
        raise CompilerNotAvailable(self.reason)


class Unbuildable:
    """A program nobody can build, which says why in its log."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def build(self, options: str) -> str:
        raise BuildFailed(BuildProgramFailure.status, self.reason)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        raise BuildFailed(BuildProgramFailure.status, self.reason)

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        return {}

    def kernel(self, name: str) -> EngineKernel:
        raise CompilerNotAvailable(self.reason)

    def binary(self) -> bytes:
        return b""

    def specialize(self, id: int, value: bytes) -> None:
        raise CompilerNotAvailable(self.reason)

    def network(self, plugs: Plugs = no_plugs) -> None:
        return None
