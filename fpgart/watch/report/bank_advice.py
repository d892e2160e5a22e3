# SPDX-License-Identifier: Apache-2.0
"""Advice on buffers that a kernel uses together and that share one bank of a memory with several separate banks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from fpgart.watch.report.costs import SECOND, Costs
from fpgart.watch.report.found import Found, named
from fpgart.watch.report.trace_events import Args


@dataclass(slots=True)
class Memory:
    """A memory of a board, as the loaded binary has it; `rate` in bytes per second and bank."""

    name: str
    banks: int
    separate: bool
    rate: int


@dataclass(frozen=True, slots=True)
class Place:
    memory: str
    bank: int
    size: int


class BankAdviser:
    """Takes the events of a trace in the order of time."""

    CATEGORIES: ClassVar[tuple[str, ...]] = ("fpgart", "device kernel", "device program", "memory")

    def __init__(self, found: Found, costs: Costs) -> None:
        self._found = found
        self._costs = costs
        self._memories: dict[int, list[Memory]] = {}
        self._places: dict[tuple[int, int], Place] = {}
        """By device and buffer; buffers across several banks are not among them."""

    def take(self, event: Args) -> None:
        category, name, args = event.get("cat"), event["name"], event.get("args", {})
        if category == "fpgart" and name == "board":
            self._memories[args["device"]] = [
                Memory(m["name"], m["banks"], not m["interleaved"], m.get("bank_rate", 0)) for m in args["memories"]
            ]
        elif category == "device" and name == "program" and "interleaved" in args:
            for memory, together in zip(self._memories[args["device"]], args["interleaved"], strict=False):
                memory.separate = not together
        elif category == "memory" and "program" not in args:
            self._placed(name, args)
        elif category == "device" and name == "kernel":
            self._launched(args)

    def finish(self) -> None:
        """All was told launch by launch."""

    def _placed(self, name: str, args: Args) -> None:
        key = args["device"], args["buffer"]
        if name == "reserve" and "last_bank" not in args:
            self._places[key] = Place(args["memory"], args["bank"], args["size"])
        else:
            self._places.pop(key, None)

    def _launched(self, args: Args) -> None:
        used = {number: self._places.get((args["device"], number)) for number in args["buffers"]}
        for memory in self._memories.get(args["device"], ()):
            if not memory.separate or memory.banks < 2 or not memory.rate:
                continue
            here = {number: place for number, place in used.items() if place and place.memory == memory.name}
            self._judge(args, memory, here)

    def _judge(self, args: Args, memory: Memory, here: dict[int, Place]) -> None:
        loads: defaultdict[int, int] = defaultdict(int)
        for place in here.values():
            loads[place.bank] += place.size
        if not loads:
            return
        worst = max(loads, key=lambda bank: loads[bank])
        together = sorted(number for number, place in here.items() if place.bank == worst)
        floor = self._costs.pipeline(args)
        best = spread([place.size for place in here.values()], memory.banks)
        saved = max(floor, _time(loads[worst], memory)) - max(floor, _time(best, memory))
        if len(together) < 2 or saved <= 0:
            return
        words = (
            f"put buffers {named(together)} into different banks of memory '{memory.name}' (CL_CHANNEL_1_INTELFPGA and "
            f"similar flags): kernel '{args['kernel']}' uses them together, all are in bank {worst} of {memory.banks}"
        )
        site, operation = args.get("site", 0), args.get("operation", 0)
        self._found.add(words, 0, tuple(together), nanoseconds=saved, site=site, noun="time", operation=operation)


def spread(sizes: list[int], banks: int) -> int:
    """Bytes in the fullest bank if each buffer, the largest first, goes to the bank that has least."""
    loads = [0] * banks
    for size in sorted(sizes, reverse=True):
        loads[loads.index(min(loads))] += size
    return max(loads)


def _time(size: int, memory: Memory) -> int:
    return -(-size * SECOND // memory.rate)
