# SPDX-License-Identifier: Apache-2.0
"""Runs captured launches alone, by the runtime's objects, and compares the memories afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError
from fpgart.base.input_file import LARGEST_CONTAINER, read_input
from fpgart.base.personality import PERSONALITIES
from fpgart.base.ranges import joined
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import describe
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.cli.comparison import MOST_TOLD, compare
from fpgart.engine.interface import NoEngine
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.transfers import ReadBuffer, WriteBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.platform import Board, Platform
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.loading import from_binary
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.watch.captured import (
    MANIFEST,
    ArgumentKind,
    CapturedArgument,
    CapturedLaunch,
    CapturedMemory,
    CaptureError,
    ProgramKind,
)
from fpgart.watch.words import times

PAGE = 4096


def launches_in(folder: Path) -> list[Path]:
    """Returns the folder itself if it is a captured launch, else those in it. Raises CaptureError if there are none."""
    if (folder / MANIFEST).exists():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not found:
        raise CaptureError(f"{folder} has no captured launch ({MANIFEST})")
    return found


@dataclass(slots=True)
class Result:
    """The result of a comparison. `words` end with a line end."""

    words: str
    differs: bool


def replay(folder: Path, board: str | None, tolerance: float) -> Result:
    """Runs the launch in a folder and compares memories. Raises CaptureError, and OptionError for an unknown board."""
    launch = CapturedLaunch.load(folder)
    with Replay(folder, launch, board or launch.board) as run:
        try:
            seconds = run.run()
        except CLError as error:
            words = f"{run.title}: {error.name}: {error}\n"
            return Result(words, differs=launch.status is None or launch.status >= 0)
        head = f"{run.title}: {seconds * 1e3:.3f} ms\n"
        if launch.status is None:
            return Result(head + "  nothing to compare with: the captured launch never ended\n", False)
        if launch.status < 0:
            failure = cl.NAMES_OF_STATUS.get(launch.status, str(launch.status))
            return Result(head + f"  it succeeds here, but failed when it was captured: {failure}\n", True)
        results = [compared(run, number, tolerance) for number in range(len(launch.memories))]
        return Result(head + "".join(each.words for each in results), any(each.differs for each in results))


def compared(run: Replay, number: int, tolerance: float) -> Result:
    """Compares a memory with its captured contents, as values of the first argument that leads there."""
    memory = run.launch.memories[number]
    uses = [a for a in run.launch.arguments if a.kind is ArgumentKind.MEMORY and a.memory == number]
    name, type_name, offset = (uses[0].name, uses[0].type_name, uses[0].offset) if uses else ("", "", 0)
    found = compare(run.captured(number), run.now(number), type_name, tolerance, offset)
    title = f"{memory.what}, argument '{name}'" if uses else memory.what
    if not found.count:
        return Result(f"  {title}: the same\n", False)
    lines = [f"  {title}: {found.count} of {times(found.values, 'value')} differ"]
    lines += [f"    {name}{each}" for each in found.told]
    if found.count > MOST_TOLD:
        lines.append(f"    and {found.count - MOST_TOLD} more")
    return Result("\n".join(lines) + "\n", True)


class Replay:
    """A platform with one board, on which a captured launch is set up; a context manager."""

    def __init__(self, folder: Path, launch: CapturedLaunch, board: str) -> None:
        """Raises CaptureError, OptionError."""
        self.folder = folder
        self.launch = launch
        try:
            described = describe(board)
        except BoardSpecError as error:
            raise CaptureError(f"{board}: {error}") from None
        self._mmd = SimulatedBoard(described)
        self._scheduler = Scheduler()
        personality = PERSONALITIES["fpgart"]
        made = Board(self._mmd, described.memory_system())
        self._platform = Platform(personality, [made], None, self._scheduler)
        self._mapped: list[tuple[int, int]] = []
        self._buffers: dict[int, Buffer] = {}
        self._parts: list[Buffer] = []
        self._context: Context | None = None

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *failure: object) -> None:
        self._scheduler.close(5)
        for address, size in self._mapped:
            lib.unmap(address, size)
        self._parts.clear()
        self._buffers.clear()
        if self._context is not None:
            self._context.reap()
        self._mmd.close()

    @property
    def title(self) -> str:
        engine = self._platform.engine
        return f"{self.launch.kernel}, launch {self.launch.number}, on {engine.name} {engine.version}"

    def run(self) -> float:
        """Runs the launch to its end; returns the seconds. Raises CLError as the runtime does, CaptureError."""
        launch = self.launch
        device = self._platform.devices[0]
        self._restore_fixed()  # before the board and the engine take their stretches of addresses
        context = self._context = Context(self._platform, [device])
        self._queue = CommandQueue(context, device)
        kernel = self._kernel(context)
        if kernel.engine_kernel.waits_for_others:
            raise CaptureError(
                f"kernel '{kernel.name}' waits for other kernels (channels, pipes), so it cannot run alone"
            )
        for index, argument in enumerate(launch.arguments):
            self._set(kernel, index, argument, context)
        self._fill_buffers()
        sizes = (*_three(launch.offset, 0), *_three(launch.global_size, 1), *_three(launch.local_size, 1))
        operation = new_launch(kernel, device, len(launch.global_size), sizes, bool(launch.local_size))
        begin = perf_counter()
        self._queue.run(cl.CL_COMMAND_NDRANGE_KERNEL, operation, blocking=True)
        return perf_counter() - begin

    def _kernel(self, context: Context) -> Kernel:
        """Returns the captured kernel. Raises CaptureError if its program cannot be built or loaded here."""
        try:
            return Kernel(self._built(context), self.launch.kernel)
        except CLError as error:
            raise CaptureError(f"{self.title}: {error.name}: {error}") from None

    def _built(self, context: Context) -> Program:
        captured, devices = self.launch.program, context.devices
        data = self._bytes(captured.file, LARGEST_CONTAINER)
        if captured.kind is ProgramKind.BINARY:
            program = from_binary(context, devices, data)
            if program.executable:
                return program
        elif captured.kind is ProgramKind.IL:
            program = Program(context, devices, il=data)
        else:
            program = Program(context, devices, source=data.decode(errors="surrogateescape"))
        if isinstance(self._platform.engine, NoEngine):
            raise CaptureError(self._platform.engine.reason)
        program.claim(devices)
        with working_in(captured.folder):
            program.build(devices, captured.options)
        return program

    def _bytes(self, name: str, most: int) -> bytes:
        try:
            return read_input(self.folder / name, most)
        except OSError as error:
            raise CaptureError(f"{self.folder / name}: {error.strerror}") from None

    # Memories

    def _contents(self, memory: CapturedMemory, name: str) -> bytes:
        data = self._bytes(name, memory.size)
        if len(data) != memory.size:
            raise CaptureError(f"{self.folder / name} has {len(data)} bytes instead of {memory.size}")
        return data

    def _restore_fixed(self) -> None:
        """Maps allocations at their captured addresses, so that pointers in memory stay valid."""
        fixed = [memory for memory in self.launch.memories if memory.fixed]
        for begin, end in page_ranges(fixed):
            if not lib.map_at(begin, end - begin):
                raise CaptureError(
                    f"addresses {begin:#x} to {end:#x}, where the launch had allocations, are taken in this process: "
                    "try again, they are chosen at random"
                )
            self._mapped.append((begin, end - begin))
        for memory in fixed:
            data = self._contents(memory, memory.before)
            lib.copy_bytes(memory.address, int(ffi.cast("uintptr_t", ffi.from_buffer(data))), memory.size)

    def _fill_buffers(self) -> None:
        """Fills the buffers. It is called when the kernel has its arguments, which decide the buffers' places."""
        device = self._platform.devices[0]
        for number, buffer in self._buffers.items():
            memory = self.launch.memories[number]
            data = self._contents(memory, memory.before)
            address = int(ffi.cast("uintptr_t", ffi.from_buffer(data)))
            buffer.bind(device)
            operation = WriteBuffer(device, buffer, 0, buffer.size, address)
            self._queue.run(cl.CL_COMMAND_WRITE_BUFFER, operation, blocking=True)

    def now(self, number: int) -> bytes:
        """Returns the contents of a memory."""
        memory = self.launch.memories[number]
        if memory.fixed:
            return bytes(ffi.buffer(ffi.cast("char *", memory.address), memory.size))
        device, buffer = self._platform.devices[0], self._buffers[number]
        data = bytearray(memory.size)
        address = int(ffi.cast("uintptr_t", ffi.from_buffer(data)))
        self._queue.run(cl.CL_COMMAND_READ_BUFFER, ReadBuffer(device, buffer, 0, memory.size, address), blocking=True)
        return bytes(data)

    def captured(self, number: int) -> bytes:
        """Returns its contents after the captured launch."""
        memory = self.launch.memories[number]
        return self._contents(memory, memory.after or memory.before)

    # Arguments

    def _set(self, kernel: Kernel, index: int, argument: CapturedArgument, context: Context) -> None:
        if argument.kind is ArgumentKind.VALUE:
            kernel.set_value(index, bytes.fromhex(argument.value))
        elif argument.kind is ArgumentKind.LOCAL:
            kernel.set_local(index, argument.size)
        elif argument.kind is ArgumentKind.NULL:
            kernel.set_buffer(index, None)
        elif argument.kind is ArgumentKind.UNKNOWN:
            raise CaptureError(f"{kernel.describe(index)} pointed into unknown memory, which was not captured")
        elif self.launch.memories[argument.memory].fixed:
            kernel.set_pointer(index, self.launch.memories[argument.memory].address + argument.offset)
        else:
            kernel.set_buffer(index, self._buffer(argument, context))

    def _buffer(self, argument: CapturedArgument, context: Context) -> Buffer:
        size = self.launch.memories[argument.memory].size
        if argument.memory not in self._buffers:
            self._buffers[argument.memory] = Buffer(context, cl.CL_MEM_READ_WRITE, size)
        whole = self._buffers[argument.memory]
        if (argument.offset, argument.size) == (0, size):
            return whole
        part = Buffer(context, whole.flags, argument.size, parent=whole, origin=argument.offset)
        self._parts.append(part)
        return part


def _three(numbers: list[int], rest: int) -> tuple[int, ...]:
    return (*numbers, *[rest] * (3 - len(numbers)))


def page_ranges(memories: list[CapturedMemory]) -> list[tuple[int, int]]:
    """Returns the pages of memories, as ranges that do not touch: several memories may be on one page."""
    pages = ((each.address // PAGE * PAGE, -(-(each.address + each.size) // PAGE) * PAGE) for each in memories)
    return joined(pages)


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Changes to the folder for options like -I; stays if the folder has been removed."""
    before = os.getcwd()
    if os.path.isdir(folder):
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
