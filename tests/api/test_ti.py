# SPDX-License-Identifier: Apache-2.0
"""The functions that TI's OpenCL adds for a 66AK2x (include/CL/cl_ext_ti.h)."""

from __future__ import annotations

import sys
from pathlib import Path

from c_hosts import build
from processes import finished

LIBRARY = Path(__file__).resolve().parents[2] / "fpgart" / "libfpgart.so"
ALLOCATES = f"""
import ctypes
allocate = ctypes.CDLL({str(LIBRARY)!r})["__malloc_ddr"]
allocate.restype = ctypes.c_void_p
print(allocate(4096))
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
