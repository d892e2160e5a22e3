# SPDX-License-Identifier: Apache-2.0
"""Messages as bytes: named tuples of numbers, texts, bytes, tuples, lists and others of them.

All numbers are little-endian. The bytes that are read come from another process and are not trusted: every length is
compared with the number of bytes left before anything is made of it.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any, TypeVar

from fpgart.base.named_tuples import NamedTuple

T = TypeVar("T")
NUMBER, LENGTH = Struct("<q"), Struct("<I")
MOST_BYTES = 1 << 30
"""The most bytes of a message."""


class ProtocolError(Exception):
    """Raised if bytes are no message; the sentence says why."""


class Reader:
    """Reads values from bytes; raises ProtocolError if they end too early."""

    __slots__ = ("_data", "_place")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        """The number of bytes that have not been read."""
        return len(self._data) - self._place

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise ProtocolError(
                f"{size} bytes are expected at {self._place} of {len(self._data)}, {self.left} are there"
            )
        found = self._data[self._place : self._place + size]
        self._place += size
        return found

    def number(self) -> int:
        return int(NUMBER.unpack(self.take(NUMBER.size))[0])

    def length(self) -> int:
        return int(LENGTH.unpack(self.take(LENGTH.size))[0])


class Coder(NamedTuple):
    """The functions that write and read values of a type."""

    write: Callable[[list[bytes], Any], None]
    read: Callable[[Reader], Any]


def _write_number(parts: list[bytes], value: int) -> None:
    try:
        parts.append(NUMBER.pack(value))
    except StructError:
        raise ProtocolError(f"{value} is not a number of 64 bits with a sign") from None


def _write_bytes(parts: list[bytes], value: bytes) -> None:
    if len(value) > MOST_BYTES:
        raise ProtocolError(f"{len(value)} bytes are more than a message may have ({MOST_BYTES})")
    parts.append(LENGTH.pack(len(value)))
    parts.append(value)


def _read_truth(reader: Reader) -> bool:
    found = reader.take(1)[0]
    if found > 1:
        raise ProtocolError(f"{found} is neither 0 nor 1")
    return bool(found)


NUMBERS = Coder(_write_number, Reader.number)
TRUTHS = Coder(lambda parts, value: parts.append(b"\1" if value else b"\0"), _read_truth)
BYTES = Coder(_write_bytes, lambda reader: reader.take(reader.length()))
TEXTS = Coder(
    lambda parts, value: _write_bytes(parts, value.encode(errors="surrogateescape")),
    lambda reader: reader.take(reader.length()).decode(errors="surrogateescape"),
)
SIMPLE: dict[object, Coder] = {int: NUMBERS, bool: TRUTHS, bytes: BYTES, str: TEXTS}


@cache
def coder(annotation: Any) -> Coder:
    """Returns the coder for values with this annotation; raises TypeError for types that messages cannot have."""
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    if hasattr(annotation, "_fields"):
        return _structure(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and arguments[-1:] == (...,):
        return _sequence(arguments[0])
    if origin is list:
        items = _sequence(arguments[0])
        return Coder(items.write, lambda reader: list(items.read(reader)))
    if origin is tuple:
        return _row(arguments)
    if origin in (typing.Union, types.UnionType) and len(arguments) == 2 and arguments[1] is type(None):
        return _optional(arguments[0])
    raise TypeError(f"messages have no {annotation}")


def _structure(kind: Any) -> Coder:
    hints = typing.get_type_hints(kind)
    members = [(name, coder(hints[name])) for name in kind._fields]

    def write(parts: list[bytes], value: Any) -> None:
        for name, member in members:
            member.write(parts, getattr(value, name))

    return Coder(write, lambda reader: kind(*(member.read(reader) for _, member in members)))


def _sequence(kind: Any) -> Coder:
    item = coder(kind)

    def write(parts: list[bytes], value: Sequence[Any]) -> None:
        parts.append(LENGTH.pack(len(value)))
        for each in value:
            item.write(parts, each)

    def read(reader: Reader) -> tuple[Any, ...]:
        count = reader.length()
        if count > reader.left:  # each item has a byte at least
            raise ProtocolError(f"{count} items are announced, {reader.left} bytes are there")
        return tuple(item.read(reader) for _ in range(count))

    return Coder(write, read)


def _row(kinds: tuple[Any, ...]) -> Coder:
    items = [coder(kind) for kind in kinds]

    def write(parts: list[bytes], value: tuple[Any, ...]) -> None:
        for item, each in zip(items, value, strict=True):
            item.write(parts, each)

    return Coder(write, lambda reader: tuple(item.read(reader) for item in items))


def _optional(kind: Any) -> Coder:
    item = coder(kind)

    def write(parts: list[bytes], value: Any) -> None:
        TRUTHS.write(parts, value is not None)
        if value is not None:
            item.write(parts, value)

    return Coder(write, lambda reader: item.read(reader) if _read_truth(reader) else None)


def encoded(value: object) -> bytes:
    """Returns a message's content."""
    parts: list[bytes] = []
    kind: Any = type(value)
    coder(kind).write(parts, value)
    return b"".join(parts)


def decoded(kind: type[T], data: bytes) -> T:
    """Returns the message of that kind; raises ProtocolError for other bytes, and for bytes behind it."""
    reader = Reader(data)
    wanted: Any = kind
    found: T = coder(wanted).read(reader)
    if reader.left:
        raise ProtocolError(f"{reader.left} bytes are left behind a {kind.__name__}")
    return found
