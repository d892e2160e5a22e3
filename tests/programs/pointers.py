"""Sets pointers as kernel arguments in every way, rightly and wrongly, and prints what each call and launch gave."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Failed, Host, Loader, Usm, handles

SOURCE = """
kernel void put(global int4 *x, int a, global char *y, local int *l, constant int *k)
{ x[0].x = a; y[0] = (char)a; x[0].y = k ? k[0] : -1; }
kernel void place(__attribute__((buffer_location("HOST"))) global int *x) { x[0] = 5; }
"""
SIZE = 256
host = Host(Loader())
usm = Usm(host)
call = host.cl.status
kernel = host.kernel(SOURCE, "put")
other = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)


def allocate(context: int = 0) -> int:
    return usm.make("clHostMemAllocINTEL", context or host.context, None, SIZE, 0)


names: dict[int, str] = {}


def known(name: str) -> int:
    pointer = allocate()
    names[pointer] = name
    return pointer


def put(how: str, index: int, pointer: int, on: int = 0) -> None:
    """`how` one of usm, svm and plain, which is clSetKernelArg with the address of the pointer."""
    if how == "svm":
        status = call("clSetKernelArgSVMPointer", on or kernel, index, pointer)
    elif how == "plain":
        status = call("clSetKernelArg", on or kernel, index, 8, handles(pointer))
    else:
        try:
            usm.check("clSetKernelArgMemPointerINTEL", on or kernel, index, pointer)
            status = 0
        except Failed as failed:
            status = failed.status
    print("set", how, index, status)


def launched(on: int = 0) -> None:
    status = call("clEnqueueNDRangeKernel", host.queue, on or kernel, 1, None, handles(1), None, 0, None, None)
    host.finish()
    print("launch", status, [(name, ctypes.string_at(pointer, 8).hex()) for pointer, name in names.items()])


one, two = known("one"), known("two")
foreign = allocate(other)
for pointer in (one, two):
    ctypes.memset(pointer, 0, SIZE)
call("clSetKernelArg", kernel, 3, 16, None)
call("clSetKernelArg", kernel, 4, 8, None)
launched()  # arguments are missing
for how in ("usm", "svm", "plain"):
    for number, (x, y) in enumerate([(one, two), (two, one), (one + 32, two + 3), (one, two)]):
        call("clSetKernelArg", kernel, 1, 4, ctypes.byref(ctypes.c_int(number)))
        put(how, 0, x)
        put(how, 2, y)
        launched()
for how in ("usm", "svm", "plain"):  # wrong ones, and what was right before stays
    put(how, 0, one)
    put(how, 0, one + 4)  # not aligned
    put(how, 0, one + SIZE)  # behind its end, where another may begin
    put(how, 0, one - 1)
    put(how, 0, 0x10)
    put(how, 1, one)  # a value
    put(how, 3, one)  # local memory
    put(how, 5, one)
    put(how, 0xFFFFFFFF, one)
    put(how, 0, one, on=host.queue)
    put(how, 0, one)
    put(how, 2, foreign)
    put(how, 2, two)
    launched()
    put(how, 4, two)
    launched()
    put(how, 4, 0)
    launched()

buffer = host.buffer(64)
host.write(buffer, bytes(64))
for _ in range(3):  # by turns
    put("plain", 2, buffer)
    launched()
    print(host.ints(buffer, 1))
    put("usm", 2, two)
    launched()

put("usm", 0, one)
copy = host.cl.make("clCloneKernel", kernel)
put("usm", 0, two)
launched(copy)
launched()

located = host.kernel(SOURCE, "place")
for pointer in (one, two, one, foreign):
    put("usm", 0, pointer, on=located)

dying = allocate()
for how in ("usm", "plain"):
    put(how, 0, dying)
    put(how, 0, dying + 16)
usm.check("clMemFreeINTEL", other, foreign)
put("usm", 0, dying)
usm.check("clMemBlockingFreeINTEL", host.context, dying)
for how in ("usm", "plain"):
    put(how, 0, dying)
    put(how, 0, dying + 16)
again = allocate()
put("usm", 0, again)
usm.check("clMemFreeINTEL", host.context, again)
put("usm", 0, again)
put("usm", 0, one)
launched()
host.cl.check("clReleaseContext", other)
