"""Launches a few kernels again and again, in every right and wrong way, and prints what each call gave and left."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Host, Loader, handles

SOURCE = """
kernel void add(global int *x, int a) { x[get_global_id(0)] += a; }
kernel __attribute__((reqd_work_group_size(4, 1, 1))) void fours(global int *x, int a) { x[get_global_id(0)] *= a; }
"""
host = Host(Loader())
call = host.cl.status
add, fours = host.kernel(SOURCE, "add"), host.kernel(SOURCE, "fours")
buffers = [host.buffer(64) for _ in range(3)]
other = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
foreign = host.cl.make("clCreateCommandQueueWithProperties", other, host.device, None)


def number(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def put(kernel: int, index: int, value: object, size: int) -> None:
    print("set", call("clSetKernelArg", kernel, index, size, value))


def launch(kernel: int, *sizes: int, local: int = 0, offset: int = 0, queue: int = 0, event: object = None) -> None:
    place = handles(offset) if offset else None
    group = handles(local) if local else None
    size = handles(*sizes) if sizes else None
    count = max(1, len(sizes))
    print(
        "launch", call("clEnqueueNDRangeKernel", queue or host.queue, kernel, count, place, size, group, 0, None, event)
    )


def show() -> None:
    print([host.ints(buffer, 8) for buffer in buffers])


def status_of(event: int) -> int:
    value = ctypes.c_int()
    call("clGetEventInfo", event, 0x11D3, 4, ctypes.byref(value), None)
    return value.value


def prepare() -> None:
    for of, buffer in enumerate(buffers):
        host.write(buffer, b"".join(number(of + 1) for _ in range(16)))
    for kernel in (add, fours):
        put(kernel, 0, handles(buffers[0]), 8)
        put(kernel, 1, number(2), 4)


prepare()
for _ in range(8):  # a row of them, with values and buffers that change
    launch(add, 8)
show()
for of in (1, 2, 0, 1, 2, 0):
    put(add, 0, handles(buffers[of]), 8)
    put(add, 1, number(of + 5), 4)
    launch(add, 4)
    launch(add, 4, offset=4)
    launch(fours, 8)
    put(fours, 0, handles(buffers[of]), 8)
show()
for _ in range(3):  # what is wrong is refused, in a row of right ones
    launch(add, 8)
    launch(add, 8, local=3)
    launch(fours, 8, local=8)
    launch(fours, 6)
    launch(add)
    launch(add, 8, queue=foreign)
    put(add, 7, number(1), 4)
    put(add, 1, number(3), 8)
    launch(fours, 8, local=4)
    print("task", call("clEnqueueTask", host.queue, add, 0, None, None))
    print("task", call("clEnqueueTask", host.queue, fours, 0, None, None))
show()
events = [ctypes.c_size_t() for _ in range(6)]
for event in events:  # events: kept, retained, released
    launch(add, 8, event=ctypes.byref(event))
    launch(add, 8)
print("retain", call("clRetainEvent", events[0].value))
print("release", [call("clReleaseEvent", event.value) for event in events[:4]])
print("wait", call("clWaitForEvents", 2, handles(events[4].value, events[5].value)))
print("ended", [status_of(events[index].value) for index in (0, 4, 5)])
print("gone", call("clReleaseEvent", events[1].value), call("clWaitForEvents", 1, handles(events[2].value)))
show()
for _ in range(4):  # the events of tasks say that they are tasks
    event = ctypes.c_size_t()
    kind = ctypes.c_uint()
    launch(add, 1, local=1)
    print("task", call("clEnqueueTask", host.queue, add, 0, None, ctypes.byref(event)))
    print("kind", call("clGetEventInfo", event.value, 0x11D1, 4, ctypes.byref(kind), None), hex(kind.value))
    print("release", call("clReleaseEvent", event.value))
for _ in range(4):
    launch(add, 8)
temporary = host.buffer(64)
host.write(temporary, bytes(64))
put(add, 0, handles(temporary), 8)
for _ in range(4):
    launch(add, 8)
print("released", call("clReleaseMemObject", temporary), call("clFinish", host.queue))
launch(add, 8)  # its argument is gone
put(add, 0, handles(buffers[0]), 8)
launch(add, 8)
put(add, 0, None, 8)
put(add, 0, handles(buffers[0]), 8)
for _ in range(4):
    launch(add, 8)
show()
queue = host.cl.make("clCreateCommandQueueWithProperties", host.context, host.device, None)
statuses, one = set(), handles(1)
put(fours, 0, handles(buffers[1]), 8)
put(fours, 1, number(1), 4)
event = ctypes.c_size_t()
turns = 1300
for turn in range(turns):  # more than a record holds, in one queue and beside it in another
    wanted = ctypes.byref(event) if turn % 512 == 500 else None
    statuses.add(call("clEnqueueNDRangeKernel", host.queue, add, 1, None, one, None, 0, None, wanted))
    waits = (1, handles(event.value)) if event.value else (0, None)
    statuses.add(call("clEnqueueNDRangeKernel", queue, fours, 1, None, handles(4), None, *waits, None))
    if event.value:
        statuses.add(call("clReleaseEvent", event.value))
        event = ctypes.c_size_t()
print("rows", 2 * turns, statuses, call("clFinish", queue))
show()
for _ in range(4):
    launch(add, 8, queue=queue)
print("queue", call("clFinish", queue), call("clReleaseCommandQueue", queue))
launch(fours, 8)
print("kernel", call("clReleaseKernel", add))
show()
