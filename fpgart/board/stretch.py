# SPDX-License-Identifier: Apache-2.0
"""Memory that a host shares with its board process: one file in memory, mapped at the same addresses in both.

It contains everything that kernels may access: the boards' memories, host and shared allocations. The host maps the
parts that are in use, the board process the whole stretch. So nothing is copied, pointers are valid in both, and
allocations need no messages.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

from fpgart._native import lib
from fpgart.base import closed_memory
from fpgart.board.first_fit import FirstFit, round_up
from fpgart.board.memory_file import lengthen
from fpgart.board.mmd import BoardError

PAGE = 4096
FIRST_BEGIN = 1 << 44
"""The first address where stretches begin, far from those that systems choose."""
STEP = 1 << 43
MOST_STRETCHES = 8
"""The number of stretches that a process may have: one for each library with boards."""
SHARED = "memory that is shared with a board process"
ROOM = 1 << 42
"""The size of the address space in bytes; only pages that are accessed take memory."""


class Stretch:
    """A range of addresses whose parts are allocated. Raises BoardError if the system refuses one."""

    def __init__(self) -> None:
        self.descriptor = int(lib.memory_file(b"fpgart-stretch"))
        if self.descriptor < 0:
            raise BoardError("the system provides no file for memory that is shared with a board process")
        lengthen(self.descriptor, PAGE, SHARED)
        self.size = ROOM
        self._end = PAGE
        """The size of the file, up to the last part that was ever in use; accesses beyond it fault."""
        self.begin, self.control = self._settle()
        self._parts: dict[int, int] = {}
        self._free = FirstFit(self.begin + PAGE, self.begin + ROOM)
        self._lock = threading.Lock()
        """Held while the file grows. Destructors free memory and must not take it."""

    def _settle(self) -> tuple[int, int]:
        """Returns the begin and the address of the first page, whose mapping keeps other stretches away."""
        for begin in _begins():
            page = int(lib.map_part(self.descriptor, 0, begin, PAGE, False))
            if page:
                return begin, page
        os.close(self.descriptor)
        from fpgart.base.memory_limit import limit_of_memory  # imported for this failure only

        limit = limit_of_memory(PAGE)
        raise BoardError(f"no addresses from {FIRST_BEGIN:#x} on are free for memory that is shared{limit}")

    def offset(self, address: int) -> int:
        return address - self.begin

    def allocate(self, size: int, alignment: int = PAGE, *, huge: bool = False) -> int:
        """Returns the address of `size` bytes of zeros; 0 without room. Raises BoardError at the file's limit."""
        size = round_up(size, PAGE)
        while True:
            with self._lock:
                found = self._free.allocate_aligned(size, max(alignment, PAGE))
                if found is not None and self.offset(found) + size > self._end:
                    try:
                        lengthen(self.descriptor, self.offset(found) + size, SHARED)
                    except BoardError:
                        self._free.free(found, size)
                        raise
                    self._end = self.offset(found) + size
            if found is None:
                return 0
            if lib.map_part(self.descriptor, self.offset(found), found, size, huge):
                self._parts[found] = size
                return found
            # Another mapping is there, such as a freed allocation (check/pages/guarded.py): the range stays taken.

    def close(self, address: int) -> bool:
        """Removes the host's access to an allocation. The driver gets a second mapping. Returns False on failure."""
        size = self._parts[address]
        own = int(lib.map_again(self.descriptor, self.offset(address), size))
        if not own:
            return False
        if lib.close_pages(address, size) != 0:
            lib.unmap(own, size)
            return False
        closed_memory.close(address, size, own)
        return True

    def free(self, address: int) -> None:
        """Frees an allocation; accesses to it fault from now on. The caller may hold any lock."""
        size = self._parts.pop(address)
        lib.unmap(address, size)
        if own := closed_memory.forget(address):
            lib.unmap(own, size)
        lib.punch(self.descriptor, self.offset(address), size)
        self._free.free(address, size)


def _begins() -> Iterator[int]:
    for number in range(MOST_STRETCHES):
        yield FIRST_BEGIN + number * STEP
