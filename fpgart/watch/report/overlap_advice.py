# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers and kernels that could run at the same time and do not, and what keeps them apart."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from fpgart.watch.callers import MAY_WAIT
from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found, Saving
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.trace_events import Args, Takes

WORTH_NS = 100_000
"""Time that has to be saved in all."""
MOST_WAITS = 64


@dataclass(slots=True)
class Work:
    """A transfer over the link, or a kernel, in microseconds of the run."""

    args: Args
    kernel: str
    queue: int
    begin: float
    end: float

    @property
    def touched(self) -> set[int]:
        """The buffers and allocations that it uses."""
        if self.kernel:
            return {*self.args["buffers"], *self.args.get("allocations", ())}
        return {self.args[key] for key in ("buffer", "allocation", "source") if key in self.args}


@dataclass(slots=True)
class Wait:
    """A call in which the host may wait."""

    call: str
    site: int
    begin: float
    end: float
    reach: float
    """When the last of this wait and those before it ended."""


class OverlapAdviser:
    """Takes the events of a trace in the order of time, and compares each operation of a device with the one before."""

    def __init__(self, found: Found, costs: Costs, sites: Sites) -> None:
        self._found = found
        self._costs = costs
        self._sites = sites
        self._last: dict[int, Work] = {}
        self._waits: deque[Wait] = deque(maxlen=MOST_WAITS)
        self._saved: defaultdict[tuple[str, str], list[Saving]] = defaultdict(list)
        """By kernel and what keeps it and a transfer apart."""

    def takes(self) -> Takes:
        operations: Takes = {
            "device program": self._programmed,
            "device kernel": self._launched,
            "device transfer": self._moved,
        }
        return {**operations, **dict.fromkeys((f"api {name}" for name in MAY_WAIT), self._waited)}

    def _waited(self, event: Args) -> None:
        begin = float(event.get("ts", 0.0))
        end = begin + float(event.get("dur", 0.0))
        reach = max(end, self._waits[-1].reach) if self._waits else end
        self._waits.append(Wait(event["name"], event.get("args", {}).get("site", 0), begin, end, reach))

    def _programmed(self, event: Args) -> None:
        self._last.pop(event["args"]["device"], None)

    def _launched(self, event: Args) -> None:
        args = event["args"]
        if not args.get("indirect"):
            self._add(event, args["kernel"])

    def _moved(self, event: Args) -> None:
        """Only what goes over the link counts."""
        args = event["args"]
        if args.get("size") and not args.get("on_host") and args.get("command", "").startswith(MOVES):
            self._add(event, "")

    def _add(self, event: Args, kernel: str) -> None:
        args, begin = event["args"], float(event.get("ts", 0.0))
        if "error" in args:
            return
        work = Work(args, kernel, event.get("tid", 0), begin, begin + float(event.get("dur", 0.0)))
        last = self._last.get(args["device"])
        self._last[args["device"]] = work
        if last is not None:
            self._compare(last, work)

    def _cost(self, work: Work) -> int:
        """Nanoseconds on the board."""
        if work.kernel:
            return self._costs.kernel(work.args)
        return self._costs.transfer(work.args["device"], work.args["size"])

    def _compare(self, first: Work, second: Work) -> None:
        if bool(first.kernel) == bool(second.kernel) or second.begin < first.end or first.touched & second.touched:
            return
        cause = self._cause(first, second)
        if cause:
            saved = min(self._cost(first), self._cost(second))
            site = second.args.get("site", 0)
            operation = (first if second.kernel else second).args.get("operation", 0)
            self._saved[first.kernel or second.kernel, cause].append((saved, site, operation))

    def _cause(self, first: Work, second: Work) -> str:
        """What keeps the second one from beginning beside the first; "" where that is not known."""
        wait = None
        for each in reversed(self._waits):
            if each.reach < first.end:
                break
            if each.begin <= first.end <= each.end <= second.begin:
                wait = each
        if wait is not None:
            place = self._sites.place(wait.site)
            return f"{wait.call}{f' at {place}' if place else ''} waits in between"
        if first.queue == second.queue and not (first.args.get("unordered") or second.args.get("unordered")):
            return f"queue {first.queue} is in order"
        return ""

    def finish(self) -> None:
        for (kernel, cause), saved in self._saved.items():
            if sum(nanoseconds for nanoseconds, *_ in saved) < WORTH_NS:
                continue
            words = (
                f"overlap transfers with kernel '{kernel}', which does not use their buffers: {cause}; enqueue them "
                "without blocking in a separate queue, and order dependent commands with events"
            )
            self._found.add_each(words, saved, noun="time")


MOVES = ("READ_BUFFER", "WRITE_BUFFER", "MEMCPY_INTEL")
"""Commands that move bytes over the link."""
