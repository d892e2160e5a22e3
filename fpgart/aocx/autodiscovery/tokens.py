# SPDX-License-Identifier: Apache-2.0
"""Tokens of the autodiscovery string, one by one and in groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fpgart.aocx.errors import AocxError

VERSION = 23
T = TypeVar("T")
BLANKS = " \t\n\v\f\r"
TOKEN = re.compile(rf"[^{BLANKS}\0]+")
NUMBER = re.compile(r"[+-]?[0-9]+")
HEX = re.compile(r"(0[xX])?[0-9a-fA-F]+")
ESCAPE = re.compile(r"\\(\\|[0-9a-fA-F]{2})")
INT32, UINT32, UINT64 = 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1


class AutodiscoveryError(AocxError):
    """Raised if the string is malformed. The message names the field, and the token's offset in the string."""


class Reader:
    """Reads the tokens one by one. A group has as many tokens as the field count before it says."""

    def __init__(self, text: str) -> None:
        self._tokens = [(match.group(), match.start()) for match in TOKEN.finditer(text)]
        self._length = len(text)
        self._next = 0
        self._ends = [len(self._tokens)]
        self._places: list[str] = []

    def error(self, field: str, problem: str, back: int = 0) -> AutodiscoveryError:
        """Returns an error about the token that is `back` tokens before the next one."""
        index = self._next - back
        position = self._tokens[index][1] if index < len(self._tokens) else self._length
        where = ", ".join([*self._places, field])
        return AutodiscoveryError(f"autodiscovery, {where}, at byte {position}: {problem}")

    @property
    def more(self) -> bool:
        """True if the group has tokens left."""
        return self._next < self._ends[-1]

    def text(self, field: str) -> str:
        if self._next >= len(self._tokens):
            raise self.error(field, "the string ends here")
        if not self.more:
            raise self.error(field, "the field count before this group leaves no room for it")
        self._next += 1
        return self._tokens[self._next - 1][0]

    def name(self, field: str, none: str = "-") -> str:
        """Reads a name; the token `none` stands for an absent one."""
        token = self.text(field)
        return "" if token == none else token

    def number(self, field: str, maximum: int = UINT32, minimum: int = 0) -> int:
        token = self.text(field)
        if not NUMBER.fullmatch(token) or len(token) > 24:
            raise self.error(field, f"{token!r:.40} is not a number", 1)
        value = int(token)
        if not minimum <= value <= maximum:
            raise self.error(field, f"{value} is not within {minimum}..{maximum}", 1)
        return value

    def hexadecimal(self, field: str) -> int:
        token = self.text(field)
        if not HEX.fullmatch(token) or int(token, 16) > UINT64:
            raise self.error(field, f"{token!r:.40} is not a hexadecimal number of 64 bits", 1)
        return int(token, 16)

    def flag(self, field: str) -> bool:
        return bool(self.number(field, INT32))

    def choice(self, field: str, kind: Callable[[int], T]) -> T:
        value = self.number(field)
        try:
            return kind(value)
        except ValueError:
            raise self.error(field, f"{value} is not a known value", 1) from None

    @contextmanager
    def place(self, name: str) -> Iterator[None]:
        self._places.append(name)
        yield
        self._places.pop()

    @contextmanager
    def fields(self, count: int) -> Iterator[None]:
        """Reads a group of `count` tokens; tokens that the caller does not read are skipped."""
        end = self._next + count
        if end > self._ends[-1]:
            raise self.error("field count", f"{count} fields are expected, {self._ends[-1] - self._next} remain", 1)
        self._ends.append(end)
        yield
        self._next = self._ends.pop()

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Reads a group that begins with its field count."""
        with self.place(name), self.fields(self.number("field count")):
            yield

    def counted(self, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """Reads a number of groups, each with its own field count."""
        found = []
        for index in range(self.number(f"number of {name}s")):
            with self.group(f"{name} {index}"):
                found.append(read(self))
        return tuple(found)

    def table(self, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """Reads a number of items and the number of fields that each of them has."""
        count = self.number(f"number of {name}s")
        width = self.number(f"fields per {name}")
        found = []
        for index in range(count):
            with self.place(f"{name} {index}"), self.fields(width):
                found.append(read(self))
        return tuple(found)

    def names(self, field: str) -> tuple[str, ...]:
        return tuple(self.text(f"{field} {index}") for index in range(self.number(f"number of {field}s")))


def unescape(text: str) -> str:
    r"""Returns a printf format as it is in the source: `\\` is a backslash, `\0a` the character 0x0a."""
    return ESCAPE.sub(lambda match: "\\" if match[1] == "\\" else chr(int(match[1], 16)), text)


def escape(text: str) -> str:
    """Returns the inverse of unescape(), without blanks and control characters."""
    return "".join(
        "\\\\" if char == "\\" else f"\\{ord(char):02x}" if ord(char) <= 32 or ord(char) == 127 else char
        for char in text
    )
