"""Simulated boards driven through the runtime's objects, without libfpgart.so and without a compiler.

Kernels are Python functions: `machine.kernel(function, "DDR", None)` has one argument per buffer_location,
a global pointer ("" for the default memory) or, for None, a value of 4 bytes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any

from fpgart.base import opencl as cl
from fpgart.base.config import Option
from fpgart.base.notices import NOTICES
from fpgart.base.personality import Personality
from fpgart.board.catalogue import describe
from fpgart.board.description import BoardDescription
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.engine.interface import KernelLaunch, Plugs, no_plugs
from fpgart.kernels.interface import ArgumentInterface, KernelInterface
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.transfers import ReadBuffer, WriteBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.model.simulated_clock import ModelScheduler
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.platform import Board, Platform
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import SUBMITTED, Event
from fpgart.runtime.scheduling.scheduler import Scheduler

KERNEL_NAME = "k"
Function = Callable[..., None]


def nothing(*values: int) -> None:
    """A kernel that leaves its buffers alone."""


def increment(*addresses: int) -> None:
    """A kernel that adds 1 to the first byte of each buffer."""
    for address in addresses:
        ctypes.c_ubyte.from_address(address).value += 1


def free_bytes(memories: Any, index: int) -> int:
    """Returns the free bytes of a board's memory, or heap."""
    return sum(size for _, size in memories.holes(index))


def at_once(*works: Callable[[], object]) -> None:
    """Runs each on a thread of its own; raises the first exception of any."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@dataclass
class PythonKernel:
    """An engine's kernel that is a Python function of addresses and values."""

    interface: KernelInterface
    function: Function
    launched: bool = False
    wants_reaches: bool = False
    waits_for_others: bool = False
    compile_ns: int = 0
    carried: int = 0

    def accepts(self, index: int, size: int) -> bool:
        return size == 4

    def work_group_info(self, query: int) -> bytes:
        return b""

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        return b""

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        return (4,) * len(sizes)

    def on_own_thread(self) -> PythonKernel:
        return self

    def launch(self, launch: KernelLaunch) -> None:
        values: list[int] = []
        image = launch.image
        for index in range(len(self.interface.arguments)):
            kind, size, value = unpack_from("IIQ", image, 16 * index)
            values.append(int.from_bytes(image[value : value + size], "little") if kind == 0 else value)
        self.function(*values)


@dataclass
class PythonProgram:
    """An engine's program with one kernel."""

    made: PythonKernel

    def build(self, options: str) -> str:
        return ""

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        return {KERNEL_NAME: self.made.interface}

    def kernel(self, name: str) -> PythonKernel:
        return self.made

    def network(self, plugs: Plugs = no_plugs) -> None:
        return None


@dataclass
class Watcher:
    """Everything that NOTICES tells while it listens."""

    reserved: list[Block] = field(default_factory=list)
    freed: list[Block] = field(default_factory=list)
    migrations: list[tuple[str, Any, Any]] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    ignored: list[int] = field(default_factory=list)
    missed: list[Block] = field(default_factory=list)

    def bank_ignored(self, buffer: Buffer, device: Device) -> None:
        self.ignored.append(buffer.bank)

    def bank_full(self, buffer: Buffer, block: Block) -> None:
        self.missed.append(block)

    def block_reserved(self, block: Block) -> None:
        self.reserved.append(block)

    def block_freed(self, block: Block) -> None:
        self.freed.append(block)

    def migrated(self, buffer: Buffer, source: Any, target: Any, begin: int, reason: str) -> None:
        self.migrations.append((reason, source, target))

    def operation_began(self, event: Event, operation: Any) -> None:
        self.operations.append(operation.name)


class Machine:
    """A platform of the given boards, a context with all of its devices, and a queue for each."""

    def __init__(self, *boards: str | BoardDescription, simulator: bool = False, modelled: bool = False) -> None:
        """`modelled`: with a simulated clock."""
        described = [describe(board) if isinstance(board, str) else board for board in boards]
        self.scheduler = ModelScheduler() if modelled else Scheduler()
        self.platform = Platform(
            Personality("test", "test", "OpenCL 3.0 test"),
            [Board(SimulatedBoard(board), board.memory_system(), simulator) for board in described],
            None,
            self.scheduler,
        )
        self.devices = self.platform.devices
        self.context = Context(self.platform, self.devices)
        self.queues = [CommandQueue(self.context, device) for device in self.devices]
        self.watcher = Watcher()
        self.kept: list[Buffer] = []

    @property
    def device(self) -> Device:
        return self.devices[0]

    @property
    def queue(self) -> CommandQueue:
        return self.queues[0]

    def buffer(self, size: int, flags: int = cl.CL_MEM_READ_WRITE, **wishes: Any) -> Buffer:
        return Buffer(self.context, flags, size, **wishes)

    def keep(self, buffer: Buffer) -> Buffer:
        """The buffer, which lives as long as the machine."""
        self.kept.append(buffer)
        return buffer

    def sub_buffer(self, parent: Buffer, origin: int, size: int) -> Buffer:
        return Buffer(self.context, parent.flags, size, parent=parent, origin=origin)

    def bind(self, buffer: Buffer, device: int = 0) -> int:
        """Gives the buffer its place, as any transfer would; returns the board address."""
        buffer.bind(self.devices[device])
        block = buffer.settled()
        assert block is not None
        return block.address

    def write(self, buffer: Buffer, data: bytes, offset: int = 0, device: int = 0) -> None:
        source = ctypes.create_string_buffer(data, len(data))
        buffer.bind(self.devices[device])
        operation = WriteBuffer(self.devices[device], buffer, offset, len(data), ctypes.addressof(source))
        self.queues[device].run(cl.CL_COMMAND_WRITE_BUFFER, operation, blocking=True)

    def written(self, data: bytes) -> Buffer:
        """Returns a buffer of these bytes, which were written to the first board."""
        buffer = self.buffer(len(data))
        self.write(buffer, data)
        return buffer

    def read(self, buffer: Buffer, size: int | None = None, offset: int = 0, device: int = 0) -> bytes:
        count = buffer.size - offset if size is None else size
        target = ctypes.create_string_buffer(count)
        buffer.bind(self.devices[device])
        operation = ReadBuffer(self.devices[device], buffer, offset, count, ctypes.addressof(target))
        self.queues[device].run(cl.CL_COMMAND_READ_BUFFER, operation, blocking=True)
        return target.raw

    def kernel(
        self,
        function: Function,
        *locations: str | None,
        source: str = "source",
        given: Sequence[Buffer | int | None] = (),
    ) -> Kernel:
        """A kernel of a program of its own; `given`: its first arguments, buffers and pointers."""
        arguments = tuple(
            ArgumentInterface(
                f"a{index}",
                "int" if location is None else "char*",
                cl.CL_KERNEL_ARG_ADDRESS_PRIVATE if location is None else cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
                0,
                0,
                location or "",
            )
            for index, location in enumerate(locations)
        )
        made: Any = PythonProgram(PythonKernel(KernelInterface(KERNEL_NAME, arguments), function))
        program = Program(self.context, self.devices, source=source, made=made)
        program.claim(self.devices)
        for device in self.devices:  # boards of other kinds have programs of their own
            program.on(device)._made = made
        program.build(self.devices, "")
        kernel = Kernel(program, KERNEL_NAME)
        for index, argument in enumerate(given):
            if isinstance(argument, int):
                kernel.set_pointer(index, argument)
            else:
                kernel.set_buffer(index, argument)
        return kernel

    def launch_of(self, kernel: Kernel, device: int = 0) -> LaunchKernel:
        """A launch of one work-item, which is not enqueued."""
        return new_launch(kernel, self.devices[device], 1, (0, 0, 0, 1, 1, 1, 1, 1, 1), True)

    def enqueue(self, kernel: Kernel, device: int = 0) -> Event:
        return self.queues[device].enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, self.launch_of(kernel, device))

    def run(self, kernel: Kernel, device: int = 0) -> None:
        event = self.enqueue(kernel, device)
        self.queues[device].finish()
        assert event.status == 0

    def user_event(self) -> Event:
        return Event(self.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)

    def calls(self, device: int = 0) -> dict[str, tuple[int, int]]:
        """Calls and bytes of each MMD call made so far, programming left out."""
        traffic = self.devices[device].mmd.traffic
        return {name: (t.calls, t.bytes) for name, t in traffic.items() if t.calls and name != "program"}

    def destroy(self, *buffers: Buffer) -> None:
        """To be called with the last references: `machine.destroy(buffers.pop())`."""
        del buffers
        self.context.reap()


SetOption = Callable[[Option[Any], "str | None"], None]
Boards = Callable[..., Machine]
"""`boards("a10_ref", "hetero")`: a machine with these boards."""


@contextmanager
def listening(watcher: Any) -> Iterator[Any]:
    """NOTICES tells the watcher what happens until the block ends."""
    NOTICES.listen(watcher)
    try:
        yield watcher
    finally:
        NOTICES.silence(watcher)


def machine_of(*boards: str | BoardDescription, simulator: bool = False, modelled: bool = False) -> Iterator[Machine]:
    """A machine whose watcher listens until it is closed."""
    made = Machine(*boards, simulator=simulator, modelled=modelled)
    try:
        with listening(made.watcher):
            yield made
    finally:
        made.scheduler.close(5)
        for device in made.devices:
            device.mmd.close()
