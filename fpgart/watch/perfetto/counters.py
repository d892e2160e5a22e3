# SPDX-License-Identifier: Apache-2.0
"""Counters of each bank: its bytes in blocks, and its transferred bytes. A value lasts until the next one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from fpgart.watch import history
from fpgart.watch.history import Memory
from fpgart.watch.lanes import DIRECTIONS, nanoseconds
from fpgart.watch.report.trace_events import Args
from fpgart.watch.words import on_board

SECOND = 1_000_000_000


@dataclass(slots=True)
class Counter:
    """Values of one bank, in the order of time: nanoseconds, and bytes or bytes per second."""

    device: int
    name: str
    per_second: bool
    values: list[tuple[int, float]] = field(default_factory=list)


def held(events: list[Args], end: float) -> list[Counter]:
    """Returns the bytes of each bank that are in blocks; `end` of the trace in microseconds."""
    changes: dict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
    for box in history.boxes(events, end):
        key = box.memory.device, _name(box.memory, box.bank)
        changes[key] += [(nanoseconds(box.begin), box.size), (nanoseconds(box.end), -box.size)]
    return _counters(changes, "in use", per_second=False)


def moved(events: Iterable[Args]) -> list[Counter]:
    """Returns the rate of transfers from and to each bank, as measured here."""
    found = list(events)
    memories = history.memories(found)
    changes: dict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
    for event in found:
        if event.get("cat") != "mmd" or event["name"] not in DIRECTIONS or "address" not in event["args"]:
            continue
        args, begin, took = event["args"], nanoseconds(event["ts"]), nanoseconds(event["dur"])
        for key in ("address", "source_address"):
            if key in args and took:
                name = _bank_at(memories, args["device"], on_board(args, key))
                rate = args["size"] * SECOND / took
                changes[args["device"], name] += [(begin, rate), (begin + took, -rate)]
    return _counters(changes, "bandwidth", per_second=True)


def modelled(events: Iterable[Args]) -> list[Counter]:
    """Returns the rate at each bank in the simulated clock: a step's bytes, by its time at each of its banks."""
    changes: dict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
    for event in events:
        if event.get("cat") != "time":
            continue
        args = event["args"]
        whole = sum(end - begin for intervals in args.get("banks", {}).values() for begin, end in intervals)
        for bank, intervals in args.get("banks", {}).items():
            for begin, end in intervals:
                rate = args["size"] * SECOND / max(whole, 1)
                changes[args["device"], bank] += [(begin, rate), (end, -rate)]
    return _counters(changes, "bandwidth", per_second=True)


def _name(memory: Memory, bank: int) -> str:
    if memory.banks == 1 or memory.interleaved:
        return memory.name
    return f"{memory.name} bank {bank + 1}"


def _bank_at(memories: list[Memory], device: int, address: int) -> str:
    memory = history.memory_at(memories, device, address)
    return _name(memory, (address - memory.begin) // max(memory.bank_size, 1)) if memory is not None else "memory"


def _counters(changes: dict[tuple[int, str], list[tuple[int, float]]], what: str, *, per_second: bool) -> list[Counter]:
    """Returns the sums of changes; those at one time are one value."""
    found = []
    for (device, name), steps in sorted(changes.items()):
        counter = Counter(device, f"{name}: {what}", per_second)
        by_moment: dict[int, list[float]] = defaultdict(list)
        for at, change in steps:
            by_moment[at].append(change)
        total, open_steps = 0.0, 0
        for at in sorted(by_moment):
            open_steps += sum(1 if change > 0 else -1 for change in by_moment[at])
            total = total + sum(by_moment[at]) if open_steps else 0.0  # removes rounding errors
            counter.values.append((at, max(total, 0.0)))
        found.append(counter)
    return found
