# SPDX-License-Identifier: Apache-2.0
"""Launches that C carries while checks are on have the findings that they have when Python runs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_hosts import ROOT, build, plain_environment
from processes import finished

ADDRESS = re.compile(r"0x[0-9a-f]+")
OPTIONS = {"FPGART_BOARD": "usm_s10", "FPGART_CHECK": "all", "FPGART_WRAPPERS": "deeper,launch"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/programs/checked_launches.c."""
    flags = f"-I{ROOT / 'conformance' / 'c'}", "-g", "-lpthread", "-DMISTAKE=run"
    return build("checked_launches", tmp_path_factory.mktemp("checked"), *flags)


def findings(host: Path, **options: str) -> list[str]:
    """The findings without addresses, and the line with their number; in any order: a fault is told at once."""
    environment = plain_environment() | OPTIONS | options
    run = finished(host, env=environment)
    assert run.returncode == 0, run.stderr
    return sorted(re.split(r"^fpgart: (?=\S)", ADDRESS.sub("(address)", run.stderr), flags=re.MULTILINE))


@pytest.fixture(scope="module")
def carried(host: Path) -> list[str]:
    """The findings, with C carrying launches."""
    return findings(host)


def test_findings_places_and_numbers_are_those_of_launches_that_python_runs(host: Path, carried: list[str]) -> None:
    """Python runs all launches beside the watchdog."""
    assert findings(host, FPGART_WATCHDOG="3600") == carried


def test_findings_are_the_same_beside_a_trace(host: Path, carried: list[str], tmp_path: Path) -> None:
    assert findings(host, FPGART_TRACE=str(tmp_path / "trace.json")) == carried


def test_writes_beside_buffers_are_found_in_a_board_process(host: Path, carried: list[str]) -> None:
    """Python runs all launches there, because nothing in that process looks at marks."""
    wrong = [finding for finding in carried if "wrote directly past its end" in finding]
    assert wrong
    isolated = findings(host, FPGART_ISOLATE="1")
    assert [finding for finding in isolated if "wrote directly past its end" in finding] == wrong


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("wrote directly past its end", "launch_one_item_too_many"),
        ("past its end, at (address)", "launch_into_the_next_page"),
        ("past its end, at (address)", "launch_behind_many_frames"),
        ("wrote directly past its end", "launch_before_a_move"),
        ("exceeds max_work_group_size", "launch_in_groups_that_are_too_large"),
        ("neither an event nor a queue orders the two", "launch_in_groups_that_are_too_large"),
        ("which the host has mapped", "launch_right"),
    ],
)
def test_each_mistake_is_found_at_its_call(carried: list[str], words: str, function: str) -> None:
    assert any(words in finding and f"in {function}" in finding for finding in carried), carried


def test_a_launch_is_blamed_for_its_own_writes_alone(carried: list[str]) -> None:
    """Right launches stand behind the wrong ones in the queue."""
    wrong = [finding for finding in carried if "wrote directly past its end" in finding]
    assert wrong
    assert not any("in launch_right" in finding for finding in wrong)
