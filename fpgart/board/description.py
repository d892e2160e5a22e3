# SPDX-License-Identifier: Apache-2.0
"""What a board is made of, as far as a host can notice."""

from __future__ import annotations

import enum
from dataclasses import dataclass

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
ZERO_PAGE = 1024


class AllocationType(enum.IntFlag):
    """Kinds of unified shared memory that a memory can hold."""

    NONE = 0
    HOST = 1
    SHARED = 2
    DEVICE = 4


@dataclass(frozen=True, slots=True)
class GlobalMemory:
    """One global memory: `begin` to `end` (exclusive, bytes) in the board's map, cut into equal banks."""

    name: str
    begin: int
    end: int
    banks: int = 1
    interleaved: bool = True
    allocation_types: AllocationType = AllocationType.NONE

    @property
    def size(self) -> int:
        return self.end - self.begin

    @property
    def bank_size(self) -> int:
        return self.size // self.banks

    @property
    def usable_begin(self) -> int:
        """The first kibibyte is never handed out, so that no buffer has address 0."""
        return self.begin or ZERO_PAGE

    @property
    def usable_size(self) -> int:
        return self.end - self.usable_begin

    @property
    def is_device_private(self) -> bool:
        return not self.allocation_types or AllocationType.DEVICE in self.allocation_types

    def bank_of(self, address: int) -> int:
        """Number of the bank, from 1, that `address` lies in."""
        return (address - self.begin) // self.bank_size + 1


@dataclass(frozen=True, slots=True)
class BoardDescription:
    """A board's name, vendor and memories; the first memory is the compiler's default."""

    name: str
    vendor: str
    memories: tuple[GlobalMemory, ...]
    full_duplex: bool = False

    @property
    def device_private(self) -> tuple[GlobalMemory, ...]:
        return tuple(memory for memory in self.memories if memory.is_device_private)

    @property
    def global_size(self) -> int:
        """Bytes of memory that buffers can be in."""
        return sum(memory.size for memory in self.device_private)

    @property
    def largest_allocation(self) -> int:
        """Bytes of the largest buffer that an empty board can hold."""
        return max(memory.usable_size for memory in self.device_private)


BOARDS: dict[str, BoardDescription] = {
    board.name: board
    for board in (
        BoardDescription("usm_s10", "Intel(R) Corporation", (GlobalMemory("DDR", 0, 16 * GIB, 4),)),
        BoardDescription("a10_ref", "Intel(R) Corporation", (GlobalMemory("DDR", 0, 2 * GIB, 2),)),
        BoardDescription("a10_small", "Intel(R) Corporation", (GlobalMemory("DDR", 0, 128 * MIB),)),
    )
}
