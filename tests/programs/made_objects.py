# SPDX-License-Identifier: Apache-2.0
"""Makes objects again and again, asks about them in all ways, and prints what each call gave.

Each line is the same whoever makes the objects: where buffers lie on the board among it.
"""

from __future__ import annotations

import ctypes
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

from opencl_api import CL_QUEUE_PROPERTIES, Host, Loader, handles

SOURCE = """
kernel void where(global ulong *x) { x[0] = (ulong)x; }
kernel void add(global int *x, local int *seen, int a) { seen[0] = a; x[get_global_id(0)] += seen[0]; }
"""
READ_WRITE, WRITE_ONLY, OVER_HOST, ON_HOST, COPY = 1, 2, 1 << 3, 1 << 4, 1 << 5
host = Host(Loader())
call, make = host.cl.status, host.cl.make
random.seed(5)
where = host.kernel(SOURCE, "where")
first = 0


def address(buffer: int) -> int:
    """Returns the buffer's address on the board, relative to the first one."""
    global first
    print("set", call("clSetKernelArg", where, 0, 8, handles(buffer)))
    host.launch(where, 1)
    found = int.from_bytes(host.read(buffer, 8), "little")
    first = first or found
    return found - first


def ask(function: str, item: int, *queries: int) -> list[int]:
    found = ctypes.c_uint64()
    answers = []
    for query in queries:
        found.value = 0
        print("asked", call(function, item, query, 8, ctypes.byref(found), None))
        answers.append(found.value)
    return answers


def allocate_svm(size: int) -> int:
    allocate = host.cl.library.clSVMAlloc
    allocate.restype = ctypes.c_size_t
    found: int = allocate(ctypes.c_void_p(host.context), ctypes.c_uint64(READ_WRITE), ctypes.c_size_t(size), 0)
    return found


def release(kind: str, item: int) -> None:
    print("released", call(f"clRelease{kind}", item))


def buffers() -> None:
    """Of a few sizes, in random orders, some with contents, some asked about, some with regions that outlive them."""
    alive: list[int] = []
    for step in range(300):
        if alive and random.random() < 0.5:
            release("MemObject", alive.pop(random.randrange(len(alive))))
            continue
        size = random.choice((512, 4096, 4096, 65536))
        if random.random() < 0.5:
            buffer = host.buffer(size, READ_WRITE | COPY, bytes([step % 251]) * size)
            print("contents", host.read(buffer, 4, size - 4))
        else:
            buffer = host.buffer(size, random.choice((0, READ_WRITE)))
        if random.random() < 0.2:
            print("flags, size, references", ask("clGetMemObjectInfo", buffer, 0x1101, 0x1102, 0x1105))
        if random.random() < 0.2:
            release("MemObject", make("clCreateSubBuffer", buffer, WRITE_ONLY, 0x1220, handles(0, 512)))
        if random.random() < 0.7:
            print("address", address(buffer))
        alive.append(buffer)
    print("in turn")
    for buffer in alive:
        print("address", address(buffer))
        release("MemObject", buffer)
    for size in (4096, 512, 4096):
        for _ in range(3):
            pair = host.buffer(size), host.buffer(512)
            print("addresses", *map(address, pair))
            for buffer in pair:
                release("MemObject", buffer)


def over_host_memory() -> None:
    """Contents are where the host has them, until a launch moves them; what else uses the buffer before or after it."""
    size = 4096
    for step in range(24):
        memory = ctypes.create_string_buffer(bytes([step]) * size, size)
        buffer = host.buffer(size, READ_WRITE | OVER_HOST, memory)
        if step % 3 == 1:
            print("pointer", ask("clGetMemObjectInfo", buffer, 0x1103)[0] == ctypes.addressof(memory))
        if step % 4 == 2:
            host.write(buffer, bytes([step, 1]), size - 2)
            print("written", memory.raw[-2:])
        if step % 5 == 3:
            print("contents", host.read(buffer, 4, size - 4))
        part = make("clCreateSubBuffer", buffer, READ_WRITE, 0x1220, handles(1024, 1024)) if step % 2 else 0
        print("address", address(part or buffer))
        print("contents", memory.raw[:1], host.read(buffer, 4, size - 4))
        mapped = make("clEnqueueMapBuffer", host.queue, buffer, 1, 1, 1024, 64, 0, None, None)
        print("mapped", mapped - ctypes.addressof(memory), memory.raw[1032:1036])
        print("unmapped", call("clEnqueueUnmapMemObject", host.queue, buffer, mapped, 0, None, None))
        host.finish()
        if part:
            release("MemObject", part)
        release("MemObject", buffer)
    for flags, given in ((OVER_HOST | COPY, True), (OVER_HOST | ON_HOST, True), (OVER_HOST, False), (ON_HOST, True)):
        status = ctypes.c_int()
        pointer = ctypes.byref(ctypes.create_string_buffer(64)) if given else None
        made = host.cl.library.clCreateBuffer(ctypes.c_void_p(host.context), flags, 64, pointer, ctypes.byref(status))
        print("refused", made, status.value)
    shared = svm_first or allocate_svm(size)
    for _ in range(2):
        buffer = host.buffer(size, READ_WRITE | OVER_HOST, ctypes.c_void_p(shared))
        print("set", call("clSetKernelArg", where, 0, 8, handles(buffer)))
        host.launch(where, 1)
        host.finish()
        print("in SVM", ctypes.c_size_t.from_address(shared).value == shared)
        ctypes.c_size_t.from_address(shared).value = 0
        release("MemObject", buffer)
    for flags in (ON_HOST, ON_HOST | COPY):
        buffer = host.buffer(size, flags, bytes([flags]) * size if flags & COPY else None)
        print("address", address(buffer), ask("clGetMemObjectInfo", buffer, 0x1101))
        release("MemObject", buffer)


def mapped_buffers() -> None:
    """Each mapping of a buffer begins at the same address, also if Python knows the buffer only between two of them."""
    for step in range(24):
        buffer = host.buffer(8192, READ_WRITE | COPY, bytes([step]) * 8192)
        part = make("clCreateSubBuffer", buffer, READ_WRITE, 0x1220, handles(2048, 4096)) if step % 2 else 0
        starts = []
        for turn in range(3):
            if step % 3 == turn:
                print(
                    "to the host", call("clEnqueueMigrateMemObjects", host.queue, 1, handles(buffer), 1, 0, None, None)
                )
            if step % 5 == turn:
                print("mappings", ask("clGetMemObjectInfo", buffer, 0x1104))
            if step % 4 == turn:
                print("address", address(buffer))
            item, origin = (part, 2048) if part and turn % 2 == step % 3 % 2 else (buffer, 0)
            found = make("clEnqueueMapBuffer", host.queue, item, 1, (1, 3, 4)[turn], 64, 512, 0, None, None)
            starts.append(found - origin)
            if turn < 2:
                print("mapped", ctypes.string_at(found, 4))
            ctypes.memset(found, step + turn, 512)
            if step % 8 != 7 or turn < 2:  # otherwise the buffer is released while it is mapped
                print("unmapped", call("clEnqueueUnmapMemObject", host.queue, item, found, 0, None, None))
                print("contents", host.read(buffer, 4, origin + 64 + 508))
        print("each at", starts[1] - starts[0], starts[2] - starts[0])
        if part:
            release("MemObject", part)
        release("MemObject", buffer)


def freed_between() -> None:
    """Memory below a block that a buffer has left is freed before that, or behind it."""
    for step in range(6):
        low = host.buffer(20480 + 1024 * step)
        kept, high = host.buffer(65536), host.buffer(4096)
        print("addresses", address(low), address(kept), address(high))
        for buffer in (low, high) if step % 2 else (high, low):
            release("MemObject", buffer)
        again, more = host.buffer(4096), host.buffer(4096)
        print("addresses", address(again), address(more))
        for buffer in (again, more, kept):
            release("MemObject", buffer)


def kernels() -> None:
    buffer = host.buffer(4096, READ_WRITE | COPY, bytes(4096))
    program = host.program(SOURCE)
    for step in range(8):
        kernel = make("clCreateKernel", program, b"add")
        print("set", call("clSetKernelArg", kernel, 0, 8, handles(buffer)))
        if step % 2:
            print("set", call("clSetKernelArg", kernel, 1, 16, None))
        print("set", call("clSetKernelArg", kernel, 2, 4, step.to_bytes(4, "little")))
        print("launch", call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(4), None, 0, None, None))
        if step % 4 > 1:
            print("arguments, references", ask("clGetKernelInfo", kernel, 0x1191, 0x1192))
        for size in (1 << 30, 64):
            print("set", call("clSetKernelArg", kernel, 1, size, None))
            print(
                "launch", call("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(4), None, 0, None, None)
            )
        local = ctypes.c_uint64()
        print("local", call("clGetKernelWorkGroupInfo", kernel, host.device, 0x11B2, 8, ctypes.byref(local), None))
        print(local.value)
        copy = make("clCloneKernel", kernel)
        print("launch", call("clEnqueueNDRangeKernel", host.queue, copy, 1, None, handles(4), None, 0, None, None))
        print("again", call("clRetainKernel", kernel), call("clReleaseKernel", kernel))
        release("Kernel", kernel)
        release("Kernel", kernel)
        release("Kernel", copy)
        print("built", call("clBuildProgram", program, 0, None, b"", None, None))
    print(host.ints(buffer, 4))
    release("MemObject", buffer)


def queues() -> None:
    buffer = host.buffer(4096)
    print("address", address(buffer))
    for step in range(6):
        listed = handles(CL_QUEUE_PROPERTIES, step % 4, 0) if step % 3 else None
        queue = make("clCreateCommandQueueWithProperties", host.context, host.device, listed)
        host.launch(where, 1, queue=queue)
        if step % 2:
            print("references, properties", ask("clGetCommandQueueInfo", queue, 0x1092, 0x1093))
            array, length = (ctypes.c_uint64 * 4)(), ctypes.c_size_t()
            print("list", call("clGetCommandQueueInfo", queue, 0x1098, 32, array, ctypes.byref(length)))
            print(list(array), length.value)
        host.finish(queue)
        release("CommandQueue", queue)
        release("CommandQueue", queue)
    release("MemObject", buffer)


svm_first = allocate_svm(4096) if "svm first" in sys.argv else 0
for _ in range(2):
    address(host.buffer(512))
    buffers()
    over_host_memory()
    mapped_buffers()
    freed_between()
    kernels()
    queues()
