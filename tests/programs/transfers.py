"""Reads and writes buffers again and again, in every right and wrong way, and prints what each call gave and left."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from board_traffic import traffic
from opencl_api import Host, Loader, handles

import fpgart.faults

SIZE = 64
SOURCE = "kernel void add(global uchar *x, uchar a) { x[get_global_id(0)] += a; }"
host = Host(Loader())
call = host.cl.status
got = ctypes.create_string_buffer(SIZE)
other = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
foreign = host.cl.make("clCreateCommandQueueWithProperties", other, host.device, None)
written = 0


def data() -> bytes:
    """Bytes that were not written before."""
    global written
    written += 1
    return bytes((written * 7 + place) % 251 for place in range(SIZE))


def transfer(
    name: str,
    buffer: int,
    offset: int = 0,
    size: int = SIZE,
    *,
    queue: int = 0,
    blocking: int = 1,
    null: bool = False,
    waits: tuple[int, object] = (0, None),
    event: object = None,
) -> None:
    pointer = None if null else got if name == "Read" else data()
    ctypes.memset(got, 0, SIZE)
    where = queue or host.queue
    status = call(f"clEnqueue{name}Buffer", where, buffer, blocking, offset, size, pointer, *waits, event)
    if not blocking:
        host.finish(where)
    print("transfer", name, got.raw.hex() if name == "Read" else "", status)


def both(buffer: int, offset: int = 0, size: int = SIZE, times: int = 3, **more: object) -> None:
    """Writes and reads of one kind, the first of which needs a decision."""
    for _ in range(times):
        transfer("Write", buffer, offset, size, **more)  # type: ignore[arg-type]
    for _ in range(times):
        transfer("Read", buffer, offset, size, **more)  # type: ignore[arg-type]


def sub_buffer(buffer: int, origin: int, size: int) -> int:
    return host.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(origin, size))


def number(answer: str, queried: str, item: int) -> int:
    return int.from_bytes(host.cl.info(answer, item, getattr(cl, queried))[:4], "little")


first, second = host.buffer(SIZE), host.buffer(4096)
parts = [sub_buffer(second, 1024 * place, SIZE) for place in range(3)]
for buffer in (first, second, *parts):
    both(buffer)
for _ in range(3):  # in turn
    for buffer in (first, *parts):
        both(buffer, times=1)
both(first, 8, 16)
both(second, 4032)
print("moved", *traffic())
for offset, size in ((1, SIZE), (SIZE, 1), (0, SIZE + 1), (2**64 - 1, 2), (2, 2**64 - 1), (0, 0), (SIZE, 0)):
    both(first, offset, size)
both(first, null=True)
both(first, queue=foreign)
both(first, queue=first)
both(host.queue)
both(parts[0], 32)
both(first, waits=(1, None))
both(first, waits=(0, handles(0)))
both(first, waits=(1, handles(host.queue)))
theirs = host.cl.make("clCreateBuffer", other, cl.CL_MEM_READ_WRITE, SIZE, None)
both(theirs, queue=foreign)
both(first, queue=foreign)
event = handles(0)
for name in ("Write", "Read"):
    transfer(name, first, event=event)
    made = int(event[0])
    print(number("clGetEventInfo", "CL_EVENT_COMMAND_TYPE", made), cl.status_of(host, made))
    transfer(name, first, waits=(1, event))
    print(number("clGetMemObjectInfo", "CL_MEM_REFERENCE_COUNT", first))
both(first, blocking=0)
both(first, queue=host.out_of_order)
both(second)
print("moved", *traffic())

for flags in (cl.CL_MEM_HOST_READ_ONLY, cl.CL_MEM_HOST_WRITE_ONLY, cl.CL_MEM_HOST_NO_ACCESS, cl.CL_MEM_READ_ONLY):
    both(host.buffer(SIZE, flags))
own = ctypes.create_string_buffer(data(), SIZE)
for flags in (cl.CL_MEM_USE_HOST_PTR, cl.CL_MEM_COPY_HOST_PTR):
    both(host.buffer(SIZE, flags, own))
print("moved", *traffic())

kernel = host.kernel(SOURCE, "add", first, b"\3")
both(first)
for _ in range(4):  # behind launches, which C records
    for _ in range(5):
        host.launch(kernel, SIZE)
    transfer("Read", first)
    transfer("Write", first)
    transfer("Read", first)
    host.launch(kernel, SIZE)
    transfer("Write", first, 8, 8)
    host.finish()
    transfer("Read", first)
    both(first)
print("moved", *traffic())

for _ in range(2):  # to the host's memory and back
    host.cl.check("clEnqueueMigrateMemObjects", host.queue, 1, handles(first), 1, 0, None, None)
    both(first)
    host.cl.check("clEnqueueMigrateMemObjects", host.queue, 1, handles(first), 0, 0, None, None)
    both(first)
mapped = host.cl.make(
    "clEnqueueMapBuffer", host.queue, first, 1, cl.CL_MAP_READ | cl.CL_MAP_WRITE, 0, SIZE, 0, None, None
)
both(first)
ctypes.memset(mapped, 5, 8)
host.cl.check("clEnqueueUnmapMemObject", host.queue, first, ctypes.c_void_p(mapped), 0, None, None)
both(first, 4, 8)
transfer("Read", first)
print("moved", *traffic())

both(second)
with fpgart.faults.injecting("write:fail:nth=2;read:fail:nth=3") as faults:
    both(second)
    both(first)
    print([(fault.seen, fault.injected) for fault in faults])
both(second)

gone = host.buffer(SIZE)
both(gone)
host.cl.check("clRetainMemObject", gone)
host.cl.check("clReleaseMemObject", gone)
both(gone)
print("released", call("clReleaseMemObject", gone), call("clReleaseMemObject", gone))
both(gone)
queue = host.new_queue()
both(first, queue=queue)
print("released", call("clReleaseCommandQueue", queue), call("clReleaseCommandQueue", queue))
both(first, queue=queue)
both(first)
print("moved", *traffic())
