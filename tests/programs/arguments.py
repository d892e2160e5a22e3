"""Sets kernel arguments in every way, rightly and wrongly, and prints what each call and each launch gave."""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Host, Loader, handles

SOURCE = """
kernel void put(global int *x, int a, char b, float4 c, local int *l, constant int *k)
{ x[0] = a; x[1] = b; x[2] = (int)c.w; x[3] = k ? k[0] : -1; }
"""
host = Host(Loader())
call = host.cl.status
kernel = host.kernel(SOURCE, "put")
buffers = [host.buffer(64) for _ in range(6)]
other = host.cl.make("clCreateContext", None, 1, handles(host.device), None, None)
foreign = host.cl.make("clCreateBuffer", other, 1, 64, None)


def put(index: int, value: object, size: int, on: int = 0) -> None:
    print("set", index, size, call("clSetKernelArg", on or kernel, index, size, value))


def number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "little", signed=True)


def launched(on: int = 0) -> None:
    """Prints the status of a launch, and its results."""
    print("launch", call("clEnqueueNDRangeKernel", host.queue, on or kernel, 1, None, handles(1), None, 0, None, None))
    print([host.ints(buffer, 4) for buffer in buffers])


def all_but_the_last(of: int, on: int = 0) -> None:
    put(0, handles(buffers[of]), 8, on)
    put(1, number(10 + of), 4, on)
    put(2, number(-of, 1), 1, on)
    put(3, ctypes.create_string_buffer(12).raw + number(0x41000000 + (of << 20)), 16, on)
    put(4, None, 64, on)


def all_of_them(of: int) -> None:
    all_but_the_last(of)
    put(5, handles(buffers[-1]), 8)


for buffer in buffers:
    host.write(buffer, bytes(64))
put(1, number(3), 4)
launched()  # arguments are missing
for of in (0, 1, 0, 1, 2, 3, 4, 0):  # more buffers than are remembered for an argument
    all_of_them(of)
    launched()

for value in range(5):  # the last one counts, and what is enqueued has what it was enqueued with
    put(1, number(value), 4)
launched()
put(1, number(100), 4)
print(call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(1), None, 0, None, None))
put(1, number(101), 4)
print(host.ints(buffers[0], 1))
launched()

put(1, number(7, 8), 8)  # wrong sizes, kinds and places; what was right before stays
put(1, number(7, 2), 2)
put(1, None, 4)
put(0, number(7), 4)
put(0, handles(host.queue), 8)
put(0, handles(foreign), 8)
put(0, handles(0xDEAD), 8)
put(4, number(7), 4)
put(6, number(7), 4)
put(0xFFFFFFFF, number(7), 4)
put(1, number(7), 4, on=host.queue)
launched()

put(5, None, 8)  # no buffer
launched()
put(5, handles(0), 8)
launched()
put(5, handles(buffers[2]), 8)
launched()

second = host.kernel(SOURCE.replace("put", "second"), "second")  # C gets the NULL before Python gets the others
put(5, handles(buffers[2]), 8, second)
put(5, None, 8, second)
all_but_the_last(1, second)
launched(second)

put(1, number(55), 4)
copy = host.cl.make("clCloneKernel", kernel)
put(1, number(56), 4)
launched(copy)
launched()
put(1, number(57), 4, on=copy)
launched(copy)
launched()

dying = host.buffer(64)
put(0, handles(dying), 8)
put(0, handles(buffers[0]), 8)
put(0, handles(dying), 8)
host.cl.check("clReleaseMemObject", dying)
print("gone", call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(1), None, 0, None, None))
put(0, handles(dying), 8)
again = 0
for _ in range(10_000):
    again = host.buffer(128)
    if again == dying:
        break
    host.cl.check("clReleaseMemObject", again)
print("used again", again == dying)
print("still gone", call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(1), None, 0, None, None))
put(0, handles(again), 8)
put(1, number(77), 4)
launched()
print(host.ints(again, 4))

many = host.kernel(
    "typedef struct { int all[100]; } large; kernel void many(global int *x, large y, "
    + ", ".join(f"int a{i}" for i in range(70))
    + ") { x[0] = y.all[0]; x[1] = y.all[99]; x[2] = a0; x[3] = a69; }",
    "many",
)
for of in range(3):
    put(0, handles(buffers[of]), 8, many)
    put(1, b"".join(number(of + i) for i in range(100)), 400, many)
    for i in range(70):
        put(2 + i, number(10 * of + i), 4, many)
    launched(many)
end = mmap.mmap(-1, 2 * mmap.PAGESIZE)
address = ctypes.addressof(ctypes.c_char.from_buffer(end)) + mmap.PAGESIZE
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0
put(1, address - 200, 400, many)  # the host's memory ends within it
launched(many)
put(71, number(1000), 4, many)
copy = host.cl.make("clCloneKernel", many)
put(71, number(2000), 4, many)
launched(copy)
launched(many)
