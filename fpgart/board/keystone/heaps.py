# SPDX-License-Identifier: Apache-2.0
"""The heaps of a 66AK2x for programs and buffers: fixed ones, which the DSP always sees, and mapped ones."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from fpgart.board.first_fit import GRANULARITY, FirstFit, round_up
from fpgart.board.keystone.addresses import (
    MSMC,
    Block,
    DspAddress,
    Extent,
    PhysicalAddress,
    dsp_at_boot,
    power_of_two_from,
)
from fpgart.board.keystone.mpax import Need, Plan, largest_region, plan
from fpgart.board.memory_system import DefaultHeap, MemoryRange, Showing, ShownRegion, Window

SMALL = 16 << 10
"""Buffers up to this size are in a fixed heap while they fit."""
MEDIUM = 16 << 20
"""Buffers up to this size are in a fixed heap while it has `SPARE` bytes or more free."""
SPARE = 64 << 20


class HeapPartition(Protocol):
    """The memory of a board that belongs to OpenCL: fixed heaps and mapped heaps."""

    @property
    def memory_names(self) -> list[str]: ...

    @property
    def fixed_heaps(self) -> tuple[Extent, ...]: ...

    @property
    def mapped_heaps(self) -> tuple[Extent, ...]: ...

    @property
    def destinations(self) -> tuple[Block, ...]: ...


class KeystoneHeaps:
    """The `MemorySystem` of a 66AK2x. Its memories are the heaps, as in Partition.description().

    Programs go to a fixed heap. Buffers up to 16 KiB do so while they fit. Buffers up to 16 MiB do so while at least 64
    MiB of it are free. All others go to a mapped heap. If nothing is mapped there are only fixed heaps. Of several
    heaps of a kind the first one with room is used; no buffer extends over two. The last memory is on the chip, for
    buffers that request its index.

    In a mapped heap a buffer begins at a multiple of its size, rounded up to a power of two but at most the largest
    region, so that one region can show it. Any thread may call the methods.
    """

    def __init__(self, partition: HeapPartition) -> None:
        self._names = partition.memory_names
        self._lock = threading.Lock()
        fixed, mapped = partition.fixed_heaps, partition.mapped_heaps
        extents: list[Extent | Block] = [*fixed, *mapped, MSMC]
        self._heaps = [FirstFit(extent.begin, extent.end) for extent in extents]
        self._sizes = [extent.size for extent in extents]
        self._destinations = partition.destinations
        self.fixed = range(len(fixed))
        self.mapped = range(len(fixed), len(fixed) + len(mapped))
        self._most_aligned = max(GRANULARITY, largest_region(partition.destinations))

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        with self._lock:
            return self._first([memory] if memory is not None else self._heaps_for(size), size)

    def allocate_program(self, size: int) -> MemoryRange | None:
        """Allocates memory for a program's code, which cannot be mapped. Returns None if there is no room."""
        with self._lock:
            return self._first(self.fixed, size)

    keeps_programs = True

    def show(self, windows: Iterable[Window]) -> Showing:
        """Returns the addresses at which the DSP sees the windows: in regions for mapped heaps, else as after boot.

        Raises NoMapping.
        """
        wanted = list(windows)
        mapped = [Need(PhysicalAddress(w.address), w.size, w.name) for w in wanted if self._is_mapped_at(w.address)]
        planned = plan(mapped, self._destinations) if mapped else Plan((), ())
        shown = iter(planned.addresses)
        return Showing(
            tuple(next(shown) if self._is_mapped_at(w.address) else self._at_boot(w.address) for w in wanted),
            tuple(ShownRegion(region.physical, region.dsp, region.size) for region in planned.regions),
        )

    def _is_mapped_at(self, address: int) -> bool:
        return any(self._heaps[index].begin <= address < self._heaps[index].end for index in self.mapped)

    @staticmethod
    def _at_boot(address: int) -> DspAddress:
        return DspAddress(address) if MSMC.begin <= address < MSMC.end else dsp_at_boot(address)

    def free(self, region: MemoryRange) -> None:
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

    def banks_of(self, region: MemoryRange) -> tuple[int, int]:
        return 1, 1

    def default_memory(self, size: int) -> int | None:
        return None

    def default_heap(self) -> DefaultHeap:
        heap = self._heaps[0]
        if not self.mapped:
            return DefaultHeap(heap, self._sizes[0], self._sizes[0], 0)
        return DefaultHeap(heap, MEDIUM if len(self.fixed) == 1 else SMALL, SMALL, SPARE)

    def is_mapped(self, memory: int) -> bool:
        """True if the DSP sees a heap only through regions."""
        return memory in self.mapped

    def holes(self, memory: int) -> list[tuple[int, int]]:
        """Returns address and size of every free range of a heap."""
        return self._heaps[memory].holes()

    def largest_allocation(self, memory: int) -> int:
        """Returns the bytes of the largest buffer that a heap has room for, where buffers may begin."""
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
        """Returns the heaps that a buffer may be in, by preference."""
        if not self.mapped:
            return [*self.fixed]
        if size <= SMALL:
            return [*self.fixed, *self.mapped]
        if size <= MEDIUM and sum(self._heaps[index].free_bytes for index in self.fixed) >= SPARE:
            return [*self.fixed, *self.mapped]
        return [*self.mapped]

    def _first(self, heaps: range | list[int], size: int) -> MemoryRange | None:
        for index in heaps:
            address = self._heaps[index].allocate_aligned(size, self._alignment(index, size))
            if address is not None:
                return MemoryRange(index, address, size)
        return None

    def _alignment(self, memory: int, size: int) -> int:
        if not self.is_mapped(memory):
            return GRANULARITY
        return min(self._most_aligned, max(GRANULARITY, power_of_two_from(size)))
