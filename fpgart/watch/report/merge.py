# SPDX-License-Identifier: Apache-2.0
"""The traces of several processes as one, with arrows for the packets between their boards.

Devices, buffers, operations and queues get numbers that differ between the processes; times count from the first begin.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fpgart.watch.report.trace_events import Args, TraceError

NUMBERED = {
    "device": "device",
    "operation": "operation",
    "buffer": "buffer",
    "source": "buffer",
    "parent": "buffer",
    "allocation": "buffer",
    "queue": "queue",
    "site": "site",
    "enqueued": "enqueued",
}
"""Arguments of events that are numbers, and the kind of the numbered object."""
DEVICE = re.compile(r"\bdevice (\d+)\b")
PROCESSES_APART = 100_000
"""The distance of the first tracks of two processes."""
SAME_CLOCK_NS = 1_000_000_000
"""Processes whose clocks began within this time run on one machine."""
METADATA = "M"


def merged(traces: Sequence[list[Args]], names: Sequence[str]) -> list[Args]:
    """Returns the events of all traces in the order of their begins; `names` are for those that have no rank.

    Raises TraceError for a trace without its begin.
    """
    if len(traces) == 1:
        return traces[0]
    begins = _begins([_begin(trace) for trace in traces])
    above: dict[str, int] = defaultdict(int)
    found: list[Args] = []
    whole = True
    ordered = sorted(zip(traces, begins, names, strict=True), key=lambda each: _begin(each[0]).get("rank", 0))
    for index, (trace, begin, name) in enumerate(ordered):
        process = _Process(index, dict(above), (begin - min(begins)) / 1000, _name(_begin(trace), name))
        found += [process.moved(event) for event in trace if not _is_frame(event)]
        found.append(process.fact(_begin(trace), trace))
        whole = whole and any(_is_frame(event) and event["name"] == "end" for event in trace)
        for kind, number in _most(trace).items():
            above[kind] += number + 1
    if whole:
        last = max(float(event.get("ts", 0.0)) for event in found)
        found.append({"name": "end", "cat": "fpgart", "ph": "i", "s": "t", "pid": 1, "tid": 0, "ts": last, "args": {}})
    return sorted(found, key=lambda event: float(event.get("ts", 0.0)))


def as_trace(events: Iterable[Args]) -> str:
    """Returns a trace file for Perfetto, with an arrow from each launch that writes packets to those that read them."""
    written = list(events)
    lines = [json.dumps(event) for event in (*written, *_arrows(written))]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _is_frame(event: Args) -> bool:
    return event.get("cat") == "fpgart" and event.get("name") in ("begin", "end")


def _begin(trace: list[Args]) -> Args:
    for event in trace:
        if _is_frame(event) and event["name"] == "begin" and "clock" in event["args"]:
            return dict(event["args"])
    raise TraceError("traces can be merged only if their first lines are complete")


def _begins(facts: list[Args]) -> list[int]:
    """Returns the begin of each process's trace, in nanoseconds of one clock: the machine's, or that of the day."""
    epochs = [int(each["epoch"]) for each in facts]
    same = max(epochs) - min(epochs) < SAME_CLOCK_NS
    return [int(each["clock"]) + (0 if same else int(each["epoch"])) for each in facts]


def _name(facts: Args, name: str) -> str:
    return f"rank {facts['rank']}" if "rank" in facts else name


def _most(trace: list[Args]) -> dict[str, int]:
    """Returns the highest number of each kind in a trace."""
    most: dict[str, int] = {}
    for event in trace:
        for key, value in event.get("args", {}).items():
            if key in NUMBERED and isinstance(value, int):
                most[NUMBERED[key]] = max(most.get(NUMBERED[key], 0), value)
    return most


class _Process:
    """A process of a merged trace.

    `above`: by kind, the offset of its numbers; `later`: microseconds.
    """

    def __init__(self, index: int, above: dict[str, int], later: float, name: str) -> None:
        self._track = PROCESSES_APART * index
        self._above = above
        self._later = later
        self._name = name

    def moved(self, event: Args) -> Args:
        made = dict(event)
        made["pid"] = event.get("pid", 0) + self._track
        if "ts" in event:
            made["ts"] = round(float(event["ts"]) + self._later, 3)
        if "bind_id" in event:
            made["bind_id"] = hex(int(event["bind_id"], 16) + self._above.get("enqueued", 0))
        made["args"] = {key: self._argument(key, value) for key, value in event.get("args", {}).items()}
        if event.get("ph") == METADATA and event.get("name") == "process_name":
            made["args"]["name"] = f"{self._name}: {made['args']['name']}"
        return made

    def _argument(self, key: str, value: object) -> object:
        if isinstance(value, str):
            return DEVICE.sub(lambda hit: f"device {int(hit[1]) + self._above.get('device', 0)}", value)
        if key not in NUMBERED or not isinstance(value, int):
            return value
        return value + self._above.get(NUMBERED[key], 0) if value or key == "device" else value

    def fact(self, facts: Args, trace: list[Args]) -> Args:
        """Returns an event that describes the process."""
        first = self._above.get("device", 0)
        last = first + _most(trace).get("device", 0)
        devices = f"devices {first} to {last}" if last > first else f"device {first}"
        words = f"{self._name}: {devices}, process {facts.get('process', '?')}"
        return {
            "name": "process", "cat": "fpgart", "ph": "i", "s": "t", "pid": 1 + self._track, "tid": 0,
            "ts": 0.0, "args": {"words": words},
        }  # fmt: skip


def _arrows(events: list[Args]) -> Iterator[Args]:
    """Yields a pair of events for each launch that wrote bytes and each launch that read some of them."""
    for number, (writer, reader) in enumerate(packets(events), 1):
        kind = {"name": "packets", "cat": "packets", "id": number}
        at = max(float(writer["ts"]), float(reader["ts"]))
        within = min(at, float(reader["ts"]) + float(reader["dur"]))
        yield {**kind, "ph": "s", "pid": writer["pid"], "tid": writer["tid"], "ts": writer["ts"]}
        yield {**kind, "ph": "f", "bp": "e", "pid": reader["pid"], "tid": reader["tid"], "ts": within}


def packets(events: Iterable[Args]) -> Iterator[tuple[Args, Args]]:
    """Yields the events of each launch that wrote bytes into a cable and each launch that read some of them."""
    ends: dict[str, tuple[list[Args], list[Args]]] = defaultdict(lambda: ([], []))
    for event in events:
        if event.get("cat") == "cable":
            ends[event["args"]["cable"]][0 if event["args"]["writes"] else 1].append(event)
    for writers, readers in ends.values():
        yield from _overlaps(writers, readers)


def _overlaps(writers: list[Args], readers: list[Args]) -> Iterator[tuple[Args, Args]]:
    """Yields the events whose bytes overlap, both lists in the order of the bytes."""
    writers, readers = (sorted(each, key=lambda event: int(event["args"]["begin"])) for each in (writers, readers))
    w = r = 0
    while w < len(writers) and r < len(readers):
        written, read = writers[w]["args"], readers[r]["args"]
        if max(written["begin"], read["begin"]) < min(written["end"], read["end"]):
            yield writers[w], readers[r]
        if written["end"] <= read["end"]:
            w += 1
        else:
            r += 1
