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
    """How the bytes behind a pointer are read: numbers of one kind, `width` of them to an element."""

    number: Struct
    width: int
    floats: bool
    hexadecimal: bool = False

    @classmethod
    def behind(cls, type_name: str) -> Elements:
        """Of a pointer's type, such as `float4*`; bytes for structures and what else is not known."""
        name = type_name.rstrip("*")
        code = CODES.get(name.rstrip(DIGITS))
        if code is None:
            return cls(Struct("<B"), 1, False, hexadecimal=True)
        number = Struct(f"<{code}")
        return cls(number, size_of_type(name) // number.size, code in FLOATS)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.number.size * self.width

    def place(self, byte: int) -> str:
        """`[3]`, or `[3].s1` within a vector."""
        element, rest = divmod(byte, self.size)
        return f"[{element}]" + (f".s{rest // self.number.size:x}" if self.width > 1 else "")

    def shown(self, value: float) -> str:
        return f"{int(value):#04x}" if self.hexadecimal else repr(value)


@dataclass(slots=True)
class Differences:
    """`values` numbers were compared, `count` of them differ, and `told` says where the first ones do."""

    values: int = 0
    count: int = 0
    told: list[str] = field(default_factory=list)


def compare(captured: bytes, now: bytes, type_name: str, tolerance: float, offset: int = 0) -> Differences:
    """Two memories of the same size; `offset` is where the pointer of that type leads, in bytes.

    Floating-point values may be `tolerance` apart, relative to the greater one or to 1 if that is less; all
    NaNs are the same.
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
    """Byte and both values wherever the bits differ; equal pieces are passed over at once."""
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
    """Whether two floating-point values are the same within a tolerance."""
    if one == other or (isnan(one) and isnan(other)):
        return True
    return abs(one - other) <= tolerance * max(1.0, abs(one), abs(other))
