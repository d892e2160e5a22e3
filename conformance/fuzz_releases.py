# SPDX-License-Identifier: Apache-2.0
"""Random hosts that release everything as early as they may, with memory nearly full; the same seed, the same calls.

    python conformance/fuzz_releases.py [--seed N] [--rounds N] [--seconds N]     (the loader finds the driver)

In each round the host enqueues chains of commands on buffers that take 30 to 60 % of a device's memory, on queues of
all devices. Behind the call that uses them last it releases buffers, sub-buffers, kernels, events and some queues.
Some chains wait for a user event, which then completes or fails. An allocation that is refused while commands are in
flight is tried again when they have ended, and must be accepted. When the host has waited, a buffer of 90 % of the
memory is accepted on each device at once, every destructor callback comes, and what was read is right. The exit
status is 1, with the seed and the round, where one of this is not so.
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
from collections.abc import Callable

import opencl_api as cl
from opencl_api import Failed, Loader, event_slot, handles, status_of, strings

SOURCE = b"kernel void add(global int *x, int y) { x[get_global_id(0)] += y; }"
WORDS = 16
SIZE = 4 * WORDS
NO_ROOM = -4
PATIENCE_S = 60
"""Until a callback that has not come counts as one that never comes."""
DESTROYED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
QUEUES = (0, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, cl.CL_QUEUE_PROFILING_ENABLE)


class Destroyed:
    """Counts the buffers of which the driver says that they are destroyed."""

    def __init__(self) -> None:
        self.count = 0
        self._more = threading.Condition()
        self.function = DESTROYED(self._count)

    def _count(self, buffer: int, nothing: int) -> None:
        with self._more:
            self.count += 1
            self._more.notify_all()

    def reach(self, count: int) -> None:
        with self._more:
            if not self._more.wait_for(lambda: self.count == count, PATIENCE_S):
                raise AssertionError(f"{self.count} of {count} destructor callbacks have come")


class Player:
    """A host with a context of all devices. `refused` counts the allocations that were tried again."""

    def __init__(self, loader: Loader, seed: int) -> None:
        self.cl, self.random = loader, random.Random(seed)
        self.destroyed, self.made = Destroyed(), 0
        self.commands = self.refused = 0
        found, count = handles(0), handles(0)
        loader.check("clGetPlatformIDs", 1, found, None)
        everything = cl.CL_DEVICE_TYPE_ALL & 0xFFFFFFFF
        loader.check("clGetDeviceIDs", found[0], everything, 0, None, count)
        devices = handles(*[0] * (count[0] & 0xFFFFFFFF))
        loader.check("clGetDeviceIDs", found[0], everything, len(devices), devices, None)
        self.devices = list(devices)
        self.context = loader.make("clCreateContext", None, len(devices), devices, None, None)
        self.program = loader.make("clCreateProgramWithSource", self.context, 1, strings(SOURCE.decode()), None)
        loader.check("clBuildProgram", self.program, 0, None, b"", None, None)
        self.queues = {device: self._queue(device, 0) for device in self.devices}
        self.room = {device: self._room_for_kernels(device) for device in self.devices}
        self.in_flight: list[int] = []
        """An event for each chain, which ends last."""
        self.gates: list[int] = []
        self.reads: list[tuple[object, list[int], int]] = []
        """Host memory, what is to be in it, and the event that says whether its chain has failed."""

    def _queue(self, device: int, properties: int) -> int:
        listed = handles(cl.CL_QUEUE_PROPERTIES, properties, 0)
        return self.cl.make("clCreateCommandQueueWithProperties", self.context, device, listed)

    def _room_for_kernels(self, device: int) -> int:
        """Bytes of the largest buffer of the context that a kernel can have when there is no other."""
        room = min(self.cl.number("clGetDeviceInfo", each, cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE) for each in self.devices)
        while self._hold(device, room // 10 * 9):
            room //= 2
        return room

    def _hold(self, device: int, size: int) -> int:
        """Have a kernel use a buffer that nothing else keeps; the status."""
        buffer, kernel = self._buffer(size), self._kernel()
        self._argument(kernel, buffer, 0)
        queue = self.queues[device]
        status = self.cl.status("clEnqueueNDRangeKernel", queue, kernel, 1, None, handles(1), None, 0, None, None)
        self._release("Kernel", kernel)
        self._release("MemObject", buffer)
        self.cl.check("clFinish", queue)
        return status

    def _release(self, kind: str, handle: int) -> None:
        self.cl.check(f"clRelease{kind}", handle)

    def _buffer(self, size: int) -> int:
        made = self.cl.make("clCreateBuffer", self.context, cl.CL_MEM_READ_WRITE, size, None)
        self.cl.check("clSetMemObjectDestructorCallback", made, self.destroyed.function, None)
        self.made += 1
        return made

    def _kernel(self) -> int:
        return self.cl.make("clCreateKernel", self.program, b"add")

    def _argument(self, kernel: int, buffer: int, amount: int) -> None:
        self.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
        self.cl.check("clSetKernelArg", kernel, 1, 4, struct.pack("i", amount))

    def round(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self._chain(self.random.choice(self.devices))
        self._settle()
        for device in self.devices:
            size = self.room[device] // 10 * 9
            if status := self._hold(device, size):
                raise AssertionError(f"nothing is in flight, but {size} bytes are refused: status {status}")
        self.destroyed.reach(self.made)

    def _chain(self, device: int) -> None:
        """A buffer, some commands that each wait for the one before, and a read."""
        size = self.room[device] * self.random.randint(30, 60) // 100
        kind = self.random.choice(QUEUES)
        own = self.random.random() < 0.3 or kind != 0
        queue = self._queue(device, kind) if own else self.queues[device]
        buffer, values, before = self._buffer(size), [self.random.randrange(1000)] * WORDS, 0
        if self.random.random() < 0.3:
            before = self.cl.make("clCreateUserEvent", self.context)
            self.gates.append(before)
            self.cl.check("clRetainEvent", before)
        first = self._write if self.random.randrange(2) else self._fill
        steps: list[Callable[[int, int, list[int], tuple[object, ...]], int]] = [first]
        steps += self.random.choices([self._add, self._window, self._fill, self._write], k=self.random.randrange(4))
        for step in [*steps, self._read]:
            after = self._enqueued(step, queue, buffer, values, before)
            if before:
                self._release("Event", before)
            before = after
        self.cl.check("clFlush", queue)
        self._release("MemObject", buffer)
        if own:
            self._release("CommandQueue", queue)
        self.in_flight.append(before)

    def _enqueued(
        self,
        step: Callable[[int, int, list[int], tuple[object, ...]], int],
        queue: int,
        buffer: int,
        values: list[int],
        before: int,
    ) -> int:
        """The event of a command, which is enqueued once more when it was refused and nothing is in flight."""
        event = event_slot()
        waits = (1, handles(before), event) if before else (0, None, event)
        self.commands += 1
        status = step(queue, buffer, values, waits)
        if status == NO_ROOM:
            self.refused += 1
            self._settle()
            status = step(queue, buffer, values, waits)
        if status:
            raise Failed(step.__name__, status)
        return int(event[0])

    def _write(self, queue: int, buffer: int, values: list[int], waits: tuple[object, ...]) -> int:
        values[:] = [self.random.randrange(1000) for _ in range(WORDS)]
        data = struct.pack(f"{WORDS}i", *values)
        self.reads.append((data, [], 0))  # it has to stay until the command has ended
        return self.cl.status("clEnqueueWriteBuffer", queue, buffer, 0, 0, SIZE, data, *waits)

    def _fill(self, queue: int, buffer: int, values: list[int], waits: tuple[object, ...]) -> int:
        values[:] = [self.random.randrange(1000)] * WORDS
        pattern = struct.pack("i", values[0])
        return self.cl.status("clEnqueueFillBuffer", queue, buffer, pattern, 4, 0, SIZE, *waits)

    def _add(self, queue: int, buffer: int, values: list[int], waits: tuple[object, ...]) -> int:
        amount, kernel = self.random.randrange(1000), self._kernel()
        self._argument(kernel, buffer, amount)
        launch = (queue, kernel, 1, None, handles(WORDS), None, *waits)
        status = self.cl.status("clEnqueueNDRangeKernel", *launch)
        self._release("Kernel", kernel)
        if not status:
            values[:] = [value + amount for value in values]
        return status

    def _window(self, queue: int, buffer: int, values: list[int], waits: tuple[object, ...]) -> int:
        """The parent may go before its window does."""
        window = self.cl.make("clCreateSubBuffer", buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, handles(0, SIZE))
        status = self._fill(queue, window, values, waits)
        self._release("MemObject", window)
        return status

    def _read(self, queue: int, buffer: int, values: list[int], waits: tuple[object, ...]) -> int:
        data = ctypes.create_string_buffer(SIZE)
        status = self.cl.status("clEnqueueReadBuffer", queue, buffer, 0, 0, SIZE, data, *waits)
        if not status:
            event = waits[-1][0]  # type: ignore[index]
            self.cl.check("clRetainEvent", event)
            self.reads.append((data, list(values), event))
        return status

    def _settle(self) -> None:
        """Have everything end, and compare what was read."""
        for gate in self.gates:
            self.cl.check("clSetUserEventStatus", gate, self.random.choice([0, 0, -1]))
            self._release("Event", gate)
        for event in self.in_flight:
            self.cl.status("clWaitForEvents", 1, handles(event))  # a chain whose user event has failed fails, too
            self._release("Event", event)
        for queue in self.queues.values():
            self.cl.check("clFinish", queue)
        for data, expected, event in self.reads:
            if not event:
                continue
            if status_of(self, event) >= 0:  # type: ignore[arg-type]
                found = list(struct.unpack(f"{WORDS}i", data.raw))  # type: ignore[attr-defined]
                if found != expected:
                    raise AssertionError(f"{found} was read, not {expected}")
            self._release("Event", event)
        self.gates, self.in_flight, self.reads = [], [], []

    def end(self) -> None:
        for queue in self.queues.values():
            self._release("CommandQueue", queue)
        self._release("Program", self.program)
        self._release("Context", self.context)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20, help="of each seed")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on with further seeds for so long")
    options = parser.parse_args()
    loader, begin, seed, commands, refused = Loader(), time.monotonic(), options.seed, 0, 0
    while True:
        done = 0
        try:
            player = Player(loader, seed)
            while done < options.rounds:
                player.round()
                done += 1
            player.end()
        except BaseException:
            print(f"seed {seed}, round {done}\n{traceback.format_exc()}")
            return 1
        commands, refused, seed = commands + player.commands, refused + player.refused, seed + 1
        if time.monotonic() - begin >= options.seconds:
            break
    print(f"seeds {options.seed} to {seed - 1}: right; {commands} commands, {refused} of them refused while others ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
