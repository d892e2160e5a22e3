# SPDX-License-Identifier: Apache-2.0
"""Advice on times when the boards have nothing to do because the host is busy outside of OpenCL calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from fpgart.watch.report.found import Found
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.trace_events import Args

LEAST_US = 1000.0
"""A pause that is worth a word."""
LEAST_TOTAL_US = 20_000.0
LEAST_SHARE = 0.1
"""Of the time from the first operation to the last, that all pauses have to take."""

Interval = tuple[float, float]


class IdleAdviser:
    """Takes the events of a trace. Times are those of the run: the host's own work takes as long with a real board."""

    CATEGORIES: ClassVar[tuple[str, ...]] = ("api", "device")

    def __init__(self, found: Found, sites: Sites) -> None:
        self._found = found
        self._sites = sites
        self._operations: list[tuple[float, float, int]] = []
        self._calls: list[Interval] = []

    def take(self, event: Args) -> None:
        begin = float(event.get("ts", 0))
        end = begin + float(event.get("dur", 0))
        if event.get("cat") == "api":
            self._calls.append((begin, end))
        else:
            self._operations.append((begin, end, event["args"].get("site", 0)))

    def finish(self) -> None:
        pauses = [pause for pause in self._pauses() if pause[0] >= LEAST_US]
        total = sum(pause for pause, _ in pauses)
        if total < LEAST_TOTAL_US or total < LEAST_SHARE * self._span():
            return
        for microseconds, site in pauses:
            call = self._sites.call(site)
            words = (
                "the boards are idle while the host works outside OpenCL calls"
                f"{f' before {call}' if call else ''}: enqueue the next commands before that work, or overlap both"
            )
            nanoseconds = int(microseconds * 1000)
            self._found.add(words, nanoseconds=nanoseconds, site=site, noun="time", measured=True)

    def _span(self) -> float:
        return max(end for _, end, _ in self._operations) - min(begin for begin, _, _ in self._operations)

    def _pauses(self) -> Iterable[tuple[float, int]]:
        """Of each gap between operations that is worth a word, how long the host was in no call.

        Besides, the place of the next command.
        """
        calls = merged(self._calls)
        at, busy_until = 0, float("inf")
        for begin, end, site in sorted(self._operations):
            if begin - busy_until >= LEAST_US:
                while at < len(calls) and calls[at][1] <= busy_until:
                    at += 1
                yield begin - busy_until - covered(calls, at, (busy_until, begin)), site
            busy_until = end if busy_until == float("inf") else max(busy_until, end)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time, in intervals that are in order and apart."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def covered(intervals: list[Interval], first: int, gap: Interval) -> float:
    """How much of a gap intervals cover; all before the `first` one end before the gap."""
    total, at = 0.0, first
    while at < len(intervals) and intervals[at][0] < gap[1]:
        begin, end = intervals[at]
        total += max(0.0, min(end, gap[1]) - max(begin, gap[0]))
        at += 1
    return total
