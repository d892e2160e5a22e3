# SPDX-License-Identifier: Apache-2.0
"""The advice of `fpgart report`: each mistake of programs/advice.c is told, with its line and what it costs.

Nothing of the kind is told of the same host where it does it right.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compilation import compiled

from fpgart.cli import running
from fpgart.watch import report
from fpgart.watch.report import Advice
from fpgart.watch.report.collect import _name_places
from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found
from fpgart.watch.report.pattern_advice import PatternAdviser
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.text import saved

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "programs" / "advice.c"

MISTAKES = {
    "pingpong": ("hetero", "to the same buffer_location, or keep a buffer in each memory; it moves back and forth"),
    "banks": (
        "a10_ref",
        "put buffers 1, 2 into different banks of memory 'DDR' (CL_CHANNEL_1_INTELFPGA and similar flags)",
    ),
    "overlap": (
        "usm_s10",
        "overlap transfers with kernel 'near', which does not use their buffers: queue 1 is in order",
    ),
    "waiting": ("usm_s10", "overlap transfers with kernel 'near', which does not use their buffers: clFinish"),
    "tiny": ("usm_s10", "give kernel 'near' more work per launch"),
    "unaligned": ("usm_s10", "align the host memory of transfers to 64 bytes"),
    "programs": ("usm_s10", "device 0 is reprogrammed with a program that it held before"),
}


def line(mistake: str) -> int:
    lines = enumerate(SOURCE.read_text().splitlines(), 1)
    return next(number for number, text in lines if text.endswith(f"// mistake {mistake}"))


def advice(folder: Path, mistake: str, *words: str, clock: str = "real") -> list[Advice]:
    trace = folder / "trace.json"
    board = MISTAKES[mistake][0] if mistake in MISTAKES else "a10_ref"
    chosen = {"FPGART_BOARD": board, "FPGART_TRACE": str(trace), "CL_CONFIG_CHANNEL_DEPTH_EMULATION_MODE": "strict"}
    variables = running.environment(chosen | {"FPGART_TIME": clock})
    subprocess.run([str(compiled([SOURCE])), mistake, *words], check=True, cwd=folder, env=variables)
    return report.read(trace).advice


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_told_with_what_it_costs_and_its_line(mistake: str, tmp_path: Path) -> None:
    (found,) = [each for each in advice(tmp_path, mistake) if MISTAKES[mistake][1] in each.words]
    assert found.nanoseconds > 0
    told = found.words if mistake == "waiting" else "\n".join(found.places)
    assert f"advice.c:{line(mistake)} in {mistake}" in told


@pytest.mark.parametrize("mistake", MISTAKES)
def test_nothing_of_the_kind_is_told_where_it_is_right(mistake: str, tmp_path: Path) -> None:
    found = [each.words for each in advice(tmp_path, mistake, "fixed")]
    assert not [words for words in found if MISTAKES[mistake][1] in words]


def deeper(folder: Path, *words: str) -> list[Advice]:
    return [each for each in advice(folder, "shallow", *words) if "make channel 'bursts'" in each.words]


def test_a_channel_with_less_room_than_a_burst_is_told_with_who_waits(tmp_path: Path) -> None:
    (found,) = deeper(tmp_path)
    assert "deeper than 4, such as __attribute__((depth(8)))" in found.words
    assert re.search(r"'give' waited [\d.]+ ms while it was full, and .* 'take' waited [\d.]+ ms while", found.words)
    assert found.measured
    assert found.nanoseconds >= 20_000_000


def test_the_model_says_which_depth_takes_a_burst_and_what_that_saves(tmp_path: Path) -> None:
    """Both sides work 20 ms / 3 before each of 8 bursts; with room for one, they do so at the same time."""
    (found,) = [each for each in advice(tmp_path, "shallow", clock="model") if "deeper" in each.words]
    assert "channel 'bursts' 4 packets deep, which should be 64" in found.words
    assert not found.measured
    assert found.nanoseconds == pytest.approx(7 * 20_000_000 / 3, rel=0.01)


def test_a_channel_with_room_for_all_is_deep_enough(tmp_path: Path) -> None:
    assert deeper(tmp_path, "fixed") == []


def event(category: str, name: str, begin: float, end: float, **args: Any) -> dict[str, Any]:
    return {"cat": category, "name": name, "ts": begin, "dur": end - begin, "tid": 1, "args": args}


BOARD = {
    "cat": "fpgart",
    "name": "board",
    "args": {
        "device": 0,
        "board": "b",
        "memories": [{"name": "m", "banks": 1, "interleaved": False, "rate": 10**10, "bank_rate": 10**10}],
        "timing": {
            "link": 10**9,
            "mmd_latency": 10_000,
            "dma_latency": 0,
            "dma_block": 1 << 20,
            "launch_latency": 10_000,
            "kernel_clock": 100,
            "programming": 10**9,
        },
    },
}


def transfer(begin: float, end: float, **more: Any) -> dict[str, Any]:
    facts = {"device": 0, "command": "WRITE_BUFFER", "buffer": 1, "size": 1_000_000, "site": 1}
    return event("device", "transfer", begin, end, **(facts | more))


def found_in(*events: dict[str, Any]) -> list[Advice]:
    return report.of(report.in_order([BOARD, *events])).advice


def test_pauses_of_the_boards_while_the_host_is_in_no_call_are_told() -> None:
    site = {"cat": "site", "name": "clEnqueueWriteBuffer", "args": {"site": 1, "frames": [PYTHON_FRAME]}}
    (found,) = found_in(site, transfer(0, 100), event("api", "clFinish", 50, 2100), transfer(27_100, 27_200, buffer=2))
    assert found.words.startswith("the boards are idle while the host works outside OpenCL calls before cl")
    assert (found.noun, found.nanoseconds, found.measured) == ("time", 25_000_000, True)
    assert found.places == ["clEnqueueWriteBuffer, host.py:7 in work"]


PYTHON_FRAME = {"file": "host.py", "line": 7, "function": "work"}


@pytest.mark.parametrize(
    "events",
    [
        [transfer(0, 100), event("api", "clBuildProgram", 100, 90_000), transfer(90_000, 90_100, buffer=2)],
        [transfer(0, 100), transfer(15_000, 16_000, buffer=2)],
        [transfer(0, 200_000), transfer(225_000, 400_000, buffer=2)],
    ],
    ids=["in a call", "short", "a small part"],
)
def test_other_pauses_are_not(events: list[dict[str, Any]]) -> None:
    assert found_in(*events) == []


def stall(writing: bool, begin: float, end: float) -> dict[str, Any]:
    """A wait for a channel, in milliseconds."""
    who = {"kernel": "out" if writing else "in", "writing": writing}
    return event("channel", "stall", begin * 1000, end * 1000, device=0, channel="c", capacity=8, **who)


def test_what_a_deeper_channel_saves_is_the_shorter_wait() -> None:
    (found,) = found_in(stall(True, 0, 30), stall(False, 30, 52), stall(True, 52, 80))
    assert (found.noun, found.nanoseconds, found.measured) == ("time", 22_000_000, True)


CHANNELS_THAT_ARE_DEEP_ENOUGH = {
    "the reader is slower": [stall(True, 0, 300)],
    "the writer is slower": [stall(False, 0, 300)],
    "the reader waits for the first packet and after the last": [
        stall(False, 0, 50),
        stall(True, 50, 90),
        stall(False, 90, 200),
    ],
    "threads hand packets over": [stall(n % 2 == 0, n / 20, (n + 1) / 20) for n in range(1001)],
    "threads wait for a processor": [stall(True, 0, 100), stall(False, 10, 70)],
    "a small part": [stall(True, 0, 30), stall(False, 40, 61), stall(True, 300, 330)],
}


@pytest.mark.parametrize("events", CHANNELS_THAT_ARE_DEEP_ENOUGH.values(), ids=CHANNELS_THAT_ARE_DEEP_ENOUGH)
def test_other_waits_for_channels_are_no_matter_of_depth(events: list[dict[str, Any]]) -> None:
    assert found_in(*events) == []


def test_what_saves_most_time_comes_first_and_then_what_saves_most_bytes() -> None:
    again = [transfer(n, n + 1, buffer=number) for n, number in enumerate((1, 1, 2, 2))]
    programs = [event("device", "program", 10 + n, 11 + n, device=0, program="ab"[n % 2], size=8) for n in range(3)]
    found = found_in(*again, *programs)
    assert [each.noun for each in found] == ["programming", "copy"]
    assert [each.nanoseconds for each in found] == [10**9, 2 * 1_010_000]
    assert saved(found[0]) == "1 programming saved, 8 bytes, 1000.000 ms on the board"
    assert saved(found[1]) == "2 copies saved, 1.907 MiB in all, 2.020 ms on the board"


def test_a_changed_executable_is_told_by_offset_alone(tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("another program")
    frame = {"path": str(host), "offset": 0x1234, "changed": 1}
    site = {"cat": "site", "name": "clFinish", "args": {"site": 1, "frames": [frame]}}
    (found,) = found_in(site, transfer(0, 1), transfer(1, 2))
    assert found.places == ["clFinish, host+0x1234"]


def lives(sizes: list[int]) -> list[dict[str, Any]]:
    made = [event("buffer", "create", n, n, buffer=n + 1, size=size) for n, size in enumerate(sizes)]
    return [*made, *(transfer(100 + n, 101 + n, buffer=n + 1, size=size) for n, size in enumerate(sizes))]


def test_equal_rows_are_one() -> None:
    text = report.as_text(report.of([BOARD, *lives([4096] * 1000 + [64, 64])]))
    assert "1,000 x 4 KiB: buffers 1 to 1000" in text
    assert "1,000 x 4 KiB: WRITE_BUFFER; the host's command on device 0 (buffers 1 to 1000)" in text
    assert "  buffer 1001: 64 bytes" in text
    assert len(text.splitlines()) < 30


def test_the_place_that_causes_most_comes_first() -> None:
    sites, advice = Sites(), Advice("", sites={1: 3, 2: 9, 3: 5})
    for number, name in enumerate(("clFlush", "clFinish", "clWaitForEvents"), 1):
        sites.take({"cat": "site", "name": name, "args": {"site": number, "frames": []}})
    _name_places(advice, sites)
    assert advice.places == ["clFinish", "clWaitForEvents", "clFlush"]
    assert [facts["call"] for facts in advice.stacks] == advice.places


def test_a_kernel_costs_its_average_in_the_simulated_clock() -> None:
    costs, args = Costs(), {"device": 0, "kernel": "k"}
    for begin, end in ((10, 20), (30, 60)):
        costs.take({"cat": "time", "name": "kernel", "args": {**args, "begin": begin, "end": end}})
    assert costs.kernel(args) == 20


@pytest.mark.parametrize(("saved_ns", "count"), [(0, 0), (1, 1)])
def test_a_pattern_that_costs_nothing_is_not_told(saved_ns: int, count: int) -> None:
    found = Found()
    pattern = {"saved": saved_ns, "stride": 4, "sequential": 1, "takes": 2, "line": 0, "array": "a", "index": "i"}
    adviser = PatternAdviser(found, Costs(), Sites())
    adviser.takes()["time"]({"args": {"kernel": "k", "patterns": [pattern]}})
    assert len(found.advice()) == count
