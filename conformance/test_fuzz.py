# SPDX-License-Identifier: Apache-2.0
"""A short run of the fuzzer; `make soak` runs it for longer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
Fuzz = Callable[..., None]


@pytest.fixture
def fuzz(driver_environment: dict[str, str]) -> Fuzz:
    """`fuzz(program, *words, **variables)`: runs a program of this folder, which must end well."""

    def run(program: str, *words: object, **variables: str) -> None:
        command = [sys.executable, str(FOLDER / program), *map(str, words)]
        result = subprocess.run(command, env={**driver_environment, **variables}, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
        assert "Traceback" not in result.stderr, result.stderr[-4000:]

    return run


@pytest.mark.parametrize(("board", "seed"), [("usm_s10", 1), ("hetero,usm_s10", 1001), ("k2h,k2h", 1)])
def test_random_calls_from_four_threads_keep_every_byte_right(
    is_fpgart: bool, fuzz: Fuzz, board: str, seed: int
) -> None:
    more = ["--after-release", "--usm"] if is_fpgart else []  # others may crash then, and the specification lets them
    fuzz("fuzz.py", "--seed", seed, "--steps", 400, *more, FPGART_BOARD=board)


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize(("boards", "seed"), [("a10_ref", 1), ("hetero,usm_s10", 101), ("k2h", 201)])
def test_hosts_that_release_everything_early_are_given_all_memory_again(
    fuzz: Fuzz, boards: str, seed: int, isolated: str
) -> None:
    """With other drivers failures may pass no chain of commands."""
    fuzz("fuzz_releases.py", "--seed", seed, "--rounds", 12, FPGART_BOARD=boards, FPGART_ISOLATE=isolated)


@pytest.mark.usefixtures("fpgart_alone")
@pytest.mark.parametrize("seed", [2, 1002])
def test_faults_that_cost_only_time_leave_every_byte_right(fuzz: Fuzz, seed: int) -> None:
    delays = "read,write,copy,kernel:delay=300us:fraction=0.1;program:fail:nth=1;read:ecc=correctable:every=5"
    faults = f"{delays};seed={seed}"
    fuzz("fuzz.py", "--seed", seed, "--steps", 300, FPGART_BOARD="hetero", FPGART_FAULTS=faults)


@pytest.mark.usefixtures("fpgart_alone")
def test_random_calls_of_every_entry_point_are_answered(driver_library: str, fuzz: Fuzz) -> None:
    """Other drivers read through what is no handle."""
    fuzz("fuzz_calls.py", driver_library, "--calls", 1500, "--seed", 3)
