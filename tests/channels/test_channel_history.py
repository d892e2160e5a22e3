"""The history of channels while they are watched, in traces and in the report's page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from time import monotonic_ns
from typing import Any

import pytest
from c_hosts import host_of
from fpgart._native import ffi
from processes import ROOT, fpgart

from fpgart.channels.network import Fifo, watch_channels
from fpgart.watch import lanes, report

PACKET = 4
PIPELINE = ROOT / "examples" / "pipeline" / "pipeline.c"


@pytest.fixture
def watched() -> Iterator[None]:
    watch_channels(True)
    yield
    watch_channels(False)


def moved(fifo: Fifo, packets: int) -> None:
    """So many packets, one after the other, in and out."""
    data = ffi.new("char[]", PACKET)
    address = int(ffi.cast("uintptr_t", data))
    for _ in range(packets):
        assert fifo.write(address)
        assert fifo.read(address)


def test_levels_are_those_after_each_packet(watched: None) -> None:
    fifo = Fifo("c", PACKET, 8, hosted=True)
    moved(fifo, 3)
    history = fifo.history()
    assert (history.name, history.capacity) == ("c", 8)
    assert [packets for _, packets in history.levels] == [1, 0, 1, 0, 1, 0]
    assert [at for at, _ in history.levels] == sorted(at for at, _ in history.levels)


def test_what_was_told_is_not_told_again(watched: None) -> None:
    fifo = Fifo("c", PACKET, 8, hosted=True)
    moved(fifo, 1)
    fifo.history()
    assert fifo.history().levels == []


def test_of_many_packets_a_sample_is_kept(watched: None) -> None:
    fifo = Fifo("c", PACKET, 8, hosted=True)
    moved(fifo, 2500)
    half = monotonic_ns()
    moved(fifo, 2500)
    levels = fifo.history().levels
    assert len(levels) <= 512
    assert {packets for _, packets in levels[:128]} == {packets for _, packets in levels[-128:]} == {0, 1}
    assert min(sum(at <= half for at, _ in levels), sum(at > half for at, _ in levels)) >= 128


def test_nothing_is_remembered_while_nobody_watches() -> None:
    fifo = Fifo("c", PACKET, 8, hosted=True)
    moved(fifo, 3)
    assert fifo.history().levels == []


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The trace of two kernels with an autorun kernel between them."""
    folder = tmp_path_factory.mktemp("channels")
    host, file = host_of(PIPELINE, folder / "pipeline"), folder / "trace.json"
    environment = os.environ | {"CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "strict"}
    run = fpgart("run", "--board", "a10_ref", "--trace", file, "--", host, env=environment)
    assert (run.returncode, run.stdout) == (0, "right\n"), run.stderr
    json.loads(file.read_text())
    return report.ordered(file)


def test_a_trace_has_the_levels_of_channels(events: list[dict[str, Any]]) -> None:
    found = [event["args"] for event in events if event.get("ph") == "C" and event["name"] == "channel numbers"]
    assert found
    assert {args["capacity"] for args in found} == {8}
    assert {args["packets"] for args in found} <= set(range(9))


def test_a_trace_has_who_waited_for_a_channel(events: list[dict[str, Any]]) -> None:
    """The waits depend on the threads' timing; the channels are so small that at least one kernel waits."""
    found = [event["args"] for event in events if event.get("cat") == "channel" and event["name"] == "stall"]
    waits = {(args["kernel"], args["channel"], args["writing"]) for args in found}
    assert waits
    assert waits <= {
        ("produce", "numbers", True),
        ("square", "numbers", False),
        ("square", "squares", True),
        ("consume", "squares", False),
    }


def test_autorun_kernels_and_channels_have_lanes(events: list[dict[str, Any]]) -> None:
    found = {lane.name: lane for lane in lanes.real(events) if lane.group == "device 0"}
    assert {"kernel produce", "kernel consume", "autorun square", "channel numbers", "channel squares"} <= found.keys()
    levels = found["channel numbers"].levels
    assert levels is not None
    assert levels.capacity == 8
    (run,) = found["autorun square"].spans
    assert run.end - run.begin > 0
