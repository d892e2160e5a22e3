# SPDX-License-Identifier: Apache-2.0
"""What commands read and write: which bytes of which buffers, allocations and host memory."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from fpgart import opencl as cl
from fpgart.check.words import allocation_maker, allocation_name, buffer_maker, buffer_name
from fpgart.engine.interface import POINTER, ArgumentInterface
from fpgart.engine.opencl_c import Use, argument_uses
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.transfers import (
    CopyBuffer,
    FillBuffer,
    ReadBuffer,
    ReadRect,
    WriteBuffer,
    WriteRect,
    pieces,
)
from fpgart.runtime.commands.usm import UsmFill, UsmTransfer
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Operation

Interval = tuple[int, int]
"""Begin and end (one past the last) of a range of bytes."""
Key = tuple[str, int]


class Mode(enum.IntFlag):
    """`MAYBE_WRITE`: whether a kernel wrote shows when it has run. `ATOMIC`: only by atomic functions."""

    READ = 1
    WRITE = 2
    MAYBE_WRITE = 4
    ATOMIC = 8


@dataclass(frozen=True, slots=True)
class Thing:
    """What is accessed, as findings name it; `through` is the number of the (sub-)buffer that was used."""

    name: str
    maker: str
    through: int = 0
    parent: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """`where` counts in bytes from the begin of what `key` stands for; ranges are in order and apart.

    `argument` is the index of the kernel argument, -1 for other commands.
    """

    key: Key
    thing: Thing
    mode: Mode
    where: tuple[Interval, ...]
    argument: int = -1

    def meets(self, other: Access) -> Interval | None:
        """The first bytes that both touch."""
        mine, theirs = iter(self.where), iter(other.where)
        a, b = next(mine, None), next(theirs, None)
        while a is not None and b is not None:
            begin, end = max(a[0], b[0]), min(a[1], b[1])
            if begin < end:
                return begin, end
            if a[1] <= b[1]:
                a = next(mine, None)
            else:
                b = next(theirs, None)
        return None

    def covers(self, other: Access) -> bool:
        """Whether every byte of the other one is among this one's; sure for one range only."""
        if len(self.where) != 1:
            return self.where == other.where
        begin, end = self.where[0]
        return begin <= other.where[0][0] and other.where[-1][1] <= end


@dataclass(frozen=True, slots=True)
class Part:
    """By what a launch can choose a part of a buffer: launches of one kernel that differ in it may not meet."""

    kernel: str
    chosen: tuple[object, ...] = field(default=())

    def apart(self, other: Part) -> bool:
        return self.kernel == other.kernel and self.chosen != other.chosen


HOST: Key = ("host", 0)
READ, WRITE = Mode.READ, Mode.WRITE


def accesses(operation: Operation | None) -> list[Access]:
    """What a command touches, as far as it is known when it is enqueued."""
    transfer = getattr(operation, "transfer", operation)
    if isinstance(operation, LaunchKernel):
        return list(_of_launch(operation))
    if isinstance(transfer, UsmTransfer):
        return list(_of_usm(transfer))
    if isinstance(operation, CopyBuffer):
        source = tuple(_joined([(a, a + size) for a, _, size in operation.parts]))
        target = tuple(_joined([(b, b + size) for _, b, size in operation.parts]))
        return [_of_buffer(operation.source, READ, source), _of_buffer(operation.destination, WRITE, target)]
    if isinstance(operation, WriteBuffer):
        return list(_of_transfer(operation))
    return []


def host_ranges(operation: WriteBuffer) -> tuple[Interval, ...]:
    """The host memory that a read or write of a buffer uses."""
    if isinstance(operation, WriteRect):
        host = operation.host
        rows = pieces(operation.region, operation.box, operation.host_box)
        return tuple(_joined([(host + offset, host + offset + size) for _, offset, size in rows]))
    return ((operation.host, operation.host + operation.size),)


def _of_transfer(operation: WriteBuffer) -> Iterator[Access]:
    buffer = operation.buffer
    whole: tuple[Interval, ...] = ((operation.offset, operation.offset + operation.size),)
    if isinstance(operation, UnmapBuffer):
        if operation.flags & HOST_WRITES:
            yield _of_buffer(buffer, WRITE, whole)
    elif isinstance(operation, MapBuffer):
        if not operation.flags & cl.CL_MAP_WRITE_INVALIDATE_REGION:
            yield _of_buffer(buffer, READ, whole)
    elif isinstance(operation, FillBuffer):
        yield _of_buffer(buffer, WRITE, whole)
    else:
        reads = isinstance(operation, (ReadBuffer, ReadRect))
        if isinstance(operation, WriteRect):
            rows = pieces(operation.region, operation.box, operation.host_box)
            whole = tuple(_joined([(offset, offset + size) for offset, _, size in rows]))
        yield _of_buffer(buffer, READ if reads else WRITE, whole)
        yield Access(HOST, Thing("host memory", ""), WRITE if reads else READ, host_ranges(operation))


def _of_buffer(buffer: Buffer, mode: Mode, where: tuple[Interval, ...], argument: int = -1) -> Access:
    origin, owner = buffer.origin, buffer.owner
    if origin:
        where = tuple((begin + origin, end + origin) for begin, end in where)
    parent = buffer.parent.number if buffer.parent is not None else 0
    thing = Thing(buffer_name(buffer), buffer_maker(buffer), buffer.number, parent)
    return Access(("buffer", owner.number), thing, mode, where, argument)


def _of_usm(transfer: UsmTransfer) -> Iterator[Access]:
    modes = (WRITE,) if isinstance(transfer, UsmFill) else (WRITE, READ)
    for place, mode in zip(transfer.places, modes, strict=True):
        begin, end = place.pointer, place.pointer + transfer.size
        if place.allocation is None:
            yield Access(HOST, Thing("host memory", ""), mode, ((begin, end),))
        else:
            yield _of_allocation(place.allocation, mode, begin, end)


def _of_allocation(allocation: UsmAllocation, mode: Mode, begin: int, end: int, argument: int = -1) -> Access:
    base = allocation.pointer
    thing = Thing(allocation_name(allocation), allocation_maker(allocation))
    return Access(("allocation", allocation.number), thing, mode, ((begin - base, end - base),), argument)


def _of_launch(launch: LaunchKernel) -> Iterator[Access]:
    buffers = dict(launch.buffers)
    given = launch.usm.allocations if launch.usm is not None else []
    for index, (kind, _, value) in enumerate(launch.arguments):
        if index in buffers:
            buffer = buffers[index]
            mode = _mode(launch.kernel, index, buffer.flags)
            if mode:
                yield _of_buffer(buffer, mode, ((0, buffer.size),), index)
        elif kind == POINTER and isinstance(value, int):
            allocation = next((a for a in given if a.address <= value < a.address + a.size), None)
            mode = _mode(launch.kernel, index, 0)
            if allocation is not None and mode:
                yield _of_allocation(allocation, mode, allocation.pointer, allocation.end, index)


def _mode(kernel: Kernel, index: int, flags: int) -> Mode:
    """What a kernel does with an argument: qualifiers and flags say so, else its source does."""
    argument: ArgumentInterface = kernel.interface.arguments[index]
    if (
        argument.address_qualifier == cl.CL_KERNEL_ARG_ADDRESS_CONSTANT
        or argument.type_qualifier & cl.CL_KERNEL_ARG_TYPE_CONST
        or flags & cl.CL_MEM_READ_ONLY
    ):
        return READ
    if flags & cl.CL_MEM_WRITE_ONLY:
        return WRITE
    use = _uses(kernel)[index]
    if use == Use.ATOMIC:
        return READ | WRITE | Mode.ATOMIC
    if use & Use.ATOMIC:
        use |= Use.READ | Use.WRITE
    if use & Use.UNKNOWN:
        return READ | (WRITE if use & Use.WRITE else Mode.MAYBE_WRITE)
    return Mode(int(use & (Use.READ | Use.WRITE)))


def _uses(kernel: Kernel) -> tuple[Use, ...]:
    program = kernel.program
    unknown = (Use.UNKNOWN,) * len(kernel.kinds)
    if program.source is None:
        return unknown
    options = next((build.options for build in program.builds.values()), "")
    uses = _uses_in(program.source, options).get(kernel.name, unknown)
    return uses if len(uses) == len(unknown) else unknown


_uses_in = lru_cache(maxsize=64)(argument_uses)


def part_of(launch: LaunchKernel) -> Part:
    """How a launch can be told from others of its kernel."""
    values = tuple(value for _, _, value in launch.arguments if isinstance(value, (bytes, int)))
    return Part(launch.kernel.name, (launch.sizes, *values))


def _joined(ranges: list[Interval]) -> Iterator[Interval]:
    """The same bytes in order, what touches joined."""
    begin = end = -1
    for first, last in sorted(ranges):
        if first > end:
            if end > begin:
                yield begin, end
            begin, end = first, last
        else:
            end = max(end, last)
    if end > begin:
        yield begin, end
