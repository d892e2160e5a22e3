# SPDX-License-Identifier: Apache-2.0
"""A short run of the fuzzer; `make soak` runs it for longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent / "fuzz.py"


@pytest.mark.parametrize(("board", "seed"), [("usm_s10", 1), ("hetero,usm_s10", 1001), ("k2h,k2h", 1)])
def test_random_calls_from_four_threads_keep_every_byte_right(
    driver_library: str, driver_environment: dict[str, str], board: str, seed: int
) -> None:
    command = [sys.executable, str(FUZZ), "--seed", str(seed), "--steps", "400"]
    environment = {**driver_environment, "FPGART_BOARD": board}
    if "fpgart" in Path(driver_library).name:  # others may crash then, and the specification lets them
        command += ["--after-release", "--usm"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("boards", "seed"), [("a10_ref", 1), ("hetero,usm_s10", 101), ("k2h", 201)])
def test_hosts_that_release_everything_early_are_given_all_memory_again(
    driver_library: str, driver_environment: dict[str, str], boards: str, seed: int, isolated: str
) -> None:
    if "fpgart" not in Path(driver_library).name:
        pytest.skip("other drivers have no boards to choose, and failures may pass no chain of commands")
    environment = {**driver_environment, "FPGART_BOARD": boards, "FPGART_ISOLATE": isolated}
    command = [sys.executable, str(FUZZ.with_name("fuzz_releases.py")), "--seed", str(seed), "--rounds", "12"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("seed", [2, 1002])
def test_faults_that_cost_only_time_leave_every_byte_right(
    driver_library: str, driver_environment: dict[str, str], seed: int
) -> None:
    if "fpgart" not in Path(driver_library).name:
        pytest.skip("other drivers have no faults on request")
    delays = "read,write,copy,kernel:delay=300us:fraction=0.1;program:fail:nth=1;read:ecc=correctable:every=5"
    environment = {**driver_environment, "FPGART_BOARD": "hetero", "FPGART_FAULTS": f"{delays};seed={seed}"}
    command = [sys.executable, str(FUZZ), "--seed", str(seed), "--steps", "300"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_random_calls_of_every_entry_point_are_answered(
    driver_library: str, driver_environment: dict[str, str]
) -> None:
    if "fpgart" not in Path(driver_library).name:
        pytest.skip("other drivers read through what is no handle")
    command = [sys.executable, str(FUZZ.with_name("fuzz_calls.py")), driver_library, "--calls", "1500", "--seed", "3"]
    result = subprocess.run(command, env=driver_environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
