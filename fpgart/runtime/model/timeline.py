# SPDX-License-Identifier: Apache-2.0
"""The busy intervals, in the simulated clock, of a resource that serves one request at a time."""

from __future__ import annotations

from bisect import bisect_right

MOST = 512  # intervals that are kept; no request is served before them


class Timeline:
    """Busy intervals in nanoseconds, sorted and apart from each other.

    A later request may use an interval that earlier ones left free, if that delays none of them.
    """

    __slots__ = ("_begins", "_ends", "_floor")

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._floor = 0

    @property
    def end(self) -> int:
        """The end of the last busy interval."""
        return self._ends[-1] if self._ends else self._floor

    def free_from(self, at: int, length: int) -> int:
        """Returns the first time from `at` on at which the resource is free for `length` nanoseconds."""
        at = max(at, self._floor)
        for index in range(bisect_right(self._ends, at), len(self._ends)):
            if at + length <= self._begins[index]:
                break
            at = self._ends[index]
        return at

    def parts(self, at: int, amount: int) -> list[tuple[int, int]]:
        """Returns the free intervals from `at` on in which `amount` nanoseconds of work are done."""
        at = max(at, self._floor)
        found: list[tuple[int, int]] = []
        for index in range(bisect_right(self._ends, at), len(self._ends)):
            if amount <= 0:
                break
            free = min(amount, self._begins[index] - at)
            if free > 0:
                found.append((at, at + free))
                amount -= free
            at = max(at, self._ends[index])
        if amount > 0:
            found.append((at, at + amount))
        return found

    def take(self, begin: int, end: int) -> None:
        """Marks the free interval from `begin` to `end` as busy."""
        if end <= begin:
            return
        begins, ends = self._begins, self._ends
        index = bisect_right(begins, begin)
        joins_before = index > 0 and ends[index - 1] == begin
        joins_after = index < len(begins) and begins[index] == end
        if joins_before and joins_after:
            ends[index - 1] = ends[index]
            del begins[index], ends[index]
        elif joins_before:
            ends[index - 1] = end
        elif joins_after:
            begins[index] = begin
        else:
            begins.insert(index, begin)
            ends.insert(index, end)
            if len(begins) > MOST:
                self._floor = ends.pop(0)
                begins.pop(0)
