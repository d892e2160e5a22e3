# SPDX-License-Identifier: Apache-2.0
"""100,000 numbers, sorted with pyopencl's radix sort."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array
from chosen import chosen_device
from pyopencl.algorithm import RadixSort
from timing import report

context = cl.Context([chosen_device()])
queue = cl.CommandQueue(context)
sort = RadixSort(context, "int *numbers", key_expr="numbers[i]", sort_arg_names=["numbers"])
numbers = np.random.default_rng(1).integers(0, 1 << 16, 100_000, dtype=np.int32)
given = pyopencl.array.to_device(queue, numbers)


def step() -> object:
    (result,), _ = sort(given, key_bits=16, queue=queue)
    queue.finish()
    return result


result = step()
if not np.array_equal(result.get(), np.sort(numbers)):
    raise SystemExit("wrong order")
report(step, 20)
