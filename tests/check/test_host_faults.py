# SPDX-License-Identifier: Apache-2.0
"""FPGART_USM_FAULTS: the host has no access to device allocations, and all else reaches them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from c_hosts import plain_environment
from compilation import compiled
from processes import fpgart

from fpgart.base import closed_memory
from fpgart.board.catalogue import describe
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.board.stretch import Stretch

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent

HOST = HERE / "programs" / "device_memory.c"
FAULTS = "3 faults, 3 at the address\n"
NONE = "0 faults, 0 at the address\n"


def run(*words: object, on: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    variables = more | ({"FPGART_USM_FAULTS": on} if on else {})
    return fpgart("run", *words, env=plain_environment(), PYTHONPATH=str(ROOT), **variables)


@pytest.fixture(scope="module")
def host() -> Path:
    return compiled([HOST])


@pytest.mark.parametrize(
    ("options", "on", "output"),
    [
        (("--isolate",), "on", FAULTS),
        (("--isolate",), "", NONE),
        (("--isolate", "--check", "usm"), "", FAULTS),
        (("--isolate", "--check", "usm"), "off", NONE),
        ((), "", NONE),
    ],
)
def test_the_host_has_a_fault_and_commands_reach_the_memory(
    host: Path, options: tuple[str, ...], on: str, output: str
) -> None:
    result = run(*options, "--", host, on=on)
    assert (result.returncode, result.stdout) == (0, output), result.stderr


def test_a_host_that_handles_no_fault_ends_at_its_own_line(host: Path) -> None:
    result = run("--isolate", "--check", "usm", "--", host, "plain")
    assert result.returncode == -signal.SIGSEGV
    line = HOST.read_text().splitlines().index("        (void)*memory;") + 1
    assert "[usm]" in result.stderr
    assert "device allocation 1" in result.stderr
    assert re.search(rf"misused at .*{HOST.name}:{line} in touch", result.stderr), result.stderr
    assert run("--isolate", "--", host, "plain", on="on").returncode == -signal.SIGSEGV


def test_the_statements_of_the_specification_hold_nevertheless() -> None:
    """Among them: commands that get device allocations as memory of the host."""
    result = run("--isolate", "--", compiled([ROOT / "conformance" / "c" / "usm_sentences.c"]), "all", on="on")
    assert (result.returncode, result.stdout) == (0, "ok\n"), result.stderr


def test_it_needs_kernels_in_another_process(host: Path) -> None:
    result = run("--", host, on="on")
    assert result.returncode == 2
    assert "FPGART_USM_FAULTS=on needs FPGART_ISOLATE=1" in result.stderr


def test_a_launch_that_is_captured_has_the_contents(host: Path, tmp_path: Path) -> None:
    result = run("--isolate", "--", host, on="on", FPGART_CAPTURE=str(tmp_path / "captured"))
    assert (result.returncode, result.stdout) == (0, FAULTS), result.stderr
    found = [file.read_bytes() for file in (tmp_path / "captured").rglob("*") if file.is_file()]
    numbers = b"".join(number.to_bytes(4, "little") for number in range(1024))
    assert any(numbers in contents for contents in found)


def test_a_model_in_python_reaches_the_memory(host: Path, tmp_path: Path) -> None:
    models = tmp_path / "models.py"
    models.write_text("import fpgart\n@fpgart.kernel('add')\ndef add(data):\n    data[:1024] += 1\n")
    result = run("--isolate", "--", host, on="on", FPGART_MODELS=str(models))
    assert (result.returncode, result.stdout) == (0, FAULTS), result.stderr


def mappings(stretch: Stretch) -> int:
    """The number of ranges of this process that are mapped to a stretch's file."""
    number = str(os.fstat(stretch.descriptor).st_ino)
    return [line.split()[4] for line in Path("/proc/self/maps").read_text().splitlines()].count(number)


@pytest.mark.parametrize("name", ["usm_s10", "soc_a10"])
def test_the_driver_has_another_mapping_until_the_board_is_closed(stretch: Stretch, name: str) -> None:
    before = mappings(stretch)
    board = SimulatedBoard(describe(name), stretch, closed=True)
    board.open()
    place = board.aperture(board.description.device_private[0].begin)
    assert closed_memory.is_closed(place) == (not board.description.unified_memory)
    board.close()
    assert not closed_memory.is_closed(place)
    assert mappings(stretch) == before
