# SPDX-License-Identifier: Apache-2.0
"""Ranges, such as of bytes or of time: pairs of begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Number = TypeVar("Number", int, float)
Range = tuple[int, int]
"""Begin and end (one past the last byte)."""


def joined(ranges: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Returns the same bytes, or time, as ranges in ascending order that neither overlap nor touch."""
    found: list[tuple[Number, Number]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif begin < end:
            found.append((begin, end))
    return found


def together(ranges: Iterable[tuple[Number, Number]]) -> Number:
    """Returns the bytes, or the time, in at least one of the ranges."""
    return sum((end - begin for begin, end in joined(ranges)), start=0)
