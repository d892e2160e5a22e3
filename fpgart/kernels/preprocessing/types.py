# SPDX-License-Identifier: Apache-2.0
"""The arithmetic types of OpenCL C (specification, section 6.3), their sizes, and their conversions (section 6.4)."""

from __future__ import annotations

import math
import struct
from typing import Final

from fpgart.base.named_tuples import NamedTuple


class Type(NamedTuple):
    """An arithmetic type. `bits` is 1 for bool, whose size is one byte."""

    bits: int
    signed: bool = True
    floating: bool = False

    @property
    def size(self) -> int:
        return max(1, self.bits // 8)


class Shape(NamedTuple):
    """The size and the alignment of a type in bytes. `type` is None unless the type is arithmetic."""

    size: int
    alignment: int
    type: Type | None = None

    @classmethod
    def of(cls, type: Type) -> Shape:
        return cls(type.size, type.size, type)


BOOL, INT, UINT, LONG, ULONG = Type(1, False), Type(32), Type(32, False), Type(64), Type(64, False)
HALF, FLOAT, DOUBLE = (Type(bits, floating=True) for bits in (16, 32, 64))
PACKED: Final = {16: "e", 32: "f"}
"""The format of `struct` for each width of a floating-point type, by which values are rounded."""
POINTER: Final = Shape(8, 8)
BASIC: Final = frozenset(
    ("bool", "_Bool", "char", "short", "int", "long", "float", "double", "half", "signed", "unsigned")
)
SCALARS: Final = {
    "uchar": Type(8, False), "ushort": Type(16, False), "uint": UINT, "ulong": ULONG, "size_t": ULONG,
    "ptrdiff_t": LONG, "intptr_t": LONG, "uintptr_t": ULONG,
}  # fmt: skip
ELEMENTS: Final = {
    "char": Type(8), "uchar": Type(8, False), "short": Type(16), "ushort": Type(16, False), "int": INT, "uint": UINT,
    "long": LONG, "ulong": ULONG, "half": HALF, "float": FLOAT, "double": DOUBLE,
}  # fmt: skip
NAMED: Final = {name: Shape.of(type) for name, type in SCALARS.items()} | {
    f"{name}{width}": Shape(type.size * elements, type.size * elements)
    for name, type in ELEMENTS.items()
    for width, elements in ((2, 2), (3, 4), (4, 4), (8, 8), (16, 16))
}
"""The types that have one word as their name and may be hidden by a declaration."""


def basic(words: list[str]) -> Type | None:
    """Returns the type that keywords name, in any order; None if they name none."""
    kinds = set(words) - {"signed", "unsigned"}
    if len(kinds) > 1 and kinds & {"short", "long"}:
        kinds -= {"int"}
    if len(kinds) > 1:
        return None
    name = kinds.pop() if kinds else "int"
    if name in ("bool", "_Bool"):
        return BOOL
    found = ELEMENTS[name]
    return found if found.floating else Type(found.bits, "unsigned" not in words)


def promoted(type: Type) -> Type:
    """Returns the type that an operand has in an operator: integers below int become int."""
    return INT if not type.floating and type.bits < INT.bits else type


def common(left: Type, right: Type) -> Type:
    """Returns the type of an operator's result by the usual arithmetic conversions."""
    if left.floating or right.floating:
        return max((each for each in (left, right) if each.floating), key=lambda each: each.bits)
    left, right = promoted(left), promoted(right)
    return (
        Type(max(left.bits, right.bits), left.signed and right.signed) if left.bits == right.bits else max(left, right)
    )


def converted(value: int | float, to: Type) -> int | float:
    """Returns a value in another type: integers wrap, floating-point values are rounded.

    C does not define the conversion of a floating-point value that exceeds an integer type; clang takes the nearest.
    """
    if to.floating:
        return _rounded(float(value), to)
    if to.bits == 1:
        return int(value != 0)
    if isinstance(value, float):
        return _nearest(value, to)
    value %= 1 << to.bits
    return value - (1 << to.bits) if to.signed and value >> (to.bits - 1) else value


def _nearest(value: float, to: Type) -> int:
    """Returns the integer that a floating-point value is cut to."""
    smallest, largest = (-(1 << to.bits - 1), (1 << to.bits - 1) - 1) if to.signed else (0, (1 << to.bits) - 1)
    if math.isnan(value):
        return 0
    return int(value) if smallest <= value <= largest else smallest if value < 0 else largest


def _rounded(value: float, to: Type) -> float:
    if to.bits not in PACKED or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack(PACKED[to.bits], struct.pack(PACKED[to.bits], value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
