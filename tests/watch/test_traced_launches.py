# SPDX-License-Identifier: Apache-2.0
"""Launches in traces, whether Python runs them (the first of each kernel) or C does (those that follow)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from c_hosts import build, plain_environment

from fpgart.watch.callers import MOST_FRAMES

TIMES = 5  # as in the program
Event = dict[str, Any]
VARIES = {"operation", "enqueued"}
NANOSECOND = 0.001


@pytest.fixture(scope="module", params=[{}, {"FPGART_CHECK": "all"}], ids=["", "with checks"])
def events(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """The trace of tests/programs/traced_launches.c."""
    folder = tmp_path_factory.mktemp("launches")
    file = folder / "trace.json"
    host = build("traced_launches", folder)
    options = {"FPGART_TRACE": str(file), "FPGART_BOARD": "usm_s10", **request.param}
    subprocess.run([host], check=True, env=plain_environment() | options)
    read: list[Event] = json.loads(file.read_text())
    return read


def named(events: list[Event], name: str, **args: object) -> list[Event]:
    """The events of a name with these arguments and the number of a command, in the order of the commands."""
    of_name = (each for each in events if each["name"] == name and "enqueued" in each["args"])
    found = [each for each in of_name if args.items() <= each["args"].items()]
    return sorted(found, key=lambda each: each["args"]["enqueued"])


def api_calls(events: list[Event]) -> list[Event]:
    """The calls of the host, in the order of their begins."""
    return sorted((each for each in events if each.get("cat") == "api"), key=lambda each: each["ts"])


def lasting(event: Event) -> Event:
    """An event without what differs from launch to launch."""
    facts = {name: value for name, value in event["args"].items() if name not in VARIES}
    return {**event, "args": facts, "ts": 0, "dur": 0, "bind_id": ""}


@pytest.mark.parametrize("kernel", ["one", "other"])
def test_launches_that_c_runs_are_traced_like_the_first_one(events: list[Event], kernel: str) -> None:
    first, *others = named(events, "kernel", kernel=kernel)[:TIMES]
    assert [lasting(each) for each in others] == [lasting(first)] * (TIMES - 1)


@pytest.mark.parametrize("kernel", ["one", "other"])
def test_each_launch_says_that_its_buffers_are_in_their_places(events: list[Event], kernel: str) -> None:
    launches = named(events, "kernel", kernel=kernel)
    kept = [named(events, "migration", operation=each["args"]["operation"]) for each in launches]
    assert [[each["args"]["buffer"] for each in moves] for moves in kept] == [
        each["args"]["buffers"] for each in launches
    ]
    assert all(each["args"]["skipped"] for moves in kept for each in moves)


def test_each_launch_has_the_number_and_the_place_of_its_call(events: list[Event]) -> None:
    calls = {each["args"]["enqueued"]: each for each in named(events, "clEnqueueNDRangeKernel")}
    launches = named(events, "kernel")
    assert [each["args"]["enqueued"] for each in launches] == sorted(calls)
    assert len(calls) == 4 * TIMES
    for each in launches:
        call = calls[each["args"]["enqueued"]]
        assert each["args"]["site"] == call["args"]["site"]
        assert each["bind_id"] == call["bind_id"]


def test_calls_of_a_thread_follow_each_other(events: list[Event]) -> None:
    calls = api_calls(events)
    ends = [call["ts"] + call["dur"] for call in calls]
    assert all(end < after["ts"] + NANOSECOND for end, after in zip(ends, calls[1:], strict=False))


def test_a_launch_runs_from_its_call_to_the_end_of_clfinish(events: list[Event]) -> None:
    ends = [each["ts"] + each["dur"] for each in api_calls(events) if each["name"] == "clFinish"]
    calls = {each["args"]["enqueued"]: each for each in named(events, "clEnqueueNDRangeKernel")}
    for launch in named(events, "kernel"):
        begin = calls[launch["args"]["enqueued"]]["ts"]
        end = next(end for end in ends if end > begin)
        assert begin < launch["ts"] < launch["ts"] + launch["dur"] < end + NANOSECOND


def test_a_launch_whose_wait_list_failed_has_a_call_and_no_run(events: list[Event]) -> None:
    (call,) = named(events, "clEnqueueTask")
    assert not named(events, "kernel", enqueued=call["args"]["enqueued"])


def test_the_end_of_a_launch_is_in_front_of_the_call_that_waited_for_it(events: list[Event]) -> None:
    shown = {("device", "kernel"), ("api", "clFinish")}
    order = [each["name"] for each in events if (each.get("cat"), each["name"]) in shown]
    assert order[: 2 * 2 * TIMES] == ["kernel", "clFinish"] * 2 * TIMES


def test_launches_name_buffers_that_the_host_has_released(events: list[Event]) -> None:
    last = named(events, "kernel", kernel="one")[-2 * TIMES :]
    released = [
        each["args"]["buffer"]
        for each in events
        if each["cat" if "cat" in each else "ph"] == "buffer" and each["name"] == "release"
    ]
    assert [each["args"]["buffers"][1] for each in last[::2]] == [each["args"]["buffers"][1] for each in last[1::2]]
    assert {each["args"]["buffers"][1] for each in last} <= set(released)
    assert len({each["args"]["buffers"][1] for each in last}) == TIMES


def test_each_launch_has_its_own_way_through_the_host(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    host = build("traced_paths", tmp_path, "-g")
    subprocess.run([host], check=True, env=plain_environment() | {"FPGART_TRACE": str(file)})
    events: list[Event] = json.loads(file.read_text())
    sites = {each["args"]["site"]: each["args"]["frames"] for each in events if each.get("cat") == "site"}
    ways = [sites[call["args"]["site"]] for call in named(events, "clEnqueueNDRangeKernel")]
    assert ways == ways[:3] * (len(ways) // 3)
    left, right, deep = ways[:3]
    assert [one == other for one, other in zip(left, right, strict=True)][:4] == [True, False, False, True]
    assert (len(deep), deep[0]) == (MOST_FRAMES, left[0])
    assert deep[2:] == [deep[2]] * (MOST_FRAMES - 2)


def test_a_destructor_callback_may_wait_for_a_call_of_another_thread(tmp_path: Path) -> None:
    host = build("calls_beside_destructor", tmp_path)
    variables = plain_environment() | {"FPGART_TRACE": str(tmp_path / "trace.json")}
    subprocess.run([host], check=True, env=variables)
