# SPDX-License-Identifier: Apache-2.0
"""The use of time: each moment between the first command and the last end is attributed to one activity.

If several activities overlap, the time goes to the first of them in `PRECEDENCE`: a board that computes does its
purpose, whatever the link does meanwhile. Kernels that run together share the time. `busy` also counts the time that is
attributed to others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from fpgart.base.ranges import together
from fpgart.watch.family import COMPILER, PROGRAMMING, loading_of
from fpgart.watch.intervals import Interval, owned
from fpgart.watch.lanes import AUTORUN, BANK, CHANNEL, QUEUE, Lane, Span, first_command, first_simulated
from fpgart.watch.report.trace_events import Args

PRECEDENCE = ("kernel", "program", "copy", "write", "read", "migration", "compile", "call")
APART = ("program", "compile")
CALLS, OWN = "host, in OpenCL calls", "host, its own code"
NAMES = {
    "write": "link, host to board",
    "read": "link, board to host",
    "copy": "copies within a board",
    "migration": "migrations of shared memory",
    "program": PROGRAMMING,
    "compile": COMPILER,
    "call": CALLS,
}
SIMULATED_NAMES = {**NAMES, "migration": "link, migrations"}
WAITING = "host, and latency of launches"


@dataclass(slots=True)
class Part:
    """An activity that took time."""

    name: str
    kind: str
    """The kind of its spans; "own" for the host's own code, "bank" for a bank."""
    own: int = 0
    """The nanoseconds that are attributed to it."""
    busy: int = 0
    """Nanoseconds in which it was busy, with others or not."""


@dataclass(slots=True)
class TimeUse:
    """The use of one timeline, which is `total` nanoseconds long."""

    total: int = 0
    before: int = 0
    """Nanoseconds before its first command."""
    parts: list[Part] = field(default_factory=list)
    """The parts with an own time, the longest first."""
    banks: list[Part] = field(default_factory=list)
    """Banks, which are busy while the time is attributed to other parts."""

    def of_commands(self) -> TimeUse:
        """Returns the use without the loading of programs and the engine's compiler, which take long, and once."""
        left = [part for part in self.parts if part.kind not in APART]
        return TimeUse(sum(part.own for part in left), self.before, left, self.banks)


def of_real(events: list[Args], lanes: Iterable[Lane], end: int) -> TimeUse:
    """Returns the use from the first command until `end`, in nanoseconds since the trace began."""
    begin = first_command(events)
    spans = [span for lane in lanes if lane.rank not in (QUEUE, AUTORUN, CHANNEL) for span in lane.spans]
    return _of(spans, begin, end, NAMES | {"program": loading_of(events)}, OWN)


def of_simulated(events: list[Args], lanes: Iterable[Lane]) -> TimeUse | None:
    """Returns the use in the simulated clock; None without that clock."""
    spans = [span for lane in lanes if lane.rank != BANK for span in lane.spans]
    if not spans:
        return None
    names = SIMULATED_NAMES | {"program": loading_of(events)}
    use = _of(spans, first_simulated(events), max(span.end for span in spans), names, WAITING)
    use.before = 0
    use.banks = _banks(events)
    return use


def _banks(events: Iterable[Args]) -> list[Part]:
    found: dict[str, Part] = {}
    for event in events:
        if event.get("cat") != "time":
            continue
        for resource, busy in event["args"]["busy"].items():
            if resource.startswith("memory '"):
                name = f"device {event['args']['device']}, {resource}"
                found.setdefault(name, Part(name, "bank")).busy += busy
    return sorted(found.values(), key=lambda part: -part.busy)


def _of(spans: Iterable[Span], begin: int, end: int, names: dict[str, str], rest: str) -> TimeUse:
    end = max(begin, end)
    use = TimeUse(end - begin, begin)
    parts: dict[str, Part] = {}
    intervals: list[Interval] = []
    by_part: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        since, until = max(span.begin, begin), min(span.end, end)
        if since >= until or span.kind not in PRECEDENCE:
            continue
        name = f"kernel {span.name}" if span.kind == "kernel" else names[span.kind]
        parts.setdefault(name, Part(name, span.kind))
        intervals.append((since, until, PRECEDENCE.index(span.kind), name))
        by_part[name].append((since, until))
    for name, had in owned(intervals).items():
        parts[name].own = round(had)
    for name, held in by_part.items():
        parts[name].busy = together(held)
    alone = use.total - sum(part.own for part in parts.values())
    parts[rest] = Part(rest, "own", alone, alone)
    use.parts = sorted(parts.values(), key=lambda part: -part.own)
    return use
