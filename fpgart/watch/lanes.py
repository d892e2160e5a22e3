# SPDX-License-Identifier: Apache-2.0
"""A trace as lanes of spans: what ran when, in real time and in the simulated clock.

A lane belongs to one thread, queue, kernel, direction or channel, so that it keeps its place however often that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.sizes import in_words
from fpgart.watch.family import COMPILER, PROGRAMMING, loading_of
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.trace_events import Args

DIRECTIONS = {
    "aocl_mmd_write": ("write", "host to board"),
    "aocl_mmd_read": ("read", "board to host"),
    "aocl_mmd_copy": ("copy", "within the board"),
    "aocl_mmd_program": ("program", PROGRAMMING),
}
OPERATIONS = {"transfer": "transfer", "migration": "migration", "program": "program"}
DEVICE = re.compile(r"device \d+")
MOST_ARROWS = 2000
STEPS = {"write": "write", "read": "read", "copy": "copy", "migration": "migration", "program": "program"}
UNTOLD = frozenset(("image", "operation", "device", "skipped", "indirect", "allocations", "site", "enqueued"))
"""Arguments of an event that its words leave out: the page shows them elsewhere, or only replaying needs them."""


@dataclass(slots=True)
class Span:
    """An activity, in nanoseconds since the trace began, or in the simulated clock."""

    kind: str
    """call, write, read, copy, program, transfer, migration, compile, kernel; full or empty: a wait for a channel."""
    begin: int
    end: int
    name: str
    """A kernel's name, a call's, an operation's."""
    words: str
    size: int = 0
    """The bytes that it moves."""
    command: int = 0
    """The number of the command that caused it, or that a call enqueued; 0 if the trace does not say."""
    buffer: int = 0
    """The buffer or allocation that it uses; 0 for none, or several."""
    row: int = 0
    """Its row in the lane, below others that run at the same time."""


@dataclass(slots=True)
class Levels:
    """The packets in a channel: one entry per observation, in nanoseconds since the trace began."""

    capacity: int
    at: list[int] = field(default_factory=list)
    packets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Lane:
    """The spans of a lane, in the order of their begins, and for a channel its levels."""

    group: str
    """The host, or a device."""
    name: str
    rank: int
    """Its place among the lanes of its group; lanes of one rank are sorted by name, which does not depend on timing."""
    spans: list[Span] = field(default_factory=list)
    levels: Levels | None = None

    def add(self, span: Span) -> Span:
        """Appends a span, and returns it."""
        self.spans.append(span)
        return span

    @property
    def rows(self) -> int:
        return max((span.row for span in self.spans), default=0) + 1


class Arrow(NamedTuple):
    """An arrow between two lanes, by their numbers, at two times: packets from kernel to kernel."""

    source: int
    begin: int
    target: int
    end: int


HOST, QUEUE, KERNEL, AUTORUN, CHANNEL, LINK, SHARED, BANK = range(8)


class _Lanes:
    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str], Lane] = {}

    def of(self, group: str, name: str, rank: int) -> Lane:
        found = self._lanes.get((group, name))
        if found is None:
            found = self._lanes[group, name] = Lane(group, name, rank)
        return found

    def arranged(self) -> list[Lane]:
        """Returns all lanes, with rows for spans that overlap: the host first, then device by device."""
        lanes = sorted(
            self._lanes.values(),
            key=lambda lane: (lane.rank != HOST, in_numbers(lane.group), lane.rank, in_numbers(lane.name)),
        )
        for lane in lanes:
            if lane.rank == CHANNEL:
                arrange_channel(lane.spans)
            else:
                arrange(lane.spans)
        return lanes


def first_command(events: Iterable[Args]) -> int:
    """Returns when the host enqueued its first command, in nanoseconds since the trace began; 0 for none."""
    begins = (event["ts"] for event in events if _is_work(event))
    return nanoseconds(min(begins, default=0.0))


def _is_work(event: Args) -> bool:
    category = event.get("cat")
    if category == "api":
        return str(event["name"]).startswith("clEnqueue")
    return category == "device" or (category == "mmd" and event["name"] in DIRECTIONS)


def nanoseconds(microseconds: float) -> int:
    return round(float(microseconds) * 1000)


def real(events: Iterable[Args]) -> list[Lane]:
    """Returns lanes of the host's threads, and of each device's queues, kernels, channels and directions."""
    found = list(events)
    loading = loading_of(found)
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e.get("name") == "thread_name"}
    processes = {e["pid"]: str(e["args"]["name"]) for e in found if e.get("name") == "process_name"}
    lanes, sites = _Lanes(), sites_of(found)
    for event in found:
        phase, process = event.get("ph"), processes.get(event.get("pid", 0), "")
        if phase == "X":
            track = tracks.get((event["pid"], event["tid"]), "")
            for span in _take(lanes, event, track, process, loading):
                _relate(span, event["args"], sites)
        elif phase == "C" and event.get("cat") == "channel":
            _take_level(lanes, event, process)
    return lanes.arranged()


def sites_of(events: Iterable[Args]) -> Sites:
    """Returns the places in the host's code that a trace names."""
    sites = Sites()
    for event in events:
        sites.take(event)
    return sites


def _relate(span: Span, args: Args, sites: Sites) -> None:
    """Sets the cause of a span: its place in the host's code, its command, its buffer."""
    place = sites.place(args["site"]) if "site" in args else ""
    span.words = "\n".join(filter(None, (span.words, place)))
    span.size = args.get("size", 0)
    span.command = args.get("enqueued", 0)
    span.buffer = int(args.get("buffer") or args.get("allocation") or 0)


def _take(lanes: _Lanes, event: Args, track: str, process: str, loading: str) -> Iterator[Span]:
    """Adds an event to its lane; yields the spans.

    `process`: the name of its host, in traces of several; `loading`: the word for bringing a program onto the board.
    """
    category, name, args = event["cat"], str(event["name"]), event["args"]
    begin = nanoseconds(event["ts"])
    end = begin + nanoseconds(event["dur"])
    device = f"device {args.get('device')}"
    if category == "api":
        lane = track if track == "main thread" else f"{track} ({event['tid']})"
        yield lanes.of(process or "host", lane, HOST).add(Span("call", begin, end, name, in_facts(args)))
    elif category == "mmd" and name in DIRECTIONS:
        kind, lane = DIRECTIONS[name]
        lane = loading if kind == "program" else lane
        yield lanes.of(device, lane, LINK).add(Span(kind, begin, end, lane, in_facts(args)))
    elif category == "device" and not args.get("skipped"):
        queue = track or f"queue {event['tid']}"
        made = Span(OPERATIONS.get(name, "kernel"), begin, end, name, "")
        yield from _take_operation(lanes, device, queue, args, made)
    elif category == "engine":
        kernel = str(args["kernel"])
        yield lanes.of(device, COMPILER, KERNEL).add(Span("compile", begin, end, name, f"kernel {kernel}"))
    elif category == "usm":
        span = Span("migration", begin, end, name, in_facts(args))
        yield lanes.of(device, "shared memory", SHARED).add(span)
    elif category == "channel":
        _take_stall(lanes, device, args, begin, end)
    elif category == "autorun":
        span = Span("kernel", begin, end, name, in_facts(args))
        yield lanes.of(device, f"autorun {name}", AUTORUN).add(span)


def arrows(lanes: list[Lane], sent: Iterable[tuple[Args, Args]]) -> list[Arrow]:
    """Returns an arrow from the kernel of each launch that wrote into a cable to that of each which read from it."""
    places = {(lane.group, lane.name): number for number, lane in enumerate(lanes)}
    found = []
    for writer, reader in sent:
        begin, end = nanoseconds(writer["ts"]), nanoseconds(max(float(writer["ts"]), float(reader["ts"])))
        ends = [
            places.get((f"device {e['args']['device']}", f"kernel {e['args']['kernel']}")) for e in (writer, reader)
        ]
        if ends[0] is not None and ends[1] is not None:
            found.append(Arrow(ends[0], begin, ends[1], end))
    return found[:MOST_ARROWS]


def _take_operation(lanes: _Lanes, device: str, track: str, args: Args, span: Span) -> Iterator[Span]:
    """Adds an operation of a queue; a kernel also has a lane of its own."""
    span.words = in_facts(args)
    queue = lanes.of(device, track.replace("auto_queue", "the driver's own queue"), QUEUE)
    if span.name != "kernel":
        span.name = str(args.get("command", span.name)) if span.kind == "transfer" else span.name
        yield queue.add(span)
        return
    span.name = str(args["kernel"])
    yield queue.add(span)
    again = Span(span.kind, span.begin, span.end, span.name, in_facts(args))
    yield lanes.of(device, f"kernel {span.name}", KERNEL).add(again)


def _take_stall(lanes: _Lanes, device: str, args: Args, begin: int, end: int) -> None:
    """Adds a kernel's wait for a channel to the channel's lane, below its level, and to no other."""
    kind, way = ("full", "write") if args["writing"] else ("empty", "read")
    name = f"{args['kernel']} waits to {way}: {kind}"
    span = Span(kind, begin, end, name, f"{args['channel']}, {args['capacity']} packets deep")
    lanes.of(device, f"channel {args['channel']}", CHANNEL).spans.append(span)


def _take_level(lanes: _Lanes, event: Args, process: str) -> None:
    args = event["args"]
    named = DEVICE.search(process)
    device = named[0] if named else f"device {event['pid'] - 2}"
    name = str(event["name"])
    lane = lanes.of(device, name, CHANNEL)
    if lane.levels is None:
        lane.levels = Levels(args["capacity"])
    lane.levels.at.append(nanoseconds(event["ts"]))
    lane.levels.packets.append(args["packets"])


def simulated(events: Iterable[Args]) -> list[Lane]:
    """Returns lanes of the resources of the simulated clock, banks last; empty without that clock."""
    lanes = _Lanes()
    for event in events:
        if event.get("cat") != "time":
            continue
        args, name = event["args"], str(event["name"])
        kernel = str(args.get("kernel", ""))
        lane, rank = (f"kernel {kernel}", KERNEL) if kernel else (next(iter(args["busy"]), name), LINK)
        words = f"bound by {args['bound']}; {in_facts({'command': args['command'], 'size': args['size']})}"
        words += "; at least: its loops cannot be counted" if "loops" in args else ""
        span = Span(STEPS.get(name, "kernel"), args["begin"], args["end"], kernel or name, words)
        span.size, span.command = args["size"], args.get("enqueued", 0)
        device = f"device {args['device']}"
        lanes.of(device, lane, rank).spans.append(span)
        for bank, intervals in args.get("banks", {}).items():  # traces of older versions have none
            parts = [Span(span.kind, begin, end, span.name, span.words) for begin, end in intervals]
            lanes.of(device, bank, BANK).spans += parts
        for wait in args.get("channels", ()):
            if wait["waited"]:
                _take_modelled_wait(lanes.of(device, f"channel {wait['channel']}", CHANNEL), wait)
    return lanes.arranged()


def _take_modelled_wait(lane: Lane, wait: Args) -> None:
    """Adds a span from a kernel's first wait at a channel to the end of its last."""
    kind, way = ("full", "write") if wait["writing"] else ("empty", "read")
    share = wait["waited"] / max(1, wait["end"] - wait["begin"])
    words = f"{wait['waited'] / 1e6:.3f} ms, {100 * share:.0f} % of the time from its first wait to its last; "
    words += f"{wait['packets']} packets; depth {wait['depth'] or 'not declared'}"
    lane.spans.append(Span(kind, wait["begin"], wait["end"], f"{wait['kernel']} waits to {way}: {kind}", words))


def first_simulated(events: Iterable[Args]) -> int:
    """Returns when the host enqueued its first command in the simulated clock, in nanoseconds."""
    return min((event["args"]["queued"] for event in events if event.get("cat") == "time"), default=0)


def in_facts(args: Args) -> str:
    """Returns the arguments of an event in words."""
    return "; ".join(
        in_words(value) if key == "size" else f"{key} {value}" for key, value in args.items() if key not in UNTOLD
    )


def in_numbers(name: str) -> list[tuple[int, str]]:
    """Returns a key that sorts `queue 10` behind `queue 9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def arrange_channel(spans: list[Span]) -> None:
    """Arranges waits to write in rows above waits to read."""
    writers, readers = ([span for span in spans if span.kind == kind] for kind in ("full", "empty"))
    arrange(writers)
    arrange(readers)
    first = max((span.row + 1 for span in writers), default=1)
    for span in readers:
        span.row += first
    spans.sort(key=lambda span: span.begin)


def arrange(spans: list[Span]) -> None:
    """Puts each span, in the order of time, into the first row that is free."""
    spans.sort(key=lambda span: span.begin)
    busy: list[tuple[int, int]] = []  # until when, which row
    free: list[int] = []
    rows = 0
    for span in spans:
        while busy and busy[0][0] <= span.begin:
            heappush(free, heappop(busy)[1])
        if free:
            span.row = heappop(free)
        else:
            span.row = rows
            rows += 1
        heappush(busy, (span.end, span.row))
