# SPDX-License-Identifier: Apache-2.0
"""Prints how many bytes were written to the boards when launches on the host's memory were enqueued, and at their ends.

The first buffer is small, the second one is large.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from board_traffic import traffic
from opencl_api import Host, Loader, handles

SMALL, LARGE = 4096, 2 << 20
host = Host(Loader(), int(sys.argv[1]))
call = host.cl
kernel = host.kernel("kernel void add(global int *x) { x[get_global_id(0)] += 1; }", "add")


def launch(buffer: int, *waits: int) -> None:
    call.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
    size, events = handles(16), handles(*waits) if waits else None
    call.check("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, size, None, len(waits), events, None)


def written() -> int:
    return sum(int(moved["write"][1]) for moved in traffic())


for _ in range(2):  # the kernel and its program are known behind that
    launch(host.buffer(SMALL))
    call.check("clFinish", host.queue)
for length in (SMALL, LARGE):
    memory = ctypes.create_string_buffer(length)
    buffer = host.buffer(length, cl.CL_MEM_READ_WRITE | cl.CL_MEM_USE_HOST_PTR, memory)
    gate, before = call.make("clCreateUserEvent", host.context), written()
    launch(buffer, gate)
    enqueued = written() - before
    call.check("clSetUserEventStatus", gate, 0)
    first = host.read(buffer, 1)[0]
    print(enqueued, written() - before, first)
