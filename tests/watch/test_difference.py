# SPDX-License-Identifier: Apache-2.0
"""`fpgart diff`: what a change of a host made move more, or take longer on the board."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from processes import fpgart

from fpgart.watch.report import difference
from fpgart.watch.report.difference import Unit
from fpgart.watch.report.model import Advice, KernelRuns, Modelled, Report, Traffic


def run_of(written: int, kernel_ns: int, *advice: Advice, launches: int = 1) -> Report:
    return Report(
        boards={0: "b"},
        whole=True,
        traffic={(0, "aocl_mmd_write"): Traffic(1, written, 3.0)},
        kernels={(0, "add"): KernelRuns(launches, 5.0)},
        modelled={(0, "kernel add"): Modelled(launches, 64, kernel_ns)},
        modelled_nanoseconds=kernel_ns + 10,
        advice=list(advice),
    )


@pytest.mark.parametrize("whole", [True, False])
def test_a_second_run_that_is_incomplete_exceeds_every_threshold(whole: bool) -> None:
    before, after = run_of(64, 100), run_of(64, 100)
    after.whole = whole
    assert difference.between(before, after, gate=True).exceeds(1000) is not whole
    assert not difference.between(after, before).exceeds(0)


def changes(before: Report, after: Report) -> list[tuple[str, str]]:
    return [(figure.what, figure.change) for figure in difference.between(before, after).figures]


def test_equal_runs_differ_in_nothing() -> None:
    found = difference.between(run_of(64, 100), run_of(64, 100))
    assert difference.as_text(found) == "the same bytes, launches and times\n"
    assert difference.as_markdown(found) == "The same bytes, launches and times.\n"
    assert not found.exceeds(0)


def test_times_that_were_not_compared_are_not_called_the_same() -> None:
    before, after = run_of(64, 100), run_of(64, 100)
    after.modelled.clear()
    found = difference.between(before, after)
    assert difference.as_text(found).endswith("\nthe same bytes and launches\n")
    assert difference.as_markdown(found).endswith("\nThe same bytes and launches.\n")


def test_figures_are_told_with_their_change_what_grew_most_first() -> None:
    before, after = run_of(1000, 990, launches=4), run_of(1500, 1990, launches=3)
    assert changes(before, after) == [
        ("device 0: kernel add, in all", "+101.0 %"),
        ("simulated time, without programming", "+100.0 %"),
        ("device 0: aocl_mmd_write", "+50.0 %"),
        ("device 0: kernel add, launches", "-25.0 %"),
    ]


def test_what_only_one_run_has_is_new_or_gone() -> None:
    before, after = run_of(64, 100), run_of(64, 100)
    after.traffic[0, "aocl_mmd_copy"] = Traffic(2, 512, 1.0)
    assert ("device 0: aocl_mmd_copy", "new") in changes(before, after)
    assert ("device 0: aocl_mmd_copy", "gone") in changes(after, before)
    assert difference.between(before, after).exceeds(1000)
    assert not difference.between(after, before).exceeds(0)


@pytest.mark.parametrize(("percent", "exceeded"), [(49.9, True), (50, False)])
def test_a_threshold_is_exceeded_by_more_than_that(percent: float, exceeded: bool) -> None:
    assert difference.between(run_of(1000, 100), run_of(1500, 100)).exceeds(percent) is exceeded


def test_times_are_compared_only_if_both_runs_have_simulated_ones() -> None:
    before, after = run_of(64, 100), run_of(64, 900)
    before.modelled = {}
    found = difference.between(before, after)
    assert [figure for figure in found.figures if figure.unit is Unit.NANOSECONDS] == []
    assert "the first trace has no simulated time" in difference.as_text(found)


LEAVE_OUT = Advice("buffer 3 is written again before anything used it: omit the first write", 2, 64, [3])


def test_advice_is_new_whatever_number_its_buffer_has() -> None:
    same = Advice("buffer 5 is written again before anything used it: omit the first write", 9, 64, [5])
    found = difference.between(run_of(64, 100), run_of(64, 100, LEAVE_OUT))
    assert found.new_advice == [LEAVE_OUT]
    assert found.exceeds(1e9)
    assert difference.between(run_of(64, 100, same), run_of(64, 100, LEAVE_OUT)).new_advice == []
    assert "followed advice\n  buffer 3 is" in difference.as_text(
        difference.between(run_of(64, 100, LEAVE_OUT), run_of(64, 100))
    )


def test_advice_that_was_measured_in_the_run_exceeds_nothing() -> None:
    measured = Advice("the boards have nothing to do", 1, noun="time", nanoseconds=10**8, measured=True)
    assert not difference.between(run_of(64, 100), run_of(64, 100, measured)).exceeds(0)


def test_markdown_is_a_table_whose_words_are_no_markup() -> None:
    after = run_of(128, 100, Advice("set argument 0 of kernel 'a_b*'", 1, 64))
    text = difference.as_markdown(difference.between(run_of(64, 100), after))
    assert "| device 0: aocl\\_mmd\\_write | 64 bytes | 128 bytes | **+100.0 %** |" in text
    assert "- set argument 0 of kernel 'a\\_b\\*': 1 copy of 64 bytes saved" in text


def trace(file: Path, size: int) -> Path:
    args: dict[str, Any] = {"device": 0, "size": size, "operation": 1}
    events = [
        {"name": "aocl_mmd_write", "cat": "mmd", "ts": 1, "dur": 1, "args": args},
        {"name": "end", "cat": "fpgart", "ts": 2, "args": {}},
    ]
    file.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return file


def test_the_command_exits_with_1_beyond_the_threshold(tmp_path: Path) -> None:
    before, after = trace(tmp_path / "a.json", 100), trace(tmp_path / "b.json", 120)

    def diff(*words: object) -> subprocess.CompletedProcess[str]:
        return fpgart("diff", *words)

    assert diff(before, after).returncode == 0
    assert diff(before, after, "--threshold", 20).returncode == 0
    result = diff(before, after, "--threshold", 19, "--json")
    assert result.returncode == 1
    (figure,) = json.loads(result.stdout)["figures"]
    assert (figure["before"], figure["after"], figure["change"]) == (100, 120, "+20.0 %")


@pytest.mark.parametrize("threshold", ["nan", "inf"])
def test_a_threshold_is_a_number_from_0(tmp_path: Path, threshold: str) -> None:
    result = fpgart("diff", *(trace(tmp_path / name, 1) for name in "ab"), "--threshold", threshold)
    assert result.returncode == 2
    assert f"{threshold} is not in the range x>=0." in result.stderr
