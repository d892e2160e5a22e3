# SPDX-License-Identifier: Apache-2.0
"""The bytes of the boards' memories that have been written since they were reserved.

Addresses are those of this process. Memory that was never reserved here counts as written.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right

from fpgart.base.ranges import Range


class Ranges:
    """A set of bytes, as disjoint ranges in ascending order."""

    __slots__ = ("_begins", "_ends")

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def remove(self, begin: int, end: int) -> None:
        first, last = self._touched(begin, end)
        if first == last:
            return
        begins = [self._begins[first]] if self._begins[first] < begin else []
        ends = [begin] * len(begins)
        if self._ends[last - 1] > end:
            begins.append(end)
            ends.append(self._ends[last - 1])
        self._begins[first:last] = begins
        self._ends[first:last] = ends

    def add(self, begin: int, end: int) -> None:
        if begin >= end:
            return
        self.remove(begin, end)
        index = bisect_left(self._begins, begin)
        self._begins.insert(index, begin)
        self._ends.insert(index, end)

    def within(self, begin: int, end: int) -> list[Range]:
        """Returns the ranges, cut off at `begin` and `end`."""
        first, last = self._touched(begin, end)
        pairs = zip(self._begins[first:last], self._ends[first:last], strict=True)
        return [(max(start, begin), min(stop, end)) for start, stop in pairs]

    def _touched(self, begin: int, end: int) -> tuple[int, int]:
        """Returns the indices, from and to, of the ranges that share bytes with the given one."""
        if begin >= end:
            return 0, 0
        first = bisect_right(self._ends, begin)
        return first, max(first, bisect_left(self._begins, end))


def holes(ranges: list[Range], begin: int, end: int) -> list[Range]:
    """Returns the gaps between ascending `ranges`, from `begin` to `end`."""
    edges = [begin, *(edge for pair in ranges for edge in pair), end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, stop) for start, stop in pairs if start < stop]


class Contents:
    """The bytes that have not been written. Any thread may call it."""

    def __init__(self) -> None:
        self._unwritten = Ranges()
        self.lock = threading.RLock()
        """Held by callers that combine several calls."""

    def reserved(self, address: int, size: int) -> None:
        """Marks these bytes as not written."""
        with self.lock:
            self._unwritten.add(address, address + size)

    def wrote(self, address: int, size: int) -> None:
        """Marks these bytes as written; also called when they are no longer in use."""
        with self.lock:
            self._unwritten.remove(address, address + size)

    def copied(self, source: int, target: int, size: int) -> None:
        """Marks the bytes at `target` as those at `source` are marked."""
        with self.lock:
            unwritten = self._unwritten.within(source, source + size)
            self._unwritten.remove(target, target + size)
            for begin, end in unwritten:
                self._unwritten.add(begin - source + target, end - source + target)

    def unwritten(self, address: int, size: int) -> list[Range]:
        """Returns those of the bytes that have not been written, in ascending order."""
        with self.lock:
            return self._unwritten.within(address, address + size)
