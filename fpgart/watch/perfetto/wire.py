# SPDX-License-Identifier: Apache-2.0
"""The encoding of protocol buffers, as far as traces need it: fields one after the other, each with its number."""

from __future__ import annotations

import struct

Value = int | float | str | bytes
"""A number that is not negative, a double, a text, or a message that is encoded already."""
VARINT, FIXED64, LENGTH = 0, 1, 2
FIXED = struct.Struct("<Q")
DOUBLE = struct.Struct("<d")


class Fixed(int):
    """A number whose field has 64 bits, whatever its value."""


def varint(number: int) -> bytes:
    """Encodes a number with seven bits a byte, the lowest first."""
    if number < 0:
        raise ValueError(f"{number}: no field of a trace is negative")
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def message(*fields: tuple[int, Value]) -> bytes:
    """Encodes a message of (number, value); a repeated field is passed several times."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, Fixed):
        return varint(number << 3 | FIXED64) + FIXED.pack(value)
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | FIXED64) + DOUBLE.pack(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | LENGTH) + varint(len(data)) + data
