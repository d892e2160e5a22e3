# SPDX-License-Identifier: Apache-2.0
"""Random but valid OpenCL calls from several threads, against plain bytes; the same seed, the same calls.

python conformance/fuzz.py [--seed N] [--steps N] [--threads N] [--seconds N]    (the loader finds the driver)

Each thread has buffers of its own in a context of all devices, and queues of all kinds on each. It compares every byte
that it reads. Its commands wait for each other by events, some also for user events, and some have callbacks.
Exit status 1 with the seed and the step when one is wrong. With --seconds memory is told ten times, and has to be flat.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import struct
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import memory_account
import opencl_api as cl
from opencl_api import Host, Loader, Usm, event_slot, handles

SIZE = 4096
WARM = 3
"""So many tenths of the time pass until growth of memory counts: a busy machine has done little in the first."""
MOST_DEVICES = 8
SOURCE = """
kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }
kernel void swap(global int *x, global int *y) { size_t i = get_global_id(0); int t = x[i]; x[i] = y[i]; y[i] = t; }
"""


QUEUES = (0, cl.CL_QUEUE_PROFILING_ENABLE, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
"""The properties of each device's queues."""
MOVES = (
    "create", "release", "write", "fill", "copy", "read", "write_box", "read_box", "copy_box", "add", "swap", "map",
    "unmap", "migrate", "window", "mark", "settle",
)  # fmt: skip
USM_MOVES = ("allocate", "free", "usm_copy", "usm_fill", "usm_read", "usm_add")
ENDED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)


class Callbacks:
    """Counts the callbacks of events that have come."""

    def __init__(self) -> None:
        self._missing = 0
        self._one_more = threading.Condition()
        self._function = ENDED(self._ended)

    def expect(self, loader: Loader, event: int) -> None:
        with self._one_more:
            self._missing += 1
        loader.check("clSetEventCallback", event, cl.CL_COMPLETE, self._function, None)

    def _ended(self, event: int, status: int, nothing: int) -> None:
        with self._one_more:
            self._missing -= 1
            self._one_more.notify_all()

    def wait(self) -> None:
        """Waits until each has come."""
        with self._one_more:
            self._one_more.wait_for(lambda: self._missing == 0)


@dataclass
class Model:
    handle: int
    data: bytearray
    maps: list[tuple[int, int, int]] = field(default_factory=list)
    memory: object = None
    """The host's, if the buffer was made over that."""


@dataclass(frozen=True)
class Box:
    """A box of bytes: origin and size as width, height, depth."""

    origin: tuple[int, int, int]
    size: tuple[int, int, int]
    row_pitch: int
    slice_pitch: int

    def rows(self) -> list[int]:
        """Where its rows begin."""
        x, y, z = self.origin
        _, height, depth = self.size
        return [
            x + (y + row) * self.row_pitch + (z + slice_) * self.slice_pitch
            for slice_ in range(depth)
            for row in range(height)
        ]

    def put(self, data: bytearray, there: Box, source: bytes | bytearray) -> None:
        """Copies a box of the same size into this one."""
        for to, begin in zip(self.rows(), there.rows(), strict=True):
            data[to : to + self.size[0]] = source[begin : begin + self.size[0]]


def in_call(first: Box, second: Box) -> tuple[Any, ...]:
    """Two boxes as arguments of a call."""
    pitches = (first.row_pitch, first.slice_pitch, second.row_pitch, second.slice_pitch)
    return handles(*first.origin), handles(*second.origin), handles(*first.size), *pitches


def increased(data: bytearray, amount: int) -> bytes:
    """The bytes of integers, after `amount` is added to each."""
    values = struct.unpack(f"{SIZE // 4}I", data)
    return struct.pack(f"{SIZE // 4}I", *((value + amount) & 0xFFFFFFFF for value in values))


class Player:
    """One thread's random calls.

    Each command waits for the one before it, whichever queues they are in. Some also wait for a user event, the gate,
    which is set before the next call that blocks.
    """

    def __init__(self, host: Host, seed: int) -> None:
        self.host, self.cl = host, host.cl
        self.random = random.Random(seed)
        self.queues = [host.new_queue(kind, device) for device in host.devices for kind in QUEUES]
        self.buffers: list[Model] = []
        self.dead: list[int] = []
        self.last = 0
        """The event of the newest command."""
        self.gate = 0
        self.kept: list[object] = []
        """What commands read or write in this process."""
        self.callbacks = Callbacks()
        self.kernels = {
            name: self.cl.make("clCreateKernel", host.program(SOURCE), name.encode()) for name in ("add", "swap")
        }
        self.moves = [getattr(self, move) for move in (*MOVES, "create", "write", "add")]

    def end(self) -> None:
        """Give everything back."""
        self.settle()
        for model in self.buffers:
            for pointer, _, _ in model.maps:
                self.enqueue("clEnqueueUnmapMemObject", model.handle, pointer)
        self.settle()
        self.callbacks.wait()
        if self.last:
            self.cl.check("clReleaseEvent", self.last)
        for model in self.buffers:
            self.cl.check("clReleaseMemObject", model.handle)
        for kernel in self.kernels.values():
            self.cl.check("clReleaseKernel", kernel)
        for queue in self.queues:
            self.cl.check("clReleaseCommandQueue", queue)

    def step(self) -> None:
        self.random.choice(self.moves)()

    def noise(self, size: int) -> bytes:
        """Bytes that one number decides, so that a failure can shrink to it."""
        return random.Random(self.random.getrandbits(16)).randbytes(size)

    def pick(self) -> Model | None:
        return self.random.choice(self.buffers) if self.buffers else None

    def free_pick(self) -> Model | None:
        """A buffer that is not mapped."""
        model = self.pick()
        return None if model is None or model.maps else model

    def order(self, blocks: bool = False) -> tuple[int, int, Any, Any]:
        """A queue, and the last three arguments of a command that is enqueued there behind the newest one.

        If it blocks, the gate is opened.
        """
        waits = [self.last] if self.last else []
        if blocks:
            self.open_gate()
        elif not self.gate and not self.random.randrange(8):
            self.gate = self.cl.make("clCreateUserEvent", self.host.context)
            waits.append(self.gate)
        return self.random.choice(self.queues), len(waits), handles(*waits) if waits else None, event_slot()

    def enqueued(self, event: Any) -> None:
        """Makes a command the newest one."""
        if self.last:
            self.cl.check("clReleaseEvent", self.last)
        self.last = int(event[0])
        if not self.random.randrange(4):
            self.callbacks.expect(self.cl, self.last)

    def enqueue(self, name: str, *arguments: object, blocks: bool = False, queue: int = 0) -> None:
        """Enqueues a command; `arguments` are those between the queue and the wait list."""
        any_queue, *waits = self.order(blocks)
        self.cl.check(name, queue or any_queue, *arguments, *waits)
        self.enqueued(waits[-1])

    def open_gate(self) -> None:
        if self.gate:
            self.cl.check("clSetUserEventStatus", self.gate, cl.CL_COMPLETE)
            self.cl.check("clReleaseEvent", self.gate)
            self.gate = 0

    def settle(self) -> None:
        """Waits until all commands have ended."""
        self.open_gate()
        if self.last and self.random.randrange(2):
            self.cl.check("clWaitForEvents", 1, handles(self.last))
        for queue in self.queues:
            self.cl.check("clFinish", queue)
        self.kept.clear()

    def keep(self, data: bytes) -> Any:
        """Memory of the host with these bytes at its begin, until commands that use it have ended."""
        kept = ctypes.create_string_buffer(data.ljust(SIZE, b"\0"), SIZE)  # one type of array for all sizes
        self.kept.append(kept)
        return kept

    def part(self) -> tuple[int, int]:
        offset = self.random.randrange(SIZE)
        return offset, self.random.randint(1, SIZE - offset)

    def create(self) -> None:
        if len(self.buffers) < 12:
            data, over_host = self.noise(SIZE), self.random.randrange(3) == 0
            memory = ctypes.create_string_buffer(data, SIZE)
            flag = cl.CL_MEM_USE_HOST_PTR if over_host else cl.CL_MEM_COPY_HOST_PTR
            buffer = self.host.buffer(SIZE, 1 | flag, memory)
            self.buffers.append(Model(buffer, bytearray(data), memory=memory if over_host else None))

    def release(self) -> None:
        model = self.free_pick()
        if model is not None:
            self.buffers.remove(model)
            self.kept.append(model.memory)  # commands may use it still
            self.cl.check("clReleaseMemObject", model.handle)
            self.dead = [*self.dead[-20:], model.handle]

    def after_release(self) -> None:
        """A released buffer is refused, whoever asks, unless its handle has come to life again."""
        for handle in self.dead[-3:]:
            if self.cl.status("clGetMemObjectInfo", handle, cl.CL_MEM_SIZE, 0, None, handles(0)) not in (0, -38):
                raise AssertionError("a released buffer is neither dead nor alive")

    def write(self) -> None:
        model, (offset, size), blocks = self.free_pick(), self.part(), self.random.randrange(2)
        if model is not None:
            data = self.noise(size)
            self.enqueue(
                "clEnqueueWriteBuffer", model.handle, blocks, offset, size, self.keep(data), blocks=bool(blocks)
            )
            model.data[offset : offset + size] = data

    def fill(self) -> None:
        model = self.free_pick()
        if model is not None:
            pattern = self.noise(self.random.choice([1, 2, 4, 8, 16]))
            self.enqueue("clEnqueueFillBuffer", model.handle, pattern, len(pattern), 0, SIZE)
            model.data[:] = pattern * (SIZE // len(pattern))

    def copy(self) -> None:
        source, target, (offset, size) = self.free_pick(), self.free_pick(), self.part()
        if source is None or target is None or source is target:
            return
        to = self.random.randint(0, SIZE - size)
        self.enqueue("clEnqueueCopyBuffer", source.handle, target.handle, offset, to, size)
        target.data[to : to + size] = source.data[offset : offset + size]

    def read(self) -> None:
        model, (offset, size) = self.pick(), self.part()
        if model is None:
            return
        data = ctypes.create_string_buffer(SIZE)
        self.enqueue("clEnqueueReadBuffer", model.handle, 1, offset, size, data, blocks=True)
        if not model.maps and data.raw[:size] != bytes(model.data[offset : offset + size]):
            raise AssertionError(f"buffer {model.handle:#x} is wrong from byte {offset}")

    def boxes(self) -> tuple[Box, Box]:
        """Two boxes of one size, each at a place and with pitches of its own, within SIZE bytes."""
        draw = self.random.randint
        size = width, height, _ = draw(1, 24), draw(1, 8), draw(1, 4)

        def box() -> Box:
            origin = x, y, _ = draw(0, 16), draw(0, 3), draw(0, 2)
            row_pitch = x + width + draw(0, 8)
            return Box(origin, size, row_pitch, row_pitch * (y + height + draw(0, 2)))

        return box(), box()

    def write_box(self) -> None:
        model, (box, there) = self.free_pick(), self.boxes()
        if model is not None:
            data = self.noise(SIZE)
            self.enqueue("clEnqueueWriteBufferRect", model.handle, 0, *in_call(box, there), self.keep(data))
            box.put(model.data, there, data)

    def read_box(self) -> None:
        model, (box, there) = self.free_pick(), self.boxes()
        if model is not None:
            data = ctypes.create_string_buffer(SIZE)
            self.enqueue("clEnqueueReadBufferRect", model.handle, 1, *in_call(box, there), data, blocks=True)
            right = bytearray(SIZE)
            there.put(right, box, model.data)
            if data.raw != right:
                raise AssertionError(f"buffer {model.handle:#x} is wrong in {box}")

    def copy_box(self) -> None:
        source, target, (box, there) = self.free_pick(), self.free_pick(), self.boxes()
        if source is not None and target is not None and source is not target:
            self.enqueue("clEnqueueCopyBufferRect", source.handle, target.handle, *in_call(box, there))
            there.put(target.data, box, source.data)

    def launch(self, kernel: str, queue: int = 0) -> None:
        sizes = None, handles(SIZE // 4), None
        self.enqueue("clEnqueueNDRangeKernel", self.kernels[kernel], 1, *sizes, queue=queue)

    def add(self) -> None:
        model = self.free_pick()
        if model is not None:
            amount = self.random.randrange(-1000, 1000)
            self.cl.check("clSetKernelArg", self.kernels["add"], 0, 8, handles(model.handle))
            self.cl.check("clSetKernelArg", self.kernels["add"], 1, 4, struct.pack("i", amount))
            self.launch("add")
            model.data[:] = increased(model.data, amount)

    def swap(self) -> None:
        first, second = self.free_pick(), self.free_pick()
        if first is None or second is None or first is second:
            return
        for index, model in enumerate((first, second)):
            self.cl.check("clSetKernelArg", self.kernels["swap"], index, 8, handles(model.handle))
        self.launch("swap")
        first.data, second.data = second.data, first.data

    def window(self) -> None:
        model = self.free_pick()
        if model is not None:
            part = handles(1024, 512)
            made = self.cl.make("clCreateSubBuffer", model.handle, 1, cl.CL_BUFFER_CREATE_TYPE_REGION, part)
            data = self.noise(512)
            self.enqueue("clEnqueueWriteBuffer", made, 0, 0, 512, self.keep(data))
            self.cl.check("clReleaseMemObject", made)
            model.data[1024:1536] = data

    def map(self) -> None:
        model, (offset, size) = self.free_pick(), self.part()
        if model is None:
            return
        queue, *waits = self.order(blocks=True)
        flags = cl.CL_MAP_READ | cl.CL_MAP_WRITE
        pointer = self.cl.make("clEnqueueMapBuffer", queue, model.handle, 1, flags, offset, size, *waits)
        self.enqueued(waits[-1])
        if ctypes.string_at(pointer, size) != bytes(model.data[offset : offset + size]):
            raise AssertionError("a mapped region is wrong")
        model.maps.append((pointer, offset, size))

    def unmap(self) -> None:
        model = self.pick()
        if model is None or not model.maps:
            return
        pointer, offset, size = model.maps.pop()
        data = self.noise(size)
        ctypes.memmove(pointer, data, size)
        self.enqueue("clEnqueueUnmapMemObject", model.handle, pointer)
        model.data[offset : offset + size] = data

    def migrate(self) -> None:
        model = self.free_pick()
        if model is not None:
            flags = self.random.choice([0, cl.CL_MIGRATE_MEM_OBJECT_HOST])
            self.enqueue("clEnqueueMigrateMemObjects", 1, handles(model.handle), flags)

    def mark(self) -> None:
        self.enqueue(self.random.choice(["clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList"]))


@dataclass(eq=False)
class Allocation:
    pointer: int
    data: bytearray


class UsmPlayer(Player):
    """Random use of unified shared memory besides, on the first device."""

    def __init__(self, host: Host, seed: int) -> None:
        super().__init__(host, seed)
        self.usm = Usm(host)
        self.allocations: list[Allocation] = []
        self.moves += [getattr(self, move) for move in USM_MOVES] * 2

    def end(self) -> None:
        while self.allocations:
            self.free()
        super().end()

    def enqueue_usm(self, name: str, *arguments: object, blocks: bool = False) -> None:
        """Enqueues a command of the extension; `arguments` are those between the queue and the wait list."""
        _, *waits = self.order(blocks)
        self.usm.check(name, self.first_queue(), *arguments, *waits)
        self.enqueued(waits[-1])

    def first_queue(self) -> int:
        """A queue of the first device."""
        return self.random.choice(self.queues[: len(QUEUES)])

    def allocation(self) -> Allocation | None:
        return self.random.choice(self.allocations) if self.allocations else None

    def allocate(self) -> None:
        if len(self.allocations) == 12:
            return
        kind = self.random.choice(["Host", "Device", "Shared"])
        owner = [] if kind == "Host" else [self.host.device]
        pointer = self.usm.make(f"cl{kind}MemAllocINTEL", self.host.context, *owner, None, SIZE, 0)
        made = Allocation(pointer, bytearray(self.noise(SIZE)))
        self.transfer(pointer, self.keep(bytes(made.data)), SIZE)
        self.allocations.append(made)

    def transfer(self, target: object, source: object, size: int, *, blocks: bool = False) -> None:
        self.enqueue_usm("clEnqueueMemcpyINTEL", int(blocks), target, source, size, blocks=blocks)

    def free(self) -> None:
        allocation = self.allocation()
        if allocation is not None:
            self.open_gate()
            self.allocations.remove(allocation)
            self.usm.check("clMemBlockingFreeINTEL", self.host.context, allocation.pointer)

    def usm_copy(self) -> None:
        target, source, (offset, size) = self.allocation(), self.allocation(), self.part()
        if target is None or source is None or target is source:
            return
        self.transfer(target.pointer + offset, source.pointer + offset, size)
        target.data[offset : offset + size] = source.data[offset : offset + size]

    def usm_fill(self) -> None:
        allocation = self.allocation()
        if allocation is not None:
            pattern = self.noise(self.random.choice([1, 2, 4, 8, 16, 32, 64, 128]))
            self.enqueue_usm("clEnqueueMemFillINTEL", allocation.pointer, pattern, len(pattern), SIZE)
            allocation.data[:] = pattern * (SIZE // len(pattern))

    def usm_read(self) -> None:
        allocation, (offset, size) = self.allocation(), self.part()
        if allocation is None:
            return
        data = ctypes.create_string_buffer(SIZE)
        self.transfer(data, allocation.pointer + offset, size, blocks=True)
        if data.raw[:size] != bytes(allocation.data[offset : offset + size]):
            raise AssertionError(f"the allocation at {allocation.pointer:#x} is wrong from byte {offset}")

    def usm_add(self) -> None:
        allocation = self.allocation()
        if allocation is None:
            return
        kernel, amount = self.kernels["add"], self.random.randrange(-1000, 1000)
        self.usm.check("clSetKernelArgMemPointerINTEL", kernel, 0, allocation.pointer)
        self.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", amount))
        self.launch("add", self.first_queue())
        allocation.data[:] = increased(allocation.data, amount)


def has_usm(host: Host) -> bool:
    """True if the first device has unified shared memory. Some boards have the extension without any kind of it."""
    extensions = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS)
    if "cl_intel_unified_shared_memory" not in extensions.split():
        return False
    return any(host.cl.info("clGetDeviceInfo", host.device, cl.CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500, help="of each thread")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--after-release", action="store_true", help="also use handles after their release")
    parser.add_argument("--usm", action="store_true", help="also use unified shared memory")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on with further seeds for so long")
    parser.add_argument(
        "--may-grow", type=float, default=1.0, metavar="MIB", help="of memory in use, after three tenths"
    )
    options = parser.parse_args()
    host = Host(Loader(), MOST_DEVICES)
    host.program(SOURCE)
    failures: list[str] = []

    def play(seed: int) -> None:
        player, done = (UsmPlayer if options.usm and has_usm(host) else Player)(host, seed), 0
        if options.after_release:
            player.moves.append(player.after_release)
        try:
            while done < options.steps:
                player.step()
                done += 1
            player.end()
        except BaseException:
            failures.append(f"seed {seed}, step {done}\n{traceback.format_exc()}")

    begin, seed, told = time.monotonic(), options.seed, []
    while not failures:
        threads = [threading.Thread(target=play, args=(seed + k,)) for k in range(options.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seed += options.threads
        passed = time.monotonic() - begin
        if options.seconds and passed >= (len(told) + 1) * options.seconds / 10:
            told.append(memory_account.account())
            print(f"{passed:.0f} s, seeds to {seed - 1}: {told[-1]}", flush=True)
        if passed >= options.seconds:
            break
    if len(told) > WARM and (growth := told[-1].growth(told[WARM - 1], options.may_grow)):
        failures.append(growth)
    print("\n".join(failures) or f"seeds {options.seed} to {seed - 1}: right")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
