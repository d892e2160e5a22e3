# SPDX-License-Identifier: Apache-2.0
"""The steps of a kernel with channels as a process in simulated time, which channels/stream_clock.c runs through."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from fpgart._native import lib
from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.loops.kernel_loops import KernelLoops
from fpgart.kernels.loops.loop_tree import (
    FOREVER,
    Call,
    Choice,
    Item,
    Loop,
    Talk,
    UncountableError,
    Variable,
    cycles_of,
    size_of,
    talks,
    variable,
)
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.source_text import closing

UNIT = 1024
"""The units of a cycle in which processes count."""
ENDLESS = 1 << 62
LONGEST = 1 << 60
"""Units; longer processes are not simulated."""
MOST_STEPS = 4096
MOST_LOOKED = 30_000
"""The most loops, conditions and uses of channels that are evaluated for one launch, repetitions included; seconds."""
MOST_WRITTEN = 256
"""The most iterations of a loop that are written out."""
MOST_PARENTHESES = 8
COMPUTE_ID = re.compile(r"\bget_compute_id\s*\(\s*(?P<dimension>[0-2])\s*\)")
NAMED = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?P<indices>(?:\[[^\]]*\]\s*)*)")
COMPARED = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?P<compare>[<>]=?|[=!]=)(?P<bound>(?:[^<>=!]|<<|>>)+)")
BRACKETED = re.compile(r"\[([^\]]*)\]")


class Step(NamedTuple):
    """A step as in stream_clock.h, with the name of its channel, such as `c[3]`."""

    kind: int
    first: int
    second: int
    channel: str = ""


class StepWriter:
    """Writes the steps of one launch or compute unit."""

    def __init__(
        self, loops: KernelLoops, names: dict[str, str], latency: int, scale: Fraction, place: tuple[int, ...] = ()
    ) -> None:
        self._body = loops.body or ()
        self._names = names
        self._latency = self._units(latency, Fraction(1))
        self._scale = scale
        self._place = place
        self._steps: list[Step] = []
        self._blocks = 0
        self._looked = 0
        self._running: dict[str, int] = {}
        """The variables of the loops that are being written, in the first of the iterations that are equal."""

    @staticmethod
    def _units(cycles: int, scale: Fraction) -> int:
        units = -(-cycles * UNIT * scale.numerator // scale.denominator)
        if units > LONGEST:
            raise UncountableError(f"{cycles} cycles")
        return units

    def steps(self, work_items: int) -> tuple[Step, ...]:
        if work_items > 1:
            self._add(Step(lib.STREAM_LOOP, work_items, self._units(1, self._scale)))
        self._block(self._body, self._names)
        if work_items > 1:
            self._add(Step(lib.STREAM_NEXT, 0, 0))
        self._add(Step(lib.STREAM_PASS, self._latency, 0))
        self._add(Step(lib.STREAM_END, 0, 0))
        made = tuple(self._steps)
        unstalled(made)
        return made

    def _add(self, step: Step) -> None:
        if len(self._steps) == MOST_STEPS:
            raise UncountableError(f"more than {MOST_STEPS} steps")
        self._steps.append(step)

    def _block(self, body: tuple[Item, ...], names: Mapping[str, str]) -> None:
        self._blocks += 1
        if self._blocks > MOST_STEPS:
            raise UncountableError(f"more than {MOST_STEPS} iterations that are written out")
        self._looked += size_of(body)
        if self._looked > MOST_LOOKED:
            raise UncountableError(f"more than {MOST_LOOKED} loops, conditions and uses of channels are written out")
        for each in body:
            if isinstance(each, Talk):
                self._talk(each, names)
            elif isinstance(each, Call) or next(talks((each,)), None) is None:
                cycles = each.cycles(names)
                if cycles:
                    self._add(Step(lib.STREAM_PASS, self._units(cycles, self._scale), 0))
            elif isinstance(each, Choice):
                self._block(self._chosen(each, names), names)
            else:
                self._loop(each, names)

    def _chosen(self, choice: Choice, names: Mapping[str, str]) -> tuple[Item, ...]:
        """Returns the branch that all iterations being written take. Raises UncountableError."""
        for condition, items in choice.branches:
            value = constant(condition, names)
            if value is None:
                value = self._compared(condition, names)
            if value is None:
                raise UncountableError(f"a channel is used under a condition, if ({condition})")
            if value:
                return items
        return ()

    def _compared(self, condition: str, names: Mapping[str, str]) -> int | None:
        """Returns the result of comparing a running loop's variable with a bound that the loop does not change."""
        found = COMPARED.fullmatch(_bare(condition))
        if found is None or found["name"] not in self._running:
            return None
        bound = constant(found["bound"], names)
        if bound is None:
            return None
        return constant(f"({self._running[found['name']]}) {found['compare']} ({bound})", {})

    def _talk(self, talk: Talk, names: Mapping[str, str]) -> None:
        kind = lib.STREAM_WRITE if talk.writing else lib.STREAM_READ
        second = max(self._latency, UNIT) if talk.writing else 0
        self._add(Step(kind, 0, second, self._channel(talk.channel, names)))

    def _channel(self, text: str, names: Mapping[str, str]) -> str:
        """Returns a channel's name with the values of its indices. Raises UncountableError."""
        parsed = NAMED.fullmatch(COMPUTE_ID.sub(self._compute_id, text))
        if parsed is None:
            raise UncountableError(f"channel '{text}'")
        made = parsed["name"]
        for index in BRACKETED.findall(parsed["indices"]):
            number = constant(index, names)
            if number is None:
                raise UncountableError(f"channel '{text}'")
            made += f"[{number}]"
        return made

    def _compute_id(self, found: re.Match[str]) -> str:
        dimension = int(found["dimension"])
        return str(self._place[dimension]) if dimension < len(self._place) else "0"

    def _loop(self, loop: Loop, names: Mapping[str, str]) -> None:
        if FOREVER.fullmatch(loop.head):
            self._repeat(loop, names, ENDLESS, 1)
            return
        its = variable(loop.head, names)
        count = its.count
        factor = loop.factor(count, names)
        if factor > 1 and cycles_of(loop.body, {**names, its.name: "0"}):
            raise UncountableError(f"unrolled for ({loop.head})")
        if count > LONGEST or (factor > 1 and min(count, factor) > MOST_WRITTEN):
            raise UncountableError(f"for ({loop.head})")
        if loop.unroll and factor >= count:
            for number in range(count):
                self._block(loop.body, {**names, its.name: f"({its.at(number)})"})
            return
        for begin, end in pairwise(sorted({0, count, *_cuts(loop.body, its, names)})):
            if begin % factor:
                raise UncountableError(f"unrolled for ({loop.head})")
            before = self._running
            self._running = {**before, its.name: its.at(begin)}
            self._repeat(loop, names, -(-(end - begin) // factor), factor)
            self._running = before

    def _repeat(self, loop: Loop, names: Mapping[str, str], count: int, factor: int) -> None:
        """Writes a loop that does `factor` iterations at once; a channel carries one packet per cycle."""
        at = len(self._steps)
        self._add(Step(lib.STREAM_LOOP, count, 0))
        opened, depth, own = at + 1, 0, Counter[str]()
        for _ in range(factor):
            self._block(loop.body, names)
        for step in self._steps[opened:]:
            depth += {lib.STREAM_LOOP: 1, lib.STREAM_NEXT: -1}.get(step.kind, 0)
            if step.channel and not depth:
                own[step.channel] += 1
        least = max(loop.least(names), max(own.values(), default=1))
        self._steps[at] = Step(lib.STREAM_LOOP, count, self._units(least, self._scale))
        self._add(Step(lib.STREAM_NEXT, at, 0))


def _bare(condition: str) -> str:
    """Returns a condition without the parentheses that enclose it."""
    text = condition.strip()
    for _ in range(MOST_PARENTHESES):
        if not text.startswith("(") or closing(text, 0) != len(text) - 1:
            break
        text = text[1:-1].strip()
    return text


def _cuts(body: tuple[Item, ...], its: Variable, names: Mapping[str, str]) -> Iterator[int]:
    """Yields the iterations at which a comparison with the loop's variable may change its result."""
    for each in body:
        if isinstance(each, Loop):
            yield from _cuts(each.body, its, names)
        elif isinstance(each, Choice):
            for condition, items in each.branches:
                yield from _cuts(items, its, names)
                found = COMPARED.fullmatch(_bare(condition))
                bound = constant(found["bound"], names) if found and found["name"] == its.name else None
                if bound is not None:
                    turn, rest = divmod(bound - its.first, its.by)
                    turns = {"<": [turn + (rest != 0)], ">=": [turn + (rest != 0)], "<=": [turn + 1], ">": [turn + 1]}
                    here = turns.get(found["compare"]) if found and its.by > 0 else None
                    yield from (cut for cut in here or (turn, turn + 1) if 0 < cut < its.count)


def unstalled(steps: tuple[Step, ...]) -> int:
    """Returns the units that a process takes if it never waits; ENDLESS if it has no end. Raises UncountableError."""
    totals, opened = [0], list[Step]()
    for step in steps:
        if step.kind == lib.STREAM_LOOP:
            opened.append(step)
            totals.append(0)
        elif step.kind == lib.STREAM_NEXT:
            loop, body = opened.pop(), totals.pop()
            if loop.first == ENDLESS:
                return ENDLESS
            totals[-1] += loop.first * max(loop.second, body)
        elif step.kind == lib.STREAM_PASS:
            totals[-1] += step.first
        if totals[-1] > LONGEST:
            raise UncountableError(f"more than {LONGEST} units of time")
    return totals[-1]
