# SPDX-License-Identifier: Apache-2.0
"""Where programs and buffers go on a 66AK2x: heaps that the DSP always sees, and heaps that have to be mapped."""

from __future__ import annotations

import threading

from fpgart.board.first_fit import GRANULARITY, FirstFit
from fpgart.board.keystone.addresses import power_of_two_from, round_up
from fpgart.board.keystone.mpax import largest_region
from fpgart.board.keystone.partition import Partition
from fpgart.board.memory_system import Region

SMALL = 16 << 10
"""Buffers up to this size are in a fixed heap while they fit."""
MEDIUM = 16 << 20
"""Buffers up to this size are in a fixed heap while it has `SPARE` bytes or more free."""
SPARE = 64 << 20


class KeystoneHeaps:
    """The `MemorySystem` of a 66AK2x. Its memories are the heaps, as in Partition.description().

    Programs go to a fixed heap. Buffers up to 16 KiB do until it is full, and then to a mapped one. Buffers up to
    16 MiB do while at least 64 MiB of it are free, and else to a mapped one. Larger buffers always go to a mapped one.
    Where nothing is mapped there are only fixed heaps, and they hold everything. Of several heaps of a kind the first
    one with room is taken; no buffer reaches from one into another.

    In a mapped heap a buffer begins at a multiple of its size rounded up to a power of two (but of no more than the
    largest region), so that one region can show it. Any thread may call.
    """

    def __init__(self, partition: Partition) -> None:
        self._names = [memory.name for memory in partition.description().memories]
        self._lock = threading.Lock()
        fixed, mapped = partition.fixed_heaps, partition.mapped_heaps
        self._heaps = [FirstFit(extent.begin, extent.end) for extent in (*fixed, *mapped)]
        self._sizes = [extent.size for extent in (*fixed, *mapped)]
        self.fixed = range(len(fixed))
        self.mapped = range(len(fixed), len(self._heaps))
        self._most_aligned = max(GRANULARITY, largest_region(partition.destinations))

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> Region | None:
        with self._lock:
            return self._first([memory] if memory is not None else self._heaps_for(size), size)

    def allocate_program(self, size: int) -> Region | None:
        """Claim memory for a program's code, which has to stay where it is; None when there is no room."""
        with self._lock:
            return self._first(self.fixed, size)

    def free(self, region: Region) -> None:
        with self._lock:
            self._heaps[region.memory].free(region.address, region.size)

    def memory_for(self, location: str) -> int | None:
        if not location:
            return None
        try:
            return self._names.index(location)
        except ValueError:
            raise KeyError(location) from None

    def name_of(self, memory: int) -> str:
        return self._names[memory]

    def bank_of(self, region: Region) -> int:
        return 1

    def banks_can_be_chosen(self, memory: int | None) -> bool:
        return False

    def is_mapped(self, memory: int) -> bool:
        """Whether the DSP sees a heap only while its buffers are mapped."""
        return memory in self.mapped

    def size(self, memory: int) -> int:
        """Bytes of a heap."""
        return self._sizes[memory]

    def free_bytes(self, memory: int) -> int:
        """Bytes of a heap that no region has."""
        return self._heaps[memory].free_bytes

    def holes(self, memory: int) -> list[tuple[int, int]]:
        """Address and bytes of every free range of a heap."""
        with self._lock:
            return self._heaps[memory].holes()

    def largest_allocation(self, memory: int) -> int:
        """Bytes of the largest buffer that a heap has room for now: its largest hole, from where buffers may begin."""
        largest = 0
        for begin, size in self.holes(memory):
            if size > largest:
                largest = max(largest, self._largest_in(memory, begin, begin + size))
        return largest

    def _largest_in(self, memory: int, begin: int, end: int) -> int:
        if not self.is_mapped(memory):
            return end - begin
        largest, unit = 0, GRANULARITY
        while unit <= self._most_aligned:
            room = end - round_up(begin, unit)
            largest = max(largest, room if unit == self._most_aligned else min(room, unit))
            unit *= 2
        return largest

    def _heaps_for(self, size: int) -> list[int]:
        """The heaps that a buffer may be in, by preference."""
        if not self.mapped:
            return [*self.fixed]
        if size <= SMALL:
            return [*self.fixed, *self.mapped]
        if size <= MEDIUM and sum(self._heaps[index].free_bytes for index in self.fixed) >= SPARE:
            return [*self.fixed, *self.mapped]
        return [*self.mapped]

    def _first(self, heaps: range | list[int], size: int) -> Region | None:
        for index in heaps:
            address = self._heaps[index].allocate_aligned(size, self._alignment(index, size))
            if address is not None:
                return Region(index, address, size)
        return None

    def _alignment(self, memory: int, size: int) -> int:
        if not self.is_mapped(memory):
            return GRANULARITY
        return min(self._most_aligned, max(GRANULARITY, power_of_two_from(size)))
