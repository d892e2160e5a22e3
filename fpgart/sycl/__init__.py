# SPDX-License-Identifier: Apache-2.0
"""SYCL-style memory objects with linked allocations, on pyopencl and any OpenCL device.

    queue = sycl.Queue(device)
    scale = sycl.Kernel("kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }", "scale")
    with sycl.Buffer(array) as buffer:
        queue.submit(lambda h: h.parallel_for(array.size, scale, h.access(buffer)))
    queue.graph.show()

The graph shows which allocations, copies and mappings the accesses needed. This package does not depend on
fpgart's driver.
"""

from fpgart.sycl.graph import Graph, compare
from fpgart.sycl.memory import Buffer, Image, SubBuffer
from fpgart.sycl.modes import Mode, SyclError
from fpgart.sycl.queue import Accessor, Event, Handler, Kernel, Queue

__all__ = [
    "Accessor",
    "Buffer",
    "Event",
    "Graph",
    "Handler",
    "Image",
    "Kernel",
    "Mode",
    "Queue",
    "SubBuffer",
    "SyclError",
    "compare",
]
