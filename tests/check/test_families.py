# SPDX-License-Identifier: Apache-2.0
"""Findings, reports and summaries use the words for the board: an FPGA board, or a DSP of TI."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from c_hosts import build
from processes import fpgart

from fpgart.watch import report
from fpgart.watch.page import as_html
from fpgart.watch.report import difference
from fpgart.watch.report.model import Traffic

OF_FPGAS = re.compile(r"aocl_mmd|programming|programmed|\baocx?\b|\.aocx|DMA engine|INTELFPGA|\bbank \d|ALTERA")
HOST = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
a = np.arange(32768, dtype=np.int32)
for name in ("one", "two", "one"):
    source = f"kernel void {name}(global int *a) {{ a[get_global_id(0)] += 1; }}"
    program = cl.Program(context, source).build(cache_dir=False)
    kernel = cl.Kernel(program, name)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, a.nbytes)
    for _ in range(2):
        cl.enqueue_copy(queue, buffer, a)
    for _ in range(20):
        kernel(queue, (64,), None, buffer)
    queue.finish()
"""


def told(folder: Path, board: str, program: list[str]) -> str:
    """All that is said of a run: findings, the summary, leaks, the report, the page, and what differs from nothing."""
    trace = folder / "t.json"
    options = ["--board", board, "--check", "--leaks", "--summary", "--time", "model", "--trace", str(trace)]
    result = fpgart("run", *options, "--", *program, cwd=folder, PYOPENCL_CTX="0")
    assert result.returncode == 0, result.stderr
    events = report.ordered(trace)
    found = report.of(events)
    empty = report.Report(boards=found.boards, whole=True)
    page = as_html(found, events, "t").partition("</style>")[2].rpartition("<script>")[0]
    return "\n".join((result.stderr, report.as_text(found), page, difference.as_text(difference.between(empty, found))))


@pytest.fixture
def host(tmp_path: Path) -> list[str]:
    pytest.importorskip("pyopencl")
    file = tmp_path / "host.py"
    file.write_text(HOST)
    return [sys.executable, str(file)]


def test_nothing_that_is_said_of_a_dsp_is_true_of_fpgas_alone(host: list[str], tmp_path: Path) -> None:
    words = told(tmp_path, "k2h", host)
    assert "loading programs" in words
    assert "is written again before anything used it" in words
    assert OF_FPGAS.findall(words) == []


def test_an_fpga_board_is_programmed(host: list[str], tmp_path: Path) -> None:
    words = told(tmp_path, "a10_ref", host)
    assert "loading programs" not in words
    kinds = set(OF_FPGAS.findall(words))
    assert {"aocl_mmd", "programming", ".aocx", "bank 1"} <= kinds
    assert "compiled in an earlier run, but the runtime of a board has no compiler" in words


def test_memory_that_the_host_allocates_as_its_own_is_no_buffer_and_is_given_back(tmp_path: Path) -> None:
    words = told(tmp_path, "k2h", [str(build("board_malloc", tmp_path, "-lpthread"))])
    assert "__malloc_ddr allocation 1: 256 KiB, from " in words
    assert "__malloc_msmc allocation 2: 256 KiB, from " in words
    assert "in memory that host and board share" in words
    assert "no findings in " in words  # the host writes to it between launches
    assert not re.search(r"buffer 0\b|never (released|freed|on a board)", words)
    assert OF_FPGAS.findall(words) == []


def test_what_a_dsp_never_got_back_is_told_of_each_kind() -> None:
    board = {"device": 0, "board": "k2h", "fpga": False, "memories": []}
    block = {"device": 0, "memory": "msmc", "bank": 1, "address": "0xc000000", "size": 4096, "buffer": 0}
    events = [
        {"name": "board", "cat": "fpgart", "ts": 0.0, "args": board},
        {"name": "reserve", "cat": "memory", "ts": 1.0, "args": block},
        {"name": "reserve", "cat": "memory", "ts": 2.0, "args": {**block, "buffer": 3, "program": "ab"}},
        {"name": "create", "cat": "buffer", "ts": 3.0, "args": {"buffer": 4, "size": 64}},
    ]
    words = report.as_text(report.of(events))
    assert "__malloc_msmc allocation 1: 4 KiB, from 0.001 ms never freed" in words
    assert "program 3: 4 KiB, from 0.002 ms to the end" in words
    assert "buffer 4: 64 bytes, from 0.003 ms never released" in words


def test_traces_of_older_versions_tell_a_dsp_by_its_regions() -> None:
    for largest, dsp in ((1 << 30, True), (None, False)):
        board = {"device": 0, "board": "b", "memories": [{"name": "m", "largest_region": largest, "banks": 1}]}
        memory = {"begin": "0x0", "size": 1 << 30, "interleaved": False, "bandwidth": 0}
        board["memories"][0] |= memory  # type: ignore[index, operator]
        found = report.of([{"name": "board", "cat": "fpgart", "ts": 0.0, "args": board}])
        found.traffic[0, "aocl_mmd_write"] = Traffic(1, 64, 1.0)
        assert ("aocl_mmd_write" in report.as_text(found)) is not dsp
