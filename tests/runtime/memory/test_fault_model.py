"""Random faults in random commands: what a failed command leaves behind.

A call that fails is not made, so with buffers that move in one piece a failed command has changed nothing at all,
and no other command is worse off.
"""

from __future__ import annotations

import ctypes
import gc
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import pytest
from effort import EFFORT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import Machine, at_once, machine_of

import fpgart.faults
from fpgart.base import opencl as cl
from fpgart.base.errors import MemObjectAllocationFailure
from fpgart.board.faults import FAULTS
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, migrate_to_device
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, WriteBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Operation

pytestmark = pytest.mark.usefixtures("faults_of_this_interpreter")
SIZE = 2000
COUNT = 4
STEPS = 150
LOCATIONS = {"hetero": ("", "DDR", "HBM", "QDR"), "a10_ref": ("", "DDR")}


def invert(address: int) -> None:
    """The kernel: every bit of the buffer changes."""
    data = int.from_bytes(ctypes.string_at(address, SIZE), "little") ^ ((1 << 8 * SIZE) - 1)
    ctypes.memmove(address, data.to_bytes(SIZE, "little"), SIZE)


class Player:
    """Buffers of its own, what is in them, and a queue on each device. Commands are waited for one by one."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine = machine
        self.random = random.Random(seed)
        self.queues = [CommandQueue(machine.context, device) for device in machine.devices]
        self.kernels: dict[tuple[Device, str], Kernel] = {}
        self.buffers: list[Buffer] = []
        self.contents: list[bytes] = []
        self.failures = 0
        self.steps = (self.write, self.read, self.fill, self.copy, self.launch, self.map, self.migrate, self.to_host)
        for _ in range(COUNT):
            self.buffers.append(machine.buffer(SIZE))
            self.contents.append(bytes(SIZE))
            self.write_all(len(self.buffers) - 1)

    # One command

    def works(self, queue: CommandQueue, operation: Callable[[], Operation]) -> bool:
        """Enqueues a command and finishes its queue; true if it succeeded. Memory may be missing at once, too."""
        try:
            event = queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation())
        except MemObjectAllocationFailure:
            self.failures += 1
            return False
        queue.finish()
        assert event.status in (0, cl.CL_OUT_OF_RESOURCES)
        self.failures += event.status < 0
        return event.status == 0

    def bound(self, device: Device, *buffers: Buffer) -> None:
        for buffer in buffers:
            buffer.bind(device)

    def pick(self) -> tuple[int, CommandQueue]:
        return self.random.randrange(COUNT), self.random.choice(self.queues)

    def part(self) -> tuple[int, int]:
        offset = self.random.randrange(SIZE)
        return offset, self.random.randint(1, SIZE - offset)

    def put(self, index: int, offset: int, data: bytes) -> None:
        contents = self.contents[index]
        self.contents[index] = contents[:offset] + data + contents[offset + len(data) :]

    def write_all(self, index: int) -> None:
        data = self.random.randbytes(SIZE)
        self.machine.write(self.buffers[index], data)
        self.contents[index] = data

    # The steps

    def write(self) -> None:
        (index, queue), (offset, size) = self.pick(), self.part()
        data = self.random.randbytes(size)
        source = ctypes.create_string_buffer(data, size)

        def operation() -> Operation:
            self.bound(queue.device, self.buffers[index])
            return WriteBuffer(queue.device, self.buffers[index], offset, size, ctypes.addressof(source))

        if self.works(queue, operation):
            self.put(index, offset, data)

    def read(self) -> None:
        (index, queue), (offset, size) = self.pick(), self.part()
        target = ctypes.create_string_buffer(b"?" * size, size)

        def operation() -> Operation:
            self.bound(queue.device, self.buffers[index])
            return ReadBuffer(queue.device, self.buffers[index], offset, size, ctypes.addressof(target))

        works = self.works(queue, operation)
        assert target.raw == (self.contents[index][offset : offset + size] if works else b"?" * size)

    def fill(self) -> None:
        index, queue = self.pick()
        pattern = self.random.randbytes(4)

        def operation() -> Operation:
            self.bound(queue.device, self.buffers[index])
            return FillBuffer(queue.device, self.buffers[index], 0, SIZE, pattern)

        if self.works(queue, operation):
            self.contents[index] = pattern * (SIZE // 4)

    def copy(self) -> None:
        (index, queue), (offset, size) = self.pick(), self.part()
        other = (index + self.random.randint(1, COUNT - 1)) % COUNT
        source, target = self.buffers[index], self.buffers[other]

        def operation() -> Operation:
            self.bound(queue.device, source, target)
            return CopyBuffer(queue.device, source, target, [(offset, offset, size)])

        if self.works(queue, operation):
            self.put(other, offset, self.contents[index][offset : offset + size])

    def launch(self) -> None:
        index, queue = self.pick()
        device = queue.device
        location = self.random.choice(LOCATIONS[device.board.name])
        kernel = self.kernels.get((device, location))
        if kernel is None:
            kernel = self.machine.kernel(invert, location, source=f"{id(self)} {device.id} {location}")
            self.kernels[device, location] = kernel
        kernel.set_buffer(0, self.buffers[index])
        if self.works(queue, lambda: new_launch(kernel, device, 1, (0, 0, 0, 1, 1, 1, 1, 1, 1), True)):
            self.contents[index] = bytes(byte ^ 0xFF for byte in self.contents[index])

    def map(self) -> None:
        (index, queue), (offset, size) = self.pick(), self.part()
        buffer, device = self.buffers[index], queue.device
        region = (offset, size, cl.CL_MAP_READ | cl.CL_MAP_WRITE)
        pointer = buffer.map(*region)
        data = self.contents[index][offset : offset + size]
        if self.works(queue, lambda: MapBuffer(device, buffer, pointer, region)):
            assert ctypes.string_at(pointer, size) == data
            data = self.random.randbytes(size)
            ctypes.memmove(pointer, data, size)
        region = buffer.unmap(pointer)
        if self.works(queue, lambda: UnmapBuffer(device, buffer, pointer, region)):
            self.put(index, offset, data)

    def migrate(self) -> None:
        index, queue = self.pick()
        self.works(queue, lambda: migrate_to_device(queue.device, [self.buffers[index]], True))

    def to_host(self) -> None:
        index, queue = self.pick()
        self.works(queue, lambda: MigrateToHost(queue.device, [self.buffers[index]], True))

    # What must be

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice(self.steps)()

    def check(self) -> None:
        """Every byte is right, and commands work again."""
        for index, (buffer, contents) in enumerate(zip(self.buffers, self.contents, strict=True)):
            assert self.machine.read(buffer) == contents
            assert len(buffer.blocks or {}) <= 1
            self.write_all(index)
            assert self.machine.read(buffer) == self.contents[index]

    def end(self) -> None:
        for kernel in self.kernels.values():
            kernel.arguments = [None]
        self.buffers.clear()
        self.machine.context.reap()


@pytest.fixture
def faulty() -> Iterator[Callable[..., AbstractContextManager[Machine]]]:
    """A machine whose devices can have faults. The collector is off: nothing may wait for it to give memory back."""

    @contextmanager
    def made(*boards: str) -> Iterator[Machine]:
        with contextmanager(machine_of)(*boards) as machine:
            for device in machine.devices:
                FAULTS.attach(device)
            gc.disable()
            try:
                yield machine
            finally:
                gc.enable()
                for device in machine.devices:
                    FAULTS.detach(device)

    yield made
    fpgart.faults.clear()


CALLS = ("write", "read", "copy", "program", "alloc", "kernel", "read,write,copy", "write,kernel,alloc")
ACTIONS = {"fail": CALLS, "delay=100us": CALLS[:4], "ecc=correctable": CALLS[:3], "hang:limit=1ms": ("kernel",)}
choosers = st.one_of(
    st.integers(1, 30).map(lambda n: f"nth={n}"),
    st.integers(2, 9).map(lambda n: f"every={n}"),
    st.sampled_from(["fraction=0.1", "fraction=0.5", "times=3"]),
)
clauses = st.sampled_from(sorted(ACTIONS)).flatmap(
    lambda action: st.tuples(st.sampled_from(ACTIONS[action]), st.just(action), choosers).map(":".join)
)


Faulty = Callable[..., AbstractContextManager[Machine]]


@settings(max_examples=50 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), rules=st.lists(clauses, min_size=1, max_size=4))
def test_failed_commands_change_nothing_and_hold_nothing(faulty: Faulty, seed: int, rules: list[str]) -> None:
    with faulty("hetero", "a10_ref") as machine:
        player = Player(machine, seed)
        with fpgart.faults.injecting(f"{';'.join(rules)};seed={seed}"):
            at_once(lambda: player.play(STEPS))
        at_once(player.check)
        player.end()
        assert [device.bytes_in_use() for device in machine.devices] == [0, 0]


@pytest.mark.parametrize("seed", range(4))
def test_threads_whose_commands_fail_do_not_disturb_each_other(faulty: Faulty, seed: int) -> None:
    spec = "read,write,copy,kernel,alloc:fail:fraction=0.1;program:fail:fraction=0.3;kernel:hang:limit=2ms:every=15"
    with faulty("hetero", "a10_ref") as machine:
        players = [Player(machine, 100 * seed + number) for number in range(4)]
        with fpgart.faults.injecting(f"{spec};seed={seed}"):
            at_once(*(partial(player.play, STEPS) for player in players))
        assert all(player.failures for player in players)
        for player in players:
            at_once(player.check)
            player.end()
        assert [device.bytes_in_use() for device in machine.devices] == [0, 0]
