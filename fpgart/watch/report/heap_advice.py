# SPDX-License-Identifier: Apache-2.0
"""Advice on heaps whose buffers kernels see through regions (66AK2x).

The size of a region is a power of two, and its address a multiple of that. So a buffer of another size wastes part of
its region, and a small buffer in front of a large one causes a hole. The manufacturer recommends powers of two for
large buffers, allocated in decreasing order. The adviser finds buffers that deviate, and the bytes that this wastes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fpgart.base.sizes import in_words
from fpgart.board.first_fit import GRANULARITY, FirstFit
from fpgart.board.keystone.addresses import power_of_two_from
from fpgart.watch.report.model import Finding
from fpgart.watch.report.trace_events import Args, Takes
from fpgart.watch.words import on_board

MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Heap:
    begin: int
    size: int
    largest_region: int

    @property
    def end(self) -> int:
        return self.begin + self.size


@dataclass(slots=True)
class HeapAdviser:
    """Takes the events of a trace in the order of time."""

    _heaps: dict[tuple[int, str], Heap] = field(default_factory=dict)
    _live: dict[tuple[int, str], dict[int, tuple[int, int]]] = field(default_factory=dict)
    """By heap and address, the size and number of the buffer there."""
    findings: list[Finding] = field(default_factory=list)

    def takes(self) -> Takes:
        return {"fpgart board": self._board, "memory": self._placed, "refusal": self._refused}

    def _board(self, event: Args) -> None:
        args = event["args"]
        for memory in args["memories"]:
            if memory.get("largest_region"):
                heap = Heap(int(memory["begin"], 16), memory["size"], memory["largest_region"])
                self._heaps[args["device"], memory["name"]] = heap

    def _placed(self, event: Args) -> None:
        args = event["args"]
        if "program" in args or (args["device"], args["memory"]) not in self._heaps:
            return
        live = self._live.setdefault((args["device"], args["memory"]), {})
        address = on_board(args)
        if event["name"] == "reserve":
            self._reserve(args, address, live)
        else:
            live.pop(address, None)

    def _reserve(self, args: Args, address: int, live: dict[int, tuple[int, int]]) -> None:
        size, buffer = args["size"], args["buffer"]
        region = power_of_two_from(size)
        if region != size:
            self.findings.append(
                Finding(
                    f"make {_name(buffer)} a power of two: its {in_words(size)} take up a region of {in_words(region)}",
                    region - size,
                    buffer,
                )
            )
        heap = self._heaps[args["device"], args["memory"]]
        below = max((a + s for a, (s, _) in live.items() if a < address), default=heap.begin)
        if address > below:
            smaller = [number for a, (s, number) in live.items() if a < address and s < size]
            self.findings.append(
                Finding(
                    f"allocate {_name(buffer)} ({in_words(size)}) before the smaller {_which(smaller)}: "
                    f"it has left a hole of {in_words(address - below)}",
                    address - below,
                    buffer,
                )
            )
        live[address] = size, buffer

    def _refused(self, event: Args) -> None:
        """Finds an order of allocation in which a buffer that found no room would have found it."""
        device, size, buffer = (event["args"][key] for key in ("device", "size", "buffer"))
        if not buffer:
            return
        heaps = [heap for (where, _), heap in self._heaps.items() if where == device]
        wanted = [(s, n) for (where, _), live in self._live.items() if where == device for s, n in live.values()]
        order = fitting_order([*wanted, (size, buffer)], heaps)
        if order:
            named = ", ".join(f"{_name(number)} ({in_words(each)})" for each, number in order[:MOST_NAMED])
            more = f" and {len(order) - MOST_NAMED} more" if len(order) > MOST_NAMED else ""
            self.findings.append(
                Finding(
                    f"buffer {buffer} did not fit; in this order all would have fitted: {named}{more}", size, buffer
                )
            )


def fitting_order(wanted: list[tuple[int, int]], heaps: list[Heap]) -> list[tuple[int, int]]:
    """Returns sizes and numbers in decreasing order of size, if all find room in that order; else none."""
    order = sorted(wanted, key=lambda pair: (-pair[0], pair[1]))
    free = [(heap, FirstFit(heap.begin, heap.end)) for heap in heaps]
    for size, _ in order:
        unit = max(GRANULARITY, power_of_two_from(size))
        if all(room.allocate_aligned(size, min(unit, heap.largest_region)) is None for heap, room in free):
            return []
    return order


def _name(buffer: int) -> str:
    """Returns a buffer's name. Memory that the host allocated itself (__malloc_ddr) belongs to no buffer."""
    return f"buffer {buffer}" if buffer else "the host's own allocation"


def _which(buffers: list[int]) -> str:
    named = sorted(filter(None, buffers))[:MOST_NAMED]
    if not named:
        return "ones"
    return f"{'buffer' if len(named) == 1 else 'buffers'} {', '.join(map(str, named))}"
