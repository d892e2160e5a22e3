# SPDX-License-Identifier: Apache-2.0
"""Plans the work of each command on its board when it is enqueued, for the model of time (docs/time.md).

It follows the commands in the order in which the host enqueues them: where each buffer's contents are, and which binary
a board holds. The plans do not depend on when the commands really run, so they are the same in every run.
"""

from __future__ import annotations

from functools import singledispatchmethod
from weakref import WeakKeyDictionary

from fpgart.base import opencl as cl
from fpgart.board.global_memory import AllocationType
from fpgart.board.timing import Access
from fpgart.runtime.commands.launch import SPLIT_KERNELS, LaunchKernel
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, Migration
from fpgart.runtime.commands.packets import MoveVariable
from fpgart.runtime.commands.programming import ProgramDevice
from fpgart.runtime.commands.transfers import (
    FILL_CHUNK,
    CopyBuffer,
    FillBuffer,
    ReadBuffer,
    ReadRect,
    RectTransfer,
    WriteBuffer,
    WriteRect,
)
from fpgart.runtime.commands.usm import UsmCopy, UsmFill, UsmPointer
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.model.kernel_planning import KernelPlans
from fpgart.runtime.model.steps import Movement, Programming, Spot, Step
from fpgart.runtime.scheduling.event import Operation


class Planner:
    """Turns operations into steps. It has to get them in the order of the commands."""

    def __init__(self) -> None:
        self._contents: WeakKeyDictionary[Buffer, Spot | None] = WeakKeyDictionary()
        self._loaded: dict[Device, str] = {}
        self._kernels = KernelPlans()

    @singledispatchmethod
    def steps(self, operation: Operation | None) -> list[Step]:
        """Returns the boards' steps for an operation, in order; none for work of the host alone."""
        return []

    # Places of contents

    def _spot(self, buffer: Buffer) -> Spot | None:
        """Returns the place of a buffer's first byte when the command runs."""
        owner = buffer.owner
        if owner not in self._contents:
            block = owner.home or next(iter((owner.blocks or {}).values()), None)
            self._contents[owner] = None if owner.on_host or block is None else Spot.of(block)
        spot = self._contents[owner]
        return None if spot is None else spot.at(buffer.origin)

    def _move(self, buffer: Buffer, target: Spot, keep: bool) -> list[Step]:
        """Returns the migration of a whole buffer to a block; nothing if it is there, or has no contents."""
        owner = buffer.owner
        known = owner in self._contents or owner.home is not None or owner.on_host
        source = self._spot(owner) if known else target
        self._contents[owner] = target
        if not keep or (source is not None and source.in_same_memory(target)):
            return []
        return [Movement(source, target, owner.size, migration=True)]

    # Transfers

    @steps.register
    def _write(self, operation: WriteBuffer) -> list[Step]:
        return self._in(operation.buffer, operation.offset, operation.size)

    @steps.register
    def _read(self, operation: ReadBuffer) -> list[Step]:
        return self._out(operation.buffer, operation.offset, operation.size)

    @steps.register
    def _write_rect(self, operation: WriteRect) -> list[Step]:
        return self._in(operation.buffer, operation.offset, *self._rows(operation))

    @steps.register
    def _read_rect(self, operation: ReadRect) -> list[Step]:
        return self._out(operation.buffer, operation.offset, *self._rows(operation))

    @staticmethod
    def _rows(operation: RectTransfer) -> tuple[int, int]:
        """Returns the size of a contiguous piece in bytes, and the number of pieces."""
        parts = list(operation.pieces())
        return parts[0][2], len(parts)

    @steps.register
    def _fill(self, operation: FillBuffer) -> list[Step]:
        return [
            step
            for offset, size, count in _chunks(operation.size)
            for step in self._in(operation.buffer, operation.offset + offset, size, count)
        ]

    @steps.register
    def _map(self, operation: MapBuffer) -> list[Step]:
        if operation.flags & cl.CL_MAP_WRITE_INVALIDATE_REGION:
            return []
        return self._out(operation.buffer, operation.offset, operation.size)

    @steps.register
    def _unmap(self, operation: UnmapBuffer) -> list[Step]:
        if not operation.flags & HOST_WRITES:
            return []
        return self._in(operation.buffer, operation.offset, operation.size)

    @steps.register
    def _copy(self, operation: CopyBuffer) -> list[Step]:
        (offset, other_offset, size), count = operation.parts[0], len(operation.parts)
        source, target = self._spot(operation.source), self._spot(operation.destination)
        return _between(source and source.at(offset), target and target.at(other_offset), size, count)

    def _in(self, buffer: Buffer, offset: int, size: int, count: int = 1) -> list[Step]:
        spot = self._spot(buffer)
        return _between(None, spot and spot.at(offset), size, count)

    def _out(self, buffer: Buffer, offset: int, size: int, count: int = 1) -> list[Step]:
        spot = self._spot(buffer)
        return _between(spot and spot.at(offset), None, size, count)

    @steps.register
    def _migrate(self, operation: Migration) -> list[Step]:
        moves = [(buffer, Spot.of(target)) for buffer, target in operation.moves]
        return [step for buffer, spot in moves for step in self._move(buffer, spot, operation.keep)]

    @steps.register
    def _migrate_to_host(self, operation: MigrateToHost) -> list[Step]:
        found: list[Step] = []
        for buffer in operation.buffers:
            owner = buffer.owner
            if operation.keep:
                found += _between(self._spot(owner), None, owner.size)
            self._contents[owner] = None
        return found

    # Unified shared memory

    @steps.register
    def _usm_copy(self, operation: UsmCopy) -> list[Step]:
        return _between(_spot_of_pointer(operation.source), _spot_of_pointer(operation.target), operation.size)

    @steps.register
    def _usm_fill(self, operation: UsmFill) -> list[Step]:
        spot = _spot_of_pointer(operation.target)
        return [
            step
            for offset, size, count in _chunks(operation.size)
            for step in _between(None, spot and spot.at(offset), size, count)
        ]

    # Programs and kernels

    @steps.register(ProgramDevice)
    @steps.register(MoveVariable)
    def _program(self, operation: ProgramDevice | MoveVariable) -> list[Step]:
        device, identity = operation.device, operation.program.identity
        if self._loaded.get(device) == identity:
            return []
        self._loaded[device] = identity
        return [Programming(device, operation.program)]

    @steps.register
    def _launch(self, operation: LaunchKernel) -> list[Step]:
        device, kernel = operation.device, operation.kernel
        program = operation.program
        found: list[Step] = []
        split = kernel.context.compiler_mode == SPLIT_KERNELS
        if split or self._loaded.get(device) != program.identity:
            self._loaded[device] = program.identity
            found.append(Programming(device, program))
        spots = self._places(operation)
        for (_, buffer), spot in zip(operation.buffers, spots, strict=True):
            found += self._move(buffer, spot, keep=True)
        accesses = [
            Access(spot.memory, spot.address + buffer.origin, buffer.size)
            for (_, buffer), spot in zip(operation.buffers, spots, strict=True)
        ]
        if operation.usm is not None:
            accesses += [_access_of(allocation, device) for allocation in operation.usm.allocations]
        found.append(self._kernels.run(operation, tuple(accesses)))
        return found

    @staticmethod
    def _places(launch: LaunchKernel) -> list[Spot]:
        """Returns the places that the launch's buffers need.

        A simulator that has no binary yet knows the memory, but no block.
        """
        if len(launch.places) == len(launch.buffers):
            return [Spot.of(block) for block in launch.places]
        device, promised = launch.device, dict[Buffer, Spot]()
        for index, buffer in launch.buffers:
            location = launch.kernel.interface.arguments[index].buffer_location
            try:
                memory = device.memories.memory_for(location) or 0
            except KeyError:  # the launch will fail
                memory = 0
            promised.setdefault(buffer.owner, Spot(device, memory, device.board.memories[memory].usable_begin))
        return [promised[buffer.owner] for _, buffer in launch.buffers]


def _chunks(size: int) -> list[tuple[int, int, int]]:
    """Returns offset, size and number of the equal pieces in which patterns are written."""
    whole, rest = divmod(size, FILL_CHUNK)
    found = [(0, FILL_CHUNK, whole)] if whole else []
    return [*found, (whole * FILL_CHUNK, rest, 1)] if rest else found


def _between(source: Spot | None, target: Spot | None, size: int, count: int = 1) -> list[Step]:
    """Returns a movement, or nothing if both ends are in the host's memory, which occupies no board."""
    return [] if source is None and target is None else [Movement(source, target, size, count)]


def _spot_of_pointer(pointer: UsmPointer) -> Spot | None:
    block = pointer.block
    return None if block is None else Spot(block.device, block.memory, pointer.board_address)


def _access_of(allocation: UsmAllocation, device: Device) -> Access:
    """Returns the access to an allocation that is an argument of a kernel.

    An allocation in the host's memory counts as one in the board's memory that supports its kind.
    """
    if allocation.block is not None:
        return Access(allocation.block.memory, allocation.block.address, allocation.size)
    kind = AllocationType[allocation.kind.name]
    for index, memory in enumerate(device.board.memories):
        if kind in memory.allocation_types:
            return Access(index, memory.begin, allocation.size)
    return Access(0, device.board.memories[0].begin, allocation.size)
