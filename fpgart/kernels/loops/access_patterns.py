# SPDX-License-Identifier: Apache-2.0
"""Accesses to global memory by index expression: sequential, strided or random.

An index that is a sum of loop variables, and of work-items' numbers, times constants has a stride. One that is, or
contains, an element of another array is random. Other accesses have no pattern.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import prod

from fpgart.kernels.loops.kernel_loops import KernelLoops, Touch
from fpgart.kernels.loops.loop_tree import Loop, UncountableError, variable
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.source_text import NAME

WORK_ITEM = re.compile(r"\bget_(?:global|local)_id\s*\(\s*0\s*\)")
ITEM = "__fpgart_item"
LONG_RUN = 1024
"""The bytes in a row that count as sequential: a full burst of the interfaces that boards have."""
UNKNOWN = 7_919
"""The value of names without known values; the differences between indices do not depend on them."""
MOST_NAMES = 64
"""The most names in an index and in their values."""
MOST_LOOKED = 1_000_000
"""The most characters of indices that are evaluated for a launch, repetitions included; half a second."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Accesses to an array: `count` times `run` bytes in a row, each `stride` bytes behind the other; 0: anywhere."""

    array: str
    index: str
    line: int
    run: int
    stride: int
    count: int


@dataclass(frozen=True, slots=True)
class _Level:
    """A loop around an access, or the work-items: bytes from an iteration to the next, and how many."""

    stride: int
    count: int


def patterns(loops: KernelLoops, scalars: Mapping[str, int], work_items: int) -> list[Pattern]:
    """Returns the patterns of accesses that are not sequential, but none of an array that has an unknown access."""
    launch = _Launch(loops, scalars, work_items)
    found: list[Pattern] = []
    unknown: set[str] = set()
    for touch in loops.touches:
        try:
            made = launch.pattern(touch)
        except UncountableError:
            unknown.add(touch.array)
            continue
        if made is not None:
            found.append(made)
    return [pattern for pattern in found if pattern.array not in unknown]


@dataclass(frozen=True, slots=True)
class _Counter:
    """A loop's variable, or the number of a work-item: its step, and how often it counts."""

    name: str
    by: int
    count: int


class _Launch:
    """The values of names in a launch, and its loops; the iterations of each loop are counted once."""

    def __init__(self, loops: KernelLoops, scalars: Mapping[str, int], work_items: int) -> None:
        self._names = {name: WORK_ITEM.sub(ITEM, value) for name, value in loops.names(scalars).items()}
        self._unknown = {name: str(UNKNOWN) for name in loops.parameters if name not in self._names}
        self._items = _Counter(ITEM, 1, max(1, work_items))
        self._counters: dict[int, _Counter | None] = {}
        self._looked = 0

    def pattern(self, touch: Touch) -> Pattern | None:
        """Returns the pattern of an access; None if it is sequential. Raises UncountableError if it is unknown."""
        if not touch.times:
            raise UncountableError(f"{touch.array}[...] under a condition")
        counters = [*(self._counter(loop) for loop in reversed(touch.loops)), self._items]
        total = touch.times * prod(counter.count for counter in counters)
        if not total:
            return None
        index = WORK_ITEM.sub(ITEM, touch.index)
        mentioned = self._mentioned(index)
        if mentioned is None:
            return Pattern(touch.array, touch.index, touch.line, touch.element, 0, total)
        own = {counter.name: "0" for counter in counters}
        names = ChainMap(own, self._names)
        if not self._unknown.keys().isdisjoint(NAME.findall(index)):
            names = ChainMap(own, self._names, self._unknown)
        self._look(index, 1 + 2 * len(own.keys() & mentioned))
        return _walk(touch, list(_levels(index, counters, mentioned, names, touch.step or touch.element)))

    def _counter(self, loop: Loop) -> _Counter:
        """Returns the counter of a loop. Raises UncountableError."""
        if loop.begin not in self._counters:
            self._counters[loop.begin] = None
            its = variable(loop.head, self._names)
            self._counters[loop.begin] = _Counter(its.name, its.by, its.count)
        found = self._counters[loop.begin]
        if found is None:
            raise UncountableError(f"for ({loop.head})")
        return found

    def _mentioned(self, index: str) -> set[str] | None:
        """Returns the names in an index and in their values; None if these read an element of an array.

        Raises UncountableError for more than MOST_NAMES.
        """
        waiting, seen = [index], set[str]()
        while waiting:
            text = waiting.pop()
            if "[" in text:
                return None
            for name in NAME.findall(text):
                if name not in seen:
                    seen.add(name)
                    waiting.append(self._names.get(name, ""))
            if len(seen) > MOST_NAMES:
                raise UncountableError(f"more than {MOST_NAMES} names")
        return seen

    def _look(self, index: str, times: int) -> None:
        """Adds the characters of an index that is evaluated. Raises UncountableError beyond MOST_LOOKED."""
        self._looked += times * len(index)
        if self._looked > MOST_LOOKED:
            raise UncountableError(f"more than {MOST_LOOKED:,} characters of indices")


def _levels(
    index: str, counters: list[_Counter], mentioned: Set[str], names: ChainMap[str, str], step: int
) -> Iterator[_Level]:
    """Yields the stride of each counter in bytes; it is 0 for those that the index does not mention.

    Raises UncountableError.
    """
    first = constant(index, names)
    if first is None:
        raise UncountableError(f"[{index}]")
    for counter in counters:
        stride = 0
        if counter.name in mentioned:
            second, third = (
                constant(index, ChainMap({counter.name: f"({counter.by * turn})"}, names)) for turn in (1, 2)
            )
            if second is None or third is None or second - first != third - second:
                raise UncountableError(f"[{index}]")
            stride = (second - first) * step
        yield _Level(stride, counter.count)


def _walk(touch: Touch, levels: list[_Level]) -> Pattern | None:
    """Extends the run of an access from the innermost loop outwards, as long as one element follows the other."""
    run, copies = touch.element, touch.times
    rest = list(levels)
    while rest and (rest[0].count == 1 or abs(rest[0].stride) <= run):
        level = rest.pop(0)
        if level.stride and abs(level.stride) == run:
            run *= level.count
        elif level.stride:  # windows that overlap
            run += abs(level.stride) * (level.count - 1)
    if not rest or run >= LONG_RUN:
        return None
    count = copies
    for level in rest:
        count *= level.count
    first = next((level.stride for level in rest if level.stride), 0)
    return Pattern(touch.array, touch.index, touch.line, run, abs(first), count) if first else None
