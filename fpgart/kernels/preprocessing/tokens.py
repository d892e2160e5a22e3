# SPDX-License-Identifier: Apache-2.0
"""Lines and tokens of C."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from fpgart.base.named_tuples import NamedTuple

ELIDED = "\x01"
"""Replaces the end of a line inside a comment or after a backslash."""
CONTINUED = re.compile(r"\\\r?\n")
HIDDEN = re.compile(
    r'"(?:\\\r?\n|\\.|[^"\\\n])*"|\'(?:\\\r?\n|\\.|[^\'\\\n])*\'|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\r?\n|\\[^\n]',
    re.DOTALL,
)
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<name>[A-Za-z_$]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    r"|\.\.\.|<<=|>>=|##|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\\.|.",
    re.DOTALL,
)
NAME = re.compile(r"[A-Za-z_$]\w*")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\\[^\n]')
MERGING = frozenset(re.findall("..", "++--<<>><=>===!=&&||+=-=*=/=%=&=|=^=->##///*::"))
"""Pairs of characters that would form one token if two tokens stood side by side."""
NOBODY: frozenset[str] = frozenset()
LONGEST_KEPT = 256
"""Characters of texts whose tokens are kept: a token takes a hundred times the memory of its text."""


class Token(NamedTuple):
    """`spaced`: a blank precedes it. `hidden`: the macros that produced it, which do not expand again."""

    text: str
    spaced: bool = False
    hidden: frozenset[str] = NOBODY


class Line(NamedTuple):
    """A line without comments; `number` is that of the line in the file with its first word."""

    number: int
    text: str


def logical_lines(text: str) -> tuple[Line, ...]:
    """Returns the lines without comments, with continued ones joined."""
    bare = HIDDEN.sub(_hide, text.replace(ELIDED, " "))
    lines = []
    number = 1
    for line in bare.split("\n"):
        code = line.lstrip(" \t" + ELIDED)
        before = line[: len(line) - len(code)].count(ELIDED) if code else 0
        lines.append(Line(number + before, line.replace(ELIDED, "").rstrip()))
        number += 1 + line.count(ELIDED)
    return tuple(lines)


def _hide(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] in "\"'":
        return CONTINUED.sub(ELIDED, text)
    if text[0] == "\\" and text[-1] != "\n":
        return text
    return (" " if text[0] == "/" else "") + ELIDED * text.count("\n")


def tokens_of(text: str) -> tuple[Token, ...]:
    return _kept_tokens_of(text) if len(text) <= LONGEST_KEPT else _tokens_of(text)


def _tokens_of(text: str) -> tuple[Token, ...]:
    found = []
    spaced = False
    for hit in TOKEN.finditer(text):
        if hit.lastgroup == "space":
            spaced = True
        else:
            found.append(Token(hit[0], spaced))
            spaced = False
    return tuple(found)


_kept_tokens_of = lru_cache(maxsize=4096)(_tokens_of)


def text_of(tokens: Iterable[Token]) -> str:
    """Returns the tokens as text, with blanks where two tokens would merge."""
    parts: list[str] = []
    last = ""
    for token in tokens:
        if last and (token.spaced or _merge(last, token.text[0])):
            parts.append(" ")
        parts.append(token.text)
        last = token.text[-1]
    return "".join(parts)


def _merge(last: str, first: str) -> bool:
    """True if two neighbouring characters would form one token."""
    return last + first in MERGING or ((last.isalnum() or last in "_$.") and (first.isalnum() or first in "_$."))
