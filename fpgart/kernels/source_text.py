# SPDX-License-Identifier: Apache-2.0
"""The parts of a text in OpenCL C: comments and literals, brackets, lists and attributes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import lru_cache

from fpgart.base.patterns import pattern

COMMENT = pattern(r'//[^\n]*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n])*")|(\\[^\n])', re.DOTALL)
"""A comment; or a literal (first group), or an escaped character (second), in which none begins."""
CONTINUED = pattern(r"\\\r?\n")
HIDDEN = pattern(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\\[^\n]', re.DOTALL)
DIRECTIVE = pattern(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
LINE = pattern(r"^[ \t]*#[ \t]*line[ \t]+([0-9]{1,18})\b", re.MULTILINE)
WORD = pattern(r"[A-Za-z_]\w*|[{}();]")
NAME = pattern(r"[A-Za-z_]\w*")
NAME_AND_SIZES = pattern(r"(?P<type>.*?)\b(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\[[^\]]*\]\s*)*)", re.DOTALL)
SIZES = pattern(r"\[[^\]]*\]")
"""The size of an array, which may be a product."""
ATTRIBUTES = frozenset(("__attribute__", "__attribute"))
ATTRIBUTE = pattern(r"__attribute(?:__)?\s*\(")
SEPARATORS = pattern(r"[()\[\]{},]")
INCLUDE = pattern(r"^[ \t]*#[ \t]*(?:include|import)", re.MULTILINE)
BLOCK = pattern(r"[{};(]")
PAIRED = pattern(r'[{}()]|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\\[^\n]')
"""A bracket, or a literal, in which none counts."""
MACRO = pattern(r"[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)")


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Returns the text with each match replaced by blanks; positions and lines stay."""
    return pattern.sub(lambda hit: re.sub(r"[^\n]", " ", hit[0]), text)


@lru_cache(maxsize=4)
def bare_code(source: str) -> str:
    """Returns a source with blanks in place of comments, literals and directives; positions and lines stay."""
    return blank(DIRECTIVE, visible(source))


@lru_cache(maxsize=4)
def visible(source: str) -> str:
    """Returns a source with blanks in place of comments and literals; positions and lines stay."""
    return blank(HIDDEN, source)


def closing(text: str, at: int, pair: str = "()") -> int:
    """Returns the position of the bracket that closes the one at `at`; the end of the text if none does."""
    opens, closes = pair[0], pair[1]
    depth, behind = 1, at
    while depth:
        behind = text.find(closes, behind + 1)
        if behind < 0:
            return len(text)
        depth += text.count(opens, at + 1, behind) - 1
        at = behind
    return behind


def macros(directives: Iterable[re.Match[str]]) -> list[tuple[str, str]]:
    """Returns the names of the macros that directives define, and what follows each name."""
    found = [(MACRO.match(each[0]), each[0]) for each in directives]
    return [(macro["name"], text[macro.end() :]) for macro, text in found if macro]


def closings(bare: str) -> dict[int, int]:
    """Returns, by the position of each parenthesis and brace that is closed, where it is."""
    found: dict[int, int] = {}
    opened: dict[str, list[int]] = {")": [], "}": []}
    for hit in PAIRED.finditer(bare):
        if hit[0] in "({":
            opened[")" if hit[0] == "(" else "}"].append(hit.start())
        elif opened.get(hit[0]):
            found[opened[hit[0]].pop()] = hit.start()
    return found


def end_of_statement(bare: str, at: int, closed: Mapping[int, int]) -> int:
    """Returns where the statement that begins at `at` ends."""
    while hit := BLOCK.search(bare, at):
        at = hit.end()
        if hit[0] in "({":
            at = closed.get(hit.start(), len(bare)) + 1
        if hit[0] != "(":
            break
    return at


def behind_blanks(text: str, begin: int, end: int) -> int:
    """Returns the first position from `begin` on that has no white space; `end` if there is none before it."""
    return end - len(text[begin:end].lstrip())


def without_attributes(text: str, *, in_place: str = "") -> str:
    """Returns the text without attributes; `in_place` stands for each of their characters."""
    parts = []
    copied = 0
    while hit := ATTRIBUTE.search(text, copied):
        end = min(closing(text, hit.end() - 1) + 1, len(text))
        parts += [text[copied : hit.start()], in_place * (end - hit.start())]
        copied = end
    return "".join([*parts, text[copied:]])


def split(text: str) -> list[str]:
    """Splits a text at the commas outside of parentheses, brackets and braces."""
    parts, depth, begin = [], 0, 0
    for hit in SEPARATORS.finditer(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(hit[0], 0)
        if hit[0] == "," and depth == 0:
            parts.append(text[begin : hit.start()])
            begin = hit.end()
    return [*parts, text[begin:]]


def attributes_of(text: str) -> dict[str, str]:
    """Returns the text in the attributes' parentheses, by name; "" for those without any."""
    found = {}
    at = 0
    while hit := ATTRIBUTE.search(text, at):
        at = closing(text, hit.end() - 1)
        inner = text[hit.end() : at].strip()
        inner = inner[1:-1] if inner.startswith("(") and inner.endswith(")") else inner
        for each in split(inner):
            name, _, value = each.strip().partition("(")
            found[name.strip().strip("_")] = value.rpartition(")")[0]
    return found


def replaced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Returns the text in which `edits`, in any order, replace what is between two positions."""
    parts = []
    copied = 0
    for begin, end, words in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[copied:begin], words]
        copied = end
    return "".join([*parts, text[copied:]])


class Lines:
    """Maps positions in a preprocessed text to lines of its source."""

    def __init__(self, text: str) -> None:
        self._ends = [hit.start() for hit in re.finditer("\n", text)]
        self._said = [(hit.end(), int(hit[1])) for hit in LINE.finditer(text)]

    def of(self, at: int) -> int:
        """Returns the line of a position; a #line before it counts."""
        number = bisect_left(self._ends, at)
        index = bisect_left(self._said, at, key=lambda said: said[0]) - 1
        if index < 0:
            return number + 1
        end, line = self._said[index]
        return line + number - bisect_left(self._ends, end) - 1
