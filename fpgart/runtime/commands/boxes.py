# SPDX-License-Identifier: Apache-2.0
"""Boxes of up to three dimensions in linear memory (OpenCL 3.0, 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterator

from fpgart.base.named_tuples import NamedTuple


class Box(NamedTuple):
    """A region of up to three dimensions in a linear range: origin and pitches in bytes."""

    origin: tuple[int, int, int]
    row_pitch: int
    slice_pitch: int

    @property
    def begin(self) -> int:
        return self.origin[0] + self.origin[1] * self.row_pitch + self.origin[2] * self.slice_pitch

    def end(self, region: tuple[int, int, int]) -> int:
        """Returns the offset one past the last byte of `region`."""
        return self.begin + (region[2] - 1) * self.slice_pitch + (region[1] - 1) * self.row_pitch + region[0]


def pieces(region: tuple[int, int, int], first: Box, second: Box) -> Iterator[tuple[int, int, int]]:
    """Yields the contiguous pieces of a region in two boxes: the offset in each box, and the size, in bytes.

    Rows and slices that are adjacent in both boxes are joined, at best into one piece; otherwise there is one per row.
    """
    width, height, depth = region
    if width == first.row_pitch == second.row_pitch:
        width, height = width * height, 1
        if width == first.slice_pitch == second.slice_pitch:
            width, depth = width * depth, 1
    for z in range(depth):
        for y in range(height):
            yield (
                first.begin + z * first.slice_pitch + y * first.row_pitch,
                second.begin + z * second.slice_pitch + y * second.row_pitch,
                width,
            )
