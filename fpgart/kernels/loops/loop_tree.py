# SPDX-License-Identifier: Apache-2.0
"""Loops, conditions and uses of channels in a kernel, and how many cycles they take; kernel_loops.py finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.unrolling import HEAD, STEP, WORD

FOREVER = re.compile(r"\s*(?:1|true)\s*|\s*;\s*;\s*")


CHARACTERS = 64
"""The characters of an expression that take about as long to evaluate as an item."""


class UncountableError(Exception):
    """Raised if the source does not show how often a statement runs."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A packet that is written to a channel or read from it. `untold`: the reason if the use is unknown."""

    channel: str
    writing: bool
    untold: str = ""

    @property
    def array(self) -> str:
        """The channel, or the array that it is in."""
        return self.channel.partition("[")[0].strip()


@dataclass(frozen=True, slots=True)
class Choice:
    """Statements under conditions: the first branch whose condition holds is taken; `1` for an `else`."""

    branches: tuple[tuple[str, tuple[Item, ...]], ...]

    def chosen(self, names: Mapping[str, str]) -> tuple[Item, ...] | None:
        """Returns the items of the branch that is taken; None if that is unknown."""
        for condition, items in self.branches:
            value = constant(condition, names)
            if value is None:
                return None
            if value:
                return items
        return ()

    def cycles(self, names: Mapping[str, str]) -> int:
        """Returns the cycles of the branch that is taken. Raises UncountableError if it is unknown and they differ."""
        chosen = self.chosen(names)
        if chosen is not None:
            return cycles_of(chosen, names)
        found = {cycles_of(items, names) for _, items in self.branches} | {0}
        if len(found) > 1:
            raise UncountableError(f"if ({self.branches[0][0]})")
        return found.pop()


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for`, by the text of its head; `unroll` is "" without a pragma, "all" or a factor; `interval` that of `ii`.

    One that never ends has FOREVER as its head.
    """

    head: str
    unroll: str
    interval: str
    body: tuple[Item, ...]
    begin: int = 0
    end: int = 0
    """The end of its statement in the kernel's body."""

    def cycles(self, names: Mapping[str, str]) -> int:
        """Returns the cycles of all iterations. Raises UncountableError."""
        inner = cycles_of(self.body, names)
        if self.unroll == "all" and not inner:
            return 0
        count = variable(self.head, names).count
        factor = self.factor(count, names)
        if factor > 1 and inner:  # copies of loops share the time in an unknown way
            raise UncountableError(f"unrolled for ({self.head})")
        if self.unroll and factor >= count:
            return 0
        return -(-count // factor) * max(self.least(names), inner)

    def factor(self, count: int, names: Mapping[str, str]) -> int:
        """Returns how many of its `count` iterations unrolling makes one. Raises UncountableError."""
        factor = 1 if not self.unroll else max(1, count) if self.unroll == "all" else constant(self.unroll, names)
        if factor is None or factor < 1:
            raise UncountableError(f"unrolled for ({self.head})")
        return factor

    def least(self, names: Mapping[str, str]) -> int:
        """Returns the least cycles between two iterations by its pragma, at least 1."""
        return max(1, (constant(self.interval, names) if self.interval else 1) or 1)


@dataclass(frozen=True, slots=True)
class Called:
    """A function with loops: its parameters, constants, items, and the number of items, those of its calls included."""

    parameters: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]
    items: tuple[Item, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function with loops."""

    function: Called
    arguments: tuple[str, ...]

    def cycles(self, names: Mapping[str, str]) -> int:
        """Returns the cycles of the function with these arguments. Raises UncountableError."""
        own = dict(self.function.constants)
        for name, text in zip(self.function.parameters, self.arguments, strict=False):
            value = constant(text, names)
            if value is not None:
                own[name] = f"({value})"
        return cycles_of(self.function.items, own)


Item = Loop | Talk | Choice | Call


def size_of(items: tuple[Item, ...]) -> int:
    """Returns the number of items, nested and called ones included; long expressions count as several."""
    return sum(_size_of(each) for each in items)


def _size_of(item: Item) -> int:
    items = item.function.size if isinstance(item, Call) else 1 + size_of(tuple(inside(item)))
    return items + sum(map(len, _written(item))) // CHARACTERS


def _written(item: Item) -> Iterator[str]:
    """Yields the expressions of an item."""
    if isinstance(item, Loop):
        yield from (item.head, item.unroll, item.interval)
    elif isinstance(item, Call):
        yield from item.arguments
    elif isinstance(item, Choice):
        yield from (condition for condition, _ in item.branches)
    else:
        yield item.channel


def cycles_of(items: tuple[Item, ...], names: Mapping[str, str]) -> int:
    """Returns the cycles of items one after the other; uses of channels take none. Raises UncountableError."""
    return sum(each.cycles(names) for each in items if not isinstance(each, Talk))


def inside(item: Item) -> Iterator[Item]:
    """Yields the items directly in an item, in all branches."""
    if isinstance(item, Loop):
        yield from item.body
    elif isinstance(item, Choice):
        for _, items in item.branches:
            yield from items


def talks(items: tuple[Item, ...]) -> Iterator[Talk]:
    """Yields all uses of channels in items, in loops and under conditions too."""
    for each in items:
        if isinstance(each, Talk):
            yield each
        else:
            yield from talks(tuple(inside(each)))


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable of a loop: its first value, its step, and the number of its values."""

    name: str
    first: int
    by: int
    count: int

    def at(self, iteration: int) -> int:
        return self.first + iteration * self.by


def variable(head: str, names: Mapping[str, str]) -> Variable:
    """Returns the variable of a loop by its head. Raises UncountableError."""
    parts = HEAD.fullmatch(head)
    step = STEP.fullmatch(parts["step"].strip()) if parts else None
    if parts is None or step is None or parts["name"] not in WORD.findall(step[0]):
        raise UncountableError(f"for ({head})")
    first, last = constant(parts["first"], names), constant(parts["last"], names)
    by = constant(step["by"], names) if step["by"] else 1
    upwards = "<" in parts["compare"]
    if first is None or last is None or by is None or by < 1 or upwards != ("+" in step[0].partition("=")[0]):
        raise UncountableError(f"for ({head})")
    distance = last - first if upwards else first - last
    count = max(0, -(-(distance + ("=" in parts["compare"])) // by))
    return Variable(parts["name"], first, by if upwards else -by, count)
