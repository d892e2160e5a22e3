# SPDX-License-Identifier: Apache-2.0
"""fpgart.sycl, memory objects on pyopencl, on any driver: sycl_table.py and sycl_model.py, each in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
BOARDS = {"one device": "usm_s10", "several devices": "usm_s10,soc_a10,a10_ref"}


@pytest.mark.parametrize("devices", BOARDS)
@pytest.mark.parametrize("suite", ["sycl_table.py", "sycl_model.py"])
def test_memory_objects(driver_environment: dict[str, str], is_fpgart: bool, suite: str, devices: str) -> None:
    pytest.importorskip("pyopencl")
    board = BOARDS[devices]
    environment = {
        **driver_environment,
        "PYTHONPATH": str(FOLDER.parent),
        "FPGART_BOARD": board,
        "POCL_DEVICES": " ".join("pthread" for _ in board.split(",")),
        "PATH": os.environ.get("PATH", os.defpath),
    }
    alone = [sys.executable, "-m", "fpgart.cli", "run", "--"] if is_fpgart else []
    pytest_options = ["-q", "-p", "no:cacheprovider", "-W", "ignore"]
    result = subprocess.run(
        [*alone, sys.executable, "-m", "pytest", *pytest_options, str(FOLDER / suite)],
        env=environment,
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-1000:]
