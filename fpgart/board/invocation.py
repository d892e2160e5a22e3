# SPDX-License-Identifier: Apache-2.0
"""The invocation image: the bytes that a board gets for starting a kernel."""

from __future__ import annotations

from struct import Struct

from fpgart.board.first_fit import round_up

FIXED = Struct("<II3I3I3I4x3Q")
"""Dimensions, work-items per group, global size, number of groups, local size, (padding,) global offset."""
GLOBAL_POINTER = Struct("<Q")
LOCAL_POINTER = Struct("<I")
MASK32 = (1 << 32) - 1


class LocalPlaces:
    """Allocates a kernel's local arguments: offsets in local memory, each a multiple of 1024 bytes."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0

    def place(self, size: int) -> int:
        offset = self._next
        self._next += round_up(size)
        return offset


def fixed_part(dimensions: int, sizes: tuple[int, ...]) -> bytes:
    """Returns the 72 bytes in front of the arguments. `sizes`: offset, global and local size, three numbers each."""
    offset, total, local = sizes[0:3], sizes[3:6], sizes[6:9]
    groups = [-(-whole // part) for whole, part in zip(total, local, strict=True)]
    per_group = local[0] * local[1] * local[2]
    words = (dimensions, per_group, *total, *groups, *local)
    return FIXED.pack(*(word & MASK32 for word in words), *offset)
