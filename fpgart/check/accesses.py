# SPDX-License-Identifier: Apache-2.0
"""The accesses of commands: the bytes of buffers, allocations and host memory that they read and write."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from weakref import ref

from fpgart.base import opencl as cl
from fpgart.base.ranges import Range
from fpgart.check.words import allocation_maker, allocation_name, buffer_maker, buffer_name
from fpgart.kernels.interface import ArgumentInterface
from fpgart.kernels.opencl_c import Use, argument_uses
from fpgart.runtime.commands.access import AccessMode, MemoryAccess
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.kernel import Kernel

Key = tuple[str, int]


class Mode:
    """Bits of an access. `MAYBE_WRITE`: the end of the kernel shows whether it wrote.

    `ATOMIC`: by atomic functions only. They are plain numbers: each access is compared with hundreds, and to combine
    members of an enum takes a microsecond.
    """

    READ: Final = 1
    WRITE: Final = 2
    MAYBE_WRITE: Final = 4
    ATOMIC: Final = 8


@dataclass(frozen=True, slots=True)
class Thing:
    """An accessed object, as findings name it; `through` is the number of the (sub-)buffer that was used."""

    name: str
    maker: str
    through: int = 0
    parent: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """An access.

    `where` counts in bytes from the begin of the object with this `key`; ranges are sorted and separate. `argument` is
    the index of the kernel argument, -1 for other commands.
    """

    key: Key
    thing: Thing
    mode: int
    where: tuple[Range, ...]
    argument: int = -1

    def meets(self, other: Access) -> Range | None:
        """Returns the first bytes that both access."""
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
        """True if this access certainly includes every byte of the other; exact for one range only."""
        if len(self.where) != 1:
            return self.where == other.where
        begin, end = self.where[0]
        return begin <= other.where[0][0] and other.where[-1][1] <= end


@dataclass(frozen=True, slots=True)
class Part:
    """The values by which a launch can select a part of a buffer.

    Launches of one kernel with different values may not overlap.
    """

    kernel: str
    chosen: tuple[object, ...] = field(default=())

    def apart(self, other: Part) -> bool:
        return self.kernel == other.kernel and self.chosen != other.chosen


HOST: Key = ("host", 0)
READ, WRITE = Mode.READ, Mode.WRITE


def accesses(operation: DeviceOperation | None) -> list[Access]:
    """Returns the accesses of a command that may conflict with others, as far as they are known at enqueueing."""
    if operation is None:
        return []
    found = (_conflicting(operation, access) for access in operation.accesses())
    return [access for access in found if access is not None]


def _conflicting(operation: DeviceOperation, access: MemoryAccess) -> Access | None:
    """Returns the access; None if it cannot conflict: moved bytes, mappings, a kernel's accesses to host memory."""
    is_argument = access.argument >= 0
    if is_argument and operation.launch is not None:
        mode = _mode(operation.launch.kernel, access.argument, access.buffer.flags if access.buffer is not None else 0)
    else:
        mode = int(access.mode & (AccessMode.READ | AccessMode.WRITE))
    if not mode:
        return None
    if access.buffer is not None:
        in_host_memory = is_argument and access.buffer.owner.stays_on_host
        return None if in_host_memory else _of_buffer(access.buffer, mode, access.ranges, access.argument)
    if access.allocation is not None:
        thing = Thing(allocation_name(access.allocation), allocation_maker(access.allocation))
        return Access(("allocation", access.allocation.number), thing, mode, access.ranges, access.argument)
    if access.mapped or is_argument:
        return None
    return Access(HOST, Thing("host memory", ""), mode, access.ranges)


def _of_buffer(buffer: Buffer, mode: int, where: tuple[Range, ...], argument: int) -> Access:
    origin, owner = buffer.origin, buffer.owner
    if origin:
        where = tuple((begin + origin, end + origin) for begin, end in where)
    parent = buffer.parent.number if buffer.parent is not None else 0
    thing = Thing(buffer_name(buffer), buffer_maker(buffer), buffer.number, parent)
    return Access(("buffer", owner.number), thing, mode, where, argument)


def _mode(kernel: Kernel, index: int, flags: int) -> int:
    """Returns the mode of an argument by its qualifiers and flags, or else by the kernel's source."""
    argument: ArgumentInterface = kernel.interface.arguments[index]
    return _mode_of(argument.address_qualifier, argument.type_qualifier, flags, _uses(kernel)[index])


@lru_cache(maxsize=1024)
def _mode_of(address_qualifier: int, type_qualifier: int, flags: int, use: Use) -> int:
    if (
        address_qualifier == cl.CL_KERNEL_ARG_ADDRESS_CONSTANT
        or type_qualifier & cl.CL_KERNEL_ARG_TYPE_CONST
        or flags & cl.CL_MEM_READ_ONLY
    ):
        return READ
    if flags & cl.CL_MEM_WRITE_ONLY:
        return WRITE
    if use == Use.ATOMIC:
        return READ | WRITE | Mode.ATOMIC
    if use & Use.ATOMIC:
        use |= Use.READ | Use.WRITE
    if use & Use.UNKNOWN:
        return READ | (WRITE if use & Use.WRITE else Mode.MAYBE_WRITE)
    return int(use & (Use.READ | Use.WRITE))


def _uses(kernel: Kernel) -> tuple[Use, ...]:
    program = kernel.program
    unknown = (Use.UNKNOWN,) * len(kernel.kinds)
    if program.listing is None:
        return unknown
    uses = _uses_in(program.listing, program.options).get(kernel.name, unknown)
    return uses if len(uses) == len(unknown) else unknown


_uses_in = lru_cache(maxsize=64)(argument_uses)


def may_have_written(kernel: Kernel) -> bool:
    """True if only the end of a launch with the kernel's present arguments shows what it wrote."""
    return any(_mode(kernel, index, buffer.flags) & Mode.MAYBE_WRITE for index, buffer in buffers_of(kernel))


def buffers_of(kernel: Kernel) -> list[tuple[int, Buffer]]:
    """Returns the kernel's present arguments that are buffers, with their indices."""
    values = [argument[2] if argument is not None else None for argument in kernel.arguments]
    found = [(index, value()) for index, value in enumerate(values) if isinstance(value, ref)]
    return [(index, buffer) for index, buffer in found if buffer is not None]


def part_of(launch: LaunchKernel) -> Part:
    """Returns the values that distinguish a launch from others of its kernel."""
    values = tuple(value for _, _, value in launch.arguments if isinstance(value, (bytes, int)))
    return Part(launch.kernel.name, (launch.sizes, *values))
