"""Releases a queue, then the last event of it, of which Python knows, on a thread without the interpreter's lock."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Host, Loader, event_slot, handles

host = Host(Loader())
call = host.cl.check
kernel, buffer = host.kernel("kernel void add(global int *x) { x[0]++; }", "add"), host.buffer(64)
call("clSetKernelArg", kernel, 0, 8, handles(buffer))
for _ in range(3):
    queue = host.cl.make("clCreateCommandQueueWithProperties", host.context, host.device, None)
    launches = [event_slot() for _ in range(3)]
    for event in launches:
        call("clEnqueueNDRangeKernel", queue, kernel, 1, None, handles(1), None, 0, None, event)
    after = event_slot()
    # Python runs it, and has a view of what it waits for.
    call("clEnqueueMigrateMemObjects", queue, 1, handles(buffer), 0, 1, launches[-1], after)
    call("clFinish", queue)
    call("clReleaseCommandQueue", queue)
    for each in (after[0], *(event[0] for event in launches)):
        call("clReleaseEvent", each)
    call("clFinish", host.queue)
    host.buffer(64)
print("ended")
