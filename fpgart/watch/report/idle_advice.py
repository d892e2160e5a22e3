# SPDX-License-Identifier: Apache-2.0
"""Advice on times when the boards have nothing to do because the host is busy outside of OpenCL calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from fpgart.base.ranges import joined
from fpgart.watch.intervals import Span, covered
from fpgart.watch.report.found import EventTaker
from fpgart.watch.report.trace_events import Args, Takes

LEAST_US = 1000.0
"""The least pause that advice reports."""
LEAST_TOTAL_US = 20_000.0
LEAST_SHARE = 0.1
"""The least share of all pauses in the time from the first operation to the last."""


@dataclass(slots=True)
class IdleAdviser(EventTaker):
    """Takes the events of a trace. Times are those of the run: the host's own work takes as long with a real board."""

    _new: list[Args] = field(default_factory=list)
    """The events of calls that are not in these intervals yet."""
    _calls: list[Span] = field(default_factory=list)
    """The host's calls; calls that touch are one interval."""
    _past: int = 0
    """The number of intervals that end before the boards were busy last."""
    _began: float = inf
    _busy_until: float = inf
    _pauses: list[tuple[float, int]] = field(default_factory=list)
    """For each gap between operations, the time in which the host was in no call, and the place of the next
    command."""

    def takes(self) -> Takes:
        return {"api": self._new.append, "device": self._ran}

    def _merge_calls(self) -> None:
        """Merges the calls so far. It is called at pauses only, because most calls are in none."""
        new = ((begin := event.get("ts", 0.0), begin + event.get("dur", 0.0)) for event in self._new)
        self._calls[-1:] = joined([*self._calls[-1:], *new])
        self._new.clear()

    def _ran(self, event: Args) -> None:
        begin = float(event.get("ts", 0.0))
        end = begin + float(event.get("dur", 0.0))
        if begin - self._busy_until >= LEAST_US:
            self._pauses.append((self._pause(begin), event["args"].get("site", 0)))
        if self._began == inf:
            self._began, self._busy_until = begin, end
        elif end > self._busy_until:
            self._busy_until = end

    def _pause(self, end: float) -> float:
        """Returns how long the host was in no call since the boards were busy last. The calls until `end` are known."""
        self._merge_calls()
        calls, begin = self._calls, self._busy_until
        while self._past < len(calls) and calls[self._past][1] <= begin:
            self._past += 1
        return end - begin - covered(calls, self._past, (begin, end))

    def finish(self) -> None:
        pauses = [pause for pause in self._pauses if pause[0] >= LEAST_US]
        total = sum(pause for pause, _ in pauses)
        if total < LEAST_TOTAL_US or total < LEAST_SHARE * (self._busy_until - self._began):
            return
        for microseconds, site in pauses:
            call = self._sites.call(site)
            words = (
                "the boards are idle while the host works outside OpenCL calls"
                f"{f' before {call}' if call else ''}: enqueue the next commands before that work, or overlap both"
            )
            nanoseconds = int(microseconds * 1000)
            self._found.add(words, nanoseconds=nanoseconds, args={"site": site}, noun="time", measured=True)
