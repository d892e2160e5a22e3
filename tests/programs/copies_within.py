"""Copies rectangles within a buffer and moves bytes by pointers, and prints what each call gave and left."""

from __future__ import annotations

import ctypes
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance"))

import opencl_api as cl
from board_traffic import traffic
from opencl_api import Host, Loader, Usm, handles

SIZE, ROUNDS = 256, 400
host = Host(Loader())
call = host.cl.status
usm = Usm(host)
chance = random.Random(7)
got = ctypes.create_string_buffer(SIZE)
contents = bytes(place % 251 for place in range(SIZE))
buffer = host.buffer(SIZE)
first = host.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, SIZE))


def copy_rectangle() -> None:
    """Prints the status and, after a copy that was done, the bytes."""
    pitch = chance.choice([0, 8, 12, 16])
    slice_pitch = chance.choice([0, 0, 4 * pitch, 6 * pitch])
    region = [chance.randint(1, 9), chance.randint(1, 4), chance.randint(1, 3)]
    origins = [[chance.randint(0, 9), chance.randint(0, 6), chance.randint(0, 2)] for _ in range(2)]
    pitches = [pitch, slice_pitch] * 2 if chance.random() < 0.8 else [pitch, slice_pitch, 16, 0]
    boxes = [(ctypes.c_size_t * 3)(*each) for each in (*origins, region)]
    call("clEnqueueWriteBuffer", host.queue, buffer, 1, 0, SIZE, contents, 0, None, None)
    target = chance.choice([buffer, first])
    status = call("clEnqueueCopyBufferRect", host.queue, buffer, target, *boxes, *pitches, 0, None, None)
    call("clEnqueueReadBuffer", host.queue, buffer, 1, 0, SIZE, got, 0, None, None)
    print("rectangle", status, got.raw.hex() if status == 0 else "")


def allocate(function: str, *owner: int) -> int:
    return usm.make(function, host.context, *owner, None, SIZE, 0)


def pointers() -> dict[str, int]:
    """Returns pointers by what they lead to."""
    freed, foreign = (
        allocate("clDeviceMemAllocINTEL", host.device),
        host.cl.make("clCreateContext", None, 1, handles(host.device), None, None),
    )
    found = {
        "device": allocate("clDeviceMemAllocINTEL", host.device),
        "other": allocate("clDeviceMemAllocINTEL", host.device),
        "host": allocate("clHostMemAllocINTEL"),
        "shared": allocate("clSharedMemAllocINTEL", host.device),
        "foreign": usm.make("clDeviceMemAllocINTEL", foreign, host.device, None, SIZE, 0),
        "own": ctypes.addressof(got),
        "encoded": 1 << 61 | 4096,
        "none": 0,
        "freed": freed,
    }
    usm.status("clMemFreeINTEL", host.context, freed)
    return found


def move_by_pointers() -> None:
    """Copies between all kinds of memory, fills, and gives hints, each twice: the first may need a decision."""
    places = pointers()
    pattern = bytes(range(16))
    for target, to in places.items():
        for name, begin in places.items():
            for size in (64, 64, SIZE + 1, 0):
                status = usm.status(
                    "clEnqueueMemcpyINTEL", host.queue, 1, to, begin and begin + 64, size, 0, None, None
                )
                print("copy", target, name, size, status)
        for size, length in ((64, 4), (64, 4), (64, 3), (62, 4), (0, 1), (SIZE + 4, 4)):
            print(
                "fill",
                target,
                size,
                usm.status("clEnqueueMemFillINTEL", host.queue, to, pattern, length, size, 0, None, None),
            )
        print("set", target, usm.status("clEnqueueMemsetINTEL", host.queue, to, 0x1234, 32, 0, None, None))
        for flags in (cl.CL_MIGRATE_MEM_OBJECT_HOST, 0, 4):
            status = usm.status("clEnqueueMigrateMemINTEL", host.queue, to, 64, flags, 0, None, None)
            print("migrate", target, flags, status)
        for advice in (0, 0x4208, 1):
            status = usm.status("clEnqueueMemAdviseINTEL", host.queue, to, 64, advice, 0, None, None)
            print("advise", target, advice, status)
        host.finish(host.queue)
        print("moved", *traffic())
    for name in ("device", "host", "shared"):
        status = usm.status("clEnqueueMemcpyINTEL", host.queue, 1, got, places[name], SIZE, 0, None, None)
        print("left", name, status, got.raw.hex())


for _ in range(ROUNDS):
    copy_rectangle()
move_by_pointers()
