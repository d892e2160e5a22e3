# SPDX-License-Identifier: Apache-2.0
"""Random commands of all kinds, in queues of all kinds, behind each other and behind user events; says what came of it.

Each command has those in its wait list that touch the same buffers, so that the order of queues changes nothing.
"""

from __future__ import annotations

import os
import random
import sys
import threading

import numpy
import pyopencl as cl

COUNT, ROW, SIDE = 64 * 64, 64, 16
STEPS = 400
SOURCE = "kernel void {name}(global int *a, global const int *b, int n) {{ size_t i = get_global_id(0); a[i] {does}; }}"

context = cl.create_some_context(interactive=False)
IN_ORDER, OUT_OF_ORDER = 0, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
queues = [cl.CommandQueue(context, properties=each) for each in (IN_ORDER, IN_ORDER, OUT_OF_ORDER)]
kernels = []
for name, does in (("add", "+= b[i] + n"), ("blend", "= a[i] * 3 + (b[i] ^ n)")):
    kernels.append(cl.Kernel(cl.Program(context, SOURCE.format(name=name, does=does)).build(), name))
buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * COUNT) for _ in range(3)]
contents = [numpy.arange(COUNT, dtype=numpy.int32) * (each + 1) for each in range(3)]
for buffer, content in zip(buffers, contents, strict=True):
    cl.enqueue_copy(queues[0], buffer, content)

chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
last: list[list[cl.Event]] = [[], [], []]
events: list[cl.Event] = []
called: list[int] = []
calls = threading.Condition()
wanted = 0


def launch(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    kernel = chance.choice(kernels)
    kernel.set_args(buffers[one], buffers[two], numpy.int32(chance.randrange(100)))
    return cl.enqueue_nd_range_kernel(queue, kernel, (COUNT,), None, wait_for=waits)


def rectangle(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    origin = (4 * chance.randrange(ROW - SIDE), chance.randrange(ROW - SIDE))
    return cl.enqueue_copy(
        queue,
        buffers[one],
        buffers[two],
        src_origin=origin,
        dst_origin=(0, 0),
        region=(4 * SIDE, SIDE),
        src_pitches=(4 * ROW,),
        dst_pitches=(4 * ROW,),
        wait_for=waits,
    )


def copy(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    return cl.enqueue_copy(queue, buffers[one], buffers[two], byte_count=4 * ROW, wait_for=waits)


def fill(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    return cl.enqueue_fill_buffer(queue, buffers[one], numpy.int32(chance.randrange(9)), 0, 4 * ROW, wait_for=waits)


def write(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    data = numpy.full(ROW, chance.randrange(1000), numpy.int32)
    return cl.enqueue_copy(queue, buffers[one], data, wait_for=waits, is_blocking=False)


def box(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    data = numpy.full((SIDE, SIDE), chance.randrange(1000), numpy.int32)
    origin = (4 * chance.randrange(ROW - SIDE), chance.randrange(ROW - SIDE))
    places = {"buffer_origin": origin, "host_origin": (0, 0), "region": (4 * SIDE, SIDE), "buffer_pitches": (4 * ROW,)}
    return cl.enqueue_copy(queue, buffers[one], data, wait_for=waits, is_blocking=False, **places)


def bring(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    """To the device, where it mostly is."""
    return cl.enqueue_migrate_mem_objects(queue, [buffers[one]], 0, wait_for=waits)


def migrate(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    """To the host, and back in another order, so that each is where the other one was."""
    host = cl.mem_migration_flags.HOST
    gone = cl.enqueue_migrate_mem_objects(queue, [buffers[one], buffers[two]], host, wait_for=waits)
    back = cl.enqueue_migrate_mem_objects(queue, [buffers[max(one, two)]], 0, wait_for=[gone])
    return cl.enqueue_migrate_mem_objects(queue, [buffers[min(one, two)]], 0, wait_for=[back])


def marker(queue: cl.CommandQueue, one: int, two: int, waits: list[cl.Event]) -> cl.Event:
    return chance.choice((cl.enqueue_marker, cl.enqueue_barrier))(queue, wait_for=waits or None)


def called_back(status: int) -> None:
    with calls:
        called.append(status)
        calls.notify()


def end(gate: cl.UserEvent | None, status: int) -> None:
    if gate is not None:
        gate.set_status(status)


def finish() -> None:
    for queue in queues:
        queue.finish()


KINDS = [launch] * 10 + [copy] * 2 + [fill] * 2 + [write] * 2 + [marker] * 2 + [rectangle, box] * 2 + [migrate, bring]
gate: cl.UserEvent | None = None
for _step in range(STEPS):
    one, two = chance.sample(range(3), 2)
    waits = [*last[one], *last[two]]
    if gate is None and chance.randrange(12) == 0:
        gate = cl.UserEvent(context)
        waits.append(gate)
    queue = chance.choice(queues)
    event = chance.choice(KINDS)(queue, one, two, waits)
    queue.flush()
    last[one] = last[two] = [event]
    events.append(event)
    if chance.randrange(10) == 0:
        wanted += 1
        event.set_callback(cl.command_execution_status.COMPLETE, called_back)
    if gate is not None and chance.randrange(8) == 0:
        fails = chance.randrange(4) == 0
        end(gate, -7 if fails else 0)
        gate = None
        if fails or chance.randrange(3) == 0:
            finish()
            last = [[], [], []]
    elif gate is None and chance.randrange(20) == 0:
        event.wait()
end(gate, 0)
finish()
with calls:
    calls.wait_for(lambda: len(called) == wanted)
print("statuses", *(event.command_execution_status for event in events))
print("called", sorted(called))
for buffer, content in zip(buffers, contents, strict=True):
    cl.enqueue_copy(queues[0], content, buffer)
    print(content[:8], int(content.astype(numpy.int64).sum()))
sys.stdout.flush()
os._exit(0)  # threads in which pyopencl has called back may be in the interpreter still, which cannot end beside them
