# SPDX-License-Identifier: Apache-2.0
"""A command's reservations are released however it ends; the objects that it uses live until then."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from effort import EFFORT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine import Boards, Machine, nothing

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, OutOfResources
from fpgart.board.mmd import BoardError
from fpgart.engine.interface import POINTER, NoEngine
from fpgart.runtime.commands import usm as usm_commands
from fpgart.runtime.commands.boxes import Box
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, map_in_place, migrate_to_device
from fpgart.runtime.commands.packets import MovePacket, MoveVariable
from fpgart.runtime.commands.programming import ProgramDevice
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, ReadRect, WriteBuffer, WriteRect
from fpgart.runtime.memory import usm
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.reservation import Reservation
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import COMPLETE, QUEUED, Event, Operation
from fpgart.runtime.scheduling.occupancy import Direction

pytestmark = pytest.mark.machine("usm_s10")

SIZE = 4096
HOST = ctypes.create_string_buffer(SIZE)
ADDRESS = ctypes.addressof(HOST)
FAILED = -1
BOX = Box((0, 0, 0), 64, SIZE)
EXTENT = (32, 4, 1)


@dataclass
class Setting:
    """Two boards; `written` has its contents on the first one, `empty` has none."""

    machine: Machine
    target: Device
    written: Buffer
    empty: Buffer
    kernel: Kernel

    @classmethod
    def on(cls, machine: Machine) -> Setting:
        written, empty = machine.written(bytes(SIZE)), machine.buffer(SIZE)
        kernel = machine.kernel(nothing, "", "", given=[written, empty])
        return cls(machine, machine.devices[-1], written, empty, kernel)

    def bound(self, buffer: Buffer) -> Buffer:
        buffer.bind(self.target)
        return buffer


def map_buffer(setting: Setting) -> Operation:
    pointer = setting.written.map(0, SIZE, cl.CL_MAP_WRITE)
    return MapBuffer(setting.target, setting.written, pointer, (0, SIZE, cl.CL_MAP_WRITE))


def unmap_buffer(setting: Setting) -> Operation:
    pointer = setting.written.map(0, SIZE, cl.CL_MAP_WRITE)
    return UnmapBuffer(setting.target, setting.written, pointer, setting.written.unmap(pointer))


def usm_places(setting: Setting) -> tuple[usm_commands.UsmPointer, usm_commands.UsmPointer]:
    context = setting.machine.context
    for allocation in context.usm.all():
        usm.free(context, allocation.pointer)
    made = usm.allocate_device(context, setting.target, SIZE)
    return usm_commands.UsmPointer(context, made.pointer, SIZE), usm_commands.UsmPointer(context, ADDRESS, SIZE)


OPERATIONS: dict[str, Callable[[Setting], Operation]] = {
    "write": lambda s: WriteBuffer(s.target, s.bound(s.empty), 0, SIZE, ADDRESS),
    "read": lambda s: ReadBuffer(s.target, s.written, 0, SIZE, ADDRESS),
    "write of a box": lambda s: WriteRect(s.target, s.bound(s.empty), BOX, ADDRESS, BOX, EXTENT),
    "read of a box": lambda s: ReadRect(s.target, s.written, BOX, ADDRESS, BOX, EXTENT),
    "copy": lambda s: CopyBuffer(s.target, s.written, s.bound(s.empty), [(0, 0, SIZE)]),
    "fill": lambda s: FillBuffer(s.target, s.bound(s.empty), 0, SIZE, b"x"),
    "map": map_buffer,
    "unmap": unmap_buffer,
    "migration to a device": lambda s: migrate_to_device(s.target, [s.written, s.empty], keep=True),
    "migration of nothing": lambda s: migrate_to_device(s.target, [s.written, s.empty], keep=False),
    "migration to the host": lambda s: MigrateToHost(s.target, [s.written], keep=True),
    "launch": lambda s: s.machine.launch_of(s.kernel, s.target.id),
    "program": lambda s: ProgramDevice(s.target, s.kernel.program),
    "work on the host": lambda s: HostWork(s.target, lambda: None),
    "copy of USM": lambda s: usm_commands.UsmCopy(s.target, *usm_places(s), SIZE),
    "fill of USM": lambda s: usm_commands.UsmFill(s.target, usm_places(s)[0], b"x", SIZE),
    "packet": lambda s: MovePacket(s.target, "program", "channel", ADDRESS, 4, writing=True, blocking=False),
    "variable": lambda s: MoveVariable(s.target, s.kernel.program, "variable", ADDRESS, 4, 0, writing=True),
}
MAY_FAIL_BY_ITSELF = ("packet", "variable")
UNMAPPED_BY_THE_HOST = ("map",)


def failing(error: type[Exception]) -> Callable[..., Any]:
    def call(*_: object, **__: object) -> None:
        raise error("on request")

    return call


class Ending:
    """A way on which a command ends: enqueue it, and bring it about."""

    def __init__(self, setting: Setting) -> None:
        self.machine = setting.machine
        self.device = setting.target
        self.queue = CommandQueue(self.machine.context, self.device)

    def enqueue(self, operation: Operation, *waits: Event) -> Event:
        return self.queue.enqueue(cl.CL_COMMAND_TASK, operation, waits)


class Completes(Ending):
    def __call__(self, operation: Operation) -> int:
        event = self.enqueue(operation)
        self.queue.finish()
        return event.status


class WaitListFails(Ending):
    def __call__(self, operation: Operation) -> int:
        before = self.machine.user_event()
        event = self.enqueue(operation, before)
        before.set_status(FAILED)
        return event.status


class WaitListHasFailed(Ending):
    def __call__(self, operation: Operation) -> int:
        before = self.machine.user_event()
        before.set_status(FAILED)
        return self.enqueue(operation, before).status


class WaitListOfAnotherFails(Ending):
    def __call__(self, operation: Operation) -> int:
        before = self.machine.user_event()
        other = CommandQueue(self.machine.context, self.device)
        between = other.enqueue(cl.CL_COMMAND_TASK, HostWork(self.device, lambda: None), (before,))
        event = self.enqueue(operation, between)
        before.set_status(FAILED)
        return event.status


class BoardFails(Ending):
    error: type[Exception] = BoardError

    def __call__(self, operation: Operation) -> int:
        with pytest.MonkeyPatch.context() as patch:
            for device in self.machine.devices:
                for call in ("write", "read", "copy", "program"):
                    patch.setattr(device.mmd, call, failing(self.error))
            event = self.enqueue(operation)
            self.queue.finish()
        return event.status


class DriverFails(BoardFails):
    error = RuntimeError  # as a fault of the driver's own would


class IsRefused(Ending):
    def __call__(self, operation: Operation) -> int:
        self.machine.scheduler.close(1)
        try:
            with pytest.raises(OutOfResources, match="exiting"):
                self.enqueue(operation)
        finally:
            self.machine.scheduler.reopen()
        return FAILED


class IsForgotten(Ending):
    """The host releases the queue, and the user event that nobody will end any more."""

    def __call__(self, operation: Operation) -> int:
        self.enqueue(operation, self.machine.user_event())
        del operation, self.queue
        gc.collect()
        return QUEUED


ENDINGS = [
    Completes,
    WaitListFails,
    WaitListHasFailed,
    WaitListOfAnotherFails,
    BoardFails,
    DriverFails,
    IsRefused,
    IsForgotten,
]


def account(machine: Machine) -> None:
    """Nothing is busy, nobody waits for a block, and each block has the contents of its buffer or allocation."""
    machine.context.reap()
    for device in machine.devices:
        busy = device.occupancy
        assert (busy.moving, busy.programming, busy.launches, busy.busy_cores) == (Direction.NONE, False, 0, 0)
        for block in device.blocks():
            assert (block.users, block.running, block.mapped) == ({}, 0, 0)


def blocks_with_contents(setting: Setting) -> set[int]:
    homes = [buffer.home for buffer in (setting.written, setting.empty)]
    allocations = [allocation.block for allocation in setting.machine.context.usm.all()]
    return {id(block) for block in (*homes, *allocations) if block is not None}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_command_gives_back_what_it_reserved_however_it_ends(boards: Boards, kind: str, ending: type[Ending]) -> None:
    setting = Setting.on(boards("usm_s10", "usm_s10"))
    status = ending(setting)(OPERATIONS[kind](setting))
    if ending is Completes and kind not in MAY_FAIL_BY_ITSELF:
        assert status == COMPLETE
    account(setting.machine)
    found = {id(block) for device in setting.machine.devices for block in device.blocks()}
    assert found == blocks_with_contents(setting)
    if kind in UNMAPPED_BY_THE_HOST:
        setting.written.unmap(setting.written.host_address())
    assert setting.written.map_count == 0


@settings(max_examples=60 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(ENDINGS[:-1])), max_size=8))
def test_after_any_commands_and_the_death_of_their_buffers_the_boards_are_empty(
    boards: Boards, steps: list[tuple[str, type[Ending]]]
) -> None:
    machine = boards("a10_ref", "hetero")
    setting = Setting.on(machine)
    for kind, ending in steps:
        ending(setting)(OPERATIONS[kind](setting))
        account(machine)
    for allocation in machine.context.usm.all():
        usm.free(machine.context, allocation.pointer)
    del setting
    gc.collect()
    account(machine)
    assert [device.bytes_in_use() for device in machine.devices] == [0, 0]


@pytest.mark.parametrize("ending", [Completes, WaitListFails, BoardFails, IsRefused, IsForgotten])
@pytest.mark.parametrize("unmaps", [False, True])
def test_a_mapping_in_place_is_given_back_however_its_commands_end(
    boards: Boards, ending: type[Ending], unmaps: bool
) -> None:
    setting = Setting.on(boards("soc_a10"))
    buffer, device = setting.written, setting.target
    block = buffer.reserve_for_mapping(device)
    assert block is not None
    pointer = buffer.map(0, SIZE, cl.CL_MAP_READ, block)

    def leave() -> None:
        buffer.leave_mapping(block)

    if unmaps:
        buffer.unmap(pointer)
        ending(setting)(HostWork(device, leave, instead=leave))
    else:
        ending(setting)(map_in_place(device, buffer, block, keep=True))
        assert block.mapped == 1  # the host has the pointer, until it unmaps
        buffer.unmap(pointer)
        leave()
    if ending is not IsForgotten or not unmaps:
        account(setting.machine)


def test_a_region_whose_map_command_does_not_run_is_not_written_back(boards: Boards) -> None:
    setting = Setting.on(boards("usm_s10"))
    WaitListFails(setting)(map_buffer(setting))
    pointer = setting.written.host_address()
    ctypes.memset(pointer, 0x5A, SIZE)
    region = setting.written.unmap(pointer)
    Completes(setting)(UnmapBuffer(setting.target, setting.written, pointer, region))
    assert setting.machine.read(setting.written) == bytes(SIZE)


def test_a_region_whose_contents_could_not_be_read_is_not_written_back(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting.on(boards("usm_s10"))
    operation = map_buffer(setting)
    with monkeypatch.context() as patch:
        patch.setattr(setting.machine.device.mmd, "read", failing(BoardError))
        with pytest.raises(BoardError, match="on request"):
            operation.run()
    pointer = setting.written.host_address()
    ctypes.memset(pointer, 0x5A, SIZE)
    Completes(setting)(UnmapBuffer(setting.target, setting.written, pointer, setting.written.unmap(pointer)))
    assert setting.machine.read(setting.written) == bytes(SIZE)


def test_a_write_keeps_its_place_when_the_launch_that_claimed_it_does_not_run(boards: Boards) -> None:
    setting = Setting.on(boards("usm_s10"))
    machine = setting.machine
    before = machine.user_event()
    other = CommandQueue(machine.context, setting.target)
    other.enqueue(cl.CL_COMMAND_TASK, OPERATIONS["launch"](setting), (before,))
    late = machine.user_event()
    data = ctypes.create_string_buffer(b"y" * SIZE, SIZE)
    write = WriteBuffer(setting.target, setting.bound(setting.empty), 0, SIZE, ctypes.addressof(data))
    machine.queue.enqueue(cl.CL_COMMAND_WRITE_BUFFER, write, (late,))
    before.set_status(FAILED)
    late.set_status(COMPLETE)
    machine.queue.finish()
    assert setting.empty.home is not None
    assert machine.read(setting.empty) == b"y" * SIZE


def test_a_launch_keeps_its_pipes(machine: Machine) -> None:
    pipe = Pipe(machine.context, cl.CL_MEM_READ_WRITE, 4, 16)
    kernel = machine.kernel(nothing, "")
    kernel.arguments[0] = (-2, 8, pipe)
    declared = type("Declared", (), {"blocking": False})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(kernel.interface.arguments[0]), "pipe", declared, raising=False)
        made = machine.launch_of(kernel)
    kernel.arguments[0] = None
    assert made.pipes == [pipe]
    assert made.arguments[0] == (POINTER, 8, pipe.fifo.end(blocking=False))


def test_a_range_is_nobody_elses_before_the_board_has_forgotten_it(machine: Machine) -> None:
    device = machine.device
    first = device.allocate(SIZE, 0, 0, 1)
    assert first is not None
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device.mmd, "unused", lambda *_: taken.append(device.memories.allocate(SIZE, 0)))
        first.release()
    assert taken[0].address != first.address


# Contexts


def within(seconds: float, work: Callable[[], object]) -> bool:
    """True if `work`, on a thread of its own, ends in time."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_what_was_reserved_for_a_command_that_nobody_keeps_is_free(boards: Boards) -> None:
    machine = boards("a10_ref")
    buffer = machine.buffer(SIZE)
    kept = Reservation()
    block = kept.take(buffer, machine.device)
    del kept
    assert list(block.users), "a destructor takes no lock"
    machine.context.reap()
    assert not block.users
    assert machine.device.bytes_in_use() == 0


def test_a_context_that_dies_takes_no_lock(machine: Machine) -> None:
    """It may die wherever Python allocates, also in a thread that has the lock."""
    contexts = [Context(machine.platform, machine.devices)]
    made = usm.allocate_device(contexts[0], machine.device, SIZE)
    lock = contexts[0].usm._lock

    def destroy() -> None:
        with lock:
            contexts.clear()

    assert within(10, destroy)
    assert machine.device.bytes_in_use() == made.size
    machine.scheduler.reaper.reap()
    assert machine.device.bytes_in_use() == 0


def test_a_build_that_fails_keeps_nothing_alive(machine: Machine) -> None:
    """Exceptions that refer to each other would stay until a garbage collection, which is rare in hosts in C."""
    machine.platform._engine = NoEngine("there is none")
    context = Context(machine.platform, machine.devices)
    program = Program(context, machine.devices, source="kernel void nothing() {}")
    program.claim(machine.devices)
    gc.disable()
    try:
        with pytest.raises(CLError) as caught:
            program.build(machine.devices, "")
        del caught
        left = weakref.ref(program)
        del program
        assert left() is None
    finally:
        gc.enable()


def test_a_context_calls_back_when_its_last_command_has_been_forgotten(machine: Machine) -> None:
    """Nobody makes another call then: who ran the command sees to it."""
    called, begin = threading.Event(), threading.Event()
    context = Context(machine.platform, machine.devices)
    context.when_destroyed(called.set)
    queue = CommandQueue(context, machine.device)
    queue.enqueue(cl.CL_COMMAND_TASK, HostWork(machine.device, begin.wait))
    queue.flush()
    del context, queue
    begin.set()
    called.wait()


def test_the_callbacks_of_a_context_come_last_registered_first_and_before_its_memory_goes(machine: Machine) -> None:
    context = Context(machine.platform, machine.devices)
    usm.allocate_device(context, machine.device, SIZE)
    seen: list[tuple[str, bool]] = []
    for name in ("first", "second"):
        context.when_destroyed(lambda name=name: seen.append((name, machine.device.bytes_in_use() > 0)))  # type: ignore[misc]
    del context
    assert seen == []
    machine.scheduler.reaper.reap()
    assert seen == [("second", True), ("first", True)]
    assert machine.device.bytes_in_use() == 0


def test_a_buffer_that_the_collector_destroys_with_its_reservation_frees_its_block_once(boards: Boards) -> None:
    """As the frames of a launch that has failed refer to both, and its error to the frames."""
    machine = boards("a10_ref")
    free, holes = machine.device.memories.holes(0), []
    for _ in range(2):
        buffer, reservation, around = machine.buffer(SIZE), Reservation(), list[object]()
        reservation.take(buffer, machine.device)
        around += [buffer, reservation, around]
        del buffer, reservation, around
        gc.collect()
        machine.context.reap()
        holes.append(machine.device.memories.holes(0))
    assert (holes, machine.device.bytes_in_use()) == ([free, free], 0)


def test_a_block_is_freed_once_and_what_is_there_then_stays(boards: Boards) -> None:
    device = boards("a10_ref").device
    first = device.allocate(SIZE, 0, 0, 1)
    assert first is not None
    first.release()
    second = device.allocate(SIZE, 0, 0, 2)
    assert second is not None
    with pytest.raises(AssertionError, match=r"the block at 0x\w+ of device 0 is freed twice"):
        first.release()
    assert device.blocks() == [second]
