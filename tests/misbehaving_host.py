"""The host of tests/programs/misbehaving.c, in Python with pyopencl: misbehaving_host.py SOURCE"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyopencl as cl

COUNT = 1024
GOOD = "kernel void good(global int *data) { data[get_global_id(0)] += 1; }"


def run(queue: cl.CommandQueue, kernel: cl.Kernel, items: int) -> int:
    """The status that a launch ended with."""
    event = cl.enqueue_nd_range_kernel(queue, kernel, (items,), None)
    with suppress(cl.Error):
        queue.finish()
    return int(event.get_info(cl.event_info.COMMAND_EXECUTION_STATUS))


def is_right(queue: cl.CommandQueue, buffer: cl.Buffer, increments: int) -> int:
    found = np.empty(COUNT, np.int32)
    cl.enqueue_copy(queue, found, buffer)
    return int((found == np.arange(COUNT) + increments).all())


def main() -> None:
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    initial = np.arange(COUNT, dtype=np.int32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer, other = (cl.Buffer(context, flags, hostbuf=initial) for _ in range(2))
    good = cl.Program(context, GOOD).build().good
    good.set_args(buffer)
    print("first", run(queue, good, COUNT), is_right(queue, buffer, 1))
    try:
        bad = cl.Program(context, Path(sys.argv[1]).read_text()).build(cache_dir=False).bad
        bad.set_args(other, np.uint64(id(initial)))
        status = run(queue, bad, 1)
    except cl.Error as error:
        status = error.code
    print("\nstatus", status)
    right = is_right(queue, buffer, 1)
    after = run(queue, good, COUNT)
    print("next", after, int(right and is_right(queue, buffer, 2)))
    print("alive", flush=True)


if __name__ == "__main__":
    main()
