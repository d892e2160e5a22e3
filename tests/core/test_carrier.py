"""Carried commands on the engine of this machine (core/, engine/carrier.c): their order, ends, errors and times."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from struct import Struct
from time import monotonic_ns
from types import SimpleNamespace
from typing import Any

import pytest
from commands import Work
from fpgart._native import ffi, lib

from fpgart.base import opencl as cl
from fpgart.engine.interface import BYTES, POINTER, Engine, pack_arguments
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.runtime.scheduling.threads import SystemThreads

SIZES = Struct("9Q")
COUNT = 16
SOURCE = """
kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }
kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }
kernel void wait_until_open(global volatile int *gate) { while (!gate[0]) ; }
"""
WORK, MARKER, BARRIER = 0, 1, 2


class Ints:
    """Numbers in memory of this process."""

    def __init__(self, *numbers: int) -> None:
        self.ints = (ctypes.c_int * COUNT)(*numbers)
        self.address = ctypes.addressof(self.ints)
        self.size = 4 * COUNT

    def __getitem__(self, index: int) -> int:
        return self.ints[index]


class Carrier:
    """Queues of one board, their commands, and what was said of each."""

    def __init__(self, engine: OpenCLEngine) -> None:
        self.driver = engine.driver
        self.program = engine.from_source(SOURCE)
        self.program.build("")
        self.kernels: dict[str, Any] = {name: self.program.kernel(name) for name in ("add", "twice", "wait_until_open")}
        self._ended: list[tuple[int, int]] = []
        self._told = threading.Condition()
        self.idle = threading.Event()
        self._to_free = ExitStack()
        self._tell = ffi.callback("void(struct carried *, int32_t)", self._note)
        self._call_idle = ffi.callback("void(void *)", lambda _: self.idle.set())
        self._kept: list[object] = []
        self.board = lib.core_board_new(self._call_idle, ffi.NULL)
        self._caller = lib.core_caller_new(ffi.NULL, ffi.NULL)
        self._threads = [threading.Thread(target=each) for each in (lib.core_observe, lib.core_serve)]
        lib.core_open()
        for thread in self._threads:
            thread.start()

    def _note(self, carried: Any, status: int) -> None:
        with self._told:
            self._ended.append((int(ffi.cast("intptr_t", carried.data)), status))
            self._told.notify()

    def ended(self, count: int) -> list[tuple[int, int]]:
        """The numbers and statuses of so many ends; some may be told after a wait has returned."""
        with self._told:
            self._told.wait_for(lambda: len(self._ended) >= count)
            return list(self._ended)

    def queue(self, *, in_order: bool = True, profiling: bool = False, made: Any = None) -> Any:
        """`made`: the core's queue, if there is one; its owner frees it."""
        carrier = lib.carrier_functions()
        lane = carrier.lane_new(self.driver.context, self.driver.device, in_order, profiling)
        if made is None:
            made = lib.core_queue_new(self._caller, in_order)
            self._to_free.callback(lib.core_queue_release, made)
        carries = ffi.new("struct core_lane *", {"engine": carrier.engine, "lane": lane, "freed": carrier.lane_free})
        assert lib.core_queue_carry(made, self.board, carries)
        return made

    def enqueue(
        self, queue: Any, carried: Any, more: bytes = b"", waits: tuple[Any, ...] = (), role: int = WORK
    ) -> Any:
        """A command; its number is that of its end."""
        carried.ended = self._tell
        size = ffi.sizeof("struct carried")
        image = ffi.new("char[]", bytes(ffi.buffer(carried, size)) + more)
        kind = lib.CORE_CARRIED if carried.kind == lib.CARRIED_LAUNCH else lib.CORE_MOVES
        made = lib.core_enqueue(
            queue, role, kind, lib.core_board_epoch(self.board), image, size + len(more), len(waits), waits
        )
        if made:
            self._to_free.callback(lib.core_release, made)
        return made

    def launch(
        self,
        queue: Any,
        name: str,
        *arguments: Ints | int,
        waits: tuple[Any, ...] = (),
        number: int = 0,
        items: int = 1,
        dimensions: int = 1,
    ) -> Any:
        laid_out = [
            (POINTER, 8, each.address) if isinstance(each, Ints) else (BYTES, 4, each.to_bytes(4, "little"))
            for each in arguments
        ]
        carried = ffi.new("struct carried *", {"kind": lib.CARRIED_LAUNCH, "kernel": self.kernels[name].handle})
        carried.data = ffi.cast("void *", number)
        carried.dimensions, carried.count, carried.has_local = dimensions, len(arguments), True
        ffi.memmove(carried.sizes, SIZES.pack(0, 0, 0, items, 1, 1, 1, 1, 1), SIZES.size)
        return self.enqueue(queue, carried, pack_arguments(laid_out), waits)

    def move(self, queue: Any, source: int, target: int, *size: int, pitch: int = 0) -> Any:
        carried = ffi.new("struct carried *", {"kind": lib.CARRIED_MOVE, "to": target})
        setattr(carried, "from", source)
        carried.size = [*size, 1, 1][:3]
        carried.from_pitch = carried.to_pitch = [pitch, 0]
        return self.enqueue(queue, carried)

    def fill(self, queue: Any, target: int, size: int, pattern: bytes) -> Any:
        carried = ffi.new("struct carried *", {"kind": lib.CARRIED_FILL, "to": target, "count": len(pattern)})
        carried.size = [size, 1, 1]
        return self.enqueue(queue, carried, pattern)

    def marker(self, queue: Any, *waits: Any, role: int = MARKER) -> Any:
        return self.enqueue(queue, ffi.new("struct carried *"), waits=waits, role=role)

    def call_back(self, command: Any) -> list[int]:
        """Registers a callback; returns the list that gets its status. The callback also sets an event."""
        found: list[int] = []

        def note(_command: Any, status: int, _data: Any) -> None:
            found.append(status)
            self.idle.set()

        callback = ffi.callback("void(struct core_command *, int32_t, void *)", note)
        self._kept.append(callback)
        assert lib.core_callback(command, cl.CL_COMPLETE, callback, ffi.NULL)
        return found

    def close(self) -> None:
        lib.core_close()
        for thread in self._threads:
            thread.join()
        self._to_free.close()
        lib.core_board_release(self.board)
        lib.core_caller_release(self._caller)
        lib.core_open()


@pytest.fixture
def carrier(engine: Engine) -> Iterator[Carrier]:
    if not isinstance(engine, OpenCLEngine) or not lib.carrier_can(engine.driver.device):
        pytest.skip("the engine has no functions in its queues")
    made = Carrier(engine)
    yield made
    made.close()


def test_commands_of_an_in_order_queue_run_in_order(carrier: Carrier) -> None:
    queue, ints, copy = carrier.queue(), Ints(), Ints()
    carrier.fill(queue, ints.address, ints.size, (3).to_bytes(4, "little"))
    carrier.launch(queue, "add", ints, 4, items=COUNT)
    carrier.launch(queue, "twice", ints, items=COUNT)
    carrier.move(queue, ints.address, copy.address, ints.size)
    carrier.launch(queue, "add", ints, 100, items=COUNT)
    lib.core_finish(queue)
    assert list(copy.ints) == [14] * COUNT
    assert list(ints.ints) == [114] * COUNT


def test_every_launch_has_the_arguments_that_it_was_enqueued_with(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(), Ints(), Ints()
    carrier.launch(queue, "wait_until_open", gate)
    for number in range(100):
        carrier.launch(queue, "add", ints, number)
    gate.ints[0] = 1
    lib.core_finish(queue)
    assert ints[0] == sum(range(100))


def test_a_wait_list_orders_queues(carrier: Carrier) -> None:
    first, second, gate, ints = carrier.queue(), carrier.queue(), Ints(), Ints(1)
    carrier.launch(first, "wait_until_open", gate)
    waited = carrier.launch(first, "add", ints, 4)
    carrier.launch(second, "twice", ints, waits=(waited,))
    gate.ints[0] = 1
    lib.core_finish(second)
    assert ints[0] == 10


def test_commands_out_of_order_do_not_wait_for_each_other(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(in_order=False), Ints(), Ints(1)
    waiting = carrier.launch(queue, "wait_until_open", gate)
    lib.core_wait(carrier.launch(queue, "twice", ints))
    assert (ints[0], lib.core_status(waiting) > cl.CL_COMPLETE) == (2, True)
    gate.ints[0] = 1
    assert lib.core_wait(waiting) == cl.CL_COMPLETE


@pytest.mark.parametrize("role", [MARKER, BARRIER])
def test_a_marker_ends_after_all_before_it(carrier: Carrier, role: int) -> None:
    queue, gate = carrier.queue(in_order=False), Ints()
    waiting = carrier.launch(queue, "wait_until_open", gate)
    marker = carrier.marker(queue, role=role)
    assert lib.core_status(marker) > cl.CL_COMPLETE
    gate.ints[0] = 1
    lib.core_wait(marker)
    assert lib.core_status(waiting) == cl.CL_COMPLETE


def test_a_marker_with_a_wait_list_waits_for_nothing_else(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(in_order=False), Ints(), Ints(1)
    waiting = carrier.launch(queue, "wait_until_open", gate)
    lib.core_wait(carrier.marker(queue, carrier.launch(queue, "twice", ints)))
    assert lib.core_status(waiting) > cl.CL_COMPLETE
    gate.ints[0] = 1
    lib.core_finish(queue)


def test_commands_behind_a_barrier_wait_for_it_in_the_engine(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(in_order=False), Ints(), Ints(1)
    carrier.launch(queue, "wait_until_open", gate)
    carrier.marker(queue, role=BARRIER)
    behind = carrier.launch(queue, "twice", ints)
    assert (lib.core_status(behind), ints[0]) == (cl.CL_SUBMITTED, 1)
    gate.ints[0] = 1
    lib.core_wait(behind)
    assert ints[0] == 2


def test_a_barrier_that_fails_ends_after_the_barrier_before_it(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(in_order=False), Ints(), Ints(1)
    carrier.launch(queue, "wait_until_open", gate)
    before = carrier.marker(queue, role=BARRIER)
    failed = ffi.gc(lib.core_user_event(), lib.core_release)
    lib.core_set(failed, cl.CL_OUT_OF_RESOURCES)
    barrier = carrier.marker(queue, failed, role=BARRIER)
    behind = carrier.launch(queue, "twice", ints)
    assert lib.core_status(barrier) > cl.CL_COMPLETE
    gate.ints[0] = 1
    lib.core_wait(behind)
    assert lib.core_status(before) == cl.CL_COMPLETE
    assert lib.core_status(barrier) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert ints[0] == 2


def test_a_box_has_the_pitches_of_both_sides(carrier: Carrier) -> None:
    queue, source, target = carrier.queue(), Ints(*range(COUNT)), Ints()
    lib.core_wait(carrier.move(queue, source.address + 4, target.address + 4, 8, 3, pitch=16))
    assert list(target.ints) == [0, 1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0, 0, 0, 0, 0]


def test_a_fill_ends_with_a_part_of_its_pattern_nowhere(carrier: Carrier) -> None:
    queue, ints = carrier.queue(), Ints()
    lib.core_wait(carrier.fill(queue, ints.address, 48, bytes(range(16))))
    assert bytes(ints.ints) == bytes(range(16)) * 3 + bytes(16)


def test_the_end_of_each_command_is_told_once(carrier: Carrier) -> None:
    queue, ints = carrier.queue(), Ints()
    for number in range(5):
        carrier.launch(queue, "add", ints, 1, number=number)
    lib.core_finish(queue)
    assert carrier.ended(5) == [(number, cl.CL_COMPLETE) for number in range(5)]


def test_a_launch_that_the_engine_refuses_fails_in_its_turn(carrier: Carrier) -> None:
    queue, ints = carrier.queue(), Ints(1)
    carrier.launch(queue, "add", ints, 1, number=1)
    refused = carrier.launch(queue, "add", ints, 1, number=2, dimensions=4)
    behind = carrier.launch(queue, "twice", ints, number=3)
    assert lib.core_wait(behind) == cl.CL_COMPLETE
    carried = ffi.cast("struct carried *", lib.core_operation(refused))
    assert dict(carrier.ended(3)) == {1: cl.CL_COMPLETE, 2: cl.CL_INVALID_WORK_DIMENSION, 3: cl.CL_COMPLETE}
    assert (lib.core_status(refused), carried.place, ints[0]) == (cl.CL_INVALID_WORK_DIMENSION, -1, 4)


def test_a_command_fails_with_its_wait_list(carrier: Carrier) -> None:
    first, second, ints = carrier.queue(), carrier.queue(), Ints(1)
    refused = carrier.launch(first, "add", ints, 1, dimensions=4)
    failing = carrier.launch(second, "twice", ints, waits=(refused,))
    assert lib.core_wait(failing) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert ints[0] == 1


def test_a_callback_comes_without_a_thread_that_waits(carrier: Carrier) -> None:
    queue, ints = carrier.queue(), Ints(1)
    found = carrier.call_back(carrier.launch(queue, "twice", ints))
    assert carrier.idle.wait()
    assert (found, ints[0]) == ([cl.CL_COMPLETE], 2)


def test_the_times_of_a_command_are_in_order_and_of_the_monotonic_clock(carrier: Carrier) -> None:
    before, queue, ints = monotonic_ns(), carrier.queue(profiling=True), Ints()
    command, times = carrier.launch(queue, "add", ints, 1, items=COUNT), ffi.new("uint64_t[4]")
    lib.core_wait(command)
    lib.core_times(command, times)
    queued, submitted, began, over = (times[status] for status in (cl.CL_QUEUED, cl.CL_SUBMITTED, cl.CL_RUNNING, 0))
    assert before <= queued <= submitted <= began <= over <= monotonic_ns()


def test_a_held_board_refuses_commands_and_tells_when_those_before_have_ended(carrier: Carrier) -> None:
    queue, gate, ints = carrier.queue(), Ints(), Ints()
    carrier.launch(queue, "wait_until_open", gate)
    assert lib.core_board_hold(carrier.board)
    assert not carrier.launch(queue, "add", ints, 1)
    assert not carrier.idle.is_set()
    gate.ints[0] = 1
    assert carrier.idle.wait()
    assert carrier.ended(1) == [(0, cl.CL_COMPLETE)]
    lib.core_board_resume(carrier.board)


def test_a_board_that_nothing_runs_on_is_held_at_once(carrier: Carrier) -> None:
    queue, ints = carrier.queue(), Ints()
    lib.core_wait(carrier.launch(queue, "add", ints, 1))
    assert not lib.core_board_hold(carrier.board)
    lib.core_board_resume(carrier.board)
    assert lib.core_wait(carrier.launch(queue, "add", ints, 1)) == cl.CL_COMPLETE


def test_a_board_has_kernels_to_run_until_they_have_ended(carrier: Carrier) -> None:
    queue, gate, now = carrier.queue(), Ints(), monotonic_ns()
    waiting = carrier.launch(queue, "wait_until_open", gate)
    times = [lib.core_board_kernel_time(carrier.board, now + later) for later in (10**12, 2 * 10**12)]
    assert times[1] - times[0] == 10**12
    gate.ints[0] = 1
    lib.core_wait(waiting)
    times = [lib.core_board_kernel_time(carrier.board, now + later) for later in (10**12, 2 * 10**12)]
    assert times[0] == times[1] > 0


def test_a_board_that_only_moves_bytes_has_no_kernels_to_run(carrier: Carrier) -> None:
    queue, source, target = carrier.queue(), Ints(1), Ints()
    lib.core_wait(carrier.move(queue, source.address, target.address, 4))
    assert lib.core_board_kernel_time(carrier.board, monotonic_ns()) == 0


def test_facts_of_an_earlier_epoch_are_refused(carrier: Carrier) -> None:
    queue, epoch = carrier.queue(), lib.core_board_epoch(carrier.board)
    lib.core_board_end_epoch(carrier.board)
    image = ffi.new("struct carried *")
    size = ffi.sizeof("struct carried")
    assert not lib.core_enqueue(queue, WORK, lib.CORE_CARRIED, epoch, image, size, 0, ffi.NULL)
    assert not lib.core_begin_directly(queue, epoch, image)
    assert lib.core_begin_directly(queue, epoch + 1, image)
    lib.core_end_directly(queue)


class NoThreads(SystemThreads):
    def start(self, work: Callable[[], None]) -> bool:
        return False


class Decided(Work):
    """A decided command's work."""

    name = "test"
    needs_thread = False
    ran_on: threading.Thread | None = None

    def run(self) -> None:
        self.ran_on = threading.current_thread()


@pytest.mark.parametrize("properties", [0, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE])
def test_without_threads_who_finishes_a_queue_runs_what_its_carried_commands_wait_for(
    carrier: Carrier, monkeypatch: pytest.MonkeyPatch, properties: int
) -> None:
    """Also if that is not ready yet when the host begins to wait."""
    threads: Any = NoThreads()
    scheduler = Scheduler(threads)
    context: Any = SimpleNamespace(scheduler=scheduler, queues=set(), reaper=())
    device: Any = None
    before, queue = CommandQueue(context, device, 0), CommandQueue(context, device, properties)
    for each in (before, queue):
        carrier.queue(in_order=each.in_order, made=each.core.pointer)
    carried: Any = SimpleNamespace(flush=lambda: None)
    queue.carried = carried
    gate, ints = Ints(), Ints()
    first = carrier.launch(before.core.pointer, "wait_until_open", gate)
    work: Any = Decided(scheduler.new_ready_list(ends_by_itself=True))
    decided = before.enqueue(cl.CL_COMMAND_TASK, work)
    assert decided.command is not None
    carrier.launch(queue.core.pointer, "add", ints, 1, waits=(decided.command.pointer,))

    def open_gate() -> None:
        gate.ints[0] = 1
        lib.core_wait(first)

    monkeypatch.setattr(scheduler, "call_due", open_gate)  # the first that finish() calls
    host = threading.Thread(target=queue.finish, daemon=True)
    host.start()
    host.join()
    assert work.ran_on is host
    assert ints[0] == 1
