# SPDX-License-Identifier: Apache-2.0
"""What OpenCL costs a pyopencl host on the driver that its loader finds.

Prints a line per measurement, as bench.c does: its name and microseconds, the median of some groups.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
import pyopencl as cl
from hosts.chosen import chosen_device

SOURCE = """
kernel void nothing(void) {}
kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }
"""
GROUPS = 9


def measure(name: str, count: int, call: Callable[[], object]) -> None:
    for _ in range(count // 4 + 1):
        call()
    groups = []
    for _ in range(GROUPS):
        begin = perf_counter()
        for _ in range(count):
            call()
        groups.append((perf_counter() - begin) / count * 1e6)
    print(f"{name} {median(groups):.4f}")


def main() -> None:
    begin = perf_counter()
    device = chosen_device()
    print(f"py_first_query {(perf_counter() - begin) * 1e6:.1f}")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    nothing, add = cl.Kernel(program, "nothing"), cl.Kernel(program, "add")
    data = np.zeros(1024, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    cl.enqueue_copy(queue, buffer, data)
    one = np.int32(1)

    def round_trip() -> None:
        cl.enqueue_nd_range_kernel(queue, nothing, (1,), None)
        queue.finish()

    def set_and_run() -> None:
        add.set_arg(0, buffer)
        add.set_arg(1, one)
        cl.enqueue_nd_range_kernel(queue, add, (1024,), None)
        queue.finish()

    runs = 0

    def counted() -> None:
        nonlocal runs
        runs += 1
        set_and_run()

    measure("py_round_trip", 100, round_trip)
    measure("py_set_args_and_run", 100, counted)
    measure("py_write_4k", 200, lambda: cl.enqueue_copy(queue, buffer, data))
    cl.enqueue_copy(queue, buffer, np.full(1024, 5, np.int32))
    set_and_run()
    cl.enqueue_copy(queue, data, buffer)
    assert (data == 6).all(), data
    measure("py_read_4k", 200, lambda: cl.enqueue_copy(queue, data, buffer))
    assert runs > 0


if __name__ == "__main__":
    main()
