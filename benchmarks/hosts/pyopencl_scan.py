# SPDX-License-Identifier: Apache-2.0
"""A prefix sum of 100,000 numbers with pyopencl's scan."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array
from chosen import chosen_device
from pyopencl.scan import InclusiveScanKernel
from timing import report

context = cl.Context([chosen_device()])
queue = cl.CommandQueue(context)
scan = InclusiveScanKernel(context, np.int32, "a + b", neutral="0")
numbers = np.arange(100_000, dtype=np.int32) % 7
given = pyopencl.array.to_device(queue, numbers)
sums = pyopencl.array.empty_like(given)


def step() -> None:
    scan(given, sums, queue=queue)
    queue.finish()


step()
if not np.array_equal(sums.get(), np.cumsum(numbers, dtype=np.int32)):
    raise SystemExit("wrong sums")
report(step, 100)
