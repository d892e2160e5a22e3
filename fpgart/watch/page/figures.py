# SPDX-License-Identifier: Apache-2.0
"""The data that the page's script draws, as columns of numbers: timelines, and contents of memories.

Times are nanoseconds since the first command, so that an axis begins with the host's work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fpgart.base.sizes import in_words
from fpgart.watch import history
from fpgart.watch.history import Box, Memory
from fpgart.watch.lanes import QUEUE, Arrow, Lane
from fpgart.watch.page.colours import BUFFER_COLOURS, Colours, buffer_css, key_of

COLUMNS = ("begin", "length", "name", "words", "colour", "size", "command", "buffer")
"""The script's columns of each span; all are numbers."""
HIDING = 0.5
"""The axis folds programming that takes this share of the time."""
MOST_FOLDS = 8


class Words:
    """Texts that several objects share, by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def texts(self) -> list[str]:
        return list(self._numbers)


def timeline(
    lanes: list[Lane],
    zero: int,
    end: int,
    colours: Colours,
    words: Words,
    *,
    folds: bool = False,
    arrows: Sequence[Arrow] = (),
) -> dict[str, Any]:
    """Returns a timeline; `zero` is its first command, in the nanoseconds of the spans. `folds`: its axis may fold."""
    numbers = {key: number for number, key in enumerate(colours.keys)}
    columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
    drawn = []
    for lane in lanes:
        rows = _add_rows(lane, zero, columns, numbers, words)
        made: dict[str, Any] = {"group": lane.group, "name": lane.name, "rows": rows, "queue": lane.rank == QUEUE}
        if lane.levels is not None:
            made["capacity"] = lane.levels.capacity
            made["at"] = [at - zero for at in lane.levels.at]
            made["packets"] = lane.levels.packets
        drawn.append(made)
    earliest = min((at for lane in lanes for at in _begins(lane)), default=zero)
    length = max(end - zero, 1)
    return {
        "first": min(earliest - zero, 0),
        "end": length,
        "folds": _folds(lanes, zero, length) if folds else [],
        "lanes": drawn,
        "arrows": [(each.source, each.begin - zero, each.target, each.end - zero) for each in arrows],
        **columns,
    }


def _folds(lanes: list[Lane], zero: int, length: int) -> list[tuple[int, int]]:
    """Returns the parts of the axis to fold: programming while no other span of a board is under way."""
    spans = {(s.begin - zero, s.end - zero) for lane in lanes for s in lane.spans if s.kind == "program"}
    if len(spans) > MOST_FOLDS or sum(end - begin for begin, end in spans) < HIDING * length:
        return []
    found = sorted(spans)
    apart = all(before[1] <= after[0] for before, after in pairwise(found))
    return found if apart else []


def _begins(lane: Lane) -> list[int]:
    return [span.begin for span in lane.spans[:1]] + (lane.levels.at[:1] if lane.levels is not None else [])


def _add_rows(
    lane: Lane, zero: int, columns: dict[str, list[int]], numbers: dict[str, int], words: Words
) -> list[list[int]]:
    """Appends a lane's spans row by row; returns the begin and the end of each row in the columns."""
    rows: dict[int, list[Any]] = defaultdict(list)
    for span in lane.spans:
        rows[span.row].append(span)
    found = []
    for row in range(max(rows, default=-1) + 1):
        begin = len(columns["begin"])
        for span in rows[row]:
            columns["begin"].append(span.begin - zero)
            columns["length"].append(span.end - span.begin)
            columns["name"].append(words.number(span.name))
            columns["words"].append(words.number(span.words))
            columns["colour"].append(numbers[key_of(span)])
            columns["size"].append(span.size)
            columns["command"].append(span.command)
            columns["buffer"].append(span.buffer)
        found.append([begin, len(columns["begin"])])
    return found


def memory(boxes: list[Box], zero: int, end: float, words: Words) -> dict[str, Any]:
    """Returns the contents of memories: a lane per bank, all to one scale; one lane for a memory that interleaves."""
    banks = sorted({(box.memory, box.bank) for box in boxes}, key=lambda bank: (bank[0].device, bank[0].begin, bank[1]))
    lanes = {bank: number for number, bank in enumerate(banks)}
    ordered = sorted(boxes, key=lambda box: box.begin)
    return {
        "fullest": _since(history.fullest(boxes, end), zero),
        "scale": max((box.offset + box.size for box in boxes), default=1),
        "lanes": [_describe(*bank) for bank in banks],
        "begin": [_since(box.begin, zero) for box in ordered],
        "end": [_since(box.end, zero) for box in ordered],
        "lane": [lanes[box.memory, box.bank] for box in ordered],
        "offset": [box.offset for box in ordered],
        "size": [box.size for box in ordered],
        "buffer": [box.buffer for box in ordered],
        "colour": [box.buffer % BUFFER_COLOURS for box in ordered],
        "colours": [buffer_css(number) for number in range(BUFFER_COLOURS)],
        "words": [words.number(history.box_in_words(box)) for box in ordered],
        "filling": _filling(boxes, zero, end),
    }


def _since(microseconds: float, zero: int) -> int:
    return round(microseconds * 1000) - zero


def _describe(memory: Memory, bank: int) -> dict[str, Any]:
    """Returns the facts of a lane. `stripes`: the number of banks over which addresses are interleaved."""
    interleaved = memory.interleaved and memory.banks > 1
    name = str(memory)
    if interleaved:
        name += f", {memory.banks} banks interleaved"
        if bank:
            name += f", from {memory.begin + bank * memory.bank_size:#x}"
    elif memory.banks > 1:
        name += f", bank {bank + 1} of {memory.banks}"
    size = memory.bank_size
    return {
        "name": name,
        "memory": str(memory),
        "stripes": memory.banks if interleaved else 1,
        "size": in_words(size) if size else "",
    }


def _filling(boxes: list[Box], zero: int, end: float) -> list[dict[str, Any]]:
    """Returns, for each memory, bytes in blocks and in holes over time."""
    by_memory: dict[Memory, list[Box]] = defaultdict(list)
    for box in boxes:
        by_memory[box.memory].append(box)
    found = []
    for memory in sorted(by_memory, key=lambda memory: (memory.device, memory.begin)):
        steps = history.occupancy(by_memory[memory], end)
        at = [_since(each, zero) for each in steps.at]
        found.append({"memory": str(memory), "at": at, "used": steps.used, "holes": steps.holes})
    return found
