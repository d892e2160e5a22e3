# SPDX-License-Identifier: Apache-2.0
"""The pyopencl host: it runs in the tests' own process, on boards that are new for each test."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest
from smoother import Smoother

from fpgart.testing.bench import Bench
from fpgart.testing.faulty import BenchFaults
from fpgart.testing.traced import Traced

WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
LINE = np.arange(64, dtype=np.float32) ** 2


@pytest.fixture
def smoother(fpga: Bench) -> Smoother:
    return Smoother(fpga.device, WEIGHTS)


def test_a_line_is_smoothed(smoother: Smoother) -> None:
    assert np.allclose(smoother.smooth(LINE), np.convolve(LINE, WEIGHTS, "same"))


def test_the_weights_stay_on_the_board(smoother: Smoother, fpga_trace: Traced) -> None:
    smoother.smooth(LINE)
    assert fpga_trace.bytes("write") == LINE.nbytes + WEIGHTS.nbytes
    fpga_trace.clear()
    smoother.smooth(LINE)
    assert fpga_trace.bytes("write") == fpga_trace.bytes("read") == LINE.nbytes


def test_buffers_are_made_anew_only_for_another_length(smoother: Smoother, fpga_trace: Traced) -> None:
    for length in (64, 64, 32):
        smoother.smooth(LINE[:length])
    assert len(fpga_trace.calls("clCreateBuffer")) == 1 + 2 + 2


def test_nothing_is_copied_needlessly(smoother: Smoother, fpga_trace: Traced) -> None:
    smoother.smooth(LINE)
    smoother.smooth(LINE)
    assert fpga_trace.advice() == []


def test_a_kernel_that_fails_is_not_silent_and_the_next_line_is_right(
    smoother: Smoother, fpga_faults: BenchFaults
) -> None:
    fpga_faults.add("kernel:fail:name=smooth:nth=1")
    with pytest.raises(cl.Error, match="EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        smoother.smooth(LINE)
    assert np.allclose(smoother.smooth(LINE), np.convolve(LINE, WEIGHTS, "same"))
    assert fpga_faults.injected == 1
