# SPDX-License-Identifier: Apache-2.0
"""A host that `fpgart doctor` runs: directly on the driver with ctypes, no loader, no numpy."""

from __future__ import annotations

import ctypes
import sys

SOURCE = b"__kernel void triple(__global int *a) { a[get_global_id(0)] *= 3; }"
COUNT = 64
DEVICE_TYPE_ALL = 0xFFFFFFFF


def main(library: str) -> None:
    """Triples an array on the first device; raises SystemExit with a message if that fails."""
    cl = ctypes.CDLL(library)
    for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel"):
        getattr(cl, name).restype = ctypes.c_void_p
    cl.clCreateBuffer.restype = ctypes.c_void_p

    def check(status: int, call: str) -> None:
        if status:
            raise SystemExit(f"{call} returned {status}")

    platform, device, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    check(cl.clGetPlatformIDs(1, ctypes.byref(platform), None), "clGetPlatformIDs")
    all_types = ctypes.c_uint64(DEVICE_TYPE_ALL)
    check(cl.clGetDeviceIDs(platform, all_types, 1, ctypes.byref(device), None), "clGetDeviceIDs")
    made = ctypes.byref(status)
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, made))
    check(status.value, "clCreateContext")
    queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), made))
    check(status.value, "clCreateCommandQueue")
    source = ctypes.c_char_p(SOURCE)
    program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(source), None, made))
    check(cl.clBuildProgram(program, 0, None, None, None, None), "clBuildProgram")
    kernel = ctypes.c_void_p(cl.clCreateKernel(program, b"triple", made))
    check(status.value, "clCreateKernel")
    data = (ctypes.c_int * COUNT)(*range(COUNT))
    size = ctypes.c_size_t(ctypes.sizeof(data))
    copy_host_ptr = ctypes.c_uint64(1 << 5)
    buffer = ctypes.c_void_p(cl.clCreateBuffer(context, copy_host_ptr, size, data, made))
    check(status.value, "clCreateBuffer")
    check(cl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(buffer)), "clSetKernelArg")
    items = ctypes.c_size_t(COUNT)
    launched = cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(items), None, 0, None, None)
    check(launched, "clEnqueueNDRangeKernel")
    check(
        cl.clEnqueueReadBuffer(queue, buffer, 1, ctypes.c_size_t(0), size, data, 0, None, None), "clEnqueueReadBuffer"
    )
    if list(data) != [3 * i for i in range(COUNT)]:
        raise SystemExit("the kernel ran, but its results are wrong")
    for name, thing in (("MemObject", buffer), ("Kernel", kernel), ("Program", program), ("CommandQueue", queue)):
        check(getattr(cl, f"clRelease{name}")(thing), f"clRelease{name}")
    check(cl.clReleaseContext(context), "clReleaseContext")
    print(f"ran: {COUNT} work-items")


if __name__ == "__main__":
    main(sys.argv[1])
