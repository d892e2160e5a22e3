"""Launches ND-ranges and tasks in the queues of a 66AK2x, on buffers in fixed and mapped heaps, and prints what they
left, what was moved, what the heaps have, and whether ND-ranges ran beside others.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from opencl_api import Host, Loader, event_slot, handles

from fpgart.watch import asking

ITEMS, MAPPED = 8, 32 << 20
host = Host(Loader())
add = host.kernel("kernel void add(global int *x, int a) { x[get_global_id(0)] += a; }", "add")
times = host.kernel("kernel void times(global int *x, int a) { x[get_global_id(0)] *= a; }", "times")
slow = host.kernel(
    "kernel void slow(global int *x, int a) { for (int i = 0; i < 400000; i++) x[0] = x[0] * 3 + i; }", "slow"
)
small, large = host.buffer(64), host.buffer(MAPPED)
queues = [host.new_queue(properties) for properties in (2, 2, 3)]  # the last one is out of order


def put(kernel: int, buffer: int, value: int) -> None:
    host.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
    host.cl.check("clSetKernelArg", kernel, 1, 4, value.to_bytes(4, "little"))


def time_of(event: int, of: str) -> int:
    return host.cl.number("clGetEventProfilingInfo", event, getattr(cl, f"CL_PROFILING_COMMAND_{of}"))


host.write(small, b"\1\0\0\0" * ITEMS)
host.write(large, b"\2\0\0\0" * ITEMS)
for turn in range(12):
    for kernel, value in ((add, turn), (times, 3), (add, 1)):
        for buffer in (small, large):
            put(kernel, buffer, value)
            host.launch(kernel, ITEMS if turn % 3 else 1)
    print(host.ints(small, ITEMS), host.ints(large, ITEMS))
facts = asking.ask(os.getpid())
assert facts is not None, "the driver tells nothing"
print("moved", facts["devices"][0]["traffic"])

for number in range(30):  # the last ones find less than 64 MiB in the fixed heap
    put(add, host.buffer(16 << 20 if number % 2 else 1 << 20), 1)
    host.launch(add, ITEMS)
    put(add, host.buffer(16 << 20), 1)
    host.launch(add, ITEMS)
host.finish(host.queue)
facts = asking.ask(os.getpid())
assert facts is not None, "the driver tells nothing"
print("heaps", facts["devices"][0]["memories"])

put(slow, small, 0)
for queue in queues:
    host.launch(slow, ITEMS, queue=queue)
    host.finish(queue)
events = []
for turn in range(18):
    events.append(event_slot())
    host.launch(slow, ITEMS, queue=queues[turn % 3], event=events[-1])
for queue in queues:
    host.finish(queue)
spans = sorted((time_of(event[0], "START"), time_of(event[0], "END")) for event in events)
slack = min(end - start for start, end in spans) // 2  # the clocks of the driver and of its engine may differ a little
print("one at a time", all(before[1] <= behind[0] + slack for before, behind in pairwise(spans)))
