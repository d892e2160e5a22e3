# SPDX-License-Identifier: Apache-2.0
"""Blocking reads and writes that C carries out by itself (icd/entry/carried_calls.c): hosts see no difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from both_ways import calls_in, output, same_output
from c_hosts import build, plain_environment
from processes import finished


def test_blocking_transfers_in_c_are_as_those_of_python(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    words = same_output("transfers.py", trace).splitlines()
    assert {line.split()[-1] for line in words if line.startswith("transfer")} >= {
        *("0", "-5", "-30", "-34", "-36", "-38", "-57", "-59"),
    }
    calls = calls_in(trace)
    made = sum(calls.count(name) for name in ("clEnqueueReadBuffer", "clEnqueueWriteBuffer"))
    assert made == sum(line.startswith("transfer") for line in words)


def test_rectangles_within_a_buffer_and_copies_by_pointers_in_c_are_as_those_of_python(tmp_path: Path) -> None:
    words = same_output("copies_within.py", tmp_path / "trace.json", "--board", "usm_s10").splitlines()
    statuses = {tuple(line.split()[:2]) for line in words if line.startswith("rectangle")}
    assert statuses == {("rectangle", "0"), ("rectangle", "-8"), ("rectangle", "-30")}
    assert "copy device freed 64 -30" in words
    assert "copy device host 64 0" in words


def test_contents_on_another_device_are_read_and_written_there(tmp_path: Path) -> None:
    words = same_output("two_boards.py", tmp_path / "trace.json", "--board", "hetero,hetero")
    assert "read True" in words
    assert "read False" not in words


@pytest.mark.parametrize(("boards", "when_enqueued"), [(1, 4096), (2, 0)])
def test_a_launch_brings_few_bytes_of_the_host_to_the_only_board_when_it_is_enqueued(
    boards: int, when_enqueued: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FPGART_BOARD", ",".join(boards * ["a10_ref"]))
    large = f"0 {2 << 20} 1\n"
    assert output("over_host.py", arguments=(str(boards),)) == f"{when_enqueued} 4096 1\n{large}"
    traced = output("over_host.py", "--trace", str(tmp_path / "trace.json"), arguments=(str(boards),))
    assert traced == f"0 4096 1\n{large}", "a stage of the launch, for watchers"


def test_transfers_beside_another_thread_are_whole_whatever_that_releases_and_moves(tmp_path: Path) -> None:
    host = build("copies", tmp_path, "-O1", "-lpthread")
    result = finished(host, env=plain_environment())
    assert (result.returncode, result.stdout) == (0, "right\n"), result.stderr
