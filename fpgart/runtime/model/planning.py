# SPDX-License-Identifier: Apache-2.0
"""Plans the work of each command on its board when it is enqueued, for the model of time (docs/time.md).

It follows the commands in the order in which the host enqueues them: where each buffer's contents are then, and
which binary a board holds. When the commands really run does not matter, so it is the same in every run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from math import prod
from weakref import WeakKeyDictionary

from fpgart import opencl as cl
from fpgart.board.global_memory import AllocationType
from fpgart.board.timing import Access, Jump
from fpgart.engine.access_patterns import Pattern, patterns
from fpgart.engine.interface import BYTES
from fpgart.engine.kernel_loops import KernelLoops, kernel_loops
from fpgart.engine.kernel_streams import NOTHING, Streams, kernel_streams
from fpgart.engine.links import LinkUse
from fpgart.runtime.commands.launch import SPLIT_KERNELS, LaunchKernel
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, Migration
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
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.model.streaming import Talking
from fpgart.runtime.programs.kernel import SIZES
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Operation

LOOPS_OR_HEADERS = re.compile(r"\b(?:for|while|do)\b|^[ \t]*#[ \t]*include\b", re.MULTILINE)
MOST_REMEMBERED = 256
"""Launches of a program with different numbers, whose patterns are kept."""
INTEGER = re.compile(r"u?(?:char|short|int|long)|unsigned(?: (?:char|short|int|long))?|size_t|bool")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where contents begin on a board; in the plans, None stands for the host's memory."""

    device: Device
    memory: int
    address: int

    @classmethod
    def of(cls, block: Block) -> Spot:
        return cls(block.device, block.memory, block.address)

    def at(self, offset: int) -> Spot:
        return Spot(self.device, self.memory, self.address + offset)

    def in_same_memory(self, other: Spot) -> bool:
        return self.device is other.device and self.memory == other.memory


@dataclass(frozen=True, slots=True)
class Movement:
    """Bytes from one spot to another, `count` MMD calls of `size` bytes each.

    `migration`: a buffer changes its place.
    """

    source: Spot | None
    target: Spot | None
    size: int
    count: int = 1
    migration: bool = False

    @property
    def bytes(self) -> int:
        return self.size * self.count

    def access(self, spot: Spot) -> Access:
        """What it does to the memory of one of its ends."""
        return Access(spot.memory, spot.address, self.bytes, self.count)


@dataclass(frozen=True, slots=True)
class Programming:
    """A board gets another binary."""

    device: Device
    program: Program


@dataclass(frozen=True, slots=True)
class Run:
    """A kernel runs: work-items, how many of them its hardware takes at once, and each byte of its arguments once.

    `cycles` is what the loops of a work-item take; None where they cannot be counted.
    """

    device: Device
    program: str
    kernel: str
    work_items: int
    width: int
    accesses: tuple[Access, ...]
    cycles: int | None = 1
    uses: tuple[LinkUse, ...] = ()
    """What it moved through cables."""
    talking: Talking | None = None
    """What it does with channels, where that is known; else `untold` says why not, of a kernel that has channels."""
    untold: str = ""
    depth: int = 0
    """Cycles from where an iteration begins until it ends."""
    patterns: tuple[tuple[int, Pattern], ...] = ()
    """How it goes through memory, by index, where that is not from the first byte of a buffer to the last."""


Step = Movement | Programming | Run


class Planner:
    """Turns operations into steps; to be asked in the order of the commands."""

    def __init__(self) -> None:
        self._contents: WeakKeyDictionary[Buffer, Spot | None] = WeakKeyDictionary()
        self._loaded: dict[Device, str] = {}
        self._widths: WeakKeyDictionary[Program, dict[str, int]] = WeakKeyDictionary()
        self._loops: WeakKeyDictionary[Program, Mapping[str, KernelLoops]] = WeakKeyDictionary()
        self._streams: WeakKeyDictionary[Program, Streams] = WeakKeyDictionary()
        self._patterns: WeakKeyDictionary[Program, dict[object, list[Pattern]]] = WeakKeyDictionary()

    @singledispatchmethod
    def steps(self, operation: Operation | None) -> list[Step]:
        """What the boards do for an operation, one step after another; nothing for work of the host alone."""
        return []

    # Where contents are

    def _spot(self, buffer: Buffer) -> Spot | None:
        """Where a window's bytes are when this command's turn comes."""
        owner = buffer.owner
        if owner not in self._contents:
            block = owner.home or next(iter((owner.blocks or {}).values()), None)
            self._contents[owner] = None if owner.on_host or block is None else Spot.of(block)
        spot = self._contents[owner]
        return None if spot is None else spot.at(buffer.origin)

    def _move(self, buffer: Buffer, target: Spot, keep: bool) -> list[Step]:
        """The contents of a whole buffer to a block; nothing if they are there, or if there are none."""
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
        """Bytes of a contiguous piece, and how many there are."""
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
        return _between(
            source and source.at(offset),
            target and target.at(other_offset),
            size,
            count,
        )

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

    @steps.register
    def _program(self, operation: ProgramDevice) -> list[Step]:
        self._loaded[operation.device] = operation.program.identity
        return [Programming(operation.device, operation.program)]

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
        sizes = SIZES.unpack(operation.sizes)
        work_items = sizes[3] * sizes[4] * sizes[5]
        width = self._widths_of(program).get(kernel.name, 1)
        cycles = self._cycles_of(operation)
        run = Run(device, program.identity, kernel.name, work_items, width, tuple(accesses), cycles, operation.uses)
        known = self._loops_of(program).get(kernel.name)
        if known is not None:
            run = replace(self._with_patterns(run, known, operation), depth=known.depth)
        found.append(self._with_channels(run, operation))
        return found

    @staticmethod
    def _places(launch: LaunchKernel) -> list[Spot]:
        """Where its buffers have to be; a simulator that has no binary yet has only promised the memory."""
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

    def _cycles_of(self, launch: LaunchKernel) -> int | None:
        """What the loops of a work-item take, with the launch's arguments; None where they cannot be counted."""
        found = self._loops_of(launch.program).get(launch.kernel.name)
        if found is not None:
            return found.cycles(scalars(launch))
        listing = launch.program.listing
        return 1 if listing is not None and LOOPS_OR_HEADERS.search(listing) is None else None

    def _loops_of(self, program: Program) -> Mapping[str, KernelLoops]:
        if program not in self._loops:
            found = self._streams_of(program)
            self._loops[program] = loops(program) if found is NOTHING else found.kernels
        return self._loops[program]

    def _streams_of(self, program: Program) -> Streams:
        if program not in self._streams:
            self._streams[program] = streams(program)
        return self._streams[program]

    def _with_patterns(self, run: Run, known: KernelLoops, launch: LaunchKernel) -> Run:
        """The same with the ways in which its loops go through its buffers."""
        found = self._patterns_of(run, known, launch) if known.touches else []
        if not found:
            return run
        arguments = launch.kernel.interface.arguments
        accesses, told = list(run.accesses), []
        for at, (index, _) in enumerate(launch.buffers):
            mine = [pattern for pattern in found if pattern.array == arguments[index].name]
            if mine:
                accesses[at] = replace(accesses[at], jumps=tuple(map(jump_of, mine)))
                told += [(accesses[at].memory, pattern) for pattern in mine]
        return replace(run, accesses=tuple(accesses), patterns=tuple(told))

    def _patterns_of(self, run: Run, known: KernelLoops, launch: LaunchKernel) -> list[Pattern]:
        """Those of earlier launches with the same numbers are not looked for again."""
        earlier = self._patterns.setdefault(launch.program, {})
        numbers = scalars(launch)
        key = run.kernel, tuple(numbers.items()), run.work_items, run.width
        if key not in earlier:
            if len(earlier) >= MOST_REMEMBERED:
                earlier.clear()
            earlier[key] = patterns(known, numbers, run.work_items, run.width)
        return earlier[key]

    def _with_channels(self, run: Run, launch: LaunchKernel) -> Run:
        """The same with what is known of its channels."""
        found = self._streams_of(launch.program)
        if run.kernel not in found.groups:
            return run
        if cabled_launch(launch) is not None:
            return replace(run, untold="the board has cables")
        if run.kernel in found.untold:
            return replace(run, untold=found.untold[run.kernel])
        if run.width > 1:
            return replace(run, untold=f"{run.width} work-items at once")
        return replace(run, talking=Talking(found, scalars(launch)))

    def _widths_of(self, program: Program) -> dict[str, int]:
        if program not in self._widths:
            self._widths[program] = widths(program)
        return self._widths[program]


def jump_of(pattern: Pattern) -> Jump:
    """What a pattern is to the memory."""
    return Jump(pattern.run, pattern.stride, pattern.count)


def cabled_launch(operation: Operation | None) -> LaunchKernel | None:
    """The launch that an operation is a stage of, if it may use cables: how many packets is known at its end."""
    launch = getattr(operation, "launch", None)
    is_cabled = isinstance(launch, LaunchKernel) and launch.device.has_cables and launch.needs_thread
    return launch if is_cabled else None


def widths(program: Program) -> dict[str, int]:
    """By kernel, the work-items that enter its hardware per cycle: num_simd_work_items times num_compute_units.

    A container without source knows the first of them.
    """
    if program.is_container and program.source is None:
        from fpgart.aocx import container
        from fpgart.aocx.autodiscovery import parse

        text = container.Container.decode(program.binary(program.devices[0])).text(container.AUTODISCOVERY)
        return {kernel.name: max(1, kernel.vector_lanes) for kernel in parse(text).kernels}
    return {
        name: max(1, prod(numbers.get("num_simd_work_items", ()))) * max(1, prod(numbers.get("num_compute_units", ())))
        for name, numbers in program.hardware().items()
    }


def loops(program: Program) -> dict[str, KernelLoops]:
    """By kernel, the loops in the OpenCL C that a program is made of; empty where that is not known."""
    if program.listing is None:
        return {}
    return kernel_loops(program.listing, program.devices[0].board.build_options(program.options))


def streams(program: Program) -> Streams:
    """What the kernels in the OpenCL C that a program is made of do with channels."""
    if program.listing is None:
        return NOTHING
    return kernel_streams(program.listing, program.devices[0].board.build_options(program.options))


def scalars(launch: LaunchKernel) -> dict[str, int]:
    """The launch's arguments that are integers, by name."""
    found = {}
    for argument, (kind, size, value) in zip(launch.kernel.interface.arguments, launch.arguments, strict=True):
        if kind == BYTES and isinstance(value, bytes) and INTEGER.fullmatch(argument.type_name):
            signed = not argument.type_name.startswith(("u", "size_t", "bool"))
            found[argument.name] = int.from_bytes(value[:size], "little", signed=signed)
    return found


def _chunks(size: int) -> list[tuple[int, int, int]]:
    """Offset, bytes and number of the equal pieces in which patterns are written."""
    whole, rest = divmod(size, FILL_CHUNK)
    found = [(0, FILL_CHUNK, whole)] if whole else []
    return [*found, (whole * FILL_CHUNK, rest, 1)] if rest else found


def _between(source: Spot | None, target: Spot | None, size: int, count: int = 1) -> list[Step]:
    """A movement, unless both ends are in the host's memory: that costs boards nothing."""
    return [] if source is None and target is None else [Movement(source, target, size, count)]


def _spot_of_pointer(pointer: UsmPointer) -> Spot | None:
    block = pointer.block
    return None if block is None else Spot(block.device, block.memory, pointer.board_address)


def _access_of(allocation: UsmAllocation, device: Device) -> Access:
    """An allocation that a kernel was given; what is not the board's own is behind the memory that has its kind."""
    if allocation.block is not None:
        return Access(allocation.block.memory, allocation.block.address, allocation.size)
    kind = AllocationType[allocation.kind.name]
    for index, memory in enumerate(device.board.memories):
        if kind in memory.allocation_types:
            return Access(index, memory.begin, allocation.size)
    return Access(0, device.board.memories[0].begin, allocation.size)
