# SPDX-License-Identifier: Apache-2.0
"""Removes `#pragma unroll` from loops that would become large.

On a board, an unrolled loop is circuits. On a CPU, unrolling a small loop makes a kernel several times as fast,
and a large one, or nested ones, only the compiler slow. So a pragma stays if its loop becomes small, from the
innermost loop outwards; otherwise, and if the number of iterations is unknown, it is removed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.signs import UNROLL
from fpgart.kernels.source_text import closings, end_of_statement, replaced, visible

MOST_TOKENS = 8192
"""The most tokens of an unrolled loop: about as many instructions."""
FOR = re.compile(r"\bfor\s*\(")
BLANKS = re.compile(r"\s*")
LINE_END = re.compile(r"[^\n]*")
HEAD = re.compile(
    r"[^;=]*=(?P<first>[^;,]*);\s*(?P<name>[A-Za-z_]\w*)\s*(?P<compare><=?|>=?)"
    r"(?P<last>(?:[^;&|<>]|<<|>>)*);(?P<step>[^;]*)",
    re.DOTALL,
)
STEP = re.compile(r"\+\+\s*\w+|\w+\s*\+\+|--\s*\w+|\w+\s*--|\w+\s*[-+]=\s*(?P<by>.+)", re.DOTALL)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)", re.MULTILINE)
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass
class Loop:
    """A loop behind a pragma, from `begin` to `end`; `trips`: how often unrolling writes it, 0 if unknown."""

    pragma: re.Match[str]
    begin: int
    end: int
    trips: int
    within: list[Loop] = field(default_factory=list)


def without_large_unrolling(text: str, defines: Mapping[str, str]) -> str:
    """Returns the text without the pragmas of large or missing loops; lines stay."""
    bare = visible(text)
    pragmas = list(UNROLL.finditer(bare))
    if not pragmas:
        return text
    macros = {**{found[1]: found[2] for found in DEFINE.finditer(bare)}, **defines}
    heads = _heads(bare, pragmas)
    closed = closings(bare)
    loops = [_loop(bare, pragma, head, closed, macros) for pragma, head in zip(pragmas, heads, strict=True) if head]
    places = [hit.start() for hit in WORD.finditer(bare)]
    _nest(loops)
    kept = _chosen(loops, places)
    return replaced(text, [(pragma.start(), pragma.end(), "") for pragma in pragmas if pragma.start() not in kept])


def _heads(bare: str, pragmas: list[re.Match[str]]) -> list[re.Match[str] | None]:
    """Returns, for each pragma, the head of the loop behind it; blanks and other directives may come before."""
    known: dict[int, re.Match[str] | None] = {}
    found: list[re.Match[str] | None] = []
    for pragma in reversed(pragmas):
        at = _behind_blanks(bare, pragma.end())
        while at not in known and bare[at : at + 1] == "#":
            at = _behind_blanks(bare, _behind(LINE_END, bare, at))
        found.append(known[at] if at in known else FOR.match(bare, at))
        known[_behind_blanks(bare, pragma.start())] = found[-1]
    return found[::-1]


def _behind_blanks(bare: str, at: int) -> int:
    return _behind(BLANKS, bare, at)


def _behind(pattern: re.Pattern[str], bare: str, at: int) -> int:
    hit = pattern.match(bare, at)
    return hit.end() if hit is not None else at


def _loop(
    bare: str, pragma: re.Match[str], head: re.Match[str], closed: Mapping[int, int], macros: Mapping[str, str]
) -> Loop:
    end = closed.get(head.end() - 1, len(bare))
    trips = _trips(bare[head.end() : end], macros)
    count = constant(pragma["count"], macros)
    if count is not None:
        trips = count if trips is None else min(count, trips)
    return Loop(pragma, end + 1, end_of_statement(bare, end + 1, closed), trips or 0)


def _trips(head: str, macros: Mapping[str, str]) -> int | None:
    """Returns how often a loop runs; None if that is unknown."""
    parts = HEAD.fullmatch(head)
    step = STEP.fullmatch(parts["step"].strip()) if parts else None
    if parts is None or step is None:
        return None
    first, last = constant(parts["first"], macros), constant(parts["last"], macros)
    by = constant(step["by"], macros) if step["by"] else 1
    if first is None or last is None or not by:
        return None
    return max(0, -(-(abs(last - first) + ("=" in parts["compare"])) // abs(by)))


def _nest(loops: list[Loop]) -> None:
    """Puts each loop into the one around it; they are in the order in which they begin."""
    around: list[Loop] = []
    for loop in loops:
        while around and around[-1].end <= loop.begin:
            around.pop()
        if around:
            around[-1].within.append(loop)
        around.append(loop)


def _chosen(loops: list[Loop], places: list[int]) -> set[int]:
    """Returns the positions of the pragmas that stay; those of inner loops are decided first."""
    kept: set[int] = set()
    sizes: dict[int, int] = {}
    for loop in reversed(loops):
        size = _tokens(loop, places)
        for inner in loop.within:
            size += sizes[inner.begin] - _tokens(inner, places)
        if 0 < loop.trips * size <= MOST_TOKENS:
            kept.add(loop.pragma.start())
            size *= loop.trips
        sizes[loop.begin] = size
    return kept


def _tokens(loop: Loop, places: list[int]) -> int:
    return bisect_left(places, loop.end) - bisect_left(places, loop.begin)
