"""A command that C has is seen by Python only after the trace has begun: who waits for it, and who is called back."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pyopencl as cl

from fpgart.control import requests as control

context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void add(global int *x, int n) { x[0] += n; }").build()
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
cl.enqueue_copy(queue, buffer, np.zeros(1, np.int32))
kernel = cl.Kernel(program, "add")
for _ in range(4):
    kernel(queue, (1,), None, buffer, np.int32(1))
queue.finish()
gate = cl.UserEvent(context)
event = kernel(queue, (1,), None, buffer, np.int32(1), wait_for=[gate])
assert event.command_execution_status > 0
control.ask("begin_trace", sys.argv[1])
called = threading.Event()
event.set_callback(cl.command_execution_status.COMPLETE, lambda status: called.set())
statuses = []
waits = threading.Thread(target=lambda: (event.wait(), statuses.append(event.command_execution_status)))
waits.start()
gate.set_status(cl.command_execution_status.COMPLETE)
was_called = called.wait()
waits.join()
control.ask("end_trace")
found = np.zeros(1, np.int32)
cl.enqueue_copy(queue, found, buffer)
print(was_called, statuses, found[0])
