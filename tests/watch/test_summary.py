# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of a host (FPGART_SUMMARY)."""

from __future__ import annotations

import sys
from pathlib import Path

from processes import ROOT, finished, output

from fpgart.cli import running

HOST = f"""
import sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import Host, Loader
host = Host(Loader())
kernel = host.kernel("kernel void k(global int *x) {{ x[0] += 1; }}", "k", host.buffer(4))
for _ in range(10):
    host.launch(kernel, 1)
    host.finish()
"""


def test_launches_that_c_runs_are_counted_like_the_first_one(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    output(finished(sys.executable, "-c", HOST, env=running.environment({"FPGART_SUMMARY": str(file)})))
    assert "  kernels: 10 launches\n" in file.read_text()
