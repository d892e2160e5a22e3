# SPDX-License-Identifier: Apache-2.0
"""XML elements of boards' descriptions, which report their mistakes with file and line."""

from __future__ import annotations

import pyexpat as expat  # which three modules of xml only name
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from fpgart.base.input_file import LARGEST_DESCRIPTION, read_input


class BoardSpecError(Exception):
    """A description that is wrong; the message has file, line and field."""


class Element:
    """An element's attributes. Its methods report mistakes in them."""

    def __init__(self, file: str, line: int, name: str, attributes: dict[str, str]) -> None:
        self.file, self.line, self.name, self.attributes = file, line, name, attributes

    def error(self, field: str, words: str) -> BoardSpecError:
        return BoardSpecError(f"{self.file}:{self.line}: {self.name} {field}: {words}")

    def text(self, field: str) -> str:
        if not self.attributes.get(field, "").strip():
            raise self.error(field, "is missing")
        return self.attributes[field].strip()

    def number(self, field: str, default: int | None = None) -> int:
        if default is not None and field not in self.attributes:
            return default
        text = self.text(field)
        try:
            value = int(text, 16 if text.lower().startswith("0x") else 10)
        except ValueError:
            raise self.error(field, f"'{text}' is not a number") from None
        if not 0 <= value < 1 << 64:
            raise self.error(field, f"{text} is out of range")
        return value

    def positive(self, field: str, default: int) -> int:
        value = self.number(field, default)
        if not value:
            raise self.error(field, "has to be more than 0")
        return value

    def flag(self, field: str) -> bool:
        return bool(self.number(field, 0))


def description_in(file: str) -> bytes:
    """Returns the contents of a file with a description. Raises BoardSpecError."""
    try:
        return read_input(file, LARGEST_DESCRIPTION)
    except OSError as error:
        raise BoardSpecError(f"{file}: {error.strerror}") from None


def outermost(data: bytes) -> str:
    """Returns the name of the outermost element, also if a mistake follows; "" if there is no element."""
    names: list[str] = []
    with suppress(BoardSpecError):
        walk(data, "", lambda element, around: names.append(element.name))
    return names[0] if names else ""


def walk(data: bytes, file: str, visit: Callable[[Element, Sequence[str]], None]) -> None:
    """Calls `visit` for every element, in order, with the names of the enclosing elements.

    Raises BoardSpecError for malformed XML, and for document types, so that entities cannot expand without limit.
    """
    parser = expat.ParserCreate()
    around: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        visit(Element(file, parser.CurrentLineNumber, name, attributes), around)
        around.append(name)

    def end(name: str) -> None:
        around.pop()

    def doctype(*declared: Any) -> None:
        raise BoardSpecError(
            f"{file}:{parser.CurrentLineNumber}: a document type (and so entities) is not accepted here"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BoardSpecError(f"{file}:{error.lineno}: {expat.ErrorString(error.code)}") from None
