# SPDX-License-Identifier: Apache-2.0
"""The protocol by which the runtime asks a board for memory, and its implementation for FPGA boards."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.first_fit import FirstFit
from fpgart.board.global_memory import GlobalMemory


class MemoryRange(NamedTuple):
    """A claimed range: index of its memory, board address, and bytes as asked for."""

    memory: int
    address: int
    size: int
    claimed: tuple[int, int] | None = None
    """Address and bytes of all that was claimed for it, where that is more."""

    def whole(self) -> tuple[int, int]:
        """Address and bytes of all that was claimed for it."""
        return self.claimed or (self.address, self.size)


class Window(NamedTuple):
    """`size` bytes from a board address that a kernel uses; `name` is for the words of errors."""

    address: int
    size: int
    name: str


class ShownRegion(NamedTuple):
    """`size` bytes from board address `physical` that the kernel finds from its own address `kernel`."""

    physical: int
    kernel: int
    size: int


class Showing(NamedTuple):
    """What a board sets up for one launch: where the kernel sees each window, and by which regions."""

    addresses: tuple[int, ...]
    regions: tuple[ShownRegion, ...] = ()


class NotVisible(Exception):
    """A kernel cannot be shown all that it is given; the sentence says what it needs and what would fit."""


class MemorySystem(Protocol):
    """The memories of one board and what is free in them. Any thread may call."""

    keeps_programs: bool
    """Whether programs lie in the board's memory, several at once, so that it is not programmed anew for each."""

    def allocate_program(self, size: int) -> MemoryRange | None:
        """Claim memory for a program's code, where programs are kept; None when there is no room."""

    def show(self, windows: Iterable[Window]) -> Showing | None:
        """How a kernel gets to see all these at once; None where it sees all memory at its own address.

        Raises NotVisible.
        """

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        """Claim `size` bytes in a memory (None: wherever a buffer of that size goes by itself).

        `bank`, counted from 1, is where to look first; 0 for no preference. None when nothing is free.
        """

    def free(self, region: MemoryRange) -> None:
        """Give back what allocate() returned."""

    def memory_for(self, location: str) -> int | None:
        """The memory that a kernel argument has to be in, by its buffer_location; "" for none given.

        OpenCL C names it, SPIR-V has its number.
        None: any will do. Raises KeyError for a name that the board does not have.
        """

    def name_of(self, memory: int) -> str:
        """The name of a memory."""

    def largest_allocation(self, memory: int) -> int:
        """Bytes of the largest buffer that a memory has room for now."""

    def banks_of(self, region: MemoryRange) -> tuple[int, int]:
        """The numbers of the banks, from 1, in which a region begins and ends."""

    def default_memory(self, size: int) -> int | None:
        """The memory that `size` bytes go to by themselves; None where that depends on what is free."""


class BoardMemories(Protocol):
    """The memories of a board; with `lowest_first`, buffers go to the one with the lowest addresses first."""

    @property
    def memories(self) -> tuple[GlobalMemory, ...]: ...

    @property
    def lowest_first(self) -> bool: ...


class GlobalMemories:
    """The global memories of an FPGA board: first fit in each, from its begin or from a bank's."""

    def __init__(self, board: BoardMemories) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._heaps = [FirstFit(m.usable_begin, m.begin + m.room) for m in board.memories]
        private = [(m.begin, index) for index, m in enumerate(board.memories) if m.is_device_private]
        order = [index for _, index in sorted(private)]
        if not board.lowest_first:
            order.sort(key=bool)  # the default memory is number 0; the others stay in the order of their addresses
        self._by_preference = [(index, board.memories[index].usable_size) for index in order]

    def default_memory(self, size: int) -> int | None:
        """The first one that could hold `size` bytes at all, None for none.

        The default memory comes first and then the others by their addresses; where the board says so
        (`lowest_first`), all go by their addresses.
        """
        for index, room in self._by_preference:
            if room >= size:
                return index
        return None

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        if memory is None:
            memory = self.default_memory(size)
            if memory is None:
                return None
        heap = self._heaps[memory]
        with self._lock:
            address = None
            if bank:
                address = heap.allocate(size, self._board.memories[memory].bank_begin(bank))
            if address is None:
                address = heap.allocate(size)
        return None if address is None else MemoryRange(memory, address, size)

    def free(self, region: MemoryRange) -> None:
        with self._lock:
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

    def allocate_program(self, size: int) -> MemoryRange | None:
        return None

    def show(self, windows: Iterable[Window]) -> Showing | None:
        return None

    def largest_allocation(self, memory: int) -> int:
        return max((size for _, size in self.holes(memory)), default=0)

    def free_bytes(self, memory: int) -> int:
        """Bytes of a memory that no region has."""
        return self._heaps[memory].free_bytes

    def holes(self, memory: int) -> list[tuple[int, int]]:
        """Address and bytes of every free range of a memory."""
        with self._lock:
            return self._heaps[memory].holes()
