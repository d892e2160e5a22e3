# SPDX-License-Identifier: Apache-2.0
"""A host in any Python, by ctypes alone: host.py LIBRARY. Exit status: that of host.c."""

import ctypes
import gc
import os
import sys

COUNT = 4096
LIBRARY = ctypes.CDLL(sys.argv[1])
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t


def must(status, name):
    if status:
        sys.stderr.write(name + ": " + str(status) + "\n")
        sys.exit(3)


def run(name, *given):
    must(getattr(LIBRARY, name)(*given), name)


def make(name, *given):
    status = ctypes.c_int()
    function = getattr(LIBRARY, name)
    function.restype = POINTER
    made = POINTER(function(*given, ctypes.byref(status)))
    must(status.value, name)
    return made


def main():
    platform, device = POINTER(), POINTER()
    run("clGetPlatformIDs", 1, ctypes.byref(platform), None)
    run("clGetDeviceIDs", platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None)
    context = make("clCreateContext", None, 1, ctypes.byref(device), None, None)
    queue = make("clCreateCommandQueueWithProperties", context, device, None)
    text = ctypes.c_char_p(b"kernel void add(global int *a) { a[get_global_id(0)] += %d; }" % os.getpid())
    program = make("clCreateProgramWithSource", context, 1, ctypes.byref(text), None)
    run("clBuildProgram", program, 1, ctypes.byref(device), b"", None, None)
    kernel = make("clCreateKernel", program, b"add")
    numbers = (ctypes.c_int * COUNT)(*range(COUNT))
    size = SIZE(ctypes.sizeof(numbers))
    buffer = make("clCreateBuffer", context, ctypes.c_uint64(1), size, None)
    run("clSetKernelArg", kernel, 0, SIZE(8), ctypes.byref(buffer))
    run("clEnqueueWriteBuffer", queue, buffer, 1, SIZE(0), size, numbers, 0, None, None)
    total = SIZE(COUNT)
    run("clEnqueueNDRangeKernel", queue, kernel, 1, None, ctypes.byref(total), None, 0, None, None)
    gc.collect()
    run("clEnqueueReadBuffer", queue, buffer, 1, SIZE(0), size, numbers, 0, None, None)
    if list(numbers) != [number + os.getpid() for number in range(COUNT)]:
        sys.exit(1)


main()
