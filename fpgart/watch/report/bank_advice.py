# SPDX-License-Identifier: Apache-2.0
"""Advice on buffers that a kernel uses together and that share one bank of a memory with several separate banks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fpgart.watch.report.costs import SECOND
from fpgart.watch.report.found import EventTaker, named
from fpgart.watch.report.trace_events import SYCL, Args, Takes


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


@dataclass(slots=True)
class BankAdviser(EventTaker):
    _memories: dict[int, list[Memory]] = field(default_factory=dict)
    _separate: dict[int, list[Memory]] = field(default_factory=dict)
    """By device, those of its memories whose banks are separate."""
    _places: dict[tuple[int, int], Place] = field(default_factory=dict)
    """By device and buffer; buffers across several banks are not among them."""

    def takes(self) -> Takes:
        return {
            "fpgart board": self._board,
            "memory": self._placed,
            "device program": self._programmed,
            "device kernel": self._launched,
        }

    def _board(self, event: Args) -> None:
        args = event["args"]
        self._memories[args["device"]] = [
            Memory(m["name"], m["banks"], not m["interleaved"], m.get("bank_rate", 0)) for m in args["memories"]
        ]
        self._choose(args["device"])

    def _programmed(self, event: Args) -> None:
        args = event["args"]
        if "interleaved" in args:
            for memory, together in zip(self._memories[args["device"]], args["interleaved"], strict=False):
                memory.separate = not together
            self._choose(args["device"])

    def _choose(self, device: int) -> None:
        memories = self._memories[device]
        self._separate[device] = [each for each in memories if each.separate and each.rate]

    def _placed(self, event: Args) -> None:
        args = event["args"]
        if "program" in args:
            return
        key = args["device"], args["buffer"]
        if event["name"] == "reserve" and "last_bank" not in args:
            self._places[key] = Place(args["memory"], args["bank"], args["size"])
        else:
            self._places.pop(key, None)

    def _launched(self, event: Args) -> None:
        args = event["args"]
        memories = self._separate.get(args["device"])
        if not memories:
            return
        used = {number: self._places.get((args["device"], number)) for number in args["buffers"]}
        for memory in memories:
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
        how = "the property mem_channel of buffers" if SYCL in args else "CL_CHANNEL_1_INTELFPGA and similar flags"
        words = (
            f"put buffers {named(together)} into different banks of memory '{memory.name}' ({how}): "
            f"kernel '{args['kernel']}' uses them together, all are in bank {worst} of {memory.banks}"
        )
        self._found.add(words, 0, tuple(together), nanoseconds=saved, args=args, noun="time")


def spread(sizes: list[int], banks: int) -> int:
    """Returns the bytes in the fullest bank if each buffer, the largest first, goes to the bank with the fewest."""
    loads = [0] * banks
    for size in sorted(sizes, reverse=True):
        loads[loads.index(min(loads))] += size
    return max(loads)


def _time(size: int, memory: Memory) -> int:
    return -(-size * SECOND // memory.rate)
