# SPDX-License-Identifier: Apache-2.0
"""Advice on pauses and on overlaps, from a few events."""

from __future__ import annotations

from typing import Any

import pytest

from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found
from fpgart.watch.report.idle_advice import IdleAdviser
from fpgart.watch.report.overlap_advice import use_the_same
from fpgart.watch.report.sites import Sites


def event(at: float, duration: float) -> dict[str, Any]:
    return {"name": "x", "ts": at, "dur": duration, "args": {}}


@pytest.mark.parametrize(
    ("calls", "idle"),
    [
        ([], 30_000),
        ([(0, 20_000)], 20_000),
        ([(0, 20_000), (5_000, 1_000)], 20_000),
        ([(0, 12_000), (5_000, 20_000)], 15_000),
        ([(12_000, 1_000), (20_000, 1_000)], 28_000),
    ],
    ids=["none", "one", "one within another", "two that overlap", "two apart"],
)
def test_a_pause_counts_only_the_time_outside_of_calls(calls: list[tuple[float, float]], idle: float) -> None:
    """Between two operations, of which the first ends at 10,000 and the second begins at 40,000 microseconds."""
    found = Found()
    adviser = IdleAdviser(found, Costs(), Sites())
    takes = adviser.takes()
    takes["device"](event(0, 10_000))
    for at, duration in calls:
        takes["api"](event(at, duration))
    takes["device"](event(40_000, 10_000))
    adviser.finish()
    saved = [advice.nanoseconds for advice in found.advice()]
    assert saved == ([idle * 1000] if idle >= 20_000 else [])


@pytest.mark.parametrize(
    ("transfer", "same"),
    [({"buffer": 1}, True), ({"buffer": 3}, False), ({"source": 2}, True), ({"allocation": 7}, True), ({}, False)],
)
def test_a_launch_and_a_transfer_meet_in_a_buffer_or_an_allocation(transfer: dict[str, int], same: bool) -> None:
    assert use_the_same({"buffers": [1, 2], "allocations": [7]}, transfer) is same
