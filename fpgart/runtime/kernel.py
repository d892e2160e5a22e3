# SPDX-License-Identifier: Apache-2.0
"""Kernels, their arguments, and launching them (OpenCL 3.0, 5.9 and 5.10)."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from struct import Struct
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from fpgart import config
from fpgart import opencl as cl
from fpgart.board.invocation import GLOBAL_POINTER, LOCAL_POINTER, LocalPlaces, fixed_part
from fpgart.board.memory_system import NotVisible, Showing, Window
from fpgart.engine.interface import BYTES, LOCAL, NOWHERE, NULL, POINTER, Batch, EngineKernel, Reach, pack_arguments
from fpgart.errors import (
    InvalidArgIndex,
    InvalidArgSize,
    InvalidArgValue,
    InvalidKernelArgs,
    InvalidOperation,
    OutOfResources,
)
from fpgart.notices import NOTICES
from fpgart.runtime.buffer import NOTHING, Buffer, Reservation
from fpgart.runtime.device import Block, Device
from fpgart.runtime.event import Launch, Operation
from fpgart.runtime.occupancy import TAKEN, WAITS, Claim, Direction
from fpgart.runtime.pipe import Pipe
from fpgart.runtime.programming import load_onto
from fpgart.runtime.readiness import ReadyList
from fpgart.runtime.transfers import Migration
from fpgart.runtime.usm import Indirect, Kind, UsmAllocation, UsmUse
from fpgart.runtime.work_groups import for_engine

if TYPE_CHECKING:
    from fpgart.runtime.program import Program

Argument = tuple[int, int, "bytes | int | ref[Buffer] | Pipe"]
BUFFER, PIPE = -1, -2  # besides the engine's kinds: what has its address at launch
SIZES = Struct("9Q")
SPLIT_KERNELS = 5
"""The compiler mode that programs the board for every launch."""
LARGEST_VALUE = 1 << 16
"""Bytes of an argument that is passed by value."""
KERNEL_ACCESS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_READ_ONLY | cl.CL_MEM_WRITE_ONLY


class Elsewhere(Protocol):
    """Arguments that are kept where setting them again costs nothing."""

    pending: memoryview
    """pending[0] is not 0 while there is something to tell."""

    def tell(self, kernel: Kernel) -> None:
        """Tell the kernel of all that were set, by keep_buffer(), keep_value() and keep_pointer()."""


class Kernel:
    """A kernel with the arguments that the next launch takes.

    Argument i is None while unset, else kind, size in bytes, and value. A kernel does not keep its buffers
    alive (OpenCL 3.0, 5.9.2); a launch does.
    """

    __slots__ = (
        "__weakref__",
        "arguments",
        "context",
        "elsewhere",
        "engine_kernel",
        "handle",
        "indirect",
        "interface",
        "kinds",
        "program",
        "usm_pointers",
    )

    def __init__(self, program: Program, name: str) -> None:
        self.handle = 0
        self.program = program
        self.context = program.context
        self.engine_kernel = program.engine_kernel(name)
        self.interface = program.interfaces()[name]
        self.kinds = [argument.address_qualifier for argument in self.interface.arguments]
        self.arguments: list[Argument | None] = [None] * len(self.kinds)
        self.elsewhere: Elsewhere | None = None
        """Arguments that were set without the kernel being told."""
        self.indirect = Indirect.NONE
        self.usm_pointers: list[int] = []
        program.admit(self)

    @property
    def name(self) -> str:
        return self.interface.name

    def engine_kernel_on(self, program: Program) -> EngineKernel:
        """The kernel of what its program is on some device."""
        return self.engine_kernel if program is self.program else program.engine_kernel(self.name)

    def clone(self) -> Kernel:
        """Another kernel with the same arguments (OpenCL 3.0, 5.9.1)."""
        self.hear()
        other = Kernel(self.program, self.name)
        other.arguments = list(self.arguments)
        other.indirect = self.indirect
        other.usm_pointers = list(self.usm_pointers)
        return other

    def _kind_of(self, index: int) -> int:
        if index >= len(self.kinds):
            raise InvalidArgIndex(f"kernel '{self.name}' has {len(self.kinds)} arguments, there is no number {index}")
        return self.kinds[index]

    def is_pointer(self, index: int) -> bool:
        """Whether argument `index` is a pointer to global or constant memory. Raises InvalidArgIndex."""
        kind = self._kind_of(index)
        return kind in (cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, cl.CL_KERNEL_ARG_ADDRESS_CONSTANT)

    def is_local(self, index: int) -> bool:
        return self._kind_of(index) == cl.CL_KERNEL_ARG_ADDRESS_LOCAL

    def describe(self, index: int) -> str:
        argument = self.interface.arguments[index]
        return f"argument {index} ('{argument.type_name} {argument.name}') of kernel '{self.name}'"

    def describe_briefly(self, index: int) -> str:
        """As describe(), without the type."""
        return f"argument {index} ('{self.interface.arguments[index].name}') of kernel '{self.name}'"

    def hear(self) -> None:
        """Take over arguments that were set elsewhere."""
        if self.elsewhere is not None and self.elsewhere.pending[0]:
            self.elsewhere.tell(self)

    def _set(self, index: int, argument: Argument) -> None:
        self.hear()  # what was set before must not come later
        self.arguments[index] = argument

    def set_buffer(self, index: int, buffer: Buffer | None) -> None:
        """A buffer, or no buffer, for a pointer argument.

        A buffer that has no place yet remembers the memory that the first argument with a buffer_location needs it
        in; one that has a place stays as it is.
        """
        if buffer is None:
            self._set(index, (NULL, 8, 0))
            return
        location = self.interface.arguments[index].buffer_location
        if location and not buffer.placed:
            self._hint(buffer.owner, index, location)
        self._set(index, (BUFFER, 8, ref(buffer)))

    def keep_buffer(self, index: int, buffer: ref[Buffer]) -> None:
        """As set_buffer(), of a buffer that was this argument before."""
        self.arguments[index] = (BUFFER, 8, buffer)

    def _hint(self, buffer: Buffer, index: int, location: str) -> None:
        if not buffer.hint:
            buffer.hint = location
        for listener in NOTICES.place_hinted:
            listener(buffer, location, self.describe_briefly(index))

    def set_pipe(self, index: int, pipe: Pipe) -> None:
        """A pipe for a pipe argument. Raises InvalidArgValue, InvalidArgSize."""
        declared = self.interface.arguments[index].pipe
        if declared is None:
            raise InvalidArgValue(f"{self.describe(index)} is no pipe")
        pipe.bind(self, declared, self.describe(index))
        self._set(index, (PIPE, 8, pipe))

    def set_local(self, index: int, size: int) -> None:
        """`size` bytes of local memory; raises InvalidArgSize for none."""
        if not size:
            raise InvalidArgSize(f"{self.describe(index)} needs a size of local memory above 0")
        self._set(index, (LOCAL, size, 0))

    def check_value_size(self, index: int, size: int) -> None:
        """Raises InvalidArgSize when a value of `size` bytes is not the argument's; to be asked before it is read."""
        current = self.arguments[index]
        known = current is not None and current[0] == BYTES and current[1] == size
        if not known and not (0 < size <= LARGEST_VALUE and self.engine_kernel.accepts(index, size)):
            raise InvalidArgSize(f"{self.describe(index)} does not have {size} bytes")

    def set_value(self, index: int, value: bytes) -> None:
        """A value; raises InvalidArgSize when its size is not the argument's."""
        self.check_value_size(index, len(value))
        self._set(index, (BYTES, len(value), value))

    def keep_value(self, index: int, value: bytes) -> None:
        """As set_value(), of a value whose size is known to be right, when nothing is left to hear."""
        self.arguments[index] = (BYTES, len(value), value)

    def set_pointer(self, index: int, address: int) -> None:
        """An address that the kernel dereferences: shared virtual memory, or a USM pointer. 0 is NULL.

        Raises InvalidArgValue for an argument that is no pointer to global memory.
        """
        if not self.is_pointer(index):
            raise InvalidArgValue(f"{self.describe(index)} is no pointer to global memory")
        self._set(index, (POINTER, 8, address) if address else (NULL, 8, 0))

    def keep_pointer(self, index: int, address: int) -> None:
        """As set_pointer(), of an address that is known to be right, when nothing is left to hear."""
        self.arguments[index] = (POINTER, 8, address)

    def launch(
        self,
        device: Device,
        dimensions: int,
        sizes: tuple[int, ...],
        has_local: bool,
    ) -> LaunchKernel:
        """The operation that runs the kernel with today's arguments.

        `sizes`: offset, global and local size, three each. Room for the buffers is reserved now.
        Raises InvalidKernelArgs, InvalidOperation, MemObjectAllocationFailure, OutOfResources.
        """
        self.hear()
        snapshot: list[Argument] = []
        buffers: list[tuple[int, Buffer]] = []
        on_host: list[tuple[int, Buffer]] = []
        pipes: list[Pipe] = []
        for index, argument in enumerate(self.arguments):
            if argument is None:
                raise InvalidKernelArgs(f"{self.describe(index)} has not been set")
            value = argument[2]
            if isinstance(value, ref):
                buffer = value()
                if buffer is None:
                    raise InvalidKernelArgs(f"the buffer of {self.describe(index)} has been released")
                if buffer.owner.stays_on_host:
                    argument = (POINTER, 8, buffer.host_address())
                    on_host.append((index, buffer))
                else:
                    buffers.append((index, buffer))
            elif isinstance(value, Pipe):
                declared = self.interface.arguments[index].pipe
                assert declared is not None
                value.open()
                pipes.append(value)
                argument = (POINTER, 8, value.fifo.end(blocking=declared.blocking))
            snapshot.append(argument)
        launch = LaunchKernel(self, device, snapshot, buffers, dimensions, SIZES.pack(*sizes), has_local)
        launch.on_host = on_host
        launch.pipes = pipes
        if has_local:
            launch.engine_sizes = for_engine(self, device, launch.sizes)
        if not device.has_svm:
            self._refuse_svm(device, snapshot)
        if len(self.context.usm):
            launch.usm = self._usm_use(device, snapshot)
        if device.knows_memories:
            launch.reserve()
        return launch

    def _refuse_svm(self, device: Device, arguments: list[Argument]) -> None:
        """Raises InvalidOperation for pointers into shared virtual memory, which the device does not reach."""
        for index, (kind, _, value) in enumerate(arguments):
            if kind == POINTER and isinstance(value, int) and self.context.svm.find(value) is not None:
                raise InvalidOperation(f"{self.describe(index)} is shared virtual memory, {_not_reached_by(device)}")

    def _usm_use(self, device: Device, arguments: list[Argument]) -> UsmUse:
        """What a launch does with unified shared memory; puts into `arguments` where kernels find it.

        Raises InvalidOperation for memory that the device does not reach, and where encoded pointers may be in memory.
        """
        registry = self.context.usm
        found: list[UsmAllocation] = []
        for index, (kind, size, value) in enumerate(arguments):
            if kind != POINTER or not isinstance(value, int):
                continue
            allocation = registry.find(value)
            if allocation is None:
                continue
            if device not in allocation.givers:
                for listener in NOTICES.pointer_refused:
                    listener(self, index, allocation, device)
                raise InvalidOperation(f"{self.describe(index)} is {_whose(allocation)}, {_not_reached_by(device)}")
            found.append(allocation)
            arguments[index] = (kind, size, allocation.translated(value))
        indirect = [a for a in map(registry.find, self.usm_pointers) if a is not None]
        if config.USM_POINTERS.value == "encoded" and (indirect or self.indirect & Indirect.DEVICE):
            self._refuse_encoded(device, indirect)
        return UsmUse(found + indirect, self.indirect)

    def _refuse_encoded(self, device: Device, given: list[UsmAllocation]) -> None:
        """Raises InvalidOperation where the kernel may find encoded pointers in memory.

        Bit 61 makes them no addresses of this processor, so that nothing can be mapped there: the kernel would crash.
        """
        may_reach = self.context.usm.all() if self.indirect & Indirect.DEVICE else given
        found = [a for a in may_reach if a.kind is Kind.DEVICE and a.device is device]
        if found:
            raise InvalidOperation(
                f"kernel '{self.name}' may reach {len(found)} device allocations of device {device.id} through "
                f"pointers in memory, such as {found[0].pointer:#x}, which kernels here cannot follow "
                "(FPGART_USM_POINTERS=encoded; they can with mapped)"
            )


def _whose(allocation: UsmAllocation) -> str:
    owners = ", ".join(str(device.id) for device in allocation.givers)
    return f"a {allocation.kind.name.lower()} allocation of device{'s' * (len(allocation.givers) > 1)} {owners}"


def _not_reached_by(device: Device) -> str:
    return f"which device {device.id} ('{device.board.name}') does not reach"


class Stage(enum.Enum):
    """What a launch does next."""

    PROGRAM = "program"
    MIGRATE = "migration"
    RUN = "kernel"


RUN = Stage.RUN
SHORT_NS = 200_000
"""A kernel that ran no longer than that is short: ten times what it costs to wait for an end."""


class LaunchKernel:
    """Run a kernel: program the board if it holds another binary, bring the buffers there, run.

    From its first stage on the launch counts among the device's `launches`, which keeps other binaries
    away until it has ended. Kernels are taken in their order, and then run beside each other.
    """

    __slots__ = (
        "arguments",
        "buffers",
        "committed",
        "cores",
        "device",
        "dimensions",
        "engine_sizes",
        "has_local",
        "kernel",
        "moved",
        "on_host",
        "pipes",
        "places",
        "program",
        "reserved",
        "showing",
        "sizes",
        "stage",
        "usm",
        "watched",
    )

    def __init__(
        self,
        kernel: Kernel,
        device: Device,
        arguments: list[Argument],
        buffers: list[tuple[int, Buffer]],
        dimensions: int,
        sizes: bytes,
        has_local: bool,
    ) -> None:
        """`buffers`: index of the argument, and buffer."""
        self.kernel = kernel
        self.device = device
        self.program = kernel.program.on(device)
        self.arguments = arguments
        self.buffers = buffers
        self.on_host: list[tuple[int, Buffer]] = []
        """Arguments whose buffers are used where they are in the host's memory."""
        self.pipes: list[Pipe] = []
        """Those that it has the addresses of: the host may release them as soon as the launch is enqueued."""
        self.places: list[Block] = []
        self.moved: tuple[int, ...] = ()
        """The arguments whose buffers had to be migrated for it."""
        self.watched: Sequence[UsmAllocation] = ()
        """Shared memory whose touches by the host are told, while the kernel runs."""
        self.reserved = NOTHING
        self.dimensions = dimensions
        self.sizes = sizes
        self.engine_sizes = sizes
        """The same with work-groups that the engine takes."""
        self.has_local = has_local
        self.committed = False
        self.stage = Stage.RUN
        self.usm: UsmUse | None = None
        self.showing: Showing | None = None
        self.cores = self._cores() if device.cores else 0
        """How many of the board's cores it keeps busy; 0 where that is not limited."""

    def _cores(self) -> int:
        """A task is one work-item, which one core runs; others are spread over all."""
        if self.kernel.engine_kernel.waits_for_others:
            return 0
        return 1 if SIZES.unpack(self.sizes)[3:6] == (1, 1, 1) else self.device.cores

    @property
    def name(self) -> str:
        return self.stage.value

    @property
    def short_launch(self) -> LaunchKernel | None:
        """Itself, if it is short: what follows it need not wait until its end is known."""
        kernel = self._engine_kernel()
        if kernel.new_batch is None or not kernel.launched or kernel.last_ns > SHORT_NS:
            return None
        return self if self.stage is RUN and not self.cores and self.device.before_kernel is None else None

    def _engine_kernel(self) -> EngineKernel:
        return self.kernel.engine_kernel_on(self.program)

    @property
    def ready_list(self) -> ReadyList:
        return self.device.ready_kernels

    @property
    def direction(self) -> Direction:
        """Once begun it waits behind nobody: those in front may be waiting for its end."""
        return Direction.NONE if self.committed else Direction.BOTH

    @property
    def needs_thread(self) -> bool:
        """Whether it may wait for commands behind it, so that no thread that others rely on may run it.

        Tasks on the cores of one board may wait for each other, too.
        """
        return self.kernel.engine_kernel.waits_for_others or 0 < self.cores < self.device.cores

    def reserve(self) -> None:
        """Claim a block where each buffer argument is needed, until the launch has ended.

        Raises MemObjectAllocationFailure, OutOfResources; nothing stays reserved then.
        """
        try:
            self._reserve()
        except BaseException:
            self.abandon()
            raise

    def _reserve(self) -> None:
        device, interleaving = self.device, self.program.interleaving
        if self.buffers:
            self.reserved = Reservation()
        claimed: dict[Buffer, Block] = {}
        for index, buffer in self.buffers:
            if buffer.owner in claimed:  # one buffer is in one place: where its first argument needs it
                self.places.append(claimed[buffer.owner])
                continue
            location = self.kernel.interface.arguments[index].buffer_location
            try:
                memory = device.memories.memory_for(location)
            except KeyError:
                raise OutOfResources(
                    f"{self.kernel.describe(index)} has to be in memory '{location}', "
                    f"which board '{device.board.name}' does not have"
                ) from None
            block = claimed[buffer.owner] = self.reserved.take(buffer, device, memory, interleaving)
            self.places.append(block)
        try:
            self.showing = device.memories.show(self._windows())
        except NotVisible as error:
            raise OutOfResources(f"kernel '{self.kernel.name}' cannot be launched: {error}") from None

    def _windows(self) -> Iterator[Window]:
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            yield Window(block.address + buffer.origin, buffer.size, self.kernel.describe(index))

    def abandon(self) -> None:
        """Give back the blocks that it alone wanted: it will not run, or a stage of it has failed."""
        self._leave_watched()
        self.reserved.give_back()

    # The scheduler's side; its lock is held

    def claim(self) -> Claim:
        occupancy = self.device.occupancy
        if not self.committed:
            if self._needs_programming():
                self.stage = Stage.PROGRAM
                return occupancy.claim_programming()
            if occupancy.claim_launch(self.cores) is not TAKEN:
                return WAITS
            self.committed = True
        if self.adopt_places():
            self._begin()
        else:
            self.stage = Stage.MIGRATE
        return TAKEN

    def _needs_programming(self) -> bool:
        """Whether the board does not hold the binary, or has to be given it for every launch."""
        split = self.kernel.context.compiler_mode == SPLIT_KERNELS
        return split or self.program.identity not in self.device.loaded

    def claim_behind(self, previous: Launch) -> bool:
        """Only with the same binary, its buffers where it needs them, and nobody else waiting to launch."""
        device = self.device
        if (
            device is not previous.device
            or device.ready_kernels
            or self._needs_programming()
            or not self.adopt_places()
            or device.occupancy.claim_launch(0) is not TAKEN
        ):
            return False
        self.committed = True
        self._begin()
        return True

    def _begin(self) -> None:
        """The kernel is about to run: what it uses stays where it is."""
        self.stage = RUN
        for block in self.places:
            block.running += 1

    def adopt_places(self) -> bool:
        """Whether all buffers are where they are needed; those without contents are by definition."""
        ready = len(self.places) == len(self.buffers)
        for (_, buffer), block in zip(self.buffers, self.places, strict=False):
            owner = buffer.owner
            if owner.home is not block:
                if owner.home is None and not owner.on_host:
                    owner.home = block
                else:
                    ready = False
        return ready

    def release(self, following: Operation | None) -> None:
        if self.stage is Stage.PROGRAM:
            self.device.occupancy.end_programming()
            if following is not None:
                self.device.occupancy.begin_launch(self.cores)
                self.committed = True
            return
        if self.stage is Stage.RUN:
            for block in self.places:
                block.running -= 1
        if following is None:
            self.end()

    def end(self) -> None:
        """The launch is over, well or not."""
        if self.committed:
            self.committed = False
            self.device.occupancy.end_launch(self.cores)
        self.reserved.leave()

    # Without the lock

    def run(self) -> Operation | None:
        try:
            return self._run_stage()
        except BaseException:
            self.abandon()
            raise

    def _run_stage(self) -> Operation | None:
        if self.stage is Stage.PROGRAM:
            return self._program()
        if self.stage is Stage.MIGRATE:
            return MigrateForLaunch(self)
        self._run()
        return None

    def batch(self, most: int) -> Batch:
        new_batch = self._engine_kernel().new_batch
        assert new_batch is not None
        return new_batch(most)

    def hand_over(self, batch: Batch) -> None:
        try:
            batch.add(self._engine_kernel(), self._prepare(), self.dimensions, self.engine_sizes, self.has_local)
        except BaseException:
            self.abandon()
            raise

    def took(self, elapsed_ns: int) -> None:
        self._leave_watched()
        self._engine_kernel().last_ns = elapsed_ns
        self.device.kernel_ns += elapsed_ns
        self.device.mmd.interrupt()

    def _program(self) -> Operation:
        load_onto(self.device, self.program)
        if len(self.places) < len(self.buffers):
            self.reserve()
        return self

    def _tell_skipped(self) -> None:
        now = monotonic_ns()
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            if index in self.moved:
                continue
            for listener in NOTICES.migrated:
                listener(buffer.owner, block, block, now, self.reason(index))

    def reason(self, index: int) -> str:
        """Why the buffer of an argument is wanted where it is."""
        return self.kernel.describe_briefly(index)

    def nd_range(self) -> tuple[list[int], list[int], list[int]]:
        """Offset, global and local size, a number per dimension each; an empty local size if none was given."""
        sizes = SIZES.unpack(self.sizes)
        count = self.dimensions
        local = list(sizes[6 : 6 + count]) if self.has_local else []
        return list(sizes[:count]), list(sizes[3 : 3 + count]), local

    def invocation_image(self) -> bytes:
        """What a board would be given: the ND-range, then the arguments one after another.

        A pointer to global memory is a device address of 8 bytes, one to local memory an offset of 4; a device
        allocation's has bit 61, and pointers to memory of the host are the host's. The buffers must have their places.
        """
        buffers = dict(self.buffers)
        places = dict(zip(buffers, self.kernel_addresses(), strict=True))
        local = LocalPlaces()
        parts = [fixed_part(self.dimensions, SIZES.unpack(self.sizes))]
        for index, (kind, size, value) in enumerate(self.arguments):
            if kind == LOCAL:
                parts.append(LOCAL_POINTER.pack(local.place(size)))
            elif isinstance(value, bytes):
                parts.append(value)
            elif isinstance(value, ref):
                parts.append(GLOBAL_POINTER.pack(places[index]))
            elif self.kernel.interface.arguments[index].pipe is None and isinstance(value, int):
                parts.append(GLOBAL_POINTER.pack(self._given_pointer(value)))
        return b"".join(parts)

    def _given_pointer(self, address: int) -> int:
        """What a board would be given for a pointer argument, by where it points in this process."""
        for allocation in self.usm.allocations if self.usm is not None else ():
            if allocation.address <= address < allocation.address + allocation.size:
                return allocation.address_for_board(address)
        return address

    def kernel_addresses(self) -> tuple[int, ...]:
        """Where the kernel sees each buffer argument: its device address, or where it is mapped for the launch."""
        if self.showing is not None:
            return self.showing.addresses
        pairs = zip(self.buffers, self.places, strict=True)
        return tuple(block.device_address + buffer.origin for (_, buffer), block in pairs)

    def _prepare(self) -> bytes:
        """All is where the kernel needs it; returns its arguments for the engine. Raises BoardError."""
        if NOTICES.migrated:
            self._tell_skipped()
        packed: list[tuple[int, int, int | bytes]] = list(self.arguments)  # type: ignore[arg-type]
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            packed[index] = (POINTER, 8, block.pointer + buffer.origin)
        if self.device.before_kernel is not None:
            self.device.before_kernel(self.kernel.name)
        if self.usm is not None:
            self._leave_watched()  # when it was put into a batch before, and dropped
            self.watched = self.usm.bring(self.kernel.context, self.device, f"kernel '{self.kernel.name}'")
        return pack_arguments(packed)

    def _run(self) -> None:
        image = self._prepare()
        device = self.device
        begin = monotonic_ns()
        engine_kernel = self._engine_kernel()
        if 0 < self.cores < device.cores:
            engine_kernel = engine_kernel.on_own_thread()
        reaches = self.reaches() if engine_kernel.wants_reaches else ()
        shown = self.showing if self.showing is not None and self.showing.regions else None
        if shown is not None:
            for listener in NOTICES.regions_set:
                listener(self, shown)
        try:
            engine_kernel.launch(image, self.dimensions, self.engine_sizes, self.has_local, reaches, device.network)
        finally:
            if shown is not None:
                for listener in NOTICES.regions_restored:
                    listener(self, shown)
        self.took(monotonic_ns() - begin)
        if not engine_kernel.launched:
            engine_kernel.launched = True
            device.platform.engine_grew()

    def _leave_watched(self) -> None:
        watched, self.watched = self.watched, ()
        for allocation in watched:
            allocation.left_by_kernel()

    def reaches(self) -> tuple[Reach, ...]:
        """By argument, the buffer or allocation that it is a pointer into."""
        found = [self._allocation(argument) for argument in self.arguments]
        for index, buffer in self.on_host:
            found[index] = Reach(buffer.host_address(), buffer.size, buffer.flags & KERNEL_ACCESS)
        for (index, buffer), block in zip(self.buffers, self.places, strict=True):
            found[index] = Reach(block.pointer + buffer.origin, buffer.size, buffer.flags & KERNEL_ACCESS)
        return tuple(found)

    def _allocation(self, argument: Argument) -> Reach:
        kind, _, value = argument
        if kind != POINTER or not isinstance(value, int):
            return NOWHERE
        for given in self.usm.allocations if self.usm is not None else ():
            if given.address <= value < given.address + given.size:
                return Reach(given.address, given.size)
        shared = self.kernel.context.svm.find(value)
        return Reach(shared.pointer, shared.size) if shared is not None else NOWHERE


class MigrateForLaunch(Migration):
    """The migrations in front of a launch: one per buffer argument that is elsewhere."""

    __slots__ = ("launch", "needs_thread")

    def __init__(self, launch: LaunchKernel) -> None:
        moves = [(buffer, block) for (_, buffer), block in zip(launch.buffers, launch.places, strict=True)]
        super().__init__(launch.device, moves, "")
        self.launch = launch
        self.needs_thread = launch.needs_thread

    def run(self) -> Operation | None:
        try:
            for (index, _), (buffer, block) in zip(self.launch.buffers, self.moves, strict=True):
                if buffer.owner.home is not block:
                    buffer.migrate(block, self.launch.reason(index))
                    self.launch.moved += (index,)
        except BaseException:
            self.abandon()
            raise
        return self.launch

    def abandon(self) -> None:
        self.launch.abandon()

    def release(self, following: Operation | None) -> None:
        super().release(following)
        if following is None:
            self.launch.end()
