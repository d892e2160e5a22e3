# SPDX-License-Identifier: Apache-2.0
"""FPGART_CAPTURE: launches with all of their inputs, which `fpgart replay` runs again alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from fpgart._native import ffi
from fpgart.base import log
from fpgart.base.closed_memory import driver_address
from fpgart.base.config import working_folder
from fpgart.base.errors import CLError
from fpgart.base.option_values import Launches
from fpgart.engine.interface import BYTES, LOCAL, NULL
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.captured import (
    ArgumentKind,
    CapturedArgument,
    CapturedLaunch,
    CapturedMemory,
    CapturedProgram,
    ProgramKind,
)

PIECE = 1 << 20
PRIVATE = 0o700
"""The mode of folders. Captures contain all data that the host gave its kernels."""


@dataclass(slots=True)
class Memories:
    """The memories that a launch may access, each once; memory that arguments share stays shared."""

    found: list[CapturedMemory] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def add(self, what: str, address: int, size: int, *, fixed: bool) -> int:
        """Adds a memory, unless it has been added before; returns its number."""
        if address not in self._numbers:
            number = self._numbers[address] = len(self.found)
            self.found.append(CapturedMemory(what, size, address, fixed, f"{number}.before.bin"))
        return self._numbers[address]


class Capture:
    """Listens to NOTICES; writes the memories of chosen launches before and after each."""

    def __init__(self, folder: Path, wanted: Iterable[Launches]) -> None:
        """Raises OSError if the folder cannot be created."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(PRIVATE, exist_ok=True)
        self._folder = folder.resolve()
        self._wanted = tuple(wanted)
        self._counts: dict[str, count[int]] = {}
        self._under_way: dict[int, tuple[Path, CapturedLaunch]] = {}

    def operation_began(self, event: Event, operation: DeviceOperation) -> None:
        launched = running_kernel(operation)
        if launched is None:
            return
        name = launched.kernel.name
        number = next(self._counts.setdefault(name, count(1)))
        if not any(fnmatchcase(name, each.pattern) and each.first <= number <= each.last for each in self._wanted):
            return
        try:
            folder = self._new_folder(f"{name}-{number}")
            launch = describe(launched, number, folder)
            settle(launched, launch.memories)
            for memory in launch.memories:
                write_memory(folder / memory.before, memory.address, memory.size)
            launch.save(folder)
        except (OSError, CLError) as error:
            log.warning(f"launch {number} of kernel '{name}' is not captured: {error}")
            return
        self._under_way[id(operation)] = folder, launch

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        folder, launch = self._under_way.pop(id(operation), (None, None))
        if folder is None or launch is None:
            return
        try:
            if status >= 0:
                settle(operation, launch.memories)
            for number, memory in enumerate(launch.memories):
                if status >= 0 and not holds(folder / memory.before, memory.address, memory.size):
                    memory.after = f"{number}.after.bin"
                    write_memory(folder / memory.after, memory.address, memory.size)
            launch.status = status
            launch.save(folder)
        except (OSError, CLError) as error:
            log.warning(f"{folder} lacks the memory contents after the launch: {error}")

    def _new_folder(self, name: str) -> Path:
        """Creates the folder `name`, or that with a number behind it if there is one already."""
        folder, again = self._folder / name, 1
        while True:
            try:
                folder.mkdir(PRIVATE)
                return folder
            except FileExistsError:
                again += 1
                folder = self._folder / f"{name}.{again}"


def describe(operation: LaunchKernel, number: int, folder: Path) -> CapturedLaunch:
    """Returns the inputs of a launch that has not run yet; writes the program to the folder.

    Raises OSError, CLError.
    """
    kernel, device = operation.kernel, operation.device
    engine = kernel.context.platform.engine
    offset, whole, local = operation.nd_range()
    memories = Memories()
    arguments = [argument_of(operation, index, memories) for index in range(len(operation.arguments))]
    add_reachable(operation, memories)
    options = kernel.program.builds[device].options
    return CapturedLaunch(
        kernel=kernel.name,
        number=number,
        board=device.board.name,
        engine=f"{engine.name} {engine.version}",
        program=program_of(kernel.program, operation, folder, options),
        offset=offset,
        global_size=whole,
        local_size=local,
        arguments=arguments,
        memories=memories.found,
    )


def program_of(program: Program, operation: LaunchKernel, folder: Path, options: str) -> CapturedProgram:
    if program.source is not None:
        kind, file, data = ProgramKind.SOURCE, "program.cl", program.source.encode(errors="surrogateescape")
    elif program.il:
        kind, file, data = ProgramKind.IL, "program.spv", program.il
    else:
        kind, file, data = ProgramKind.BINARY, "program.bin", program.binary(operation.device)
    (folder / file).write_bytes(data)
    return CapturedProgram(kind, file, options, working_folder())


def argument_of(operation: LaunchKernel, index: int, memories: Memories) -> CapturedArgument:
    interface = operation.kernel.interface.arguments[index]
    made = CapturedArgument(ArgumentKind.NULL, interface.name, interface.type_name)
    kind, size, value = operation.arguments[index]
    buffers = dict(operation.buffers + operation.on_host)
    if index in buffers:
        made.kind = ArgumentKind.MEMORY
        buffer = buffers[index]
        made.memory = memories.add(*place_of(operation, index, buffer), fixed=False)
        made.offset, made.size = buffer.origin, buffer.size
    elif interface.pipe is not None:
        made.kind = ArgumentKind.PIPE
    elif kind == BYTES and isinstance(value, bytes):
        made.kind, made.size, made.value = ArgumentKind.VALUE, size, value.hex()
    elif kind == LOCAL:
        made.kind, made.size = ArgumentKind.LOCAL, size
    elif kind != NULL and isinstance(value, int):
        found = allocation_at(operation, value)
        made.kind = ArgumentKind.MEMORY if found is not None else ArgumentKind.UNKNOWN
        if found is not None:
            what, address, length = found
            made.memory = memories.add(what, address, length, fixed=True)
            made.offset, made.size = value - address, address + length - value
    return made


def place_of(operation: LaunchKernel, index: int, buffer: Buffer) -> tuple[str, int, int]:
    """Returns a buffer's name, its address in this process, and its bytes; for a sub-buffer, its parent's."""
    owner = buffer.owner
    numbers = [number for number, _ in operation.buffers]
    if index in numbers:
        return f"buffer {owner.number}", operation.places[numbers.index(index)].pointer, owner.size
    return f"buffer {owner.number}", owner.host_address(), owner.size


def allocation_at(operation: LaunchKernel, address: int) -> tuple[str, int, int] | None:
    """Returns the allocation that a pointer lies in, with begin and size."""
    given = operation.given_allocation(address)
    if given is not None:
        return f"{given.kind.name.lower()} allocation {given.number}", given.address, given.size
    shared = operation.kernel.context.svm.find(address)
    return ("SVM allocation", shared.pointer, shared.size) if shared is not None else None


def add_reachable(operation: LaunchKernel, memories: Memories) -> None:
    """Adds the memories that the kernel may reach through pointers stored in memory.

    For unified shared memory the host has declared them; of SVM all allocations are added, if the kernel uses any.
    """
    context = operation.kernel.context
    if operation.usm is not None:
        for each in context.usm.all():
            if operation.usm.may_touch(each):
                memories.add(f"{each.kind.name.lower()} allocation {each.number}", each.address, each.size, fixed=True)
    if any(memory.what == "SVM allocation" for memory in memories.found):
        for shared in context.svm.all():
            memories.add("SVM allocation", shared.pointer, shared.size, fixed=True)


# Bytes. They are read without the MMD, because watchers are not part of a board's traffic.


def settle(operation: DeviceOperation, memories: list[CapturedMemory]) -> None:
    """Copies bytes that are newer in the engine's buffers to this process. Raises CLError."""
    mirrors = operation.device.platform.engine.mirrors
    if mirrors is not None:
        for memory in memories:
            mirrors.fetch(memory.address, memory.address + memory.size)


def view(address: int, size: int) -> Any:
    return ffi.buffer(ffi.cast("char *", driver_address(address)), size)


def write_memory(path: Path, address: int, size: int) -> None:
    """Writes a file of these bytes, with holes for zeros. Raises OSError."""
    memory = view(address, size)
    with path.open("wb") as file:
        for begin in range(0, size, PIECE):
            piece = memory[begin : begin + PIECE]
            if piece.count(0) == len(piece):
                file.seek(len(piece), os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate(size)


def holds(path: Path, address: int, size: int) -> bool:
    """True if a file has these bytes. Raises OSError."""
    memory = view(address, size)
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as kept:
        return all(kept[at : at + PIECE] == memory[at : min(at + PIECE, size)] for at in range(0, size, PIECE))
