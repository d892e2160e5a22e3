# SPDX-License-Identifier: Apache-2.0
"""The protocol by which the runtime allocates a board's memory, and its implementation for FPGA boards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.first_fit import FirstFit
from fpgart.board.global_memory import GlobalMemory


class DefaultHeap(NamedTuple):
    """The heap of memory 0, in which buffers without a request are, if they fit: those of up to `most` bytes.

    Those of more than `small` bytes are there only while at least `spare` bytes of it are free.
    """

    heap: FirstFit
    most: int
    small: int
    spare: int


class MemoryRange(NamedTuple):
    """An allocated range: the index of its memory, the board's address, and the requested size in bytes."""

    memory: int
    address: int
    size: int
    claimed: tuple[int, int] | None = None
    """The address and size of the whole allocation, if pages around it are protected (check/pages/guarded.py)."""

    def whole(self) -> tuple[int, int]:
        """Returns address and size of the whole allocation."""
        return self.claimed or (self.address, self.size)


class Window(NamedTuple):
    """`size` bytes from a board address on that a kernel uses; `name` is for error messages."""

    address: int
    size: int
    name: str


class ShownRegion(NamedTuple):
    """`size` bytes from board address `physical` on, at the kernel's address `kernel`."""

    physical: int
    kernel: int
    size: int


class Showing(NamedTuple):
    """The mapping for one launch: the kernel's address for each window, and the regions."""

    addresses: tuple[int, ...]
    regions: tuple[ShownRegion, ...] = ()


class NotVisible(Exception):
    """A kernel cannot access all its buffers at once. The message says what it needs and what would fit."""


class MemorySystem(Protocol):
    """The memories of one board and their free ranges. Any thread may call the methods."""

    keeps_programs: bool
    """True if the board's memory holds several programs, so that it is not programmed again for each."""

    def allocate_program(self, size: int) -> MemoryRange | None:
        """Allocates memory for a program's code, on boards that keep programs. Returns None if there is no room."""

    def show(self, windows: Iterable[Window]) -> Showing | None:
        """Returns how a kernel accesses all these windows; None if it uses the board's addresses. Raises NotVisible."""

    def is_mapped(self, memory: int) -> bool:
        """True if kernels see a memory only through regions that are set for each launch."""

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        """Allocates `size` bytes in a memory (None: the default one for this size). Returns None if there is no room.

        The search begins in `bank`, counted from 1; 0 is no preference.
        """

    def free(self, region: MemoryRange) -> None:
        """Frees a range that allocate() returned."""

    def memory_for(self, location: str) -> int | None:
        """Returns the memory of a buffer_location: a name in OpenCL C, a number in SPIR-V, "" for none.

        None means any memory. Raises KeyError for a name that the board does not have.
        """

    def name_of(self, memory: int) -> str:
        """Returns the name of a memory."""

    def largest_allocation(self, memory: int) -> int:
        """Returns the bytes of the largest buffer that a memory has room for now."""

    def banks_of(self, region: MemoryRange) -> tuple[int, int]:
        """Returns the numbers of the banks, from 1, in which a range begins and ends."""

    def default_memory(self, size: int) -> int | None:
        """Returns the memory for `size` bytes without a request; None if that depends on what is free."""

    def default_heap(self) -> DefaultHeap | None:
        """Returns the heap for buffers without a request, or None if there is no such rule."""


class BoardMemories(Protocol):
    """The memories of a board. With `lowest_first`, the one with the lowest addresses is preferred."""

    @property
    def memories(self) -> tuple[GlobalMemory, ...]: ...

    @property
    def lowest_first(self) -> bool: ...


class GlobalMemories:
    """The global memories of an FPGA board, with first fit in each, from its begin or from a bank's.

    A subclass that places blocks in another way overrides allocate(), free() and holes().
    """

    def __init__(self, board: BoardMemories) -> None:
        self._board = board
        self._heaps = [FirstFit(m.usable_begin, m.begin + m.room) for m in board.memories]
        private = [(m.begin, index) for index, m in enumerate(board.memories) if m.is_device_private]
        order = [index for _, index in sorted(private)]
        if not board.lowest_first:
            order.sort(key=bool)  # the default memory, number 0, comes first, then the others by their addresses
        self._by_preference = [(index, board.memories[index].usable_size) for index in order]

    def default_memory(self, size: int) -> int | None:
        """Returns the first memory that is large enough for `size` bytes; None for none.

        The default memory comes first, then the others by their addresses. With `lowest_first` all are in order of
        addresses.
        """
        for index, room in self._by_preference:
            if room >= size:
                return index
        return None

    def default_heap(self) -> DefaultHeap | None:
        if type(self) is not GlobalMemories or not self._by_preference:  # a subclass may not allocate by first fit
            return None
        memory, room = self._by_preference[0]
        return DefaultHeap(self._heaps[0], room, room, 0) if memory == 0 else None

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        if memory is None:
            memory = self.default_memory(size)
            if memory is None:
                return None
        heap = self._heaps[memory]
        address = heap.allocate(size, self._board.memories[memory].bank_begin(bank)) if bank else None
        if address is None:
            address = heap.allocate(size)
        return None if address is None else MemoryRange(memory, address, size)

    def free(self, region: MemoryRange) -> None:
        self._heaps[region.memory].free(region.address, region.size)

    def memory_for(self, location: str) -> int | None:
        if not location:
            return 0
        for index, memory in enumerate(self._board.memories):
            if location in (memory.name, str(index)):
                return index
        raise KeyError(location)

    def name_of(self, memory: int) -> str:
        return self._board.memories[memory].name

    def banks_of(self, region: MemoryRange) -> tuple[int, int]:
        return self._board.memories[region.memory].banks_of(region.address, region.size)

    keeps_programs = False

    def is_mapped(self, memory: int) -> bool:
        return False

    def allocate_program(self, size: int) -> MemoryRange | None:
        return None

    def show(self, windows: Iterable[Window]) -> Showing | None:
        return None

    def largest_allocation(self, memory: int) -> int:
        return max((size for _, size in self.holes(memory)), default=0)

    def holes(self, memory: int) -> list[tuple[int, int]]:
        """Returns address and size of every free range of a memory."""
        return self._heaps[memory].holes()
