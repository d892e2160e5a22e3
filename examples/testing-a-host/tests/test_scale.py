# SPDX-License-Identifier: Apache-2.0
"""The C host: it is started on simulated boards, and its trace says what it did there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fpgart.testing.bench import Bench
from fpgart.testing.faulty import BenchFaults

NUMBERS = "1 2.5 -3"


def test_numbers_are_multiplied(fpga: Bench, scale: Path) -> None:
    host = fpga.run([scale, "2"], input=NUMBERS, check=True)
    assert host.stdout.split() == ["2", "5", "-6"]


@pytest.mark.parametrize("board", ["a10_ref", "hetero", "soc_a10"])
def test_other_boards_give_the_same(fpga: Bench, scale: Path, board: str) -> None:
    host = fpga.run([scale, "2"], board=board, input=NUMBERS, check=True)
    assert host.stdout.split() == ["2", "5", "-6"]


def test_every_number_goes_to_the_board_once_and_comes_back_once(fpga: Bench, scale: Path) -> None:
    trace = fpga.run([scale, "2"], input=NUMBERS, check=True).trace
    assert (trace.bytes("write"), trace.bytes("read"), trace.bytes("copy")) == (12, 12, 0)
    assert [kernel.size for kernel in trace.kernels("scale")] == [(3,)]
    assert trace.advice() == []


def test_the_board_is_left_clean(fpga: Bench, scale: Path) -> None:
    assert fpga.run([scale, "2"], input=NUMBERS, check=True).trace.unreleased() == []


@pytest.mark.parametrize(
    ("fault", "call"),
    [
        ("write:fail", "clEnqueueWriteBuffer"),
        ("kernel:fail", "clEnqueueReadBuffer"),
        ("kernel:hang:limit=10ms", "clEnqueueReadBuffer"),
        ("read:fail", "clEnqueueReadBuffer"),
        ("open:fail", "clCreateContext"),
    ],
)
def test_no_numbers_come_from_a_board_that_fails(
    fpga: Bench, fpga_faults: BenchFaults, scale: Path, fault: str, call: str
) -> None:
    fpga_faults.add(fault)
    host = fpga.run([scale, "2"], input=NUMBERS)
    assert (host.returncode, host.stdout) == (1, "")
    assert host.stderr.startswith(f"scale: {call}: status -")
    assert fpga_faults.injected >= 1


def test_without_numbers_the_board_is_left_alone(fpga: Bench, scale: Path) -> None:
    host = fpga.run([scale, "2"], input="", check=True)
    assert host.stdout == ""
    assert host.trace.calls() == []
