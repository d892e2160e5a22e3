"""Whole programs on the driver: a C host through the system's loader, pyopencl, the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def fpgart(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fpgart.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)  # type: ignore[call-overload,no-any-return]


def test_doctor_finds_a_whole_installation() -> None:
    result = fpgart("doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "FAIL" not in result.stdout


def test_info_is_json_for_programs() -> None:
    facts = json.loads(fpgart("info", "--json").stdout)
    assert facts["chosen_boards"] == ["usm_s10"]
    assert facts["chosen_engine"]["name"] in {engine["name"] for engine in facts["engines"]}


def test_run_passes_on_exit_status_and_output() -> None:
    result = fpgart("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")


def test_run_of_nothing_that_exists_says_so() -> None:
    result = fpgart("run", "--", "no-such-program")
    assert result.returncode == 2
    assert "no-such-program: no such program" in result.stderr


def test_a_misspelt_board_is_an_error_that_lists_the_right_ones() -> None:
    result = fpgart("info", env={"FPGART_BOARD": "usm_s11", "PATH": "/usr/bin"})
    assert result.returncode == 2
    assert "usm_s11" in result.stderr
    assert "usm_s10" in result.stderr


@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_clinfo_prints_no_error(raw: list[str]) -> None:
    result = fpgart("run", "--", "clinfo", *raw)
    assert result.returncode == 0
    lines = (result.stdout + result.stderr).splitlines()
    assert not [line for line in lines if "error -" in line.lower() or "<print" in line]
    assert any("usm_s10" in line for line in lines)


def test_pyopencl_sees_this_platform_only() -> None:
    program = "import pyopencl as cl; print([p.name for p in cl.get_platforms()])"
    result = fpgart("run", "--", sys.executable, "-c", program)
    assert result.stdout.strip() == "['fpgart']"
