"""Waits for the last command of a queue, releases it, and prints how much memory the process needs more in the end."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from opencl_api import Host, Loader, handles

COMMANDS = 20
host = Host(Loader())
kernel = host.kernel("kernel void f(global int *x) { x[0]++; }", "f", host.buffer(64))
properties = {"in order": 0, "out of order": cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}[sys.argv[1]]


def pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def run_jobs(count: int) -> None:
    for _ in range(count):
        queue, last = host.new_queue(properties), 0
        for _ in range(COMMANDS):
            event = handles(0)
            host.launch(kernel, 1, queue=queue, wait=(last,) if last else (), event=event)
            if last:
                host.cl.check("clReleaseEvent", last)
            last = int(event[0])
        host.cl.check("clWaitForEvents", 1, handles(last))
        host.cl.check("clReleaseEvent", last)
        host.cl.check("clReleaseCommandQueue", queue)


run_jobs(200)
before = pages()
run_jobs(400)
print((pages() - before) * 4)
