# SPDX-License-Identifier: Apache-2.0
"""Ranges of bytes or of time: fpgart/base/ranges.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fpgart.base.ranges import joined, together

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda ends: (min(ends), max(ends))))


@given(RANGES)
def test_joined_ranges_are_the_same_bytes_in_order_with_gaps_between_them(ranges: list[tuple[int, int]]) -> None:
    found = joined(ranges)
    edges = [edge for pair in found for edge in pair]
    assert edges == sorted(set(edges))
    covered = {at for begin, end in ranges for at in range(begin, end)}
    assert {at for begin, end in found for at in range(begin, end)} == covered
    assert together(ranges) == len(covered)
