# SPDX-License-Identifier: Apache-2.0
"""Sums over intervals of time that may overlap."""

from __future__ import annotations

from collections import defaultdict


def owned(intervals: list[tuple[int, int, int, str]]) -> dict[str, float]:
    """How long each name has the lowest rank of all that are under way; equals share the time.

    Intervals are begin, end, rank, name.
    """
    found: dict[str, float] = defaultdict(float)
    active: dict[int, dict[str, int]] = {}  # by rank, how many of each name are under way
    changes = [(begin, 1, rank, name) for begin, _, rank, name in intervals]
    changes += [(end, -1, rank, name) for _, end, rank, name in intervals]
    changes.sort()
    before = 0
    for at, change, rank, name in changes:
        if at > before and active:
            first = active[min(active)]
            share = (at - before) / len(first)
            for each in first:
                found[each] += share
        before = at
        names = active.get(rank)
        if names is None:
            active[rank] = {name: change}
            continue
        count = names.get(name, 0) + change
        if count:
            names[name] = count
        elif len(names) > 1:
            del names[name]
        else:
            del active[rank]
    return found


def together(intervals: list[tuple[int, int]]) -> int:
    """The nanoseconds in which at least one is under way."""
    total, reached = 0, -1
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total
