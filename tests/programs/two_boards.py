"""Reads and writes buffers through queues of two devices, also where the contents are on the other one."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from board_traffic import traffic
from opencl_api import Host, Loader, handles

SIZE, TIMES = 64, 3
host = Host(Loader())
call = host.cl
found = handles(0, 0)
call.check("clGetDeviceIDs", host.platform, cl.CL_DEVICE_TYPE_ALL & 0xFFFFFFFF, 2, found, None)
context = call.make("clCreateContext", None, 2, found, None, None)
queues = [call.make("clCreateCommandQueueWithProperties", context, device, None) for device in found]
buffers = [call.make("clCreateBuffer", context, cl.CL_MEM_READ_WRITE, SIZE, None) for _ in range(2)]
got = ctypes.create_string_buffer(SIZE)
written = 0


def transfers(queue: int, buffer: int) -> None:
    """Writes and reads that C may carry out, where it may."""
    global written
    for _ in range(TIMES):
        written += 1
        data = bytes((written * 7 + place) % 251 for place in range(SIZE))
        call.check("clEnqueueWriteBuffer", queue, buffer, 1, 0, SIZE, data, 0, None, None)
    for _ in range(TIMES):
        ctypes.memset(got, 0, SIZE)
        call.check("clEnqueueReadBuffer", queue, buffer, 1, 0, SIZE, got, 0, None, None)
        print("read", got.raw == data)


for queue, buffer in zip(queues, buffers, strict=True):
    transfers(queue, buffer)
for _ in range(2):
    for buffer in buffers:
        for queue in queues:  # one of them is that of the other device
            transfers(queue, buffer)
        print("moved", *traffic())
    for buffer, queue in zip(buffers, reversed(queues), strict=True):
        call.check("clEnqueueMigrateMemObjects", queue, 1, handles(buffer), 0, 0, None, None)
        call.check("clFinish", queue)
    queues.reverse()
host.program("kernel void nothing() {}")  # from now on there is an engine, and C may make buffers
for queue in queues:
    transfers(queue, buffers[0])
for queue, other in (queues, reversed(queues)):
    made = call.make("clCreateBuffer", context, cl.CL_MEM_READ_WRITE, SIZE, None)
    transfers(queue, made)
    transfers(other, made)
    filled = call.make("clCreateBuffer", context, cl.CL_MEM_READ_WRITE | cl.CL_MEM_COPY_HOST_PTR, SIZE, bytes(SIZE))
    transfers(other, filled)
    print("moved", *traffic())
    for buffer in (made, filled):
        call.check("clReleaseMemObject", buffer)
