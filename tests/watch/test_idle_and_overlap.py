# SPDX-License-Identifier: Apache-2.0
"""Advice on pauses and on overlaps, from a few events."""

from __future__ import annotations

from typing import Any

import pytest

from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found
from fpgart.watch.report.idle_advice import IdleAdviser
from fpgart.watch.report.launch_advice import MANY, LaunchAdviser
from fpgart.watch.report.overlap_advice import OverlapAdviser, use_the_same
from fpgart.watch.report.place_advice import PlaceAdviser
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


def test_calls_before_an_earlier_pause_do_not_hide_those_in_a_later_one() -> None:
    found = Found()
    adviser = IdleAdviser(found, Costs(), Sites())
    takes = adviser.takes()
    for call, operation in ((0, 0), (2_000, 2_000), (20_000, 50_000), (70_000, 100_000)):
        takes["api"](event(call, 1_000))
        takes["device"](event(operation, 10_000))
    adviser.finish()
    assert sum(advice.nanoseconds for advice in found.advice()) == (37_000 + 39_000) * 1000


@pytest.mark.parametrize(
    ("transfer", "same"),
    [({"buffer": 1}, True), ({"buffer": 3}, False), ({"source": 2}, True), ({"allocation": 7}, True), ({}, False)],
)
def test_a_launch_and_a_transfer_meet_in_a_buffer_or_an_allocation(transfer: dict[str, int], same: bool) -> None:
    assert use_the_same({"buffers": [1, 2], "allocations": [7]}, transfer) is same


class LongCosts(Costs):
    """Each kernel and each transfer takes a millisecond."""

    def kernel(self, args: dict[str, Any]) -> int:
        return 1_000_000

    def transfer(self, device: int, size: int) -> int:
        return 1_000_000

    copy = transfer


def test_a_long_wait_of_one_thread_counts_behind_short_ones_of_others() -> None:
    found = Found()
    adviser = OverlapAdviser(found, LongCosts(), Sites())
    takes = adviser.takes()
    for begin, duration in ((0, 100), (5, 15), (6, 24)):
        takes["api clFinish"]({**event(begin, duration), "name": "clFinish"})
    takes["device kernel"]({**event(0, 50), "tid": 1, "args": {"device": 0, "kernel": "k", "buffers": [1]}})
    moved = {"device": 0, "buffer": 2, "size": 64, "command": "READ_BUFFER"}
    takes["device transfer"]({**event(110, 10), "tid": 1, "args": moved})
    adviser.finish()
    (advice,) = found.advice()
    assert "clFinish waits in between" in advice.words


@pytest.mark.parametrize(
    ("reason", "target", "is_told"),
    [
        ("argument 0", "device 0, B", True),
        ("clEnqueueMigrateMemObjects", "device 0, B", False),
        ("argument 0", "host", False),
    ],
)
def test_only_migrations_for_arguments_between_boards_memories_are_told(
    reason: str, target: str, is_told: bool
) -> None:
    found = Found()
    adviser = PlaceAdviser(found, LongCosts(), Sites())
    ends = ["device 0, A at 0x0", target]
    for _ in range(4):
        facts = {"device": 0, "buffer": 1, "size": 64, "skipped": False, "operation": 0, "reason": reason}
        adviser.takes()["device migration"]({**event(0, 1), "args": {**facts, "from": ends[0], "to": ends[1]}})
        ends.reverse()
    adviser.finish()
    assert bool(found.advice()) is is_told


@pytest.mark.parametrize(("nd_range", "is_told"), [({"global": [64]}, True), ({"global": [1]}, False), ({}, False)])
def test_a_launch_of_one_work_item_may_do_much(nd_range: dict[str, Any], is_told: bool) -> None:
    found, costs = Found(), LongCosts()
    costs.take(
        {"cat": "fpgart", "name": "board", "args": {"device": 0, "timing": {"launch_latency": 10**9}, "memories": []}}
    )
    adviser = LaunchAdviser(found, costs, Sites())
    for _ in range(MANY):
        adviser.takes()["device kernel"]({**event(0, 1), "args": {"device": 0, "kernel": "k", **nd_range}})
    adviser.finish()
    assert bool(found.advice()) is is_told
