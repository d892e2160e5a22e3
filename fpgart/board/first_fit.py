# SPDX-License-Identifier: Apache-2.0
"""First-fit allocation of address ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

GRANULARITY = 1024


def round_up(size: int, unit: int = GRANULARITY) -> int:
    return -(-size // unit) * unit


class FirstFit:
    """Hands out ranges of [begin, end), always at the lowest address where one fits.

    The holes between live ranges are kept in address order; a freed range joins its neighbours.
    """

    __slots__ = ("_holes", "_sizes", "begin", "end", "free_bytes")

    def __init__(self, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self.free_bytes = end - begin
        self._holes: list[int] = [begin]
        self._sizes: dict[int, int] = {begin: end - begin}

    def allocate(self, size: int, first: int | None = None) -> int | None:
        """The lowest address at or above `first` where `size` bytes fit; None if there is none."""
        size = round_up(size)
        index = 0 if first is None else max(0, bisect_right(self._holes, first) - 1)
        for hole in self._holes[index:] if index else self._holes:
            start = hole if first is None or hole >= first else first
            if start + size <= hole + self._sizes[hole]:
                self._cut(hole, start, size)
                return start
        return None

    def free(self, address: int, size: int) -> None:
        """Give a range back; it must be one that allocate() returned."""
        size = round_up(size)
        self.free_bytes += size
        index = bisect_left(self._holes, address)
        if index < len(self._holes) and self._holes[index] == address + size:
            size += self._sizes.pop(self._holes.pop(index))
        if index and self._holes[index - 1] + self._sizes[self._holes[index - 1]] == address:
            self._sizes[self._holes[index - 1]] += size
        else:
            self._holes.insert(index, address)
            self._sizes[address] = size

    def _cut(self, hole: int, start: int, size: int) -> None:
        length = self._sizes.pop(hole)
        self._holes.pop(bisect_left(self._holes, hole))
        self.free_bytes -= size
        for begin, end in ((hole, start), (start + size, hole + length)):
            if end > begin:
                insort(self._holes, begin)
                self._sizes[begin] = end - begin
