# SPDX-License-Identifier: Apache-2.0
"""Sums over intervals of time that may overlap."""

from __future__ import annotations

from collections import Counter, defaultdict


def owned(intervals: list[tuple[int, int, int, str]]) -> dict[str, float]:
    """How long each name has the lowest rank of all that are under way; equals share the time.

    Intervals are begin, end, rank, name.
    """
    found: dict[str, float] = defaultdict(float)
    active: dict[int, Counter[str]] = defaultdict(Counter)  # by rank, how many of each name are under way
    changes = [(begin, 1, rank, name) for begin, _, rank, name in intervals]
    changes += [(end, -1, rank, name) for _, end, rank, name in intervals]
    before = 0
    for at, change, rank, name in sorted(changes):
        if at > before and active:
            first = active[min(active)]
            for each in first:
                found[each] += (at - before) / len(first)
        before = at
        active[rank][name] += change
        if not active[rank][name]:
            del active[rank][name]
        if not active[rank]:
            del active[rank]
    return found


def together(intervals: list[tuple[int, int]]) -> int:
    """The nanoseconds in which at least one is under way."""
    total, reached = 0, -1
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total
