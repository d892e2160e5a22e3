# SPDX-License-Identifier: Apache-2.0
"""Which loops are unrolled as `#pragma unroll` says, and which stay loops.

On a board, an unrolled loop is circuits. On a CPU, unrolling a small loop makes a kernel several times as fast,
and a large one, or nested ones, only the compiler slow. So a pragma stays where what it makes is small, from the
innermost loop outwards; elsewhere, and where nobody sees how often a loop runs, it goes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from fpgart.engine.lowering import HIDDEN, blank, closing
from fpgart.engine.preprocessing.expressions import constant

MOST_TOKENS = 8192
"""What a loop may become: about as many instructions."""
PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+unroll\b(?P<count>[^\n]*)", re.MULTILINE)
FOR = re.compile(r"(?:\s|^[ \t]*#[^\n]*$)*\bfor\s*\(", re.MULTILINE)
HEAD = re.compile(
    r"[^;=]*=(?P<first>[^;,]*);\s*(?P<name>[A-Za-z_]\w*)\s*(?P<compare><=?|>=?)(?P<last>[^;&|<>]*);(?P<step>[^;]*)",
    re.DOTALL,
)
STEP = re.compile(r"\+\+\s*\w+|\w+\s*\+\+|--\s*\w+|\w+\s*--|\w+\s*[-+]=\s*(?P<by>.+)", re.DOTALL)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)", re.MULTILINE)
WORD = re.compile(r"\w+|[^\w\s]")
BLOCK = re.compile(r"[{};(]")


@dataclass
class Loop:
    """A loop behind a pragma, from `begin` to `end`; `trips` is how often unrolling writes it, 0 where nobody sees."""

    pragma: re.Match[str]
    begin: int
    end: int
    trips: int
    within: list[Loop] = field(default_factory=list)


def without_large_unrolling(text: str, defines: Mapping[str, str]) -> str:
    """The text without the pragmas that make too much, or stand before no loop; lines stay."""
    bare = blank(HIDDEN, text)
    pragmas = list(PRAGMA.finditer(bare))
    if not pragmas:
        return text
    macros = {**{found[1]: found[2] for found in DEFINE.finditer(bare)}, **defines}
    loops = [loop for pragma in pragmas if (loop := _loop(bare, pragma, macros)) is not None]
    places = [hit.start() for hit in WORD.finditer(bare)]
    kept: set[int] = set()
    for loop in _outermost(loops):
        _choose(loop, places, kept)
    parts = []
    copied = 0
    for pragma in pragmas:
        if pragma.start() not in kept:
            parts.append(text[copied : pragma.start()])
            copied = pragma.end()
    return "".join([*parts, text[copied:]])


def _loop(bare: str, pragma: re.Match[str], macros: Mapping[str, str]) -> Loop | None:
    head = FOR.match(bare, pragma.end())
    if head is None:
        return None
    end = closing(bare, head.end() - 1)
    trips = _trips(bare[head.end() : end], macros)
    count = constant(pragma["count"], macros)
    if count is not None:
        trips = count if trips is None else min(count, trips)
    return Loop(pragma, end + 1, _end_of_statement(bare, end + 1), trips or 0)


def _trips(head: str, macros: Mapping[str, str]) -> int | None:
    """How often a loop runs; None where that does not show."""
    parts = HEAD.fullmatch(head)
    step = STEP.fullmatch(parts["step"].strip()) if parts else None
    if parts is None or step is None:
        return None
    first, last = constant(parts["first"], macros), constant(parts["last"], macros)
    by = constant(step["by"], macros) if step["by"] else 1
    if first is None or last is None or not by:
        return None
    return max(0, -(-(abs(last - first) + ("=" in parts["compare"])) // abs(by)))


def _end_of_statement(bare: str, at: int) -> int:
    """Where the statement that begins at `at` ends."""
    depth = 0
    while hit := BLOCK.search(bare, at):
        at = hit.end()
        if hit[0] == "(":
            at = closing(bare, hit.start()) + 1
        depth += {"{": 1, "}": -1}.get(hit[0], 0)
        if hit[0] in ";}" and depth <= 0:
            break
    return at


def _outermost(loops: list[Loop]) -> list[Loop]:
    """The loops in no other one; the others are put into those."""
    found: list[Loop] = []
    around: list[Loop] = []
    for loop in loops:
        while around and around[-1].end <= loop.begin:
            around.pop()
        (around[-1].within if around else found).append(loop)
        around.append(loop)
    return found


def _choose(loop: Loop, places: list[int], kept: set[int]) -> int:
    """Decide on a loop and those within; returns how many tokens it becomes."""
    size = bisect_left(places, loop.end) - bisect_left(places, loop.begin)
    for inner in loop.within:
        size -= bisect_left(places, inner.end) - bisect_left(places, inner.begin)
        size += _choose(inner, places, kept)
    if 0 < loop.trips * size <= MOST_TOKENS:
        kept.add(loop.pragma.start())
        return loop.trips * size
    return size
