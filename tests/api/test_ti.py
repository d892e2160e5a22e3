# SPDX-License-Identifier: Apache-2.0
"""The functions that TI's OpenCL adds for a 66AK2x (include/CL/cl_ext_ti.h)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from c_hosts import build
from processes import finished, fpgart, output

from fpgart.base import opencl as cl

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "fpgart" / "libfpgart.so"
ALLOCATES = f"""
import ctypes
allocate = ctypes.CDLL({str(LIBRARY)!r})["__malloc_ddr"]
allocate.restype = ctypes.c_void_p
print(allocate(4096))
"""

TIMED = cl.CL_QUEUE_KERNEL_TIMEOUT_COMPUTE_UNIT_TI
MAKES_QUEUES = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import CL_QUEUE_PROPERTIES, Host, Loader, handles
host = Host(Loader())
for properties in map(int, sys.argv[1:]):
    given = host.context, host.device
    _, status = host.cl.attempt("clCreateCommandQueue", *given, ctypes.c_uint64(properties))
    _, listed = host.cl.attempt(
        "clCreateCommandQueueWithProperties", *given, handles(CL_QUEUE_PROPERTIES, properties, 0)
    )
    print(status, listed)
"""


def test_a_host_and_its_kernels_work_on_the_same_memory(tmp_path: Path) -> None:
    result = finished(build("board_malloc", tmp_path, "-lpthread"), FPGART_BOARD="k2h")
    assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


def test_programs_that_stay_on_the_board_have_variables_of_their_own(tmp_path: Path) -> None:
    result = finished(build("variables_of_programs", tmp_path), FPGART_BOARD="k2h", FPGART_LOG="stderr")
    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert "clEnqueueReadGlobalVariableINTEL: CL_INVALID_ARG_VALUE: the program has no" in result.stderr


def test_without_a_66ak2x_there_is_no_board_memory_and_the_log_says_why() -> None:
    result = finished(sys.executable, "-c", ALLOCATES, FPGART_BOARD="a10_ref", FPGART_LOG="stderr")
    assert result.stdout == "None\n"
    assert "4096 bytes of board memory are requested, but no board of this process has a 66AK2x" in result.stderr


@pytest.mark.parametrize(("board", "status"), [("k2h", -35), ("a10_ref", -30)])
def test_a_queue_that_limits_the_time_of_kernels_is_known_on_a_66ak2x_and_not_supported(
    board: str, status: int
) -> None:
    made = [str(TIMED), str(TIMED | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), str(TIMED << 1)]
    text = output(fpgart("run", "--board", board, "--", sys.executable, "-c", MAKES_QUEUES, *made))
    assert text.split("\n")[:3] == [f"{status} {status}"] * 2 + ["-30 -30"]
