# SPDX-License-Identifier: Apache-2.0
"""Advice on transfers and kernels that could run at the same time and do not, and the reason."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from fpgart.watch.callers import MAY_WAIT
from fpgart.watch.report.found import EventTaker, Saving
from fpgart.watch.report.trace_events import Args, Takes

WORTH_NS = 100_000
"""Time that has to be saved in all."""
MOST_WAITS = 64


Work = tuple[str, Args, float, float]
"""A transfer over the link (""), or a kernel: its name, its event, its begin and end in microseconds of the run."""
Wait = tuple[float, float, float, Args]
"""A call in which the host may wait: begin, end, when the last of it and those before it ended, and its event."""


@dataclass(slots=True)
class OverlapAdviser(EventTaker):
    """Takes the events of a trace in the order of time, and compares each operation of a device with the one before."""

    _last: dict[int, Work] = field(default_factory=dict)
    _waits: deque[Wait] = field(default_factory=lambda: deque(maxlen=MOST_WAITS))
    _saved: defaultdict[tuple[str, str], list[Saving]] = field(default_factory=lambda: defaultdict(list))
    """The savings by kernel, and by the reason why it and a transfer do not overlap."""

    def takes(self) -> Takes:
        operations: Takes = {
            "device program": self._programmed,
            "device kernel": self._launched,
            "device transfer": self._moved,
        }
        return {**operations, **dict.fromkeys((f"api {name}" for name in MAY_WAIT), self._waited)}

    def _waited(self, event: Args) -> None:
        begin = event.get("ts", 0.0)
        end = begin + event.get("dur", 0.0)
        waits = self._waits
        waits.append((begin, end, max(end, waits[-1][2]) if waits else end, event))

    def _programmed(self, event: Args) -> None:
        self._last.pop(event["args"]["device"], None)

    def _launched(self, event: Args) -> None:
        args = event["args"]
        if not args.get("indirect"):
            self._add(event, args["kernel"])

    def _moved(self, event: Args) -> None:
        """Adds an operation that uses the link; others do not count."""
        args = event["args"]
        if args.get("size") and not args.get("on_host") and args.get("command", "").startswith(MOVES):
            self._add(event, "")

    def _add(self, event: Args, kernel: str) -> None:
        args, begin = event["args"], event.get("ts", 0.0)
        if "error" in args:
            return
        work = kernel, event, begin, begin + event.get("dur", 0.0)
        device = args["device"]
        last = self._last.get(device)
        self._last[device] = work
        if last is not None and bool(last[0]) != bool(kernel) and begin >= last[3]:
            self._compare(last, work)

    def _compare(self, first: Work, second: Work) -> None:
        """Compares a kernel and a transfer that ran one after the other."""
        (kernel, launch, _, _), (_, move, _, _) = (first, second) if first[0] else (second, first)
        launched, moved = launch["args"], move["args"]
        if use_the_same(launched, moved):
            return
        cause = self._cause(first, second)
        if cause:
            saved = min(self._costs.kernel(launched), self._costs.transfer(moved["device"], moved["size"]))
            site = second[1]["args"].get("site", 0)
            self._saved[kernel, cause].append((saved, site, moved.get("operation", 0)))

    def _cause(self, first: Work, second: Work) -> str:
        """Returns why the second one did not begin during the first; "" if that is not known."""
        _, before, _, first_end = first
        _, behind, second_begin, _ = second
        wait = None
        for begin, end, reached, event in reversed(self._waits):
            if reached < first_end:
                break
            if begin <= first_end <= end <= second_begin:
                wait = event
        if wait is not None:
            place = self._sites.place(wait.get("args", {}).get("site", 0))
            return f"{wait['name']}{f' at {place}' if place else ''} waits in between"
        queue = before.get("tid", 0)
        if queue == behind.get("tid", 0) and not (before["args"].get("unordered") or behind["args"].get("unordered")):
            return f"queue {queue} is in order"
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


def use_the_same(kernel: Args, transfer: Args) -> bool:
    """True if a launch and a transfer use the same buffer or allocation."""
    buffers, allocations = kernel["buffers"], kernel.get("allocations", ())
    for key in ("buffer", "allocation", "source"):
        number = transfer.get(key, 0)  # 0 stands for none
        if number and (number in buffers or number in allocations):
            return True
    return False


MOVES = ("READ_BUFFER", "WRITE_BUFFER", "MEMCPY_INTEL")
"""Commands that move bytes over the link."""
