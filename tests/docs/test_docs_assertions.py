# SPDX-License-Identifier: Apache-2.0
"""Assertions that the documentation shows hold for a host that is right, and fail for one that is not."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from processes import ROOT, finished

HOST = """
def run_my_host():
    import numpy as np, pyopencl as cl
    context = cl.create_some_context(interactive=False)
    queue, other = (cl.CommandQueue(context) for _ in range(2))
    source = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }"
    program = cl.Program(context, source).build()
    a = np.arange(4096, dtype=np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, a.nbytes)
    kernel = cl.Kernel(program, "twice")
    kernel.set_args(buffer)
    WRITES
    launch = cl.enqueue_nd_range_kernel(queue, kernel, a.shape, None)
    LAUNCHED
    cl.enqueue_copy(other, a, buffer)
"""
RIGHT = {"WRITES": "cl.enqueue_copy(queue, buffer, a)", "LAUNCHED": "launch.wait()"}
TWICE = {**RIGHT, "WRITES": "[cl.enqueue_copy(queue, buffer, a) for _ in range(2)]"}
RACE = {**RIGHT, "LAUNCHED": "queue.flush()"}


def block(page: str, containing: str) -> str:
    """The indented block of a page that has these words."""
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    (found,) = [each for each in blocks if containing in each]
    return textwrap.dedent(found)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "script.py"
    file.write_text(code)
    return finished(sys.executable, file, cwd=ROOT)


@pytest.mark.parametrize(
    ("host", "failing"),
    [(RIGHT, ""), (TWICE, "assert report.copies_to_avoid == []"), (RACE, "assert report.findings == []")],
    ids=["right", "a needless copy", "a race"],
)
def test_assertions_on_a_report_of_a_script(host: dict[str, str], failing: str, tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    code = HOST
    for name, words in host.items():
        code = code.replace(name, words)
    result = run(f"import fpgart\n{code}\n{block('notebooks.md', 'active.report()')}", tmp_path)
    if not failing:
        assert result.returncode == 0, result.stderr
    else:
        assert "AssertionError" in result.stderr
        assert f"    {failing}\n" in result.stderr


@pytest.mark.parametrize(("reads", "fails"), [(2, False), (1, True)])
def test_assertions_on_faults(reads: int, fails: bool, tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    host = f"""
        for _ in range({reads}):
            try:
                cl.enqueue_copy(queue, a, buffer)
            except cl.Error:
                pass
"""
    code = f"""
import fpgart
fpgart.activate("usm_s10")
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
a = np.arange(4096, dtype=np.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, a.nbytes)
cl.enqueue_copy(queue, buffer, a)
{block("faults.md", "fpgart.faults.injecting").replace("    ...", host)}
"""
    result = run(code, tmp_path)
    assert ("AssertionError" in result.stderr, result.returncode) == (fails, int(fails)), result.stderr
