"""Launches kernels on unified shared memory again and again, and prints what each call gave and left."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import Failed, Host, Loader, Usm, handles

SOURCE = """
kernel void add(global int *x, int a) { x[get_global_id(0)] += a; }
kernel void both(global int *x, global int *y, int a) { x[0] += a; y[0] += x[0]; }
kernel void follow(global ulong *x, int a) { ((global int *)x[0])[0] += a; }
"""
EXEC_INFO_INDIRECT_HOST = 0x4200
SIZE = 4096
host = Host(Loader())
usm = Usm(host)
call = host.cl.status
add, both, follow = (host.kernel(SOURCE, name) for name in ("add", "both", "follow"))
buffer = host.buffer(64)
host.write(buffer, bytes(64))
pointers = {
    "host": usm.make("clHostMemAllocINTEL", host.context, None, SIZE, 0),
    "shared": usm.make("clSharedMemAllocINTEL", host.context, host.device, None, SIZE, 0),
    "device": usm.make("clDeviceMemAllocINTEL", host.context, host.device, None, SIZE, 0),
}


def number(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def put(kernel: int, index: int, pointer: int) -> None:
    try:
        usm.check("clSetKernelArgMemPointerINTEL", kernel, index, pointer)
        status = 0
    except Failed as failed:
        status = failed.status
    print("set", status)


def launch(kernel: int, size: int = 1, event: object = None) -> None:
    sizes = handles(size)
    print("launch", call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, sizes, None, 0, None, event))


def ints(name: str) -> list[int]:
    data = ctypes.create_string_buffer(16)
    usm.check("clEnqueueMemcpyINTEL", host.queue, 1, ctypes.addressof(data), pointers[name], 16, 0, None, None)
    return list(memoryview(data.raw).cast("i"))


def show() -> None:
    host.finish()
    print({name: ints(name) for name in pointers}, host.ints(buffer, 4))


for pointer in pointers.values():
    usm.check("clEnqueueMemFillINTEL", host.queue, pointer, number(0), 4, SIZE, 0, None, None)
call("clSetKernelArg", add, 1, 4, number(1))
call("clSetKernelArg", both, 2, 4, number(10))
for pointer in pointers.values():  # the same one in a row
    put(add, 0, pointer)
    for _ in range(6):
        launch(add, 4)
show()
for turn in range(9):  # pointers in turn, into the middle too, and buffers between them
    names = list(pointers)
    put(add, 0, pointers[names[turn % 3]] + 4 * (turn % 2))
    call("clSetKernelArg", add, 1, 4, number(turn))
    launch(add, 2)
    put(both, 0, pointers[names[turn % 3]])
    put(both, 1, pointers[names[(turn + 1) % 3]])
    launch(both)
    if turn % 3 == 2:
        print("buffer", call("clSetKernelArg", add, 0, 8, handles(buffer)))
        launch(add, 2)
show()
events = [ctypes.c_size_t() for _ in range(8)]
for event in events:  # what is freed in between, and at its place again perhaps
    launch(add, event=ctypes.byref(event))
print("wait", call("clWaitForEvents", 8, handles(*(event.value for event in events))))
for _ in range(4):
    dying = usm.make("clHostMemAllocINTEL", host.context, None, SIZE, 0)
    ctypes.memset(dying, 0, 4)
    put(add, 0, dying)
    for _ in range(5):
        launch(add)
    usm.check("clEnqueueMemcpyINTEL", host.queue, 0, pointers["host"] + 8, dying, 4, 0, None, None)
    usm.check("clMemBlockingFreeINTEL", host.context, dying)
    put(add, 0, dying)
    put(add, 0, pointers["shared"])
    launch(add)
show()
host.finish()
there = pointers["host"] + 64  # a pointer in memory, which the kernel is told of before
ctypes.memset(there, 0, 4)
ctypes.c_uint64.from_address(pointers["host"] + 128).value = there
flag = ctypes.c_uint32(1)
put(follow, 0, pointers["host"] + 128)
call("clSetKernelArg", follow, 1, 4, number(3))
print("indirect", call("clSetKernelExecInfo", follow, EXEC_INFO_INDIRECT_HOST, 4, ctypes.byref(flag)))
for _ in range(6):
    launch(follow)
host.finish()
print("followed", ctypes.c_int.from_address(there).value)
wild = ctypes.create_string_buffer(64)  # the system's own memory, which hosts may use as it is
for _ in range(4):
    put(add, 0, ctypes.addressof(wild))
    call("clSetKernelArgSVMPointer", add, 0, pointers["host"])
    launch(add)
put(add, 0, 0)
show()
for name, pointer in pointers.items():
    usm.check("clMemFreeINTEL", host.context, pointer)
    print("freed", name)
