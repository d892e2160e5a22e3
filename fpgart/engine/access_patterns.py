# SPDX-License-Identifier: Apache-2.0
"""How kernels go through global memory, found in index expressions: one after the other, in strides, or anywhere.

An index that is a sum of loop variables, and of work-items' numbers, times constants has a stride. One that is, or
contains, an element of another array goes anywhere. What is neither is left alone: nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fpgart.engine.kernel_loops import KernelLoops, Touch
from fpgart.engine.loop_tree import Loop, UncountableError, iterations, variable
from fpgart.engine.preprocessing.expressions import constant

WORK_ITEM = re.compile(r"\bget_(?:global|local)_id\s*\(\s*0\s*\)")
ITEM = "__fpgart_item"
NAME = re.compile(r"[A-Za-z_]\w*")
LONG_RUN = 1024
"""Bytes in a row that are as good as all: a full burst of the interfaces that boards have."""
UNKNOWN = 7_919
"""What stands for names without known values; the differences between indices do not depend on them."""
MOST_NAMES = 64


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

    stride: int | None
    count: int
    unrolled: int


def patterns(loops: KernelLoops, scalars: Mapping[str, int], work_items: int, width: int) -> list[Pattern]:
    """Those that are not one after the other; by array only where all of its accesses are known."""
    names = {name: WORK_ITEM.sub(ITEM, value) for name, value in loops.names(scalars).items()}
    found: list[Pattern] = []
    unknown: set[str] = set()
    for touch in loops.touches:
        if not touch.times:
            unknown.add(touch.array)
            continue
        try:
            made = _pattern(touch, names, loops, work_items, width)
        except UncountableError:
            unknown.add(touch.array)
            continue
        if made is not None:
            found.append(made)
    return [pattern for pattern in found if pattern.array not in unknown]


def _pattern(touch: Touch, names: Mapping[str, str], loops: KernelLoops, work_items: int, width: int) -> Pattern | None:
    """None for accesses one after the other. Raises UncountableError for those that nobody knows."""
    index = WORK_ITEM.sub(ITEM, touch.index)
    variables = [*(_variable(loop, names) for loop in reversed(touch.loops)), (ITEM, 1, max(1, work_items), width)]
    own = {name for name, _, _, _ in variables}
    if any(name in loops.parameters and name not in names for name in NAME.findall(index)):
        names = {**names, **{name: str(UNKNOWN) for name in loops.parameters if name not in names}}
    total = touch.times
    for _, _, count, _ in variables:
        total *= count
    if not total:
        return None
    if _reads_memory(index, names):
        return Pattern(touch.array, touch.index, touch.line, touch.element, 0, total)
    levels = [
        _Level(_stride(index, name, by, names, own, touch.element), count, unrolled)
        for name, by, count, unrolled in variables
    ]
    return _walk(touch, levels)


def _walk(touch: Touch, levels: list[_Level]) -> Pattern | None:
    """From the innermost loop outwards, as long as one element follows the other."""
    run, copies = touch.element, touch.times
    rest = list(levels)
    for level in levels:
        if level.stride is None:
            raise UncountableError(f"{touch.array}[{touch.index}]")
    while rest and (rest[0].count == 1 or abs(rest[0].stride or 0) <= run):
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
    return Pattern(touch.array, touch.index, touch.line, run, abs(first or 0), count) if first else None


def _variable(loop: Loop, names: Mapping[str, str]) -> tuple[str, int, int, int]:
    """A loop's variable, its step, how often it runs, and how often at once. Raises UncountableError."""
    count = iterations(loop.head, names)
    its = variable(loop.head, names)
    return its.name, its.by, count, loop.factor(count, names)


def _reads_memory(index: str, names: Mapping[str, str]) -> bool:
    """Whether an index, or what its names stand for, is an element of an array."""
    waiting, seen = [index], set[str]()
    while waiting:
        text = waiting.pop()
        if "[" in text:
            return True
        for name in NAME.findall(text):
            if name in names and name not in seen and len(seen) < MOST_NAMES:
                seen.add(name)
                waiting.append(names[name])
    return False


def _stride(index: str, name: str, by: int, names: Mapping[str, str], own: set[str], element: int) -> int | None:
    """Bytes from one value of a variable to the next; None where that is not always the same, or not known."""
    values = []
    for turn in range(3):
        given = {**names, **dict.fromkeys(own, "0"), name: f"({by * turn})"}
        values.append(constant(index, given))
    first, second, third = values
    if first is None or second is None or third is None or second - first != third - second:
        return None
    return (second - first) * element
