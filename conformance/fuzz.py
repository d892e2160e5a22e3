# SPDX-License-Identifier: Apache-2.0
"""Random but valid OpenCL calls from several threads, against plain bytes; the same seed, the same calls.

python conformance/fuzz.py [--seed N] [--steps N] [--threads N] [--seconds N]    (the loader finds the driver)

Each thread has buffers and queues of its own in one shared context and compares every byte that it reads.
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

import memory_account
import opencl_api as cl
from opencl_api import Host, Loader, handles

SIZE = 4096
SOURCE = """
kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }
kernel void swap(global int *x, global int *y) { size_t i = get_global_id(0); int t = x[i]; x[i] = y[i]; y[i] = t; }
"""


@dataclass
class Model:
    handle: int
    data: bytearray
    maps: list[tuple[int, int, int]] = field(default_factory=list)


class Player:
    """One thread's random calls."""

    def __init__(self, host: Host, seed: int) -> None:
        self.host, self.cl = host, host.cl
        self.random = random.Random(seed)
        self.queues = [host.new_queue(0), host.new_queue(0)]
        self.buffers: list[Model] = []
        self.dead: list[int] = []
        self.kernels = {
            name: self.cl.make("clCreateKernel", host.program(SOURCE), name.encode()) for name in ("add", "swap")
        }
        self.moves = [self.create, self.create, self.release, self.write, self.write, self.fill, self.copy, self.read,
                      self.add, self.add, self.swap, self.map, self.unmap, self.migrate,
                      self.window]  # fmt: skip

    def end(self) -> None:
        """Give everything back."""
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

    def queue(self) -> int:
        """One of the queues, with all that was enqueued in the other one done."""
        chosen, other = self.random.sample(self.queues, 2)
        self.cl.check("clFinish", other)
        return chosen

    def part(self) -> tuple[int, int]:
        offset = self.random.randrange(SIZE)
        return offset, self.random.randint(1, SIZE - offset)

    def create(self) -> None:
        if len(self.buffers) < 12:
            data = self.noise(SIZE)
            buffer = self.host.buffer(SIZE, 1 | cl.CL_MEM_COPY_HOST_PTR, data)
            self.buffers.append(Model(buffer, bytearray(data)))

    def release(self) -> None:
        model = self.pick()
        if model is not None and not model.maps:
            self.buffers.remove(model)
            self.cl.check("clReleaseMemObject", model.handle)
            self.dead = [*self.dead[-20:], model.handle]

    def after_release(self) -> None:
        """A released buffer is refused, whoever asks, unless its handle has come to life again."""
        for handle in self.dead[-3:]:
            if self.cl.status("clGetMemObjectInfo", handle, cl.CL_MEM_SIZE, 0, None, handles(0)) not in (0, -38):
                raise AssertionError("a released buffer is neither dead nor alive")

    def write(self) -> None:
        model, (offset, size) = self.pick(), self.part()
        if model is None or model.maps:
            return
        data, queue = self.noise(size), self.queue()
        kept = ctypes.create_string_buffer(data.ljust(SIZE, b"\0"), SIZE)  # one type of array for all sizes
        blocking = self.random.randrange(2)
        self.cl.check("clEnqueueWriteBuffer", queue, model.handle, blocking, offset, size, kept, 0, None, None)
        if not blocking:
            self.cl.check("clFinish", queue)
        model.data[offset : offset + size] = data

    def fill(self) -> None:
        model = self.pick()
        if model is None or model.maps:
            return
        pattern = self.noise(self.random.choice([1, 2, 4, 8, 16]))
        arguments = (self.queue(), model.handle, pattern, len(pattern), 0, SIZE, 0, None, None)
        self.cl.check("clEnqueueFillBuffer", *arguments)
        model.data[:] = pattern * (SIZE // len(pattern))

    def copy(self) -> None:
        source, target, (offset, size) = self.pick(), self.pick(), self.part()
        if source is None or target is None or source is target or source.maps or target.maps:
            return
        to = self.random.randint(0, SIZE - size)
        self.cl.check(
            "clEnqueueCopyBuffer", self.queue(), source.handle, target.handle, offset, to, size, 0, None, None
        )
        target.data[to : to + size] = source.data[offset : offset + size]

    def read(self) -> None:
        model, (offset, size) = self.pick(), self.part()
        if model is None:
            return
        data = ctypes.create_string_buffer(SIZE)
        arguments = (self.queue(), model.handle, 1, offset, size, data, 0, None, None)
        self.cl.check("clEnqueueReadBuffer", *arguments)
        if not model.maps and data.raw[:size] != bytes(model.data[offset : offset + size]):
            raise AssertionError(f"buffer {model.handle:#x} is wrong from byte {offset}")

    def add(self) -> None:
        model = self.pick()
        if model is None or model.maps:
            return
        amount = self.random.randrange(-1000, 1000)
        kernel = self.kernels["add"]
        self.cl.check("clSetKernelArg", kernel, 0, 8, handles(model.handle))
        self.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", amount))
        self.host.launch(kernel, SIZE // 4, queue=self.queue())
        values = struct.unpack(f"{SIZE // 4}I", model.data)
        model.data[:] = struct.pack(f"{SIZE // 4}I", *((value + amount) & 0xFFFFFFFF for value in values))

    def swap(self) -> None:
        first, second = self.pick(), self.pick()
        if first is None or second is None or first is second or first.maps or second.maps:
            return
        for index, model in enumerate((first, second)):
            self.cl.check("clSetKernelArg", self.kernels["swap"], index, 8, handles(model.handle))
        self.host.launch(self.kernels["swap"], SIZE // 4, queue=self.queue())
        first.data, second.data = second.data, first.data

    def window(self) -> None:
        model = self.pick()
        if model is None or model.maps:
            return
        made = self.cl.make("clCreateSubBuffer", model.handle, 1, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(1024, 512))
        data = self.noise(512)
        self.cl.check("clEnqueueWriteBuffer", self.queue(), made, 1, 0, 512, data, 0, None, None)
        self.cl.check("clReleaseMemObject", made)
        model.data[1024:1536] = data

    def map(self) -> None:
        model, (offset, size) = self.pick(), self.part()
        if model is None or model.maps:
            return
        flags = cl.CL_MAP_READ | cl.CL_MAP_WRITE
        pointer = self.cl.make("clEnqueueMapBuffer", self.queue(), model.handle, 1, flags, offset, size, 0, None, None)
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
        self.cl.check("clEnqueueUnmapMemObject", self.queue(), model.handle, pointer, 0, None, None)
        model.data[offset : offset + size] = data

    def migrate(self) -> None:
        model = self.pick()
        if model is None or model.maps:
            return
        flags = self.random.choice([0, cl.CL_MIGRATE_MEM_OBJECT_HOST])
        self.cl.check("clEnqueueMigrateMemObjects", self.queue(), 1, handles(model.handle), flags, 0, None, None)


@dataclass(eq=False)
class Allocation:
    pointer: int
    data: bytearray


class UsmPlayer(Player):
    """Random use of unified shared memory besides; each move waits for what it did."""

    def __init__(self, host: Host, seed: int) -> None:
        super().__init__(host, seed)
        self.allocations: list[Allocation] = []
        self.moves += [self.allocate, self.free, self.usm_copy, self.usm_fill, self.usm_read, self.usm_add] * 2

    def extension(self, name: str, *arguments: object, returns: object = ctypes.c_int32) -> int:
        look_up = self.cl.library.clGetExtensionFunctionAddressForPlatform
        look_up.restype = ctypes.c_void_p
        address = look_up(ctypes.c_void_p(self.host.platform), name.encode())
        passed = [self.cl._passed(argument) for argument in arguments]
        made = ctypes.CFUNCTYPE(returns, *(type(p) if not isinstance(p, bytes) else ctypes.c_char_p for p in passed))
        result = made(address)(*passed)
        if returns is ctypes.c_int32 and result:
            raise AssertionError(f"{name}: status {result}")
        return int(result or 0)

    def end(self) -> None:
        while self.allocations:
            self.free()
        super().end()

    def allocation(self) -> Allocation | None:
        return self.random.choice(self.allocations) if self.allocations else None

    def allocate(self) -> None:
        if len(self.allocations) == 12:
            return
        kind = self.random.choice(["Host", "Device", "Shared"])
        owner = [] if kind == "Host" else [self.host.device]
        name, nothing = f"cl{kind}MemAllocINTEL", ctypes.c_void_p(None)
        pointer = self.extension(name, self.host.context, *owner, None, SIZE, 0, nothing, returns=ctypes.c_void_p)
        if not pointer:
            raise AssertionError(f"{name} gave nothing")
        made = Allocation(pointer, bytearray(self.noise(SIZE)))
        self.transfer(pointer, ctypes.create_string_buffer(bytes(made.data), SIZE), SIZE)
        self.allocations.append(made)

    def transfer(self, target: object, source: object, size: int) -> None:
        self.extension("clEnqueueMemcpyINTEL", self.queue(), 1, target, source, size, 0, None, None)

    def free(self) -> None:
        allocation = self.allocation()
        if allocation is not None:
            self.allocations.remove(allocation)
            self.extension("clMemBlockingFreeINTEL", self.host.context, allocation.pointer)

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
            arguments = (allocation.pointer, pattern, len(pattern), SIZE, 0, None, None)
            self.extension("clEnqueueMemFillINTEL", self.queue(), *arguments)
            allocation.data[:] = pattern * (SIZE // len(pattern))

    def usm_read(self) -> None:
        allocation, (offset, size) = self.allocation(), self.part()
        if allocation is None:
            return
        data = ctypes.create_string_buffer(SIZE)
        self.transfer(data, allocation.pointer + offset, size)
        if data.raw[:size] != bytes(allocation.data[offset : offset + size]):
            raise AssertionError(f"the allocation at {allocation.pointer:#x} is wrong from byte {offset}")

    def usm_add(self) -> None:
        allocation = self.allocation()
        if allocation is None:
            return
        kernel, amount = self.kernels["add"], self.random.randrange(-1000, 1000)
        self.extension("clSetKernelArgMemPointerINTEL", kernel, 0, allocation.pointer)
        self.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", amount))
        self.host.launch(kernel, SIZE // 4, queue=self.queue())
        values = struct.unpack(f"{SIZE // 4}I", allocation.data)
        allocation.data[:] = struct.pack(f"{SIZE // 4}I", *((value + amount) & 0xFFFFFFFF for value in values))


def has_usm(host: Host) -> bool:
    """Whether the device has unified shared memory; boards with a DSP have none."""
    extensions = host.cl.text("clGetDeviceInfo", host.device, cl.CL_DEVICE_EXTENSIONS)
    return "cl_intel_unified_shared_memory" in extensions.split()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500, help="of each thread")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--after-release", action="store_true", help="also use handles after their release")
    parser.add_argument("--usm", action="store_true", help="also use unified shared memory")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on with further seeds for so long")
    parser.add_argument("--may-grow", type=float, default=1.0, metavar="MIB", help="of memory in use, after a tenth")
    options = parser.parse_args()
    host = Host(Loader())
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
            for queue in player.queues:
                host.finish(queue)
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
    if len(told) > 1 and (growth := told[-1].growth(told[0], options.may_grow)):
        failures.append(growth)
    print("\n".join(failures) or f"seeds {options.seed} to {seed - 1}: right")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
