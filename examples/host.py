# SPDX-License-Identifier: Apache-2.0
"""An ordinary pyopencl host: matrix multiply and a 1D stencil, checked against numpy."""

from __future__ import annotations

import sys

import numpy as np
import pyopencl as cl

N, LENGTH, GROUP, RADIUS = 256, 1 << 16, 64, 4

SOURCE = """
__kernel void multiply(__global const float *a, __global const float *b, __global float *c, int n)
{
    int row = get_global_id(1), column = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
__kernel void stencil(__global const float *in, __global float *out, __local float *tile, int r)
{
    int i = get_global_id(0), l = get_local_id(0), g = get_local_size(0), n = get_global_size(0);
    tile[l + r] = in[i];
    if (l < r) {
        tile[l] = i >= r ? in[i - r] : 0;
        tile[l + g + r] = i + g < n ? in[i + g] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int k = -r; k <= r; k++) sum += tile[l + r + k];
    out[i] = sum / (2 * r + 1);
}
"""


def main() -> int:
    """Exit status 0 when both results are right."""
    device = cl.get_platforms()[0].get_devices()[0]
    print(f"device: {device.name}")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    random = np.random.default_rng(1)
    flags = cl.mem_flags

    a, b = (random.random((N, N), dtype=np.float32) for _ in range(2))
    c = np.empty_like(a)
    in_a, in_b = (cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=matrix) for matrix in (a, b))
    out_c = cl.Buffer(context, flags.WRITE_ONLY, c.nbytes)
    program.multiply(queue, (N, N), (16, 16), in_a, in_b, out_c, np.int32(N))
    cl.enqueue_copy(queue, c, out_c)
    multiplied = np.allclose(c, a @ b, rtol=1e-4)
    print(f"multiply {N} x {N}: {'right' if multiplied else 'WRONG'}")

    line = random.random(LENGTH, dtype=np.float32)
    smooth = np.empty_like(line)
    source = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=line)
    target = cl.Buffer(context, flags.WRITE_ONLY, smooth.nbytes)
    tile = cl.LocalMemory(4 * (GROUP + 2 * RADIUS))
    program.stencil(queue, (LENGTH,), (GROUP,), source, target, tile, np.int32(RADIUS))
    cl.enqueue_copy(queue, smooth, target)
    width = 2 * RADIUS + 1
    smoothed = np.allclose(smooth, np.convolve(line, np.ones(width) / width, mode="same"), rtol=1e-4)
    print(f"stencil of {LENGTH} points: {'right' if smoothed else 'WRONG'}")
    return 0 if multiplied and smoothed else 1


if __name__ == "__main__":
    sys.exit(main())
