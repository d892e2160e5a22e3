# SPDX-License-Identifier: Apache-2.0
"""Finds the loops that count: nothing changes the variables of their head, within them or from outside."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from fpgart.kernels.loops import assignments
from fpgart.kernels.source_text import DIRECTIVE, closings, end_of_statement, macros, replaced

NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*")
VOLATILE = frozenset(("volatile", "__volatile", "__volatile__"))
TYPEDEF = re.compile(r"\btypedef\b(?P<type>[^;]{0,1024}?)\b(?P<name>\w+)[\s\])]*;")
STEADY = re.compile(r"get_(?:global|local|num|group|work)_\w+|(?:un)?signed|u?(?:char|short|int|long)|size_t")
"""Names in a macro's text that do not change during a loop: functions that ask for sizes, and types of casts."""
ELSE = re.compile(r"\s*else\b")
FOR = "for"

Macros = Iterable[tuple[str, str]]
"""Names and texts."""


def without_counted_loops(bare: str, heads: Iterable[re.Match[str]], given: Macros) -> str:
    """Returns a text, which has no comments, without the word `for` of those loops that count.

    `heads` match that word. Their group `head` is what their parentheses contain, with the closing one. `given`: the
    macros of the options.
    """
    loops = _Loops(bare, given)
    counted = [found.start() for found in heads if loops.counts(found)]
    return replaced(bare, [(at, at + len(FOR), "") for at in counted])


class _Loops:
    """The brackets of a text, its directives, and where variables change."""

    def __init__(self, bare: str, given: Macros) -> None:
        self._bare = bare
        self._closings = closings(bare)
        self._directives = list(DIRECTIVE.finditer(bare))
        self._begins = [found.start() for found in self._directives]
        self._assignments = assignments.Assignments(bare)
        self._macros = self._uses_of(_changing_macros(self._directives))
        known = [*macros(self._directives), *given]
        self._unsteady = _unsteady_macros(known) | _volatile_names(bare, known)

    def _uses_of(self, names: set[str]) -> list[int]:
        return [found.start() for found in NAME.finditer(self._bare) if found[0] in names] if names else []

    def counts(self, found: re.Match[str]) -> bool:
        """False if a macro contains the loop, or if a variable of its head may change."""
        begin = found.end("head")
        end = self._end_of_body(begin)
        used = NAME.findall(found["head"].partition(";")[2])
        return self._unsteady.isdisjoint(used) and not (
            self._in_directive(found.start())
            or _is_any_within(self._macros, begin, end)
            or any(self._assignments.count(name, begin, end) for name in used)
        )

    def _end_of_body(self, begin: int) -> int:
        end = end_of_statement(self._bare, begin, self._closings)
        while otherwise := ELSE.match(self._bare, end):
            end = end_of_statement(self._bare, otherwise.end(), self._closings)
        return end

    def _in_directive(self, at: int) -> bool:
        """True in a macro, whose arguments may be a loop's limit or its body."""
        before = bisect_left(self._begins, at) - 1
        return before >= 0 and at < self._directives[before].end()


def _changing_macros(directives: Iterable[re.Match[str]]) -> set[str]:
    """Returns the macros that change any variable: it may be an argument of theirs."""
    return {name for name, text in macros(directives) if assignments.GIVEN.search(text)}


def _unsteady_macros(known: Macros) -> set[str]:
    """Returns the macros whose value may change: in their text are other names than those of constant macros."""
    names: dict[str, set[str]] = {}
    for name, text in known:
        names.setdefault(name, set()).update(each for each in NAME.findall(text) if not STEADY.fullmatch(each))
    found: set[str] = set()
    more = {name for name, used in names.items() if used - names.keys()}
    while more:
        found |= more
        more = {name for name, used in names.items() if not used.isdisjoint(found)} - found
    return found


def _volatile_names(bare: str, known: Macros) -> set[str]:
    """Returns at least the names that are declared volatile, also by a type or a macro that says so."""
    if not any("volatile" in text for text in (bare, *(text for _, text in known))):
        return set()
    words = set(VOLATILE)
    types = [(found["name"], found["type"]) for found in TYPEDEF.finditer(bare)]
    while more := {name for name, text in (*known, *types) if not words.isdisjoint(NAME.findall(text))} - words:
        words |= more
    found: set[str] = set()
    for hit in re.finditer(rf"\b(?:{'|'.join(words)})\b(?P<names>[^;{{}}()]*)(?P<end>[;{{}}()]?)", bare):
        is_parameter = hit["end"] == ")"
        found.update(NAME.findall(hit["names"].partition(",")[0] if is_parameter else hit["names"]))
    return found


def _is_any_within(places: list[int], begin: int, end: int) -> bool:
    first = bisect_left(places, begin)
    return first < len(places) and places[first] < end
