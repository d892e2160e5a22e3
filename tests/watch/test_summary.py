# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of a host (FPGART_SUMMARY)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import ROOT, finished, output

from fpgart.cli import running
from fpgart.watch.profile import SHARED_CONTROL, Profile

HOST = f"""
import sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import Host, Loader
host = Host(Loader())
def launch(times):
    kernel = host.kernel("kernel void k(global int *x) {{ x[0] += 1; }}", "k", host.buffer(4))
    for _ in range(times):
        host.launch(kernel, 1)
        host.finish()
"""


def summary_of(tmp_path: Path, line: str) -> str:
    file = tmp_path / "summary"
    output(finished(sys.executable, "-c", HOST + line, env=running.environment({"FPGART_SUMMARY": str(file)})))
    return file.read_text()


def test_launches_that_c_runs_are_counted_like_the_first_one(tmp_path: Path) -> None:
    assert "  kernels: 10 launches\n" in summary_of(tmp_path, "launch(10)")


def test_the_first_64_buffers_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    lines = summary_of(tmp_path, "for _ in range(66): launch(1)").splitlines()
    assert sum(line.startswith("  buffer ") for line in lines) == 64
    assert "and 2 more buffers" in lines


def test_a_kernel_that_was_never_launched_has_a_line_of_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Profile().write(1, 2, ["k"])
    (line,) = (tmp_path / "profile.mon").read_text().splitlines()
    assert line.split(",") == ["1", "2", "k", "0", "0", str(SHARED_CONTROL), "2", "0", "0"]
