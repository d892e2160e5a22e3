# SPDX-License-Identifier: Apache-2.0
"""The cost of linked and unlinked allocations on a board: the MMD traffic of programs with fpgart.sycl."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import ROOT, fpgart, output

from fpgart.watch import report

N = 4096
HEAD = f"""
import numpy as np, pyopencl as cl
from fpgart import sycl
N = {N // 4}
INCREMENT = sycl.Kernel("kernel void increment(global int *x) {{ x[get_global_id(0)] += 1; }}", "increment")
DEVICES = cl.get_platforms()[0].get_devices()
queues = [sycl.Queue(device) for device in DEVICES]
graph = queues[0].graph
def run(buffer, device=0, mode="read_write"):
    queues[device].submit(lambda h: h.parallel_for(N, INCREMENT, h.access(buffer, mode)))
array = np.arange(N, dtype=np.int32)
if (address := array.ctypes.data) % 4: raise SystemExit("numpy's memory is not aligned")
"""
PROGRAMS = {
    "user's memory": """
with sycl.Buffer(array) as buffer:
    run(buffer)
    with buffer.host("read") as view:
        assert view[1] == 2 and view.ctypes.data == address
    run(buffer)
assert (array == np.arange(N) + 2).all()
""",
    "no memory": """
with sycl.Buffer(N, np.int32) as buffer:
    run(buffer, mode="discard_write")
    with buffer.host() as view:
        view[:] = 5
    run(buffer)
    with buffer.host("read") as view:
        assert (view == 6).all()
""",
    "allocated for the host": """
with sycl.Buffer(N, np.int32) as buffer:
    with buffer.host("discard_write") as view:
        view[:] = array
    run(buffer)
    with buffer.host("read") as view:
        assert (view == array + 1).all()
""",
    "two devices": """
with sycl.Buffer(array) as buffer:
    run(buffer, 0)
    run(buffer, 1)
    run(buffer, 0)
assert (array == np.arange(N) + 3).all()
""",
}
TRAFFIC = [
    # board, program, bytes by device and MMD call
    ("usm_s10", "user's memory", {(0, "write"): 2 * N, (0, "read"): 2 * N}),
    ("soc_a10", "user's memory", {}),
    ("usm_s10", "no memory", {(0, "write"): N, (0, "read"): 2 * N}),
    ("soc_a10", "no memory", {}),
    ("usm_s10", "allocated for the host", {(0, "write"): N, (0, "read"): N}),
    ("soc_a10", "allocated for the host", {}),
    ("usm_s10,a10_ref", "two devices", {(0, "write"): 2 * N, (0, "read"): 2 * N, (1, "write"): N, (1, "read"): N}),
    # Only the unlinked one of the two costs anything: map, write; map, read, unmap.
    ("soc_a10,usm_s10", "two devices", {(1, "write"): N, (1, "read"): N}),
    ("soc_a10,soc_a10", "two devices", {(1, "write"): N, (1, "read"): N}),
]


@pytest.mark.parametrize(("board", "program", "bytes_moved"), TRAFFIC)
def test_bytes_that_a_program_moves(
    tmp_path: Path, board: str, program: str, bytes_moved: dict[tuple[int, str], int]
) -> None:
    trace = tmp_path / "trace.json"
    words = ("run", "--board", board, "--trace", trace, "--", sys.executable, "-W", "ignore", "-c")
    output(fpgart(*words, HEAD + PROGRAMS[program], PYTHONPATH=str(ROOT)))
    traffic = report.read(trace).traffic
    copies = ("aocl_mmd_write", "aocl_mmd_read", "aocl_mmd_copy")
    moved = {
        (device, call.removeprefix("aocl_mmd_")): t.bytes for (device, call), t in traffic.items() if call in copies
    }
    assert moved == bytes_moved
