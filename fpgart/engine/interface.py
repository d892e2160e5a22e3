# SPDX-License-Identifier: Apache-2.0
"""The interface of engines, which execute kernels. Addresses are integers; sizes are in bytes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, CompilerNotAvailable
from fpgart.base.named_tuples import NamedTuple

if TYPE_CHECKING:
    from fpgart.base.shared_memory import SharedMemory
    from fpgart.channels.interface import KernelNetwork
    from fpgart.channels.links import Links
    from fpgart.engine.mirrors import Mirrors
    from fpgart.kernels.interface import KernelInterface

Plugs = Callable[[], "Links"]
"""Connects the ends of a board's cables when a program with channels is first on the board."""


def no_plugs() -> Links:
    """Returns no links: a board without cables."""
    return {}


BYTES, POINTER, LOCAL, NULL = range(4)
"""The ways in which a launch passes an argument: enum argument_kind in engine/calls.h."""
ARGUMENT = Struct("IIQ")
"""A row of the arguments of a launch, `struct argument` of engine/calls.h: kind, size and value."""
SIZES = Struct("9Q")
"""Offset, global and local size of a launch, in three dimensions each."""
ONE_WORK_ITEM = SIZES.pack(0, 0, 0, 1, 1, 1, 1, 1, 1)
_LAYOUTS = [Struct(ARGUMENT.format * count) for count in range(64)]
"""The layouts of so many rows."""


def pack_arguments(arguments: list[tuple[int, int, int | bytes]]) -> bytes:
    """Packs kind, size (bytes) and value of each argument for EngineKernel.launch().

    The value is the bytes themselves for BYTES, an address of this process for POINTER, else ignored.
    """
    count = len(arguments)
    flat: list[int] = []
    tail = b""
    end = ARGUMENT.size * count
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
    layout = _LAYOUTS[count] if count < len(_LAYOUTS) else Struct(ARGUMENT.format * count)
    return layout.pack(*flat) + tail


class Reach(NamedTuple):
    """The memory that a pointer argument may reach: `size` bytes from `address` in this process; size 0 if unknown.

    `flags` says what kernels may do there: CL_MEM_READ_WRITE, CL_MEM_READ_ONLY or CL_MEM_WRITE_ONLY. `resident`: the
    memory is accessed only through the board's Mmd, which reports it to the engine's mirrors.
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
    """The kinds of mistakes that kernels make."""

    READ = "out-of-bounds read"
    WRITE = "out-of-bounds write"
    FORBIDDEN = "access that the buffer's flags exclude"
    UNWRITTEN = "use of a value that nobody wrote"
    RACE = "data race"
    DIVERGENCE = "barrier that not all work-items reach"
    OTHER = "other"


class Access(NamedTuple):
    """The work-item that accessed, and the place in the program's source; empty or 0 if the engine does not say."""

    item: tuple[int, ...] = ()
    line: int = 0
    column: int = 0


class Misuse(NamedTuple):
    """A mistake of a kernel in one launch, as the engine reports it.

    `arguments`: the indices of those that it may concern, none for private and local memory. `offset`: bytes from the
    begin of the argument's reach. `times`: how often in this launch. A race has two accesses. `unwritten`: begin and
    end, in bytes from the same place, of the bytes that had not been written before the launch.
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


class Carrier(NamedTuple):
    """The functions with which C carries commands (`struct carrier` in engine/carrier.h), and their arguments.

    `lost`: called when all numbers of kernels become void.
    """

    functions: int
    context: int
    device: int
    lost: list[Callable[[], None]]


class KernelLaunch(NamedTuple):
    """One launch of a kernel of the engine.

    `image`: the arguments as pack_arguments() lays them out. `sizes`: the global offset, global size and local size,
    three 64-bit numbers each. `reaches`: the memory that each pointer may reach, if the kernel wants them. `network`:
    what connects the kernels of its program, if they may wait for each other.
    """

    image: bytes
    dimensions: int
    sizes: bytes
    has_local: bool
    reaches: tuple[Reach, ...] = ()
    network: KernelNetwork | None = None

    def for_driver(self) -> tuple[bytes, int, bytes, bool]:
        """Returns the arguments that the launching functions of engine/calls.h share."""
        return self.image, self.dimensions, self.sizes, self.has_local


class EngineKernel(Protocol):
    launched: bool
    """True once Python has launched it, or C may."""
    compile_ns: int
    """The nanoseconds that the engine's compiler took in the first launch; 0 if C made that, or the engine does not
    report it."""
    wants_reaches: bool
    """True if launch() needs the memory that each pointer may reach."""
    waits_for_others: bool
    """True if it may wait for kernels that run at the same time, so that it needs a thread of its own and a network."""

    @property
    def carried(self) -> int:
        """The number by which C launches the kernel; 0 if it does not."""

    @property
    def interface(self) -> KernelInterface:
        """The kernel's interface, as the engine returns it."""

    def accepts(self, index: int, size: int) -> bool:
        """True if argument `index`, passed by value, has `size` bytes; raises EXHAUSTED."""

    def work_group_info(self, query: int) -> bytes:
        """Returns the driver's answer to clGetKernelWorkGroupInfo, as bytes."""

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        """Returns the driver's answer to clGetKernelSubGroupInfo; raises CLError if it has none."""

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Returns the local size that the engine would choose for an ND-range; one number per dimension.

        `arguments`: the size of each, and its value if it is passed by value. Raises CLError if the engine does not
        offer cl_khr_suggested_local_work_size.
        """

    def on_own_thread(self) -> EngineKernel:
        """Returns the same kernel, run by the thread that launches it, if the engine can do that."""

    def launch(self, launch: KernelLaunch) -> None:
        """Runs the kernel to the end; raises CLError."""


class BuiltProgram(Protocol):
    """A program of the engine, from its creation to its release."""

    def build(self, options: str) -> str:
        """Compiles and links; returns the log. Raises BuildFailed."""

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        """Compiles only; returns the log. Raises BuildFailed."""

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        """Returns the interfaces of all kernels, by name; those that are `known` are not queried."""

    def kernel(self, name: str) -> EngineKernel:
        """Returns a kernel that can be launched."""

    def binary(self) -> bytes:
        """Returns the driver's own binary."""

    def specialize(self, id: int, value: bytes) -> None:
        """Sets a specialisation constant; raises CLError."""

    def network(self, plugs: Plugs = no_plugs) -> KernelNetwork | None:
        """Creates the objects that its kernels share on a board that has just been programmed with it; None if none.

        `plugs` connects the ends of the board's cables; it raises OutOfResources if they are connected already. The
        program's autorun kernels run when this returns.
        """


class BuildFailed(Exception):
    """Raised if a build step failed: `status` and the compiler's log."""

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
    """True if kernels work on copies of the memory that their arguments reach, so that pointers in memory are
    invalid."""
    memory: SharedMemory | None
    """The only memory that kernels can access, if they run in another process."""
    mirrors: Mirrors | None
    """The copies of boards' memory in buffers of the engine; boards have to report what is read and written there."""

    def carrier(self) -> Carrier | None:
        """Returns what C needs to carry commands; None if it carries none."""

    def device_info(self, query: int) -> bytes:
        """Returns the answer of the driver's device to clGetDeviceInfo; empty if it has none."""

    def from_source(self, source: str) -> BuiltProgram:
        """Creates a program from OpenCL C."""

    def from_il(self, il: bytes) -> BuiltProgram:
        """Creates a program from SPIR-V; raises CLError if the driver takes none."""

    def from_binary(self, binary: bytes) -> BuiltProgram:
        """Creates a program from the result of binary(); raises InvalidBinary."""

    def link(self, options: str, programs: list[BuiltProgram]) -> tuple[BuiltProgram, str]:
        """Links compiled programs; returns program and log. Raises BuildFailed or CLError."""


class NoEngine:
    """The engine if there is none: all functions work except those that build programs."""

    name = "none"
    version = ""
    path = ""
    works_on_own_buffers = False
    memory: SharedMemory | None = None
    mirrors: Mirrors | None = None

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def carrier(self) -> None:
        return None

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
    """A program whose builds fail, with the reason in the log."""

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
