# SPDX-License-Identifier: Apache-2.0
"""Sums over intervals of time that may overlap."""

from __future__ import annotations

from collections import defaultdict

Interval = tuple[int, int, int, str]
"""Begin, end, rank, name."""
Span = tuple[float, float]
"""Begin and end."""


def owned(intervals: list[Interval]) -> dict[str, float]:
    """Returns the time in which each name has the lowest rank of all that are under way; equal ranks share it."""
    found: dict[str, float] = defaultdict(float)
    overlapping: list[Interval] = []
    reached = 0
    for interval in sorted(intervals):
        begin, end = interval[:2]
        if begin >= end:
            continue
        if overlapping and begin >= reached:
            _divide(overlapping, found)
            overlapping = []
        reached = max(reached, end) if overlapping else end
        overlapping.append(interval)
    _divide(overlapping, found)
    return found


def _divide(overlapping: list[Interval], found: dict[str, float]) -> None:
    """Adds the time that each name has of intervals without a gap between them."""
    if len(overlapping) == 1:  # as most are
        begin, end, _, name = overlapping[0]
        found[name] += end - begin
        return
    active: dict[int, dict[str, int]] = {}  # by rank, how many of each name are under way
    changes = [(begin, 1, rank, name) for begin, _, rank, name in overlapping]
    changes += [(end, -1, rank, name) for _, end, rank, name in overlapping]
    changes.sort()
    before = 0
    for at, change, rank, name in changes:
        if at > before and active:
            first = active[min(active)]
            share = (at - before) / len(first)
            for each in first:
                found[each] += share
        before = at
        names = active.setdefault(rank, {})
        count = names.get(name, 0) + change
        if count:
            names[name] = count
        elif len(names) > 1:
            del names[name]
        else:
            del active[rank]


def covered(intervals: list[Span], first: int, gap: Span) -> float:
    """Returns the part of a gap that intervals cover; all before the `first` one end before the gap."""
    total, at = 0.0, first
    while at < len(intervals) and intervals[at][0] < gap[1]:
        begin, end = intervals[at]
        total += max(0.0, min(end, gap[1]) - max(begin, gap[0]))
        at += 1
    return total
