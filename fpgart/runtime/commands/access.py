# SPDX-License-Identifier: Apache-2.0
"""The memory that operations read, write or move, as watchers and checks see it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from fpgart.base.closed_memory import driver_address
from fpgart.base.named_tuples import NamedTuple
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.usm import UsmAllocation

Range = tuple[int, int]
"""Begin and end (one past the last byte)."""


class AccessMode(enum.IntFlag):
    """What is done with the bytes. For a kernel it is what it may do: its source can say more."""

    READ = 1
    WRITE = 2
    MOVE = 4
    """The contents are brought to another place, and stay the same."""
    REACH = 8
    """A kernel may find its way there by pointers in memory."""


class MemoryAccess(NamedTuple):
    """What an operation does with a buffer, with an allocation of unified shared memory, or with memory of the host.

    One of `buffer` and `allocation` is set, or neither for memory of the host. `ranges` are in order and apart; they
    count in bytes from the begin of the buffer or allocation, in memory of the host they are addresses. `argument` is
    the index of the kernel argument, -1 for what is none. `block`: where the contents are when the operation runs, as
    far as that is known before. `mapped`: memory of the host in which it sees a region of a buffer that it has mapped.
    """

    mode: AccessMode
    ranges: tuple[Range, ...]
    buffer: Buffer | None = None
    allocation: UsmAllocation | None = None
    argument: int = -1
    block: Block | None = None
    mapped: bool = False

    @property
    def on_host(self) -> bool:
        """Whether it is to memory of the host that is no buffer and no allocation."""
        return self.buffer is None and self.allocation is None

    @property
    def is_given(self) -> bool:
        """Whether it is to memory of the host by a pointer that the host has given with the command."""
        return self.on_host and not self.mapped

    def in_process(self) -> Range:
        """Where the driver reads the buffer or allocation; must be known to have a block, or be the host's."""
        if self.allocation is not None:
            begin = driver_address(self.allocation.address)
            return begin, begin + self.allocation.size
        assert self.buffer is not None
        assert self.block is not None
        begin = driver_address(self.block.pointer) + self.buffer.origin
        return begin, begin + self.buffer.size


Accesses = tuple[MemoryAccess, ...]


def whole(mode: AccessMode, buffer: Buffer) -> MemoryAccess:
    """An access to all of a buffer."""
    return MemoryAccess(mode, ((0, buffer.size),), buffer=buffer)


def joined(ranges: Iterable[Range]) -> Iterator[Range]:
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
