# SPDX-License-Identifier: Apache-2.0
"""The memory that operations read, write or move, as watchers and checks see it."""

from __future__ import annotations

import enum

from fpgart.base.closed_memory import driver_address
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.ranges import Range
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.usm import UsmAllocation


class AccessMode(enum.IntFlag):
    """The ways in which an operation uses bytes. A kernel has those that its arguments allow."""

    READ = 1
    WRITE = 2
    MOVE = 4
    """The contents are copied to another place and do not change."""
    REACH = 8
    """A kernel may reach the bytes through pointers that are stored in memory."""


class MemoryAccess(NamedTuple):
    """Describes the bytes of one buffer, one USM allocation or the host's memory that an operation uses.

    At most one of `buffer` and `allocation` is set; neither is set for memory of the host. `ranges` are sorted and do
    not touch each other. They count in bytes from the begin of the buffer or allocation; for memory of the host they
    are addresses. `argument` is the index of the kernel argument, or -1. `block` has the contents when the operation
    runs, if that is known before. `mapped` is set for the host's memory in which the host has mapped a region of a
    buffer.
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
        """True for memory of the host that belongs to no buffer and no allocation."""
        return self.buffer is None and self.allocation is None

    @property
    def is_given(self) -> bool:
        """True if the host passed the pointer to its memory with the command."""
        return self.on_host and not self.mapped

    def in_process(self) -> Range:
        """Returns the addresses at which the driver reads the buffer or allocation.

        A buffer must have a block, an allocation needs none.
        """
        if self.allocation is not None:
            begin = driver_address(self.allocation.address)
            return begin, begin + self.allocation.size
        assert self.buffer is not None
        assert self.block is not None
        begin = driver_address(self.block.pointer) + self.buffer.origin
        return begin, begin + self.buffer.size


Accesses = tuple[MemoryAccess, ...]


def whole(mode: AccessMode, buffer: Buffer) -> MemoryAccess:
    """Returns an access to all bytes of a buffer."""
    return MemoryAccess(mode, ((0, buffer.size),), buffer=buffer)
