# SPDX-License-Identifier: Apache-2.0
"""What a trace says, in words: traffic, buffers and their lives, copies and their causes, copies to avoid."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fpgart.watch.heap_advice import Finding, HeapAdviser
from fpgart.watch.usm_advice import THE_ALLOCATION, UsmAdviser
from fpgart.watch.words import banks_in_words, in_words, times

Args = dict[str, Any]


class TraceError(Exception):
    """A file that is no trace of fpgart's; the sentence says why."""


@dataclass(slots=True)
class Traffic:
    """MMD calls of one kind on one device."""

    calls: int = 0
    bytes: int = 0
    microseconds: float = 0.0


@dataclass(slots=True)
class Copy:
    """Bytes that moved, with the cause: one device operation."""

    at: float
    """Microseconds since the trace began."""
    what: str
    buffer: int
    size: int
    cause: str
    source: int = 0
    """The buffer that they came from, where it is another one."""


@dataclass(slots=True)
class Place:
    """A block that a buffer had, from `begin` until `end` microseconds (None: to the end of the trace)."""

    words: str
    begin: float
    end: float | None = None


@dataclass(slots=True)
class BufferLife:
    """A buffer from its creation to its release, in microseconds (None: not seen)."""

    number: int
    size: int = 0
    created: float | None = None
    released: float | None = None
    parent: int = 0
    made_by: str = ""
    """The call that allocated it, for unified shared memory."""
    kind: str = "buffer"
    migrations: int = 0
    """Of a shared allocation between its sides."""
    places: list[Place] = field(default_factory=list)
    banks: list[str] = field(default_factory=list)
    """What became of the bank that the host asked for, where the buffer is not in it."""
    copies: int = 0
    copied_bytes: int = 0


@dataclass(slots=True)
class Kernel:
    launches: int = 0
    microseconds: float = 0.0


@dataclass(slots=True)
class Modelled:
    """Steps of one kind, or runs of one kernel, in the simulated clock."""

    count: int = 0
    bytes: int = 0
    nanoseconds: int = 0
    bounds: dict[str, int] = field(default_factory=dict)
    """By resource, how many of them it bounds."""


@dataclass(slots=True)
class Advice:
    """Copies that need not have been: how many, how many bytes, and what to do instead."""

    words: str
    copies: int = 0
    bytes: int = 0
    buffers: list[int] = field(default_factory=list)
    """Those concerned, each once."""


@dataclass(slots=True)
class Report:
    """Everything that `fpgart report` shows."""

    boards: dict[int, str] = field(default_factory=dict)
    unlocked: Traffic = field(default_factory=Traffic)
    """Host memory for boards that the system did not lock."""
    lock_limit: int = 0
    """Bytes that it locks at most (RLIMIT_MEMLOCK)."""
    whole: bool = False
    """Whether the trace has its end; not so after a crash."""
    microseconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    traffic: dict[tuple[int, str], Traffic] = field(default_factory=dict)
    kernels: dict[tuple[int, str], Kernel] = field(default_factory=dict)
    buffers: dict[int, BufferLife] = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)
    programmed: list[tuple[int, str]] = field(default_factory=list)
    programming_microseconds: float = 0.0
    skipped_migrations: int = 0
    advice: list[Advice] = field(default_factory=list)
    modelled: dict[tuple[int, str], Modelled] = field(default_factory=dict)
    """By device, and kernel or kind of step (FPGART_TIME=model)."""
    modelled_nanoseconds: int = 0
    """When the last step ends."""
    busy: dict[tuple[int, str], int] = field(default_factory=dict)
    """By device and resource, for how many nanoseconds of the simulated clock."""
    heap_advice: list[Finding] = field(default_factory=list)
    """For heaps whose buffers are mapped in regions."""


def events(path: Path) -> Iterator[Args]:
    """The events of a trace, one per line; a cut off last line is left out. Raises TraceError, OSError."""
    with path.open(encoding="ascii", errors="replace") as file:
        if file.readline().strip() != "[":
            raise TraceError(f"{path} is no trace: it does not begin with a line of '['")
        for number, line in enumerate(file, 2):
            text = line.strip().rstrip(",")
            if text in ("", "]"):
                continue
            try:
                event = json.loads(text)
            except ValueError:
                if line.endswith("\n"):
                    raise TraceError(f"{path}:{number}: not an event") from None
                return
            if isinstance(event, dict):
                yield event


def read(path: Path) -> Report:
    """The report of a trace; raises TraceError, OSError."""
    return of(ordered(path))


def ordered(path: Path) -> list[Args]:
    """The events in the order in which they began; raises TraceError, OSError."""
    return in_order(events(path))


def in_order(unordered: Iterable[Args]) -> list[Args]:
    """Events in the order in which they began."""
    found = sorted(unordered, key=lambda e: float(e.get("ts", 0.0)))
    moved = {e["args"].get("operation") for e in found if e.get("cat") == "mmd"}
    for event in found:
        args = event.get("args", {})
        if args.get("command") in ("MAP_BUFFER", "UNMAP_MEM_OBJECT") and args.get("operation") not in moved:
            args["size"] = 0  # where contents need not be seen, or were not written, nothing moves
    return found


def of(found: list[Args]) -> Report:
    """The report of ordered() events."""
    report = Report()
    adviser, heaps = Adviser(), HeapAdviser()
    for event in found:
        _take(report, event)
        adviser.take(event)
        heaps.take(event)
    report.advice = adviser.advice()
    report.heap_advice = heaps.findings
    return report


def _take(report: Report, event: Args) -> None:
    args, at = event.get("args", {}), float(event.get("ts", 0.0))
    if event.get("cat") == "time":
        _take_modelled(report, event["name"], args)
        return
    duration = float(event.get("dur", 0.0))
    report.microseconds = max(report.microseconds, at + duration)
    category, name = event.get("cat"), event.get("name", "")
    if category == "fpgart" and name == "board":
        report.boards[args["device"]] = args["board"]
    elif category == "fpgart" and name == "not locked":
        report.unlocked.calls += 1
        report.unlocked.bytes += args["size"]
        report.lock_limit = args["limit"]
    elif category == "fpgart" and name == "end":
        report.whole = True
    elif category == "api":
        report.calls[name] += 1
        if "error" in args:
            report.errors[f"{name}: {args['error']}"] += 1
    elif category == "mmd":
        traffic = report.traffic.setdefault((args["device"], name), Traffic())
        traffic.calls += 1
        traffic.bytes += args["size"]
        traffic.microseconds += duration
    elif category == "buffer":
        life = _life(report, args["buffer"])
        if name == "create":
            life.size, life.created, life.parent = args["size"], at, args.get("parent", 0)
        else:
            life.released = at
    elif category == "placing" and "words" in args:
        _life(report, args["buffer"]).banks.append(f"bank {args['bank']}, asked for, {args['words']}")
    elif category == "usm":
        _take_usm(report, name, args, at)
    elif category == "memory":
        _take_block(report, name, args, at)
    elif category == "device":
        _take_operation(report, name, args, at, duration)


def _take_modelled(report: Report, name: str, args: Args) -> None:
    device, kernel = args["device"], args.get("kernel", "")
    report.modelled_nanoseconds = max(report.modelled_nanoseconds, args["end"])
    found = report.modelled.setdefault((device, f"kernel {kernel}" if kernel else name), Modelled())
    found.count += 1
    found.bytes += args["size"]
    found.nanoseconds += args["end"] - args["begin"]
    found.bounds[args["bound"]] = found.bounds.get(args["bound"], 0) + 1
    for resource, busy in args["busy"].items():
        key = device, f"{resource} of {kernel}" if resource == "pipeline" else resource
        report.busy[key] = report.busy.get(key, 0) + busy


def _take_usm(report: Report, name: str, args: Args, at: float) -> None:
    life = _life(report, args["allocation"])
    life.kind = f"{args['kind']} allocation"
    if name == "allocate":
        life.size, life.created, life.made_by = args["size"], at, args["call"]
    elif name == "free":
        life.released = at
    else:
        life.migrations += 1
        report.copies.append(
            Copy(at, f"shared allocation -> {args['to']}", args["allocation"], args["size"], args["reason"])
        )


def _life(report: Report, number: int) -> BufferLife:
    return report.buffers.setdefault(number, BufferLife(number))


def _take_block(report: Report, name: str, args: Args, at: float) -> None:
    life = _life(report, args["buffer"])
    life.size = life.size or args["size"]
    if "program" in args:
        life.kind, life.created = "program", at if name == "reserve" else life.created
        life.released = at if name == "free" else None
    banks = banks_in_words(args["bank"], args.get("last_bank") or args["bank"])
    words = f"device {args['device']}, {args['memory']} {banks} at {args['address']}"
    if name == "reserve":
        life.places.append(Place(words, at))
        return
    for place in life.places:
        if place.words == words and place.end is None:
            place.end = at


def _take_operation(report: Report, name: str, args: Args, at: float, duration: float) -> None:
    if name == "kernel":
        kernel = report.kernels.setdefault((args["device"], args["kernel"]), Kernel())
        kernel.launches += 1
        kernel.microseconds += duration
    elif name == "program":
        report.programmed.append((args["device"], args["program"]))
        report.programming_microseconds += duration
    elif name == "migration" and "buffer" in args:
        if args["skipped"]:
            report.skipped_migrations += 1
        else:
            _add_copy(report, at, f"{args['from']} -> {args['to']}", args, args["reason"])
    elif name == "transfer" and "buffer" not in args and args.get("size"):
        args = {**args, "buffer": args.get("allocation", args.get("source", 0))}
        _add_copy(report, at, args["command"], args, f"the host's command on device {args['device']}")
    elif name == "transfer" and args.get("size"):
        source = f" from buffer {args['source']}" if "source" in args else ""
        where = " in the host's memory" if args.get("on_host") else ""
        _add_copy(
            report, at, f"{args['command']}{source}{where}", args, f"the host's command on device {args['device']}"
        )


def _add_copy(report: Report, at: float, what: str, args: Args, cause: str) -> None:
    report.copies.append(Copy(at, what, args["buffer"], args["size"], cause, args.get("source", 0)))
    life = _life(report, args["buffer"])
    life.copies += 1
    life.copied_bytes += args["size"]


THE_BUFFER = "{buffer}"
MOST_NAMED = 6


def _which(noun: str, numbers: list[int]) -> str:
    """`buffer 1`, or `each of buffers 1, 2, 3`."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"each of {noun}s {', '.join(map(str, numbers[:MOST_NAMED]))}{more}"


def covers(later: Args, earlier: Args) -> bool:
    """Whether a write leaves nothing of another one to the same buffer."""
    begin, other = later.get("offset", 0), earlier.get("offset", 0)
    return bool(begin <= other and other + earlier["size"] <= begin + later["size"])


class Adviser:
    """Finds copies that a host could have avoided, event by event in the order of time."""

    def __init__(self) -> None:
        self._found: dict[str, Advice] = {}
        self._unused_write: dict[int, Args] = {}
        """By buffer: the last write that no kernel, read or copy has used yet."""
        self._programs: dict[int, list[str]] = {}
        self._memories: dict[int, list[str]] = {}
        """By device, the names of its memories; the default one first."""
        self._located: set[int] = set()
        """Buffers that were created with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL."""
        self._set: dict[int, list[str]] = {}
        """By buffer, the arguments with a buffer_location that it was set as before it had a place."""
        self._usm = UsmAdviser(self._add)

    def advice(self) -> list[Advice]:
        """What was found, most bytes first."""
        for words, found in self._found.items():
            found.buffers = list(dict.fromkeys(found.buffers))
            found.words = words.replace(THE_BUFFER, _which("buffer", found.buffers))
            found.words = found.words.replace(THE_ALLOCATION, _which("allocation", found.buffers))
        return sorted(self._found.values(), key=lambda advice: -advice.bytes)

    def _add(self, words: str, size: int, buffer: int | None = None) -> None:
        """One copy; what is to be done is counted together for all buffers (THE_BUFFER in `words`)."""
        found = self._found.setdefault(words, Advice(words))
        found.copies += 1
        found.bytes += size
        if buffer is not None and buffer not in found.buffers[-1:]:
            found.buffers.append(buffer)

    def take(self, event: Args) -> None:
        self._usm.take(event)
        category, name, args = event.get("cat"), event["name"], event.get("args", {})
        if category == "fpgart" and name == "board":
            self._memories[args["device"]] = [memory["name"] for memory in args["memories"]]
        elif category == "buffer" and "location" in args:
            self._located.add(args["buffer"])
        elif category == "placing" and "argument" in args:
            self._set.setdefault(args["buffer"], []).append(args["argument"])
        elif category == "device":
            self._operation(name, args)

    def _operation(self, name: str, args: Args) -> None:
        if name == "migration" and not args.get("skipped", True):
            self._migration(args)
        elif name == "transfer" and "buffer" in args:
            self._transfer(args)
        elif name == "kernel":
            for buffer in args["buffers"]:
                self._unused_write.pop(buffer, None)
        elif name == "program":
            self._program(args)

    def _migration(self, args: Args) -> None:
        buffer, source, target = args["buffer"], args["from"], args["to"]
        if source == "host" or target == "host" or not args["reason"].startswith("argument"):
            return
        written = self._unused_write.get(buffer)
        if written is None:
            return
        if source.split(",")[0] == target.split(",")[0]:
            words = self._placing(buffer, args, copied=written["command"] == "COPY_HOST_PTR")
        else:
            words = f"write {THE_BUFFER} through a queue of {target.split(',')[0]}, where {args['reason']} needs it"
        self._add(words, args["size"], buffer)

    def _placing(self, buffer: int, args: Args, *, copied: bool) -> str:
        """How it is placed at once where the launch needs it: by that argument, if this is what decides."""
        argument, names = args["reason"], self._memories.get(args["device"], [])
        memory = args["to"].split(", ")[1].rsplit(" at ", 1)[0]
        if memory in names and (buffer in self._located or memory == names[0]):
            return (
                f"create {THE_BUFFER} with CL_MEM_ALLOC_BUFFER_LOCATION_INTEL {names.index(memory)} ({memory}), "
                f"where {argument} needs it"
            )
        if copied:
            return (
                f"create {THE_BUFFER} without CL_MEM_COPY_HOST_PTR, set {argument}, then write: "
                "it is placed where the kernel needs it"
            )
        if argument in self._set.get(buffer, ()):
            return f"set {argument} to {THE_BUFFER} before its other arguments, and then write the buffer"
        return f"set {argument} to {THE_BUFFER} before writing the buffer"

    def _transfer(self, args: Args) -> None:
        buffer, command = args["buffer"], args["command"]
        if command == "MAP_BUFFER" and args.get("flags") == "WRITE" and args["size"]:
            self._add(
                f"map {THE_BUFFER} with CL_MAP_WRITE_INVALIDATE_REGION if all of the region is written: "
                "nothing is read then",
                args["size"],
                buffer,
            )
        self._unused_write.pop(args.get("source", 0), None)
        if command in ("WRITE_BUFFER", "COPY_HOST_PTR"):
            earlier = self._unused_write.get(buffer)
            if earlier is not None and covers(args, earlier):
                words = f"{THE_BUFFER} is written again before anything used it: leave the first write out"
                self._add(words, args["size"], buffer)
            self._unused_write[buffer] = args
        else:
            self._unused_write.pop(buffer, None)

    def _program(self, args: Args) -> None:
        history = self._programs.setdefault(args["device"], [])
        if args["program"] in history:
            self._add(
                f"device {args['device']} is programmed anew with a program that it held before: "
                "launch one program's kernels together, or put all kernels into one program",
                args["size"],
            )
        history.append(args["program"])


# In words


def as_text(report: Report) -> str:
    """The report for people."""
    lines = heading(report)
    lines += ["", "traffic"]
    for (device, name), traffic in sorted(report.traffic.items()):
        lines.append(
            f"  device {device}: {name}: {times(traffic.calls, 'call')}, {in_words(traffic.bytes)}, "
            f"{traffic.microseconds / 1000:.3f} ms"
        )
    if not report.traffic:
        lines.append("  none")
    lines += ["", "kernels"]
    for (device, name), kernel in sorted(report.kernels.items()):
        lines.append(f"  device {device}: {name}: {times(kernel.launches, 'run')}, {kernel.microseconds / 1000:.3f} ms")
    if not report.kernels:
        lines.append("  none ran")
    if report.programmed:
        cost = report.programming_microseconds / 1000
        programs = len(set(report.programmed))
        lines += [
            "",
            f"programming: {times(len(report.programmed), 'time')}, {times(programs, 'program')}, {cost:.3f} ms",
        ]
    lines += modelled_in_words(report)
    lines += ["", "buffers"]
    for life in sorted(report.buffers.values(), key=lambda life: life.number):
        lines += _life_in_words(life)
    if not report.buffers:
        lines.append("  none")
    lines += ["", f"copies ({skipped_in_words(report.skipped_migrations)}: the buffer was in its place)"]
    lines += _copies_in_words(report.copies)
    lines += ["", "to avoid"]
    for advice in report.advice:
        lines.append(f"  {advice.words}: {saved(advice)}")
    lines += [f"  {finding.words}" for finding in report.heap_advice]
    if not report.advice and not report.heap_advice:
        lines.append("  nothing")
    return "\n".join(lines) + "\n"


def modelled_in_words(report: Report) -> list[str]:
    """What the simulated clock says: what bounds each kernel and kind of step, and what is busiest on each board."""
    if not report.modelled:
        return []
    lines = ["", f"simulated time (FPGART_TIME=model): {report.modelled_nanoseconds / 1e6:.3f} ms"]
    for (device, name), found in sorted(report.modelled.items()):
        lines.append(
            f"  device {device}: {name}: {times(found.count, 'time')}, {in_words(found.bytes)}, "
            f"{found.nanoseconds / 1e6:.3f} ms, bound by {_bounds(found)}"
        )
    for device in sorted({device for device, _ in report.busy}):
        parts = sorted((-busy, name) for (where, name), busy in report.busy.items() if where == device and busy)
        shares = [f"{name} {-busy / 1e6:.3f} ms ({_share(-busy, report)})" for busy, name in parts]
        lines.append(f"  device {device}: busiest first: {', '.join(shares)}")
    return lines


def _bounds(found: Modelled) -> str:
    """`pipeline`, or `PCIe write (3), MMD calls (1)`."""
    if len(found.bounds) == 1:
        return next(iter(found.bounds))
    return ", ".join(f"{name} ({number})" for name, number in sorted(found.bounds.items(), key=lambda b: (-b[1], b[0])))


def _share(busy: int, report: Report) -> str:
    return f"{100 * busy / max(1, report.modelled_nanoseconds):.1f} %"


def saved(advice: Advice) -> str:
    """What following it saves."""
    if advice.copies == 1:
        return f"1 copy of {in_words(advice.bytes)} saved"
    return f"{advice.copies} copies saved, {in_words(advice.bytes)} in all"


def skipped_in_words(count: int) -> str:
    """How many migrations found the buffer in its place."""
    return f"{times(count, 'migration')} {'was' if count == 1 else 'were'} skipped"


def heading(report: Report) -> list[str]:
    """Boards, calls and time in one line, and a line for each error."""
    boards = ", ".join(f"device {device}: board '{name}'" for device, name in sorted(report.boards.items()))
    calls = sum(report.calls.values())
    lines = [f"{boards or 'no device'}; {times(calls, 'call')} in {report.microseconds / 1000:.1f} ms"]
    if not report.whole:
        lines.append("the trace has no end: the process was killed, or still runs")
    if report.unlocked.calls:
        lines.append(
            f"  host memory for boards that is not locked: {times(report.unlocked.calls, 'allocation')}, "
            f"{in_words(report.unlocked.bytes)}; the system allows {in_words(report.lock_limit)} (ulimit -l), "
            "a board's driver locks all"
        )
    for words, number in report.errors.most_common():
        lines.append(f"  error{f' ({number} times)' if number > 1 else ''}: {words}")
    return lines


def _life_in_words(life: BufferLife) -> list[str]:
    if life.made_by:
        return _allocation_in_words(life)
    begin = f"from {life.created / 1000:.3f} ms" if life.created is not None else "made before"
    end = f"to {life.released / 1000:.3f} ms" if life.released is not None else "never released"
    part = f", part of buffer {life.parent}" if life.parent else ""
    moved = f"; {times(life.copies, 'copy')}, {in_words(life.copied_bytes)}" if life.copies else ""
    lines = [f"  {life.kind} {life.number}: {in_words(life.size)}{part}, {begin} {end}{moved}"]
    for place in life.places:
        until = f"to {place.end / 1000:.3f} ms" if place.end is not None else "to the end"
        lines.append(f"    {place.words}, from {place.begin / 1000:.3f} ms {until}")
    lines += [f"    {words}" for words in life.banks]
    if not life.places and not life.parent:
        lines.append("    never on a board")
    return lines


def _allocation_in_words(life: BufferLife) -> list[str]:
    owner = f", {life.places[0].words}" if life.places else ""
    begin = f"from {life.created / 1000:.3f} ms" if life.created is not None else "made before"
    leaked = f"never freed: it leaks, allocated by {life.made_by}"
    end = f"to {life.released / 1000:.3f} ms" if life.released is not None else leaked
    moved = f"; {times(life.migrations, 'migration')}" if life.migrations else ""
    return [f"  {life.kind} {life.number}: {in_words(life.size)}{owner}, {begin} {end}{moved}"]


def _copies_in_words(copies: list[Copy]) -> list[str]:
    """One line per copy; equal ones that follow each other share a line."""
    lines: list[str] = []
    index = 0
    while index < len(copies):
        copy, count = copies[index], 1
        key = copy.what, copy.buffer, copy.size, copy.cause
        while index + count < len(copies):
            other = copies[index + count]
            if (other.what, other.buffer, other.size, other.cause) != key:
                break
            count += 1
        again = f" ({count} times)" if count > 1 else ""
        lines.append(
            f"  {copy.at / 1000:.3f} ms: buffer {copy.buffer}, {in_words(copy.size)}: {copy.what}{again}; {copy.cause}"
        )
        index += count
    return lines or ["  none"]


def as_json(report: Report) -> str:
    """The report for programs."""
    traffic = [{"device": device, "call": name, **asdict(made)} for (device, name), made in report.traffic.items()]
    kernels = [{"device": device, "kernel": name, **asdict(run)} for (device, name), run in report.kernels.items()]
    facts = {
        "boards": report.boards,
        "whole": report.whole,
        "unlocked": asdict(report.unlocked),
        "microseconds": report.microseconds,
        "calls": report.calls,
        "errors": report.errors,
        "traffic": traffic,
        "kernels": kernels,
        "buffers": [asdict(life) for life in report.buffers.values()],
        "copies": [asdict(copy) for copy in report.copies],
        "programmed": report.programmed,
        "programming_microseconds": report.programming_microseconds,
        "skipped_migrations": report.skipped_migrations,
        "modelled": [
            {"device": device, "what": name, **asdict(found)} for (device, name), found in report.modelled.items()
        ],
        "modelled_nanoseconds": report.modelled_nanoseconds,
        "busy": [
            {"device": device, "resource": name, "nanoseconds": busy} for (device, name), busy in report.busy.items()
        ],
        "advice": [asdict(advice) for advice in report.advice],
        "heap_advice": [asdict(finding) for finding in report.heap_advice],
    }
    return json.dumps(facts, indent=2) + "\n"
