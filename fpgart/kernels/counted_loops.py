# SPDX-License-Identifier: Apache-2.0
"""Finds the loops that count: nothing within them changes the variables of their head."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from fpgart.kernels.source_text import DIRECTIVE, closings, end_of_statement, replaced

CHANGE = re.compile(
    r"\b(?P<changed>[A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--|[(,=]\s*&)\s*(?P<name>[A-Za-z_]\w*)"
)
"""A change of a variable, or its address."""
NAME = re.compile(r"[A-Za-z_]\w*")
MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)")
ELSE = re.compile(r"\s*else\b")
FOR = "for"


def without_counted_loops(bare: str, heads: Iterable[re.Match[str]]) -> str:
    """Returns a text, which has no comments, without the word `for` of those loops that count.

    `heads` match that word. Their group `head` is what their parentheses contain, with the closing one.
    """
    loops = _Loops(bare)
    counted = [found.start() for found in heads if loops.counts(found)]
    return replaced(bare, [(at, at + len(FOR), "") for at in counted])


class _Loops:
    """The brackets of a text, its directives, and where variables change."""

    def __init__(self, bare: str) -> None:
        self._bare = bare
        self._closings = closings(bare)
        self._directives = list(DIRECTIVE.finditer(bare))
        self._begins = [found.start() for found in self._directives]
        self._changes: dict[str, list[int]] = defaultdict(list)
        for change in CHANGE.finditer(bare):
            self._changes[change["changed"] or change["name"]].append(change.start())
        self._macros = self._uses_of(_changing_macros(self._directives))

    def _uses_of(self, names: set[str]) -> list[int]:
        return [found.start() for found in NAME.finditer(self._bare) if found[0] in names] if names else []

    def counts(self, found: re.Match[str]) -> bool:
        """False if a macro contains the loop, or its body changes a variable of its head."""
        begin = found.end("head")
        end = self._end_of_body(begin)
        used = NAME.findall(found["head"].partition(";")[2])
        changes = [self._macros, *(self._changes[name] for name in used if name in self._changes)]
        return not self._in_directive(found.start()) and not any(_is_any_within(each, begin, end) for each in changes)

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
    macros = [(MACRO.match(found[0]), found[0]) for found in directives]
    return {macro["name"] for macro, text in macros if macro and CHANGE.search(text, macro.end())}


def _is_any_within(places: list[int], begin: int, end: int) -> bool:
    first = bisect_left(places, begin)
    return first < len(places) and places[first] < end
