# SPDX-License-Identifier: Apache-2.0
"""The packets of a trace in Perfetto's format.

A device is a GPU: each of its kernels and directions is a hardware queue, so that Perfetto's table gpu_slice has their
spans. Threads of the host and command queues are tracks. The number of a command is the submission_id of its GPU
slices, and the id of the arrow from the call that enqueued it to its operation in the queue. A device in simulated time
is a GPU of its own, SIMULATED above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from itertools import count

from fpgart.watch import lanes
from fpgart.watch.lanes import AUTORUN, BANK, CHANNEL, HOST, QUEUE, Lane, Span
from fpgart.watch.perfetto import counters
from fpgart.watch.perfetto.counters import Counter
from fpgart.watch.perfetto.wire import Fixed, Value, message
from fpgart.watch.report.model import Report
from fpgart.watch.report.trace_events import Args

SIMULATED = 100
"""The number of the GPU for device 0 in simulated time."""
SEQUENCE = 1
STATE_CLEARED, NEEDS_STATE = 1, 2
COMPUTE, OTHER = 2, 0
OPEN_CL = 3
BYTE, SECOND, MEMORY = 7, 22, 5
SLICE_BEGIN, SLICE_END = 1, 2
NUMBER = re.compile(r"device (\d+)")


class Packet(IntEnum):
    """Fields of TracePacket."""

    TIMESTAMP = 8
    SEQUENCE_ID = 10
    TRACK_EVENT = 11
    INTERNED_DATA = 12
    SEQUENCE_FLAGS = 13
    GPU_COUNTER = 52
    RENDER_STAGE = 53
    TRACK_DESCRIPTOR = 60


class Stage(IntEnum):
    """Fields of GpuRenderStageEvent."""

    EVENT_ID = 1
    DURATION = 2
    CONTEXT = 5
    EXTRA_DATA = 6
    SUBMISSION_ID = 10
    GPU_ID = 11
    HW_QUEUE_IID = 13
    STAGE_IID = 14
    NAME = 17


class Track(IntEnum):
    """Fields of TrackEvent."""

    TYPE = 9
    TRACK_UUID = 11
    NAME = 23
    FLOW_IDS = 47
    TERMINATING_FLOW_IDS = 48


def as_perfetto(report: Report, events: list[Args]) -> bytes:
    """Returns the trace; `report` is that of `events`."""
    real, simulated = lanes.real(events), lanes.simulated(events)
    made = _Trace()
    made.announce([*real, *simulated], report)
    for lane in real:
        if lane.rank in (HOST, QUEUE, CHANNEL, AUTORUN):
            made.add_track(lane)
        else:
            made.add_hardware_queue(lane, 0)
    for lane in simulated:
        if lane.rank not in (BANK, CHANNEL):
            made.add_hardware_queue(lane, SIMULATED)
    for counter in (*counters.held(events, report.microseconds), *counters.moved(events)):
        made.add_counter(counter, 0)
    for counter in counters.modelled(events):
        made.add_counter(counter, SIMULATED)
    return made.encoded()


class _Trace:
    """The packets, and the numbers of the names in them."""

    def __init__(self) -> None:
        self._packets: list[bytes] = []
        self._names: dict[tuple[str, str], int] = {}
        """The numbers of hardware queues and stages."""
        self._events = count(1)
        self._tracks = count(1)
        self._parents: dict[str, int] = {}
        self._counters = count(1)

    def encoded(self) -> bytes:
        """Returns the file: packets are field 1 of a trace."""
        return message(*((1, packet) for packet in self._packets))

    def announce(self, found: list[Lane], report: Report) -> None:
        """Adds the first packet, with all names."""
        specifications: list[tuple[int, Value]] = []
        for lane in found:
            if lane.rank in (HOST, QUEUE):
                continue
            for row in range(lane.rows):
                specifications.append((24, self._specification("queue", _row(lane, row), OTHER)))
            for kind in sorted({span.kind for span in lane.spans}):
                specifications.append((24, self._specification("stage", kind, COMPUTE if kind == "kernel" else OTHER)))
        context = message((1, 1), (2, 1), (3, OPEN_CL))
        self._add(
            (Packet.SEQUENCE_FLAGS, STATE_CLEARED), (Packet.INTERNED_DATA, message((23, context), *specifications))
        )
        process = message((1, 1), (6, " ".join(report.run.command[:1]) or "host"))
        self._parents["host"] = next(self._tracks)
        self._add((Packet.TRACK_DESCRIPTOR, message((1, self._parents["host"]), (3, process))))

    def _specification(self, kind: str, name: str, category: int) -> bytes:
        number = self._names.setdefault((kind, name), len(self._names) + 1)
        return message((1, number), (2, name), (4, category))

    def add_hardware_queue(self, lane: Lane, above: int) -> None:
        """Adds slices of a GPU; `above`: the number of the GPU of device 0."""
        gpu = above + _device(lane.group)
        for span in lane.spans:
            fields: list[tuple[int, Value]] = [
                (Stage.EVENT_ID, next(self._events)),
                (Stage.DURATION, span.end - span.begin),
                (Stage.CONTEXT, 1),
                (Stage.GPU_ID, gpu),
                (Stage.HW_QUEUE_IID, self._names["queue", _row(lane, span.row)]),
                (Stage.STAGE_IID, self._names["stage", span.kind]),
                (Stage.NAME, span.name),
                *((Stage.EXTRA_DATA, message((1, name), (2, value))) for name, value in _facts(span)),
            ]
            if span.command:
                fields.append((Stage.SUBMISSION_ID, span.command))
            self._add((Packet.TIMESTAMP, max(span.begin, 0)), (Packet.RENDER_STAGE, message(*fields)))

    def add_track(self, lane: Lane) -> None:
        """Adds slices of a thread or a command queue; spans that overlap are on tracks beside each other."""
        flow = Track.FLOW_IDS if lane.rank == HOST else Track.TERMINATING_FLOW_IDS
        group = "host" if lane.rank == HOST and lane.group == "host" else lane.group
        uuids = [self._track(_row(lane, row), self._parent(group)) for row in range(lane.rows)]
        for span in lane.spans:
            fields: list[tuple[int, Value]] = [(Track.TRACK_UUID, uuids[span.row])]
            flows = [(int(flow), Fixed(span.command))] if span.command else []
            begin = message((Track.TYPE, SLICE_BEGIN), (Track.NAME, span.name), *fields, *flows)
            self._add((Packet.TIMESTAMP, max(span.begin, 0)), (Packet.TRACK_EVENT, begin))
            end = message((Track.TYPE, SLICE_END), *fields)
            self._add((Packet.TIMESTAMP, max(span.end, 0)), (Packet.TRACK_EVENT, end))

    def _parent(self, group: str) -> int:
        if group not in self._parents:
            self._parents[group] = self._track(group, 0)
        return self._parents[group]

    def _track(self, name: str, parent: int) -> int:
        uuid = next(self._tracks)
        above: list[tuple[int, Value]] = [(5, parent)] if parent else []
        self._add((Packet.TRACK_DESCRIPTOR, message((1, uuid), *above, (2, name))))
        return uuid

    def add_counter(self, counter: Counter, above: int) -> None:
        """Adds a counter of a GPU: bytes, or bytes per second.

        A sample of the format has the value since the sample before it; a value of `counter` holds until the next one.
        """
        number, gpu = next(self._counters), above + counter.device
        units: list[tuple[int, Value]] = [(7, BYTE), *([(8, SECOND)] if counter.per_second else [])]
        spec = message((1, number), (2, counter.name), *units, (10, MEMORY))
        first = counter.values[0][0] if counter.values else 0
        descriptor = message((1, message((1, spec))), (3, gpu))
        self._add((Packet.TIMESTAMP, max(first, 0)), (Packet.GPU_COUNTER, descriptor))
        before = 0.0
        for at, value in counter.values:
            sample = message((1, number), (3, before))
            self._add((Packet.TIMESTAMP, max(at, 0)), (Packet.GPU_COUNTER, message((2, sample), (3, gpu))))
            before = value

    def _add(self, *fields: tuple[int, Value]) -> None:
        flags = () if any(number == Packet.SEQUENCE_FLAGS for number, _ in fields) else ((13, NEEDS_STATE),)
        self._packets.append(message(*fields, *flags, (Packet.SEQUENCE_ID, SEQUENCE)))


def _device(group: str) -> int:
    found = NUMBER.search(group)
    return int(found[1]) if found else 0


def _row(lane: Lane, row: int) -> str:
    """Returns the name of a track; spans that overlap are on different tracks."""
    return f"{lane.name} ({row + 1})" if row else lane.name


def _facts(span: Span) -> Iterator[tuple[str, str]]:
    if span.size:
        yield "bytes", str(span.size)
    if span.buffer:
        yield "buffer", str(span.buffer)
    yield from (("what", line) for line in span.words.splitlines() if line)
