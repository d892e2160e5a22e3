# SPDX-License-Identifier: Apache-2.0
"""A host on pyopencl that `fpgart doctor` runs; it prints the libraries that it used in lines `word: text`."""

from __future__ import annotations

COUNT = 64


def main() -> None:
    """Triples an array on the first device; raises SystemExit with a message if that fails."""
    import numpy
    import pyopencl

    print(f"pyopencl: {pyopencl.VERSION_TEXT}")
    device = pyopencl.get_platforms()[0].get_devices()[0]
    print(f"device: {device.name}")
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    source = "__kernel void triple(__global int *a) { a[get_global_id(0)] *= 3; }"
    program = pyopencl.Program(context, source).build()
    numbers = numpy.arange(COUNT, dtype=numpy.int32)
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    buffer = pyopencl.Buffer(context, flags, hostbuf=numbers)
    program.triple(queue, (COUNT,), None, buffer)
    result = numpy.empty_like(numbers)
    pyopencl.enqueue_copy(queue, result, buffer)
    if (result != 3 * numbers).any():
        raise SystemExit("the kernel ran, but its results are wrong")
    print(f"ran: {COUNT} work-items")


if __name__ == "__main__":
    main()
