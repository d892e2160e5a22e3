# SPDX-License-Identifier: Apache-2.0
"""Memory of a host and its board process: one file in memory, at the same addresses in both.

All that kernels may reach is in it: the boards' memories, host and shared allocations. The host maps the parts that are
in use, the board process the whole stretch, so nothing is copied, pointers stay pointers, and nobody has to be told of
an allocation.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator

from fpgart._native import lib
from fpgart.base import closed_memory
from fpgart.board.first_fit import FirstFit, round_up
from fpgart.board.memory_file import lengthen
from fpgart.board.mmd import BoardError

PAGE = 4096
FIRST_BEGIN = 1 << 44
"""Where stretches begin: far from what systems use by themselves."""
STEP = 1 << 43
MOST_STRETCHES = 8
"""How many a process may have: each library with boards has one."""
SHARED = "memory that is shared with a board process"
ROOM = 1 << 42
"""Bytes of address space; only what is touched costs memory."""


class Stretch:
    """A range of addresses of which parts are handed out. Raises BoardError where the system gives none."""

    def __init__(self) -> None:
        self.descriptor = int(lib.memory_file(b"fpgart-stretch"))
        if self.descriptor < 0:
            raise BoardError("the system provides no file for memory that is shared with a board process")
        lengthen(self.descriptor, PAGE, SHARED)
        self.size = ROOM
        self._end = PAGE
        """Of the file, which is as long as what was ever in use: what touches more of the stretch has a fault."""
        self.begin, self.control = self._settle()
        self._parts: dict[int, int] = {}
        self._free = FirstFit(self.begin + PAGE, self.begin + ROOM)
        self._freed: deque[tuple[int, int]] = deque()
        """Addresses and sizes that the next allocation makes free: destructors free memory, and take no lock."""
        self._lock = threading.Lock()

    def _settle(self) -> tuple[int, int]:
        """Where it begins, and its first page, which is taken so that no other stretch begins there."""
        for begin in _begins():
            page = int(lib.map_part(self.descriptor, 0, begin, PAGE, False))
            if page:
                return begin, page
        os.close(self.descriptor)
        from fpgart.base.memory_limit import limit_of_memory  # only who fails pays for it

        limit = limit_of_memory(PAGE)
        raise BoardError(f"no addresses from {FIRST_BEGIN:#x} on are free for memory that is shared{limit}")

    def offset(self, address: int) -> int:
        """Where an address is in the file."""
        return address - self.begin

    def allocate(self, size: int, alignment: int = PAGE, *, huge: bool = False) -> int:
        """Address of `size` bytes of zeros; 0 when there is no room. Raises BoardError where the file has a limit."""
        size = round_up(size, PAGE)
        while True:
            with self._lock:
                while self._freed:
                    self._free.free(*self._freed.popleft())
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
            # Something else is there now, such as a freed allocation (check/pages/guarded.py): it is left alone.

    def close(self, address: int) -> bool:
        """Leave the host no access to what allocate() gave; the driver has it mapped once more from now on."""
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
        """Give back what allocate() gave; whoever touches it now has a fault. Any lock may be held."""
        size = self._parts.pop(address)
        lib.unmap(address, size)
        if own := closed_memory.forget(address):
            lib.unmap(own, size)
        lib.punch(self.descriptor, self.offset(address), size)
        self._freed.append((address, size))


def _begins() -> Iterator[int]:
    for number in range(MOST_STRETCHES):
        yield FIRST_BEGIN + number * STEP
