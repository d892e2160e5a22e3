# SPDX-License-Identifier: Apache-2.0
"""A board whose blocks have pages of their own, with an inaccessible page between them.

A block ends where its last page ends, but for the allocator's 1024 bytes, so that accesses past the end hit the page
behind. If the memory has no room for that, a block is placed as on the board.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from fpgart._native import lib
from fpgart.base.closed_memory import is_closed
from fpgart.board.first_fit import round_up
from fpgart.board.memory_system import GlobalMemories, MemoryRange
from fpgart.board.mmd import Around, Mmd
from fpgart.watch.callers import Site

PAGE = 4096
MOST_FREED = 4096
OPEN, WHILE_RUNNING, GONE, ONLY_READ = 1, 2, 3, 4
"""States of a region of fpgart/check/pages/faults.h."""
USM, BUFFERS = 1, 2
"""Its families."""
NAMES: dict[int, tuple[str, str, Site | None]] = {}
"""By address, name, maker and place of creation of host memory that is about to be freed."""
READERS: dict[int, tuple[str, Site | None]] = {}
"""By the number of a region of fpgart/check/pages/faults.h, the command that reads it, and its place."""
SITES: dict[int, Site | None] = {}
"""By the number of a region of fpgart/check/pages/faults.h, the place of its creation."""


class GuardedMemories(GlobalMemories):
    """The memories of an FPGA board."""

    def allocate(self, size: int, memory: int | None = None, bank: int = 0) -> MemoryRange | None:
        own = round_up(size, PAGE)
        claimed = super().allocate(own + 2 * PAGE, memory, bank)
        if claimed is None:
            return super().allocate(size, memory, bank)
        begin = (claimed.address // PAGE + 1) * PAGE + own - round_up(size)
        return MemoryRange(claimed.memory, begin, size, claimed.whole())

    def free(self, region: MemoryRange) -> None:
        super().free(MemoryRange(region.memory, *region.whole()))


@dataclass(frozen=True, slots=True)
class _Freed:
    """Host memory that was freed; the addresses stay reserved until it is unmapped."""

    begin: int
    size: int
    region: int


class GuardedMmd(Around):
    """An `Mmd` whose memory is inaccessible outside of blocks, and whose freed host memory stays inaccessible."""

    def __init__(self, mmd: Mmd) -> None:
        super().__init__(mmd)
        self._lock = threading.RLock()
        self._sizes: dict[int, int] = {}
        self._freed: deque[_Freed] = deque()
        self.write, self.read, self.copy, self.program = mmd.write, mmd.read, mmd.copy, mmd.program

    @property
    def in_c(self) -> int:
        return self._mmd.in_c  # C moves no bytes while checks are on

    def open(self) -> None:
        """Raises BoardError, as the board does."""
        self._mmd.open()
        memories = self._mmd.description.device_private
        begin = min(memory.begin for memory in memories)
        first = self._mmd.aperture(begin)
        lib.faults_cover(first, sum(memory.size for memory in memories), is_closed(first))

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._remembered(self._mmd.host_alloc(size, alignment, given), size, given)

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        return self._remembered(self._mmd.shared_alloc(size, alignment, given), size, given)

    def _remembered(self, address: int, size: int, given: int) -> int:
        if address and not given:
            self._sizes[address] = round_up(size, PAGE)
        return address

    def free(self, host: int) -> None:
        size = self._sizes.pop(host, 0)
        if not size:  # another board's, which frees it last
            self._mmd.free(host)
            return
        name, maker, made_at = NAMES.pop(host, (f"host memory at {host:#x}", "clSVMAlloc", None))
        self._mmd.free(host)
        if lib.faults_bury(host, size) != 0:  # another thread has mapped that memory meanwhile
            return
        region = int(lib.faults_add(host, size, host, host + size, GONE, USM, name.encode(), maker.encode()))
        SITES[region] = made_at
        with self._lock:
            self._freed.append(_Freed(host, size, region))
            oldest = self._freed.popleft() if len(self._freed) > MOST_FREED else None
        if oldest is not None:
            if oldest.region >= 0:
                lib.faults_forget(oldest.region)
            lib.unmap(oldest.begin, oldest.size)
