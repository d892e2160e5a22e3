# SPDX-License-Identifier: Apache-2.0
"""The differences between two memories, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan
from struct import Struct

from fpgart.kernels.opencl_c import size_of_type

MOST_TOLD = 10
PIECE = 1 << 16
CODES = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
    "half": "e", "float": "f", "double": "d",
}  # fmt: skip
FLOATS = "efd"
DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Elements:
    """The interpretation of the bytes behind a pointer: numbers of one kind, `width` of them in an element."""

    number: Struct
    width: int
    floats: bool
    hexadecimal: bool = False

    @classmethod
    def behind(cls, type_name: str) -> Elements:
        """Returns that of a pointer's type, such as `float4*`; bytes for structures and unknown types."""
        name = type_name.rstrip("*")
        code = CODES.get(name.rstrip(DIGITS))
        if code is None:
            return cls(Struct("<B"), 1, False, hexadecimal=True)
        number = Struct(f"<{code}")
        return cls(number, size_of_type(name) // number.size, code in FLOATS)

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return self.number.size * self.width

    def place(self, byte: int) -> str:
        """Returns `[3]`, or `[3].s1` within a vector."""
        element, rest = divmod(byte, self.size)
        return f"[{element}]" + (f".s{rest // self.number.size:x}" if self.width > 1 else "")

    def shown(self, value: float) -> str:
        return f"{int(value):#04x}" if self.hexadecimal else repr(value)


@dataclass(slots=True)
class Differences:
    """The comparison of `values` numbers: `count` of them differ, and `told` has the places of the first ones."""

    values: int = 0
    count: int = 0
    told: list[str] = field(default_factory=list)


def compare(captured: bytes, now: bytes, type_name: str, tolerance: float, offset: int = 0) -> Differences:
    """Compares two memories of the same size; `offset` is where the pointer of that type leads, in bytes.

    Floating-point values may be `tolerance` apart, relative to the greater one or to 1 if that is less; all NaNs are
    equal.
    """
    elements = Elements.behind(type_name)
    if offset % elements.size or len(captured) % elements.number.size:
        elements = Elements.behind("")
    found = Differences(values=len(captured) // elements.number.size)
    for byte, before, after in _unequal(captured, now, elements):
        if elements.floats and close(before, after, tolerance):
            continue
        found.count += 1
        if len(found.told) < MOST_TOLD:
            words = f"captured {elements.shown(before)}, now {elements.shown(after)}"
            found.told.append(f"{elements.place(byte - offset)}: {words}")
    return found


def _unequal(captured: bytes, now: bytes, elements: Elements) -> Iterator[tuple[int, float, float]]:
    """Yields byte and both values wherever the bits differ; equal pieces are skipped as a whole."""
    number = elements.number
    for begin in range(0, len(captured), PIECE):
        old, new = captured[begin : begin + PIECE], now[begin : begin + PIECE]
        if old == new:
            continue
        pairs = zip(number.iter_unpack(old), number.iter_unpack(new), strict=True)
        for index, ((before,), (after,)) in enumerate(pairs):
            at = index * number.size
            if old[at : at + number.size] != new[at : at + number.size]:
                yield begin + at, before, after


def close(one: float, other: float, tolerance: float) -> bool:
    """True if two floating-point values are equal within a tolerance."""
    if one == other or (isnan(one) and isnan(other)):
        return True
    return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
