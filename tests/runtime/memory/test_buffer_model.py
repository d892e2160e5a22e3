"""Random sequences of buffer operations on one to three devices against plain bytes."""

from __future__ import annotations

import ctypes
import itertools

from effort import EFFORT
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from machine import Machine

from fpgart.base import opencl as cl
from fpgart.base.notices import NOTICES
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, migrate_to_device
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.kernel import Kernel

SIZE = 3000
BOARDS = ("hetero", "a10_ref", "usm_s10")
LOCATIONS = {"hetero": ("", "DDR", "HBM", "QDR"), "a10_ref": ("", "DDR"), "usm_s10": ("", "device")}
WINDOW = (1024, 1000)
WRITES = cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION

devices = st.integers(0, 2)
picks = st.integers(0, 99)
ranges = st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)).map(lambda r: (r[0], min(r[1], SIZE - r[0])))


def xor(address: int, other: int) -> None:
    """The kernel: every byte of the first buffer is xored with the second's."""
    first = (ctypes.c_ubyte * SIZE).from_address(address)
    second = (ctypes.c_ubyte * SIZE).from_address(other)
    result = int.from_bytes(first, "little") ^ int.from_bytes(second, "little")
    ctypes.memmove(address, result.to_bytes(SIZE, "little"), SIZE)


class Model:
    """A buffer and what must be in it; bytes that nobody wrote are None."""

    def __init__(self, buffer: Buffer, contents: list[int | None], host: object = None) -> None:
        self.buffer = buffer
        self.contents = contents
        self.host = host


class BufferMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.models: list[Model] = []
        self.pending = False

    @initialize(count=st.integers(1, 3), simulator=st.booleans())
    def start(self, count: int, simulator: bool) -> None:
        self.names = BOARDS[:count]
        self.machine = Machine(*self.names, simulator=simulator)
        NOTICES.listen(self.machine.watcher)
        self.kernels: dict[tuple[int, str, str], Kernel] = {}

    def device(self, pick: int) -> int:
        return pick % len(self.names)

    def model(self, pick: int) -> Model:
        return self.models[pick % len(self.models)]

    def run(self, device: int, command: int, operation: object) -> None:
        self.machine.queues[device].run(command, operation, blocking=True)  # type: ignore[arg-type]

    have_buffers = precondition(lambda self: self.models)

    @rule(bank=st.integers(0, 3), use_host=st.booleans(), fill=st.integers(0, 255))
    def create(self, bank: int, use_host: bool, fill: int) -> None:
        if len(self.models) == 8:
            return
        if use_host:
            host = ctypes.create_string_buffer(bytes([fill]) * SIZE, SIZE)
            buffer = self.machine.buffer(SIZE, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(host))
            self.models.append(Model(buffer, [fill] * SIZE, host))
        else:
            self.models.append(Model(self.machine.buffer(SIZE, bank=bank), [None] * SIZE))

    @have_buffers
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        self.models.pop(pick % len(self.models))
        self.machine.context.reap()

    @have_buffers
    @rule(pick=picks, where=devices, part=ranges, value=st.integers(0, 255))
    def write(self, pick: int, where: int, part: tuple[int, int], value: int) -> None:
        model, (offset, size) = self.model(pick), part
        self.machine.write(model.buffer, bytes([value]) * size, offset, self.device(where))
        model.contents[offset : offset + size] = [value] * size

    @have_buffers
    @rule(pick=picks, where=devices, value=st.integers(0, 255))
    def write_a_window(self, pick: int, where: int, value: int) -> None:
        model, (origin, size) = self.model(pick), WINDOW
        self.machine.write(
            self.machine.sub_buffer(model.buffer, origin, size), bytes([value]) * size, 0, self.device(where)
        )
        model.contents[origin : origin + size] = [value] * size

    @have_buffers
    @rule(pick=picks, where=devices, value=st.binary(min_size=1, max_size=1))
    def fill(self, pick: int, where: int, value: bytes) -> None:
        model, device = self.model(pick), self.device(where)
        model.buffer.bind(self.machine.devices[device])
        operation = FillBuffer(self.machine.devices[device], model.buffer, 0, SIZE, value)
        self.run(device, cl.CL_COMMAND_FILL_BUFFER, operation)
        model.contents[:] = list(value) * SIZE

    @have_buffers
    @rule(pick=picks, other=picks, where=devices, part=ranges)
    def copy(self, pick: int, other: int, where: int, part: tuple[int, int]) -> None:
        source, target, device = self.model(pick), self.model(other), self.device(where)
        if source is target:
            return
        offset, size = part
        for model in (source, target):
            model.buffer.bind(self.machine.devices[device])
        parts = [(offset, SIZE - offset - size, size)]
        operation = CopyBuffer(self.machine.devices[device], source.buffer, target.buffer, parts)
        self.run(device, cl.CL_COMMAND_COPY_BUFFER, operation)
        end = SIZE - offset
        target.contents[end - size : end] = source.contents[offset : offset + size]

    @have_buffers
    @rule(pick=picks, other=picks, where=devices, location=picks, other_location=picks)
    def launch(self, pick: int, other: int, where: int, location: int, other_location: int) -> None:
        first, second, device = self.model(pick), self.model(other), self.device(where)
        if first is second:
            return
        names = LOCATIONS[self.names[device]]
        places = names[location % len(names)], names[other_location % len(names)]
        key = (device, *places)
        if key not in self.kernels:
            self.kernels[key] = self.machine.kernel(xor, *places, source=str(key))
        kernel = self.kernels[key]
        kernel.set_buffer(0, first.buffer)
        kernel.set_buffer(1, second.buffer)
        self.machine.run(kernel, device)
        first.contents = [
            None if a is None or b is None else a ^ b for a, b in zip(first.contents, second.contents, strict=True)
        ]

    @have_buffers
    @rule(pick=picks, where=devices, keep=st.booleans())
    def migrate(self, pick: int, where: int, keep: bool) -> None:
        model, device = self.model(pick), self.device(where)
        if not self.machine.devices[device].knows_memories:
            return
        operation = migrate_to_device(self.machine.devices[device], [model.buffer], keep)
        self.run(device, cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation)
        if not keep:
            model.contents = [None] * SIZE

    @have_buffers
    @rule(pick=picks, where=devices, keep=st.booleans())
    def migrate_to_host(self, pick: int, where: int, keep: bool) -> None:
        model, device = self.model(pick), self.device(where)
        operation = MigrateToHost(self.machine.devices[device], [model.buffer], keep)
        self.run(device, cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation)
        if not keep:
            model.contents = [None] * SIZE

    @have_buffers
    @rule(
        pick=picks,
        where=devices,
        part=ranges,
        flags=st.sampled_from([cl.CL_MAP_READ, cl.CL_MAP_WRITE, cl.CL_MAP_WRITE_INVALIDATE_REGION]),
        value=st.integers(0, 255),
    )
    def map(self, pick: int, where: int, part: tuple[int, int], flags: int, value: int) -> None:
        model, device, (offset, size) = self.model(pick), self.device(where), part
        model.buffer.bind(self.machine.devices[device])
        pointer = model.buffer.map(offset, size, flags)
        board = self.machine.devices[device]
        mapping = MapBuffer(board, model.buffer, pointer, (offset, size, flags))
        self.run(device, cl.CL_COMMAND_MAP_BUFFER, mapping)
        if flags & cl.CL_MAP_WRITE_INVALIDATE_REGION == 0:
            self.compare(model, offset, ctypes.string_at(pointer, size))
        if flags & WRITES:
            ctypes.memset(pointer, value, size)
            model.contents[offset : offset + size] = [value] * size
        region = model.buffer.unmap(pointer)
        operation = UnmapBuffer(board, model.buffer, pointer, region)
        self.run(device, cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation)

    @have_buffers
    @rule(pick=picks, where=devices, part=ranges)
    def read(self, pick: int, where: int, part: tuple[int, int]) -> None:
        model, (offset, size) = self.model(pick), part
        self.compare(model, offset, self.machine.read(model.buffer, size, offset, self.device(where)))

    def compare(self, model: Model, offset: int, found: bytes) -> None:
        expected = model.contents[offset : offset + len(found)]
        assert all(want is None or want == got for want, got in zip(expected, found, strict=True))

    @invariant()
    def no_block_overlaps_another(self) -> None:
        if not hasattr(self, "machine"):
            return
        watcher = self.machine.watcher
        live = set(map(id, watcher.reserved)) - set(map(id, watcher.freed))
        taken = sorted(
            (block.device.id, block.address, block.range.size) for block in watcher.reserved if id(block) in live
        )
        for (device, address, size), (next_device, next_address, _) in itertools.pairwise(taken):
            assert device != next_device or address + size <= next_address

    @invariant()
    def a_buffer_at_rest_has_one_block_at_most(self) -> None:
        for model in self.models:
            assert len(model.buffer.blocks or {}) <= 1

    def teardown(self) -> None:
        if not hasattr(self, "machine"):
            return
        for kernel in self.kernels.values():
            kernel.arguments = [None, None]
        self.models.clear()
        self.machine.context.reap()
        NOTICES.silence(self.machine.watcher)
        watcher = self.machine.watcher
        assert sorted(map(id, watcher.reserved)) == sorted(map(id, watcher.freed))
        self.machine.scheduler.close(5)
        for device in self.machine.devices:
            device.mmd.close()


TestBuffers = BufferMachine.TestCase
TestBuffers.settings = settings(max_examples=60 * EFFORT, stateful_step_count=40, deadline=None)
