"""Launches that run as one command (fpgart/runtime/commands/launch_run.py), and how C records them (icd/launches.c)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from both_ways import output
from c_hosts import ROOT, build
from machine import Machine, PythonBatch

from fpgart import config
from fpgart import opencl as cl
from fpgart.board.mmd import BoardError
from fpgart.engine.interface import POINTER, SUBMISSION, pack_arguments
from fpgart.errors import CLError, ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.notices import NOTICES
from fpgart.runtime.commands.launch import SHORT_NS
from fpgart.runtime.commands.launch_run import (
    RUN_NS,
    LaunchRun,
    Use,
    Waits,
    are_in_their_places,
    longest,
    may_run_together,
)
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.programming import load_onto
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import UsmAllocation, allocate_shared
from fpgart.runtime.memory.usm_use import Indirect, UsmUse
from fpgart.runtime.objects.blocking_free import blocking_free
from fpgart.runtime.programs.kernel import SIZES, Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import COMPLETE, QUEUED, RUNNING, SUBMITTED, Event
from fpgart.runtime.scheduling.occupancy import Direction

Boards = Callable[..., Machine]
ONE = SIZES.pack(0, 0, 0, 1, 1, 1, 1, 1, 1)


class Held(dict[int, Event]):
    """The events that a host holds of launches of a run, made when somebody asks for them."""

    def __init__(self, machine: Machine, parent: Event, numbers: Sequence[int]) -> None:
        super().__init__()
        self._machine, self._parent, self._numbers = machine, parent, numbers

    def __missing__(self, number: int) -> Event:
        self[number] = made = self._machine.scheduler.end_with(self._parent)
        return made

    def fail(self, number: int, error: CLError) -> None:
        if number in self._numbers:
            self[number].fate = error.status

    def end(self, number: int) -> None:
        for each in self._numbers:
            if each < number:
                self._machine.scheduler.end_before(self[each], self._parent)

    @property
    def statuses(self) -> list[int]:
        return [self[number].status for number in self._numbers]


class Host:
    """Runs of a kernel with one buffer, which notes the buffer's address each time."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.seen: list[int] = []
        self.batch = PythonBatch(at_once=100)
        self.told: list[CLError] = []
        self.held: Held
        self.waits: Waits | None = None
        machine.context._notify = self.told.append
        self.buffer = machine.buffer(64)
        self.kernel: Kernel = machine.kernel(self.seen.append, None)
        self.kernel.set_buffer(0, self.buffer)
        machine.run(self.kernel)  # the board is programmed
        self.seen.clear()
        engine_kernel: Any = self.kernel.engine_kernel
        engine_kernel.new_batch = lambda most: self.batch

    def enqueue_run(self, run: LaunchRun, held: Sequence[int] = ()) -> Event:
        """`held`: the launches whose events are held besides that of the last one."""
        event = self.machine.queue.new_event(cl.CL_COMMAND_NDRANGE_KERNEL, run)
        run.followers = self.held = Held(self.machine, event, held)
        run.waits = self.waits
        self.machine.queue.enqueue_made(event)
        return event

    def run(self, launches: int, held: Sequence[int] = ()) -> Event:
        event = self.enqueue(launches, held)
        self.machine.scheduler.wait(event)
        return event

    def enqueue(self, launches: int, held: Sequence[int] = (), usm: UsmUse | None = None) -> Event:
        run = LaunchRun(self.machine.device, [self.kernel], [Use(self.kernel, 0, ref(self.buffer))], usm)
        entries, images = b"", b""
        for _ in range(launches):
            ((_, address),) = run.addresses()
            image = pack_arguments([(POINTER, 8, address)])
            entries += SUBMISSION.pack(0, SUBMISSION.size * launches + len(images), ONE, 1, 1, 1)
            images += image
        run.lay_out(entries + images, launches)
        return self.enqueue_run(run, held)


@pytest.fixture
def host(boards: Boards) -> Host:
    return Host(boards("hetero"))


# Unified shared memory


def shared(host: Host) -> UsmAllocation:
    return allocate_shared(host.machine.context, host.machine.device, 4096, 0)


@pytest.mark.parametrize("reach", [Indirect.NONE, Indirect.SHARED], ids=["given", "by pointers in memory"])
def test_a_run_has_shared_allocations_on_its_device(boards: Boards, reach: Indirect) -> None:
    host = Host(boards("usm_s10"))
    given, other = shared(host), shared(host)
    host.machine.scheduler.wait(host.enqueue(2, usm=UsmUse([given], reach)))
    device = host.machine.device
    assert [owner for _, _, owner in given.sides] == [device]
    assert [owner for _, _, owner in other.sides] == [device if reach else None]


def test_shared_memory_is_left_when_a_run_has_ended(boards: Boards) -> None:
    host = Host(boards("usm_s10"))
    allocation, running = shared(host), list[int]()
    allocation.watched = True
    engine_kernel: Any = host.kernel.engine_kernel
    engine_kernel.function = lambda _: running.append(allocation.running)
    host.machine.scheduler.wait(host.enqueue(2, usm=UsmUse([allocation], Indirect.NONE)))
    assert (running, allocation.running) == ([1, 1], 0)


def test_freeing_waits_for_the_runs_that_may_touch_the_allocation(boards: Boards) -> None:
    host = Host(boards("usm_s10"))
    host.machine.scheduler._workers.close()  # nobody runs it before somebody waits
    used, unused = shared(host), shared(host)
    event = host.enqueue(2, usm=UsmUse([used], Indirect.NONE))
    blocking_free(host.machine.context, unused.pointer)
    assert event.status > COMPLETE
    blocking_free(host.machine.context, used.pointer)
    assert event.status == COMPLETE


def test_who_listens_meanwhile_hears_of_the_allocations_of_a_run(boards: Boards) -> None:
    host = Host(boards("usm_s10"))
    allocation = shared(host)
    event = host.enqueue(2, usm=UsmUse([allocation], Indirect.NONE))
    operation: Any = event.operation
    assert [access.allocation for access in operation.accesses()] == [None, allocation]
    host.machine.scheduler.wait(event)


# Runs that follow each other


class Pipelined(Host):
    """Runs of short launches, without a thread of the driver: whoever waits runs them.

    `tried`: at each launch, how many the engine had been given by then.
    """

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        NOTICES.silence(machine.watcher)  # who watches operations gets each by itself
        machine.scheduler._workers.close()
        self.batch.at_once = 1
        self.tried: list[int] = []
        self.engine_kernel: Any = self.kernel.engine_kernel
        self.engine_kernel.launched, self.engine_kernel.last_ns = True, 1000
        self.engine_kernel.function = lambda _: self.tried.append(self.batch.tried)

    def finish(self) -> None:
        self.machine.queue.finish()


@pytest.fixture
def pipelined(boards: Boards) -> Pipelined:
    return Pipelined(boards("hetero"))


def test_a_run_is_submitted_before_the_one_before_it_has_ended(pipelined: Pipelined) -> None:
    events = [pipelined.enqueue(3, held=[0]), pipelined.enqueue(2)]
    pipelined.finish()
    assert pipelined.tried == [5] * 5
    assert [event.status for event in events] == [COMPLETE] * 2
    assert 0 < events[0].end_ns <= events[1].start_ns <= events[1].end_ns
    assert pipelined.machine.device.occupancy.launches == 0


def test_a_run_that_comes_while_others_run_is_submitted_behind_them(pipelined: Pipelined) -> None:
    pipelined.enqueue(1)
    second = pipelined.enqueue(2)
    pipelined.machine.scheduler._ready.make_due(1 << 62)

    def enqueues_another(_: int) -> None:
        if not pipelined.tried:
            pipelined.enqueue(3)
        pipelined.tried.append(pipelined.batch.tried)

    pipelined.engine_kernel.function = enqueues_another
    event = pipelined.machine.scheduler._ready.claim_any()
    assert event is not None
    pipelined.machine.scheduler._run(event)
    assert pipelined.tried == [3, 6, 6, 6, 6, 6]
    assert second.status == COMPLETE


def test_a_thread_that_waits_for_a_run_submits_no_other(pipelined: Pipelined) -> None:
    first, second = pipelined.enqueue(3), pipelined.enqueue(2)
    pipelined.machine.scheduler.wait(first)
    assert (pipelined.tried, second.status > COMPLETE) == ([3] * 3, True)
    pipelined.finish()


def test_who_waits_for_an_event_among_a_run_submits_no_later_run(pipelined: Pipelined) -> None:
    pipelined.enqueue(3, held=[0])
    held = pipelined.held[0]
    second = pipelined.enqueue(2)
    pipelined.machine.scheduler.wait(held)
    assert (held.status, pipelined.tried, second.status > COMPLETE) == (COMPLETE, [3] * 3, True)
    pipelined.finish()


def test_an_event_that_was_asked_for_among_a_run_does_not_keep_the_next_one_back(pipelined: Pipelined) -> None:
    pipelined.enqueue(3, held=[0])
    held = pipelined.held[0]
    pipelined.enqueue(2)
    pipelined.finish()
    assert (pipelined.tried, held.status) == ([5] * 5, COMPLETE)


def test_an_engine_that_takes_no_more_while_it_runs_gets_runs_one_by_one(pipelined: Pipelined) -> None:
    pipelined.batch.takes_more = False
    events = [pipelined.enqueue(3), pipelined.enqueue(2)]
    pipelined.finish()
    assert pipelined.tried == [3, 3, 3, 5, 5]
    assert [event.status for event in events] == [COMPLETE] * 2


@pytest.mark.parametrize("how", ["refuse", "fail"])
def test_a_launch_that_fails_is_told_by_the_event_of_its_own_run(pipelined: Pipelined, how: str) -> None:
    setattr(pipelined.batch, how, {1, 4})
    events = [pipelined.enqueue(2), pipelined.enqueue(2), pipelined.enqueue(1)]
    pipelined.finish()
    assert [event.status for event in events] == [COMPLETE, OutOfResources.status, COMPLETE]
    assert len(pipelined.tried) == 3
    home = pipelined.buffer.home
    assert home is not None
    assert (home.running, dict(home.users)) == (0, {})


def test_a_run_that_cannot_be_submitted_fails_and_those_beside_it_run(
    pipelined: Pipelined, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [pipelined.enqueue(2), pipelined.enqueue(2, held=[0])]
    held, broken = pipelined.held, events[1].operation
    events.append(pipelined.enqueue(2))
    hand_over = LaunchRun._hand_over

    def refuse(run: LaunchRun, *more: Any) -> None:
        if run is broken:
            raise OutOfResources("nothing can be submitted")
        hand_over(run, *more)

    monkeypatch.setattr(LaunchRun, "_hand_over", refuse)
    pipelined.finish()
    refused = OutOfResources.status
    assert [event.status for event in events] == [COMPLETE, refused, COMPLETE]
    assert held.statuses == [refused]
    assert len(pipelined.tried) == 4
    assert pipelined.machine.device.occupancy.launches == 0


class FailingBatch(PythonBatch):
    """One whose call of a number (counted over both kinds, from 1) raises before the engine has heard of it."""

    raises_at = 0
    calls = 0

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.raises_at:
            raise MemoryError

    def submit_laid_out(self, *launches: Any) -> tuple[int, CLError | None]:
        self._count()
        return super().submit_laid_out(*launches)

    def wait_for(self, count: int) -> list[int]:
        try:
            self._count()
        except MemoryError:
            for _ in range(count):
                kernel, *launch = self.submitted.pop(0)
                kernel.launch(*launch)
            raise
        return super().wait_for(count)


@pytest.mark.parametrize(
    ("step", "failed", "run"),
    [
        (1, [0, 1, 2, 3, 4], 0),  # nothing is submitted
        (2, [1, 2, 3, 4], 1),  # the engine refuses launch 1; what is behind it raises
        (3, [1, 3, 4], 2),
        (4, [0, 1, 2, 3, 4], 3),  # what has run cannot be told
        (5, [1, 3], 3),  # the next run's
    ],
)
def test_each_launch_is_submitted_once_and_has_its_own_status_whatever_raises(
    host: Host, step: int, failed: list[int], run: int
) -> None:
    host.batch = batch = FailingBatch(at_once=100, refuse={2, 4})
    batch.raises_at = step
    host.run(5, held=range(4))
    last = [OutOfResources.status] if 4 in failed else [COMPLETE]
    assert host.held.statuses + last == [OutOfResources.status if each in failed else COMPLETE for each in range(5)]
    assert len(host.seen) == run
    batch.raises_at, batch.refuse = 0, set()
    batch.fail = {batch.waited + 2}
    host.seen.clear()
    assert host.run(3, held=[0, 1]).status == COMPLETE
    assert host.held.statuses == [COMPLETE, OutOfResources.status]
    assert len(host.seen) == 2
    home = host.buffer.home
    assert home is not None
    assert (home.running, dict(home.users), host.machine.device.occupancy.launches) == (0, {}, 0)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_runs_in_one_batch_have_their_own_statuses_where_one_cannot_be_submitted(
    pipelined: Pipelined, step: int
) -> None:
    batch = FailingBatch(at_once=100)
    batch.raises_at = step
    pipelined.batch = batch
    events = [pipelined.enqueue(2) for _ in range(3)]
    pipelined.finish()
    refused = OutOfResources.status
    assert [event.status for event in events] == [refused if step == each else COMPLETE for each in (1, 2, 3)]
    assert len(pipelined.tried) == 4


def test_runs_that_take_long_together_are_not_submitted_together(pipelined: Pipelined) -> None:
    pipelined.engine_kernel.last_ns = SHORT_NS
    for _ in range(3):
        pipelined.enqueue(60)  # 12 ms
    pipelined.finish()
    assert pipelined.tried[0] == 120, "until they would take 20 ms"


def test_runs_and_launches_follow_each_other_in_one_batch(pipelined: Pipelined) -> None:
    queue = pipelined.machine.queue

    def launch() -> Event:
        sizes = (0, 0, 0, 1, 1, 1, 1, 1, 1)
        operation = new_launch(pipelined.kernel, queue.device, 1, sizes, True)
        return queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation)

    events = [launch(), launch(), pipelined.enqueue(2), launch(), pipelined.enqueue(1)]
    pipelined.batch.at_once = 100
    pipelined.finish()
    assert pipelined.tried == [6] * 6
    assert [event.status for event in events] == [COMPLETE] * 5
    assert pipelined.machine.device.occupancy.launches == 0


def test_all_launches_of_a_run_are_run_with_their_buffers(host: Host) -> None:
    event = host.run(5)
    assert event.status == COMPLETE
    home = host.buffer.home
    assert home is not None
    assert host.seen == [home.pointer] * 5


def test_each_launch_of_a_run_counts(host: Host) -> None:
    before = host.machine.device.kernels_run
    host.run(5)
    assert host.machine.device.kernels_run == before + 5


def test_the_launches_of_a_run_share_its_time(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(100, 8)
    monkeypatch.setattr("fpgart.runtime.commands.launch_run.monotonic_ns", lambda: next(ticks))
    before = host.machine.device.kernel_ns
    host.run(4)
    assert host.kernel.engine_kernel.last_ns == 2
    assert host.machine.device.kernel_ns == before + 8


def test_one_slow_run_makes_a_kernel_count_for_twice_as_long_at_most(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(0, 4_000_000)
    monkeypatch.setattr("fpgart.runtime.commands.launch_run.monotonic_ns", lambda: next(ticks))
    engine_kernel: Any = host.kernel.engine_kernel
    engine_kernel.last_ns = 10_000
    host.run(4)
    assert engine_kernel.last_ns == 20_000
    host.run(4)
    assert engine_kernel.last_ns == 40_000


def test_who_begins_to_listen_meanwhile_hears_of_the_buffers_of_a_run(host: Host) -> None:
    heard: list[Any] = []

    class Listener:
        def operation_began(self, event: Event, operation: Any) -> None:
            heard.append((operation.describe(), operation.accesses()))

    listener = Listener()
    NOTICES.listen(listener)
    host.run(3)
    NOTICES.silence(listener)
    ((facts, accesses),) = heard
    assert facts["launches"] == 3
    assert facts["buffers"] == [host.buffer.number]
    assert [(access.buffer, access.argument) for access in accesses] == [(host.buffer, 0)]


def test_nothing_stays_reserved_behind_a_run(host: Host) -> None:
    host.run(3)
    home = host.buffer.home
    assert home is not None
    assert (home.running, dict(home.users), host.machine.device.occupancy.launches) == (0, {}, 0)


def test_launches_behind_one_that_the_engine_refuses_are_run(host: Host) -> None:
    host.batch.refuse = {2, 4}
    assert host.run(5).status == COMPLETE
    assert len(host.seen) == 3
    assert [error.status for error in host.told] == [OutOfResources.status] * 2


def test_launches_behind_one_that_fails_are_run(host: Host) -> None:
    host.batch.fail = {1}
    assert host.run(3).status == COMPLETE
    assert len(host.seen) == 2
    assert [error.status for error in host.told] == [OutOfResources.status]


def test_launches_that_fail_say_why_where_the_engine_knows(host: Host) -> None:
    host.batch.fail = {1}
    host.batch.failure = OutOfResources("the kernel touched 0x10")
    host.run(2)
    assert list(map(str, host.told)) == ["the kernel touched 0x10"]


@pytest.mark.parametrize("how", ["refuse", "fail"])
def test_the_event_of_a_run_has_the_status_of_its_last_launch(host: Host, how: str) -> None:
    setattr(host.batch, how, {3})
    assert host.run(3).status == OutOfResources.status
    assert len(host.seen) == 2
    assert [error.status for error in host.told] == [OutOfResources.status]


def test_events_that_are_held_among_a_run_end_behind_it(host: Host) -> None:
    assert host.run(5, held=(0, 2)).status == COMPLETE
    assert host.held.statuses == [COMPLETE] * 2


@pytest.mark.parametrize("how", ["refuse", "fail"])
def test_an_event_that_is_held_among_a_run_has_the_status_of_its_launch(host: Host, how: str) -> None:
    setattr(host.batch, how, {2})
    assert host.run(4, held=(0, 1)).status == COMPLETE
    assert host.held.statuses == [COMPLETE, OutOfResources.status]
    assert [error.status for error in host.told] == [OutOfResources.status]


def test_launches_that_wait_for_one_that_fails_fail_with_it_in_later_runs_too(host: Host) -> None:
    failed: set[int] = set()
    host.waits = Waits({2: 1, 3: 2, 5: 3}, failed, 0)
    host.batch.refuse = {2}
    refused, waits_for_failed = OutOfResources.status, ExecStatusErrorForEventsInWaitList.status
    assert host.run(4, held=(0, 1, 2)).status == waits_for_failed
    assert host.held.statuses == [COMPLETE, refused, waits_for_failed]
    host.waits = Waits({2: 1, 3: 2, 5: 3}, failed, 4)
    assert host.run(3, held=(0, 1)).status == COMPLETE
    assert host.held.statuses == [COMPLETE, waits_for_failed]


def test_launches_that_wait_for_those_of_a_run_that_cannot_run_fail(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run: LaunchRun, kernels: object, parts: object) -> int:
        raise OutOfResources("nothing can be submitted")

    failed: set[int] = set()
    host.waits = Waits({2: 1}, failed, 0)
    with monkeypatch.context() as patched:
        patched.setattr(LaunchRun, "_hand_over", refuse)
        host.run(2)
    host.waits = Waits({2: 1}, failed, 2)
    assert host.run(1).status == ExecStatusErrorForEventsInWaitList.status


def test_an_event_that_is_asked_for_while_its_run_waits_ends_with_it(host: Host) -> None:
    gate = Event(host.machine.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)
    queue = host.machine.queue
    parent = queue.enqueue(cl.CL_COMMAND_MARKER, None, (gate,))
    early = host.machine.scheduler.end_with(parent)
    called: list[int] = []
    early.when(COMPLETE, lambda event, status: called.append(status))
    assert (early.status > COMPLETE, early.queue, early.command_type) == (True, queue, parent.command_type)
    gate.set_status(COMPLETE)
    host.machine.scheduler.wait(early)
    late = host.machine.scheduler.end_with(parent)
    assert (early.status, late.status, late.end_ns, called) == (COMPLETE, COMPLETE, parent.end_ns, [COMPLETE])


def test_events_that_are_asked_for_before_their_run_begins_run_when_it_does(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Event(host.machine.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)
    host.machine.queue.enqueue(cl.CL_COMMAND_MARKER, None, (gate,))
    events = [host.enqueue(2) for _ in range(2)]
    early = [host.machine.scheduler.end_with(event) for event in events]
    called: list[tuple[int, int]] = []
    for number, event in enumerate(early):
        event.when(RUNNING, lambda _, status, number=number: called.append((number, status)))
    began: list[list[int]] = []
    hand_over = LaunchRun._hand_over

    def noting(run: LaunchRun, batch: Any, parts: Any) -> None:
        began.append([event.status for event in early])
        hand_over(run, batch, parts)

    monkeypatch.setattr(LaunchRun, "_hand_over", noting)
    gate.set_status(COMPLETE)
    host.machine.scheduler.wait(events[1])
    assert began[0] == [RUNNING, QUEUED]
    assert called == [(0, RUNNING), (1, RUNNING)]
    assert [event.status for event in early] == [COMPLETE, COMPLETE]


def test_a_run_migrates_its_buffer_to_where_it_is_needed_first(boards: Boards) -> None:
    host = Host(boards("hetero"))
    home = host.buffer.home
    assert home is not None
    away = host.machine.kernel(lambda *_: None, "DDR" if home.memory else "QDR", source="other")
    away.set_buffer(0, host.buffer)
    host.machine.run(away)
    assert host.buffer.home is not home
    host.run(2)
    assert host.buffer.home is not None
    assert host.buffer.home.memory == home.memory
    assert host.seen == [host.buffer.home.pointer] * 2


def test_buffers_that_are_gone_or_needed_in_two_memories_are_not_in_one_place(boards: Boards) -> None:
    machine = boards("hetero")
    kernel = machine.kernel(lambda *_: None, "DDR", "QDR", None)
    buffer, other = machine.buffer(64), machine.buffer(64)
    assert are_in_their_places([Use(kernel, 0, ref(buffer)), Use(kernel, 1, ref(other))])
    assert not are_in_their_places([Use(kernel, 0, ref(buffer)), Use(kernel, 1, ref(buffer))])
    gone = ref(other)
    machine.destroy(other)
    del other
    assert not are_in_their_places([Use(kernel, 0, gone)])


def test_held_events_fail_where_the_run_fails_as_a_whole(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(run: LaunchRun, kernels: object) -> int:
        raise OutOfResources("nothing can be submitted")

    monkeypatch.setattr(LaunchRun, "_hand_over", refuse)
    assert host.run(3, held=[0, 1]).status == OutOfResources.status
    assert host.held.statuses == [OutOfResources.status] * 2


def test_a_run_of_long_kernels_is_short(host: Host) -> None:
    engine_kernel: Any = host.kernel.engine_kernel
    engine_kernel.last_ns = 0
    assert longest([host.kernel], host.machine.device) == RUN_NS
    engine_kernel.last_ns = RUN_NS // 4
    assert longest([host.kernel], host.machine.device) == 4
    engine_kernel.last_ns = RUN_NS * 4
    assert longest([host.kernel], host.machine.device) == 1


class TwoPrograms(Host):
    """Launches of kernels of two programs, as one run: `a`, of the program that the board holds first, and `b`."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.order: list[str] = []
        self.kernels = [
            machine.kernel(lambda _, name=name: self.order.append(name), None, source=f"program {name}")
            for name in "ab"
        ]
        for kernel in self.kernels:
            kernel.set_buffer(0, self.buffer)
            engine_kernel: Any = kernel.engine_kernel
            engine_kernel.new_batch = lambda most: self.batch
        machine.run(self.kernels[0])
        self.order.clear()

    def enqueue(self, names: str, held: Sequence[int] = ()) -> Event:
        uses = [Use(kernel, 0, ref(self.buffer)) for kernel in self.kernels]
        run = LaunchRun(self.machine.device, self.kernels, uses)
        entries, images = b"", b""
        for name in names:
            (_, address), _ = run.addresses()
            image = pack_arguments([(POINTER, 8, address)])
            entries += SUBMISSION.pack("ab".index(name), SUBMISSION.size * len(names) + len(images), ONE, 1, 1, 1)
            images += image
        run.lay_out(entries + images, len(names))
        return self.enqueue_run(run, held)

    def run_mixed(self, names: str) -> Event:
        event = self.enqueue(names)
        self.machine.scheduler.wait(event)
        return event

    @property
    def programmings(self) -> int:
        return self.machine.device.mmd.traffic["program"].calls


@pytest.fixture
def two(boards: Boards) -> TwoPrograms:
    return TwoPrograms(boards("hetero"))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_launches_before_and_behind_a_part_that_cannot_be_loaded_run_once(
    two: TwoPrograms, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    parts = iter(range(9))

    def load(device: Device, program: Program) -> None:
        if next(parts) == part:
            raise MemoryError
        load_onto(device, program)

    monkeypatch.setattr("fpgart.runtime.commands.launch_run.load_onto", load)
    assert two.run_mixed("abbaabba").status == COMPLETE
    assert len(two.told) == 2
    assert "".join(two.order) == ["aaabba", "abbbba", "abbaaa"][part]


@pytest.mark.parametrize(("names", "programmings"), [("aabba", 2), ("bab", 3), ("aa", 0)])
def test_a_run_of_two_programs_programs_the_board_in_between(two: TwoPrograms, names: str, programmings: int) -> None:
    before, run = two.programmings, two.machine.device.kernels_run
    assert two.run_mixed(names).status == COMPLETE
    assert "".join(two.order) == names
    assert two.programmings == before + programmings
    assert two.machine.device.kernels_run == run + len(names)
    assert list(two.machine.device.loaded) == [two.kernels["ab".index(names[-1])].program.identity]


def test_nothing_stays_busy_behind_a_run_of_two_programs(two: TwoPrograms) -> None:
    two.run_mixed("abab")
    occupancy, home = two.machine.device.occupancy, two.buffer.home
    assert home is not None
    assert (home.running, dict(home.users)) == (0, {})
    assert (occupancy.launches, occupancy.programming, occupancy.closing) == (0, False, False)


def test_beside_a_kernel_of_its_first_program_a_run_begins_before_it_programs_the_board(two: TwoPrograms) -> None:
    machine = two.machine
    occupancy = machine.device.occupancy
    occupancy.begin_launch(0)  # a kernel that waits for what the first launches do
    event = two.enqueue("aab", held=[0])
    machine.queue.flush()
    machine.scheduler.wait(two.held[0])  # for which the host may wait before it ends that kernel
    assert (two.order, event.status > COMPLETE) == (["a", "a"], True)
    machine.scheduler.while_none_begins(lambda: occupancy.end_launch(0))
    machine.scheduler.wait(event)
    assert (two.order, event.status) == (["a", "a", "b"], COMPLETE)
    assert (occupancy.launches, occupancy.busy_cores, occupancy.programming) == (0, 0, False)


def test_transfers_wait_while_a_run_programs_the_board(two: TwoPrograms) -> None:
    device = two.machine.device
    admitted: list[bool] = []
    two.kernels[1].engine_kernel.function = lambda _: admitted.append(device.occupancy.admits(Direction.IN))  # type: ignore[attr-defined]
    two.run_mixed("ab")
    assert admitted == [False]


def test_launches_whose_program_cannot_be_loaded_fail_and_the_others_run(
    two: TwoPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(device: Device, program: Program) -> None:
        if program is two.kernels[1].program:
            raise BoardError("no such luck")
        load_onto(device, program)

    monkeypatch.setattr("fpgart.runtime.commands.launch_run.load_onto", load)
    assert two.run_mixed("abba").status == COMPLETE
    assert two.order == ["a", "a"]
    assert [error.status for error in two.told] == [OutOfResources.status] * 2
    assert two.run_mixed("ab").status == OutOfResources.status


def test_kernels_have_ended_before_a_board_is_programmed_where_that_may_disturb_them(two: TwoPrograms) -> None:
    device = two.machine.device
    seen: list[tuple[str, list[str]]] = []
    device.before_kernel = lambda name: None  # faults are injected
    mmd: Any = device.mmd
    program = mmd.program
    mmd.program = lambda image, **more: (seen.append((image.decode(), list(two.order))), program(image, **more))
    try:
        two.run_mixed("aba")
    finally:
        del mmd.program
    assert seen == [("program b", ["a"]), ("program a", ["a", "b"])]


def test_a_run_of_two_programs_migrates_its_buffer_first(boards: Boards) -> None:
    two = TwoPrograms(boards("hetero"))
    home = two.buffer.home
    assert home is not None
    away = two.machine.kernel(lambda *_: None, "DDR" if home.memory else "QDR", source="other")
    away.set_buffer(0, two.buffer)
    event = two.enqueue("ab")
    two.machine.scheduler.wait(event)
    two.machine.run(away)
    assert two.buffer.home is not home
    assert two.run_mixed("ba").status == COMPLETE
    assert two.buffer.home is not None
    assert "".join(two.order) == "abba"


def test_programs_that_lay_out_memory_in_different_ways_do_not_run_together(two: TwoPrograms) -> None:
    assert may_run_together(two.kernels, two.machine.device)
    two.kernels[1].program.origin.interleaving = (True, True)
    assert not may_run_together(two.kernels, two.machine.device)
    assert may_run_together(two.kernels[:1], two.machine.device)


def test_programs_that_take_time_to_load_do_not_run_together(two: TwoPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FPGART_PROGRAM_SECONDS", "0.1")
    config.PROGRAM_SECONDS.forget()
    try:
        assert not may_run_together(two.kernels, two.machine.device)
    finally:
        monkeypatch.undo()
        config.PROGRAM_SECONDS.forget()


def test_launches_on_allocations_that_c_records_are_as_those_that_python_enqueues(tmp_path: Path) -> None:
    options = ("--board", "usm_s10")
    assert output("usm_launches.py", *options) == output(
        "usm_launches.py", *options, "--trace", str(tmp_path / "trace.json")
    )


def test_launches_that_c_records_are_as_those_that_python_enqueues(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    by_python = output("launches.py", "--trace", str(trace))
    assert output("launches.py") == by_python
    words = by_python.splitlines()
    assert {line.split()[-1] for line in words if line.startswith("launch")} >= {"0", "-34", "-52", "-54"}
    calls = [event["name"] for event in json.loads(trace.read_text()) if event.get("cat") == "api"]
    (in_rows,) = (int(line.split()[1]) for line in words if line.startswith("rows"))
    assert calls.count("clEnqueueNDRangeKernel") == in_rows + sum(line.startswith("launch") for line in words)


def test_a_launch_without_room_fails_alone(tmp_path: Path) -> None:
    host = build("no_room", tmp_path, f"-I{ROOT / 'conformance' / 'c'}", "-lpthread")
    result = subprocess.run([host], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "19\n"), result.stderr


def test_a_process_may_exit_behind_launches_that_are_recorded_only(tmp_path: Path) -> None:
    host = build("exit_while_recording", tmp_path, f"-I{ROOT / 'conformance' / 'c'}", "-lpthread")
    result = subprocess.run([host], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
