# SPDX-License-Identifier: Apache-2.0
"""Copies of unified shared memory that another order of calls saves: what the report finds, and what it must not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import ROOT, finished, output

from fpgart.cli import running
from fpgart.watch import report

N = 4096
HEAD = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Host, Loader, Usm, strings
host = Host(Loader())
usm = Usm(host)
data = (ctypes.c_char * {N})()
a, b = (usm.make("clDeviceMemAllocINTEL", host.context, host.device, None, {N}, 0) for _ in "ab")
def write(target, source=None, size={N}):
    usm.check("clEnqueueMemcpyINTEL", host.queue, 1, target, source or data, size, 0, None, None)
def read(source):
    usm.check("clEnqueueMemcpyINTEL", host.queue, 1, data, source, {N}, 0, None, None)
def run(pointer, indirect=0):
    kernel = host.kernel("kernel void inc(global uchar *x) {{ x[get_global_id(0)] += 1; }}", "inc")
    usm.check("clSetKernelArgMemPointerINTEL", kernel, 0, pointer)
    flag = ctypes.byref(ctypes.c_uint(indirect))
    host.cl.check("clSetKernelExecInfo", kernel, cl.CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, 4, flag)
    host.launch(kernel, {N})
    host.finish()
def free(pointer):
    usm.check("clMemFreeINTEL", host.context, pointer)
"""
CASES = [
    # host program, words that the advice has, copies, bytes
    ("write(a); run(a); read(a)", None),
    ("write(a); write(a); run(a)", ("written again", 1, N)),
    ("write(a); write(a); write(a)", ("written again", 2, 2 * N)),
    ("write(a); run(a); write(a); read(a)", None),
    ("write(a); run(b); write(a)", ("written again", 1, N)),
    ("write(a); run(b, indirect=1); write(a)", None),
    ("write(a); read(a); write(a)", None),
    ("write(a, size=2048); write(a + 2048, size=2048)", None),
    ("write(a); read(a); read(a)", ("read again", 1, N)),
    ("write(a); read(a); run(a); read(a)", None),
    ("write(a); read(a); write(a); read(a)", None),
    ("write(a); write(b, a); run(b); free(a)", ("directly to the memory that", 1, N)),
    ("write(a); run(a); write(b, a); free(a)", None),
    ("write(a); write(b, a); read(a); free(a)", None),
    ("write(a); write(b, a)", None),
]


@pytest.mark.parametrize(("program", "expected"), CASES, ids=[program for program, _ in CASES])
def test_advice_on_the_order_of_calls(tmp_path: Path, program: str, expected: tuple[str, int, int] | None) -> None:
    file = tmp_path / "trace.json"
    environment = running.environment({"FPGART_BOARD": "usm_s10", "FPGART_TRACE": str(file)})
    command = [sys.executable, "-c", HEAD + program]
    output(finished(*command, env=environment))
    told = [advice for advice in report.read(file).advice if not advice.measured]  # the others depend on the load
    found = [(advice.words, advice.copies, advice.bytes) for advice in told]
    if expected is None:
        assert found == []
        return
    words, copies, size = expected
    ((given, *numbers),) = found
    assert words in given
    assert "allocation " in given
    assert numbers == [copies, size]


def test_a_trace_names_the_part_of_an_allocation_and_what_kernels_reach(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    environment = running.environment({"FPGART_BOARD": "usm_s10", "FPGART_TRACE": str(file)})
    program = HEAD + "write(a + 1024, size=3072); write(b, a + 2000, 100); run(a, indirect=1)"
    command = [sys.executable, "-c", program]
    output(finished(*command, env=environment))
    events = [
        e["args"] for e in report.ordered(file) if e.get("cat") == "device" and e["name"] in ("transfer", "kernel")
    ]
    first, second, kernel = events
    assert (first["offset"], first["size"]) == (1024, 3072)
    assert "source" not in first
    assert (second["offset"], second["source_offset"], second["size"]) == (0, 2000, 100)
    assert kernel["allocations"] == [first["allocation"]]
    assert kernel["indirect"] == ["device"]


TWO_BOARDS = """
devices = (ctypes.c_void_p * 2)()
host.cl.check("clGetDeviceIDs", host.platform, cl.CL_DEVICE_TYPE_ALL, 2, devices, None)
host.context = host.cl.make("clCreateContext", None, 2, devices, None, None)
"""


def traced_on_two_boards(program: str, folder: Path) -> list[report.Args]:
    """The events of a program in a context with both devices."""
    file = folder / "trace.json"
    environment = running.environment({"FPGART_BOARD": "usm_s10,usm_s10", "FPGART_TRACE": str(file)})
    command = [sys.executable, "-c", HEAD + TWO_BOARDS + program]
    output(finished(*command, env=environment))
    return report.ordered(file)


def test_a_region_is_migrated_to_the_device_of_the_queue_page_by_page(tmp_path: Path) -> None:
    program = """
shared = usm.make("clSharedMemAllocINTEL", host.context, None, None, 4 * 4096, 0)
others = [
    usm.make("clHostMemAllocINTEL", host.context, None, 4096, 0),
    usm.make("clDeviceMemAllocINTEL", host.context, devices[1], None, 4096, 0),
]
to_host, to_device = cl.CL_MIGRATE_MEM_OBJECT_HOST, cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
for device, flags in ((devices[1], to_device), (devices[0], to_host)):
    queue = host.cl.make("clCreateCommandQueueWithProperties", host.context, device, None)
    usm.check("clEnqueueMigrateMemINTEL", queue, shared + 5000, 100, flags, 0, None, None)
    for other in others:
        usm.check("clEnqueueMigrateMemINTEL", queue, other, 100, flags, 0, None, None)
    host.cl.check("clFinish", queue)
"""
    moves = [
        e["args"] for e in traced_on_two_boards(program, tmp_path) if e.get("cat") == "usm" and e["name"] == "migrate"
    ]
    assert [(move["to"], move["size"]) for move in moves] == [("device 1", 4096), ("host", 4096)]


def test_a_copy_is_a_transfer_of_the_device_of_its_queue(tmp_path: Path) -> None:
    program = """
memory = usm.make("clDeviceMemAllocINTEL", host.context, devices[1], None, 4096, 0)
for device in devices:
    queue = host.cl.make("clCreateCommandQueueWithProperties", host.context, device, None)
    usm.check("clEnqueueMemcpyINTEL", queue, 1, memory, data, 4096, 0, None, None)
"""
    copies = [
        e["args"]
        for e in traced_on_two_boards(program, tmp_path)
        if e.get("cat") == "device" and e["name"] == "transfer"
    ]
    assert [copy["device"] for copy in copies] == [0, 1]
