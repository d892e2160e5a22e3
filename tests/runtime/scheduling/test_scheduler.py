"""The scheduler (scheduler.py), rule by rule; the driver's threads run only when a test lets them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from commands import Work
from machine import listening

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, ExecStatusErrorForEventsInWaitList, InvalidValue, OutOfResources
from fpgart.board.mmd import BoardError
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling import scheduler
from fpgart.runtime.scheduling.callbacks import DEEPEST
from fpgart.runtime.scheduling.core import Command
from fpgart.runtime.scheduling.event import COMPLETE, QUEUED, RUNNING, SUBMITTED, Event, EventCallbacks
from fpgart.runtime.scheduling.occupancy import Claim
from fpgart.runtime.scheduling.readiness import Aftermath, Readiness
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.runtime.scheduling.threads import SystemThreads

NOBODY: dict[str, Any] = {"answer": Claim.WAITS}


class Blocks(Exception):
    """The calling thread would wait for another one."""


class Lock:
    """One that no thread takes twice."""

    taken = False

    def acquire(self) -> bool:
        assert not self.taken
        self.taken = True
        return True

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.taken = False


class Bell:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self.rings = 0
        self.waits: list[float | None] = []

    def ring(self) -> None:
        self.rings += 1

    def wait(self, timeout_s: float | None = None) -> bool:
        self.waits.append(timeout_s)
        while_waiting = self._threads.while_waiting.pop(0) if self._threads.while_waiting else None
        if while_waiting is None:
            self._threads.time += int((timeout_s or 0) * 1e9)
            return False
        while_waiting()
        return True


class Threads:
    """Threads that are made but do not run; a clock that goes on by 1 with each look."""

    def __init__(self) -> None:
        self.time = 1000
        self.started: list[Callable[[], None]] = []
        self.has_threads = True
        self.bells: list[Bell] = []
        self.while_waiting: list[Callable[[], None]] = []
        """Actions of other threads while one waits for a bell, once each."""

    def now(self) -> int:
        self.time += 1
        return self.time

    def ident(self) -> int:
        return 1

    def lock(self) -> Lock:
        return Lock()

    def bell(self) -> Bell:
        self.bells.append(Bell(self))
        return self.bells[-1]

    def sleep_until_ended(self, command: Command) -> None:
        if not command.has_ended():
            raise Blocks

    def start(self, work: Callable[[], None]) -> bool:
        if self.has_threads:
            self.started.append(work)
        return self.has_threads


class Doing(Work):
    """Work that does something when it runs."""

    name = "test"
    needs_thread = False
    ran = 0

    def __init__(self, ready_list: Any, do: Callable[[], object] = lambda: None, **more: Any) -> None:
        super().__init__(ready_list, **more)
        self.do = do

    def run(self) -> Any:
        self.ran += 1
        return self.do()


class World:
    def __init__(self) -> None:
        self.threads = Threads()
        system: Any = self.threads
        self.scheduler = Scheduler(system)
        self.transfers = self.scheduler.new_ready_list(ends_by_itself=True)
        self.kernels = self.scheduler.new_ready_list(ends_by_itself=False)
        self.told: list[CLError] = []
        self.reaped: list[bool] = []
        self.context: Any = SimpleNamespace(
            scheduler=self.scheduler,
            placing=threading.Lock(),
            queues=set(),
            reaper=Reaper(),
            notify=self.told.append,
            reap=self.reap,
        )
        self.queue = self.new_queue()

    def reap(self) -> None:
        self.context.reaper.clear()
        self.reaped.append(True)

    def new_queue(self, properties: int = 0) -> CommandQueue:
        device: Any = None
        return CommandQueue(self.context, device, properties)

    def work(self, do: Callable[[], object] = lambda: None, **more: Any) -> Doing:
        return Doing(self.transfers, do, **more)

    def enqueue(self, work: Doing | None = None, *waits: Event, queue: CommandQueue | None = None) -> Event:
        operation: Any = work if work is not None else self.work()
        return (queue or self.queue).enqueue(cl.CL_COMMAND_TASK, operation, waits)

    def blocking(self, work: Any, *waits: Event) -> Event:
        return self.queue.run(cl.CL_COMMAND_TASK, work, True, waits)

    def user_event(self) -> Event:
        return Event(self.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)

    @property
    def workers(self) -> int:
        return sum(work == self.scheduler._workers._work for work in self.threads.started)

    @property
    def keepers(self) -> int:
        return sum(work == self.scheduler._workers._keep for work in self.threads.started)


@pytest.fixture
def world() -> World:
    return World()


def raising(error: BaseException) -> Callable[[], object]:
    def do() -> object:
        raise error

    return do


# Enqueueing and flushing


def test_a_command_that_is_enqueued_is_left_to_the_keeper_first(world: World) -> None:
    event = world.enqueue()
    assert (event.status, event.ready) == (SUBMITTED, world.transfers)
    assert (world.workers, world.keepers) == (0, 1)


def test_a_command_that_waits_needs_no_thread_yet(world: World) -> None:
    assert world.enqueue(None, world.user_event()).status == QUEUED
    assert world.threads.started == []


def test_a_flush_has_a_worker_begin_and_runs_nothing_itself(world: World) -> None:
    work = world.work()
    world.enqueue(work)
    world.queue.flush()
    assert (world.workers, work.ran) == (1, 0)


def test_a_flush_counts_for_what_becomes_ready_later(world: World) -> None:
    gate = world.user_event()
    world.enqueue(None, gate)
    world.queue.flush()
    assert world.workers == 0
    gate.set_status(COMPLETE)
    assert world.workers == 1


def test_a_flush_of_an_empty_queue_flushes_no_other(world: World) -> None:
    world.enqueue()
    world.new_queue().flush()
    assert world.workers == 0


def test_without_threads_asking_for_the_status_runs_what_was_stranded(world: World) -> None:
    world.threads.has_threads = False
    gate = world.user_event()
    event = world.enqueue(None, gate)
    world.queue.flush()
    world.scheduler._ready.end(gate, COMPLETE, 0, Aftermath())
    world.scheduler._let_follow([gate], Aftermath())
    world.scheduler._stop_looking()
    assert event.status == SUBMITTED
    event.seen_status()
    assert event.status == COMPLETE


def test_asking_for_the_status_runs_nothing_while_there_are_threads(world: World) -> None:
    event = world.enqueue()
    event.seen_status()
    assert (event.status, world.workers) == (SUBMITTED, 0)


# Blocking calls


def test_a_blocking_command_runs_at_once_on_the_callers_thread(world: World) -> None:
    work = world.work()
    event = world.blocking(work)
    assert (work.ran, event.status) == (1, COMPLETE)
    assert world.threads.started == []
    assert event.queued_ns == event.submit_ns < event.start_ns < event.end_ns


def test_a_blocking_command_runs_after_those_before_it(world: World) -> None:
    order: list[int] = []
    world.enqueue(world.work(lambda: order.append(1)))
    world.blocking(world.work(lambda: order.append(2)))
    assert order == [1, 2]


def test_a_blocking_command_runs_after_its_wait_list(world: World) -> None:
    order: list[int] = []
    first = world.enqueue(world.work(lambda: order.append(1)), queue=world.new_queue())
    world.blocking(world.work(lambda: order.append(2)), first)
    assert order == [1, 2]


def test_a_blocking_command_does_not_run_before_a_user_event_that_it_waits_for(world: World) -> None:
    work = world.work()
    with pytest.raises(Blocks):
        world.blocking(work, world.user_event())
    assert work.ran == 0


def test_a_blocking_command_stands_in_its_queue_while_it_runs(world: World) -> None:
    open_: list[Event] = []
    event = world.blocking(world.work(lambda: open_.extend(world.scheduler.unfinished([world.queue]))))
    assert open_ == [event]
    assert world.scheduler.unfinished([world.queue]) == []


def test_a_blocking_command_raises_the_error_that_it_ended_with(world: World) -> None:
    with pytest.raises(InvalidValue):
        world.blocking(world.work(raising(InvalidValue("of a test"))))


def test_a_blocking_command_is_not_claimed_while_the_host_is_called_back(world: World) -> None:
    """A callback may wait for what the command would keep from running."""
    gate, seen = world.user_event(), list[object]()
    work = world.work()
    marker = world.new_queue().enqueue(cl.CL_COMMAND_MARKER, None, (gate,))
    world.scheduler.add_callback(marker, COMPLETE, lambda event, status: seen.append(work.claims))
    with world.scheduler._lock:
        world.scheduler._ready.end(gate, COMPLETE, world.threads.now(), Aftermath())
    gate_command: Any = gate.command
    gate_command.let_follow()  # by another thread, which has not taken the marker yet
    world.queue.run(cl.CL_COMMAND_TASK, work, True, ())
    assert (seen, work.ran) == ([0], 1)


def test_a_marker_does_not_end_before_what_it_waits_for(world: World) -> None:
    """A thread that enqueues another command meanwhile ends the marker."""
    gate = world.user_event()
    marker = world.queue.enqueue(cl.CL_COMMAND_MARKER, None, (gate,))
    lock: Any = world.scheduler._lock
    enter = lock.acquire

    def end_first() -> bool:
        lock.acquire = enter
        world.scheduler._ready.end(gate, COMPLETE, world.threads.now(), Aftermath())
        gate_command: Any = gate.command
        gate_command.let_follow()
        return bool(enter())

    lock.acquire = end_first
    world.enqueue(queue=world.new_queue())
    assert gate.end_ns < marker.submit_ns <= marker.end_ns


def test_who_ends_a_blocking_command_hands_on_what_became_ready_meanwhile(world: World) -> None:
    """Another thread has flushed it and does not look any more."""

    def other() -> None:
        world.enqueue(later)
        world.queue.flush()

    later = world.work()
    world.blocking(world.work(other))
    assert later.ran == 0
    assert world.workers == 1


def test_a_blocking_command_that_may_not_begin_waits_as_others_do(world: World) -> None:
    work = world.work(**NOBODY)
    with pytest.raises(Blocks):
        world.blocking(work)
    assert work.ready_list
    assert world.workers == 1, "for when it may"


# Waiting


def test_who_waits_for_what_has_ended_returns_at_once(world: World) -> None:
    world.scheduler.wait(world.blocking(world.work()))


def test_who_waits_runs_what_the_event_needs_itself(world: World) -> None:
    first, second = world.work(), world.work()
    world.enqueue(first)
    world.scheduler.wait(world.enqueue(second))
    assert (first.ran, second.ran, world.workers) == (1, 1, 0)


def test_who_waits_for_another_thread_leaves_the_rest_to_workers(world: World) -> None:
    """All that is enqueued is due: this thread makes no other call."""
    other = world.enqueue(queue=world.new_queue())
    with pytest.raises(Blocks):
        world.scheduler.wait(world.user_event())
    assert world.scheduler._ready.horizon >= other.queued_ns
    assert world.workers == 1


def test_who_has_run_something_hands_on_what_is_ready_when_it_returns(world: World) -> None:
    event = world.enqueue()
    world.enqueue(queue=world.new_queue())
    world.queue.flush()
    assert world.workers == 1
    world.scheduler._workers._count = 0  # as if it had ended
    world.scheduler.wait(event)
    assert world.workers == 2


def test_a_thread_that_waits_is_woken_by_the_end() -> None:
    """On threads of the system."""
    world = World()
    threads: Any = SystemThreads()
    world.scheduler = Scheduler(threads)
    world.context.scheduler = world.scheduler
    gate = world.user_event()
    waits = threading.Thread(target=world.scheduler.wait, args=(gate,))
    waits.start()
    assert gate.command is not None
    while not gate.command.sleepers():
        threading.Event().wait(0.001)
    gate.set_status(COMPLETE)
    waits.join()


def test_the_engine_knows_whether_the_host_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that wait for each other are stuck only if the host waits too."""
    told: list[bool] = []
    monkeypatch.setattr(scheduler, "host_waits", told.append)
    world.scheduler.wait(world.enqueue())
    assert told == []
    with pytest.raises(Blocks):
        world.scheduler.wait(world.user_event())
    assert told == [True, False]


def test_the_engine_knows_that_the_host_waits_which_frees_what_a_command_of_cs_uses(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(scheduler, "host_waits", told.append)
    with pytest.raises(Blocks):
        world.scheduler.wait_for(world.scheduler.user_event())
    assert told == [True, False]


class Carried:
    """A command that the engine has, and what happens while a thread waits for it."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.wait = meanwhile


def test_who_waits_in_the_engine_leaves_what_is_ready_to_workers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's command may take long, and may even wait for one that is ready."""
    event = world.enqueue(None, world.user_event())
    world.enqueue(queue=world.new_queue())
    world.scheduler._ready.make_due(world.threads.now())
    workers: list[int] = []

    def meanwhile() -> None:
        workers.append(world.workers)
        raise Blocks

    monkeypatch.setattr(Readiness, "claim_needed", lambda *_: (None, Carried(meanwhile)))
    with pytest.raises(Blocks):
        world.scheduler.wait(event)
    assert workers == [1]


def test_who_runs_one_thing_after_another_leaves_to_workers_what_it_has_made_ready(world: World) -> None:
    workers: list[int] = []
    gate = world.enqueue(world.work())
    last = world.enqueue(world.work(lambda: workers.append(world.workers)))
    world.enqueue(None, gate, queue=world.new_queue())
    world.scheduler._ready.make_due(world.threads.now())
    world.scheduler.wait(last)
    assert workers == [1]


def test_a_thread_that_runs_something_waits_for_no_one(world: World) -> None:
    awaited: list[bool] = []
    event = world.enqueue(world.work(lambda: awaited.append(event.is_awaited)))
    world.scheduler.wait(event)
    assert awaited == [False]


def test_without_threads_who_waits_runs_whatever_is_ready(world: World) -> None:
    world.threads.has_threads = False
    work = world.work()
    world.enqueue(work, queue=world.new_queue())
    with pytest.raises(Blocks):
        world.scheduler.wait(world.user_event())
    assert work.ran == 1


def test_without_threads_who_makes_a_command_ready_in_c_has_it_run(world: World) -> None:
    """A thread that waits for it may sleep already."""
    world.threads.has_threads = False
    carried, work = world.scheduler.user_event(), world.work()
    view = Event(world.context, world.queue, cl.CL_COMMAND_TASK, None, RUNNING, carried)
    event = world.enqueue(work, view, queue=world.new_queue())
    with pytest.raises(Blocks):
        world.scheduler.wait(event)
    carried.set(COMPLETE)
    carried.let_follow()
    world.scheduler.commands_ready()
    assert (work.ran, event.status) == (1, COMPLETE)


def test_who_waits_looks_for_what_others_have_made_ready_before_it_sleeps(world: World) -> None:
    carried, work = world.scheduler.user_event(), world.work()
    view = Event(world.context, world.queue, cl.CL_COMMAND_TASK, None, RUNNING, carried)
    event = world.enqueue(work, view, queue=world.new_queue())
    carried.set(COMPLETE)
    carried.let_follow()
    world.scheduler.wait(event)
    assert (work.ran, event.status) == (1, COMPLETE)


def test_who_waits_when_closed_runs_nothing(world: World) -> None:
    work = world.work()
    event = world.enqueue(work)
    world.scheduler.close(0)
    with pytest.raises(Blocks):
        world.scheduler.wait(event)
    assert work.ran == 0


@pytest.mark.parametrize("properties", [0, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE])
def test_finish_returns_when_all_commands_of_the_queue_have_ended(world: World, properties: int) -> None:
    queue = world.new_queue(properties)
    events = [world.enqueue(queue=queue) for _ in range(3)]
    other = world.enqueue(queue=world.new_queue(), work=Doing(world.kernels))
    queue.finish()
    assert [event.status for event in events] == [COMPLETE] * 3
    assert other.status == SUBMITTED


def test_finish_of_an_out_of_order_queue_waits_for_its_first_command_too(world: World) -> None:
    queue = world.new_queue(cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    world.enqueue(None, world.user_event(), queue=queue)
    world.enqueue(queue=queue)
    with pytest.raises(Blocks):
        queue.finish()


def test_finish_needs_no_worker_for_what_it_runs_itself(world: World) -> None:
    world.queue.carried = SimpleNamespace()  # type: ignore[assignment]
    events = [world.enqueue() for _ in range(3)]
    world.queue.finish()
    assert [event.status for event in events] == [COMPLETE] * 3
    assert world.workers == 0


# Operations of no command


def test_an_operation_of_no_command_runs_if_it_may_begin_now(world: World) -> None:
    work: Any = world.work()
    assert world.scheduler.run_if_free(work)
    assert (work.claims, work.ran, work.released) == (1, 1, [None])


def test_an_operation_of_no_command_does_not_run_beside_what_conflicts_with_it(world: World) -> None:
    work: Any = world.work(answer=Claim.WAITS)
    assert not world.scheduler.run_if_free(work)
    assert (work.ran, work.released) == (0, [])


def test_an_operation_of_no_command_that_fails_frees_what_it_occupied(world: World) -> None:
    work: Any = world.work(raising(OutOfResources("")))
    with pytest.raises(OutOfResources):
        world.scheduler.run_if_free(work)
    assert work.released == [None]


def test_what_an_operation_of_no_command_kept_waiting_begins_behind_it(world: World) -> None:
    waiting = world.work()
    work: Any = world.work(lambda: (world.enqueue(waiting), world.queue.flush(), world.threads.started.clear()))
    assert world.scheduler.run_if_free(work)
    assert world.workers == 1


def test_no_operation_runs_when_the_process_exits(world: World) -> None:
    world.scheduler.close(0)
    work: Any = world.work()
    assert not world.scheduler.run_if_free(work)


# Callbacks and user events


def called(event: Event, status: int) -> list[int]:
    statuses: list[int] = []
    event.when(status, lambda _, told: statuses.append(told))
    return statuses


def test_a_callback_for_a_status_that_is_reached_is_called_at_once(world: World) -> None:
    event = world.enqueue()
    assert called(event, SUBMITTED) == [SUBMITTED]
    assert called(event, RUNNING) == []
    world.scheduler.wait(event)
    assert called(event, RUNNING) == [RUNNING]
    assert called(event, COMPLETE) == [COMPLETE]


def test_callbacks_are_called_as_their_statuses_are_reached(world: World) -> None:
    during: list[list[int]] = []
    event = world.enqueue(world.work(lambda: during.append([*running, *complete])))
    running, complete = called(event, RUNNING), called(event, COMPLETE)
    world.scheduler.wait(event)
    assert during == [[RUNNING]]
    assert (running, complete) == ([RUNNING], [COMPLETE])


def test_a_callback_that_is_registered_as_a_command_begins_is_called(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    begins = Readiness.begins

    def register_first(readiness: Readiness, event: Event, *more: Any) -> None:
        reached = world.scheduler._callbacks.reached
        event.callbacks = EventCallbacks(reached, [(RUNNING, lambda _, status: told.append(status))])
        begins(readiness, event, *more)

    monkeypatch.setattr(Readiness, "begins", register_first)
    world.blocking(world.work(lambda: told.append(7)))
    assert told == [RUNNING, 7]


def test_what_ends_as_a_thread_in_c_ends_something_is_disposed_of(world: World) -> None:
    """The host may make no other call."""
    gate = world.user_event()
    work = world.work()
    event = world.enqueue(work, gate)
    work.abandon = lambda: world.context.reaper.append(True)  # type: ignore[method-assign]
    world.scheduler._ready.end(gate, -5, world.threads.now(), Aftermath())
    gate_command: Any = gate.command
    gate_command.let_follow()
    world.scheduler.commands_ready()
    assert (event.status, world.reaped) == (ExecStatusErrorForEventsInWaitList.status, [])
    world.threads.started.pop()()
    assert world.reaped == [True]


def test_a_callback_of_a_command_that_has_failed_is_told_its_error(world: World) -> None:
    event = world.enqueue(world.work(raising(InvalidValue("of a test"))))
    world.scheduler.wait(event)
    assert called(event, RUNNING) == [InvalidValue.status]


@pytest.mark.parametrize(("first", "second"), [(COMPLETE, -1), (-1, COMPLETE)])
def test_a_user_event_ends_once(world: World, first: int, second: int) -> None:
    gate = world.user_event()
    world.scheduler.end_user_event(gate, first)
    world.scheduler.end_user_event(gate, second)
    assert gate.status == first
    assert called(gate, RUNNING) == [min(first, RUNNING) if first else RUNNING]


NESTED = 20_000


def again_on_the_same_event(world: World, event: Event, callback: Any) -> None:
    event.when(COMPLETE, callback)


def by_another_user_event(world: World, event: Event, callback: Any) -> None:
    other = world.user_event()
    other.when(COMPLETE, callback)
    other.set_status(COMPLETE)


@pytest.mark.parametrize(("register", "deepest"), [(again_on_the_same_event, 1), (by_another_user_event, DEEPEST)])
def test_callbacks_that_make_others_due_run_only_so_deep_within_each_other(
    world: World, register: Any, deepest: int
) -> None:
    calls = running = most = 0

    def callback(event: Event, status: int) -> None:
        nonlocal calls, running, most
        calls += 1
        running += 1
        most = max(most, running)
        if calls < NESTED:
            register(world, event, callback)
        running -= 1

    by_another_user_event(world, world.user_event(), callback)
    assert (calls, most) == (NESTED, deepest)


def test_callbacks_of_a_user_event_that_a_callback_ends_return_before_what_waits_for_it_begins(world: World) -> None:
    first, gate = world.user_event(), world.user_event()
    event = world.enqueue(None, gate)
    seen: list[int] = []

    def callback(*_: object) -> None:
        first.when(COMPLETE, lambda *_: seen.append(-1))
        gate.set_status(COMPLETE)
        seen.append(event.status)

    gate.when(COMPLETE, lambda *_: seen.append(event.status))
    first.when(COMPLETE, callback)
    first.set_status(COMPLETE)
    assert seen == [QUEUED, SUBMITTED, -1]


def test_callbacks_that_become_due_in_a_callback_are_called_in_that_order(world: World) -> None:
    gate, told = world.user_event(), list[str]()

    def callback(event: Event, status: int) -> None:
        for name in "bc":
            event.when(COMPLETE, lambda *_, name=name: told.append(name))  # type: ignore[misc]
        told.append("a")

    gate.when(COMPLETE, callback)
    gate.set_status(COMPLETE)
    assert told == ["a", "b", "c"]


def test_a_callback_that_fails_keeps_no_other_from_being_called(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    gate, told = world.user_event(), list[int]()

    def callback(event: Event, status: int) -> None:
        event.when(COMPLETE, lambda *_: told.append(status))
        raise MemoryError

    gate.when(COMPLETE, callback)
    gate.set_status(COMPLETE)
    assert told == [COMPLETE]
    assert "callback failed" in capfd.readouterr().err


def test_a_callback_that_waits_has_those_behind_it_called_first(world: World) -> None:
    gate, ended = world.user_event(), world.user_event()
    event = world.enqueue(None, gate)
    told: list[int] = []

    def callback(*_: object) -> None:
        ended.when(COMPLETE, lambda *_: gate.set_status(COMPLETE))
        world.scheduler.wait(event)
        told.append(event.status)

    ended.when(COMPLETE, callback)
    ended.set_status(COMPLETE)
    assert told == [COMPLETE]


def test_what_waits_for_a_user_event_that_fails_ends_with_it_and_so_does_what_follows(world: World) -> None:
    gate = world.user_event()
    first = world.enqueue(None, gate)
    second = world.enqueue(None, first, queue=world.new_queue())
    told = called(second, COMPLETE)
    gate.set_status(-5)
    failed = ExecStatusErrorForEventsInWaitList.status
    assert (first.status, second.status, told) == (failed, failed, [failed])


def test_what_waits_for_a_user_event_is_submitted_when_the_callbacks_have_returned(world: World) -> None:
    gate = world.user_event()
    event = world.enqueue(None, gate)
    returned: list[tuple[int, int]] = []
    gate.when(COMPLETE, lambda *_: returned.append((event.status, world.threads.now())))
    gate.set_status(COMPLETE)
    ((status, at),) = returned
    assert (status, event.status) == (QUEUED, SUBMITTED)
    assert gate.end_ns < at < event.submit_ns


# Running


@contextmanager
def heard() -> Any:
    listener = SimpleNamespace(
        began=[], ended=[], operation_began=lambda *told: listener.began.append(told),
        operation_ended=lambda *told: listener.ended.append(told),
    )  # fmt: skip
    with listening(listener):
        yield listener


def test_watchers_hear_of_each_stage_with_its_begin_and_its_status(world: World) -> None:
    last = world.work(raising(InvalidValue("of a test")))
    first = world.work(lambda: last)
    with heard() as listener:
        event = world.enqueue(first)
        world.scheduler.wait(event)
    assert listener.began == [(event, first), (event, last)]
    assert [(told[0], told[1], told[3]) for told in listener.ended] == [
        (event, first, COMPLETE),
        (event, last, InvalidValue.status),
    ]
    assert event.start_ns < listener.ended[0][2] < listener.ended[1][2] < event.end_ns


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (InvalidValue("words of a test"), InvalidValue.status, "words of a test"),
        (BoardError("words of a board"), OutOfResources.status, "words of a board"),
        (KeyError("a mistake of ours"), OutOfResources.status, None),
        (KeyboardInterrupt(), OutOfResources.status, None),
    ],
)
def test_a_command_that_raises_ends_with_that_error_and_the_context_is_told(
    world: World, error: BaseException, status: int, words: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    event = world.enqueue(world.work(raising(error)))
    world.scheduler.wait(event)
    assert event.status == status
    assert [str(told) for told in world.told] == ([words] if words else [])
    assert ("a command failed" in capfd.readouterr().err) == (words is None), "bugs are always logged"


@pytest.mark.parametrize("blocking", [False, True])
def test_a_command_is_running_while_it_runs(world: World, blocking: bool) -> None:
    statuses: list[int] = []
    operation: Any = world.work(lambda: statuses.extend(e.status for e in world.queue.open))
    world.queue.run(cl.CL_COMMAND_TASK, operation, blocking)
    world.queue.finish()
    assert statuses == [RUNNING]


def test_stages_follow_each_other_and_the_command_starts_once(world: World) -> None:
    ran: list[int] = []
    starts: list[int] = []
    third = world.work(lambda: (ran.append(3), starts.append(event.start_ns))[2:] or None)
    second = world.work(lambda: (ran.append(2), starts.append(event.start_ns), third)[2])
    event = world.enqueue(world.work(lambda: (ran.append(1), second)[1]))
    world.scheduler.wait(event)
    assert ran == [1, 2, 3]
    assert len(set(starts)) == 1


def test_a_thread_that_goes_on_with_a_stage_has_another_look_at_what_the_stage_before_was_in_the_way_of(
    world: World,
) -> None:
    """The stage may run for long, and need just that."""
    waiting = world.work(**NOBODY)
    seen: list[int] = []

    def frees() -> Doing:
        waiting.answer = Claim.TAKEN
        world.scheduler._workers._count = 0  # as if none was there
        return Doing(world.kernels, lambda: seen.append(world.workers))

    world.enqueue(waiting, queue=world.new_queue())
    world.queue.flush()
    world.new_queue().flush()
    event = world.enqueue(Doing(world.kernels, frees))
    before = world.workers
    world.scheduler._ready.make_due(world.threads.now())
    world.scheduler.wait(event)
    assert seen[0] > before


def test_a_command_that_may_wait_for_others_runs_on_a_thread_of_its_own(world: World) -> None:
    work = world.work()
    work.needs_thread = True
    event = world.enqueue(work)
    with pytest.raises(Blocks):
        world.scheduler.wait(event)
    assert work.ran == 0
    world.threads.started[-1]()
    assert (work.ran, event.status) == (1, COMPLETE)


def test_a_thread_that_has_run_a_command_of_its_own_runs_what_is_due_then(world: World) -> None:
    first, second = world.work(), world.work()
    first.needs_thread = second.needs_thread = True
    event = world.enqueue(first)
    with pytest.raises(Blocks):
        world.scheduler.wait(event)
    later = world.enqueue(second, event)
    world.queue.flush()
    started = len(world.threads.started)
    world.threads.started[-1]()
    assert (second.ran, later.status, len(world.threads.started)) == (1, COMPLETE, started)


def test_objects_that_nobody_has_any_more_are_destroyed_after_a_command(world: World) -> None:
    world.blocking(world.work())
    assert world.reaped == []
    world.context.reaper.append(None)
    world.blocking(world.work())
    assert world.reaped == [True]


@pytest.mark.parametrize("waits", ["wait", "finish", "never ran", "has ended"])
def test_who_waits_disposes_of_what_dead_objects_left(world: World, waits: str) -> None:
    event = world.user_event() if waits == "never ran" else world.enqueue()
    if waits == "never ran":
        follower = world.enqueue(world.work(), event)
        world.context.reaper.append(None)
        event.set_status(-1)
        assert (follower.status < COMPLETE, world.reaped) == (True, [True])
        return
    if waits == "has ended":
        world.scheduler.wait(event)
    world.context.reaper.append(None)
    if waits == "wait":
        world.scheduler.wait(event)
    else:
        world.queue.finish()
    assert (world.reaped, len(world.context.reaper)) == ([True], 0)


class Mourned(Doing):
    """Tells when it is destroyed."""

    def __init__(self, world: World, statuses: list[int], **more: Any) -> None:
        super().__init__(world.transfers, **more)
        self.statuses = statuses
        self.event: Any = None

    def __del__(self) -> None:
        self.statuses.append(self.event().status)


@pytest.mark.parametrize("by", ["who waits", "a worker", "a blocking call"])
def test_an_operation_is_destroyed_before_its_command_has_ended(world: World, by: str) -> None:
    """A thread that learns of the end finds the memory free that only the command kept."""
    statuses: list[int] = []
    operation = Mourned(world, statuses)
    event = Event(world.context, world.queue, cl.CL_COMMAND_TASK, operation)  # type: ignore[arg-type]
    operation.event = weakref.ref(event)
    del operation
    if by == "a blocking call":
        world.scheduler.run_blocking(event)
    else:
        world.scheduler.enqueue(event)
    if by == "who waits":
        world.scheduler.wait(event)
    if by == "a worker":
        world.scheduler.flush()
        claimed = world.scheduler._ready.claim_any()
        assert claimed is event
        world.scheduler._run_where_it_may(claimed)
    assert (statuses, event.status) == ([RUNNING], COMPLETE)


def test_operations_are_destroyed_without_the_lock(world: World) -> None:
    """Destructors may be the host's."""
    taken: list[bool] = []

    class Dying(Doing):
        def __del__(self) -> None:
            taken.append(world.scheduler._lock.taken)  # type: ignore[attr-defined]

    event = world.enqueue(Dying(world.transfers))
    world.scheduler.wait(event)
    assert taken == [False]


def test_who_waits_destroys_what_it_has_run_without_the_lock(world: World) -> None:
    lock: Any = world.scheduler._lock
    destroyed: list[bool] = []
    weakref.finalize(world.enqueue(), lambda: destroyed.append(lock.taken))
    world.scheduler.wait(world.enqueue())
    assert destroyed == [False]


# Times


def test_the_stages_of_a_command_have_the_times_at_which_they_were_reached(world: World) -> None:
    event = world.enqueue()
    world.scheduler.wait(event)
    times = [world.scheduler.stage_time(event, stage) for stage in ("queued", "submit", "start", "end")]
    assert times == [event.queued_ns, event.submit_ns, event.start_ns, event.end_ns]
    assert times == sorted(times)
    assert world.scheduler.host_time() > times[-1]


def test_a_command_has_ended_before_it_gives_back_what_the_next_one_waits_for(world: World) -> None:
    freed: list[int] = []

    class Occupying(Doing):
        def release(self, following: Any) -> None:
            freed.append(world.threads.now())

    event = world.enqueue(Occupying(world.transfers))
    world.scheduler.wait(event)
    assert event.end_ns < freed[0]


# Standing still, and the end


def test_it_is_settled_when_nothing_runs_and_nothing_is_ready(world: World) -> None:
    assert world.scheduler.settle(1)
    event = world.enqueue()
    assert not world.scheduler.settle(1)
    world.scheduler.wait(event)
    assert world.scheduler.settle(1)


def test_settling_has_everything_begin_that_may(world: World) -> None:
    world.enqueue()
    world.scheduler.settle(0)
    assert world.workers == 1


def test_it_is_at_rest_while_all_that_is_left_waits_for_the_host(world: World) -> None:
    assert world.scheduler.at_rest()
    gate = world.user_event()
    event = world.enqueue(None, gate)
    assert world.scheduler.at_rest()
    gate.set_status(COMPLETE)
    assert not world.scheduler.at_rest(), "it is ready"
    world.scheduler.wait(event)
    assert world.scheduler.at_rest()


def test_it_is_not_at_rest_while_something_runs(world: World) -> None:
    seen: list[bool] = []
    world.blocking(world.work(lambda: seen.append(world.scheduler.at_rest())))
    assert seen == [False]


def test_asking_whether_it_is_at_rest_has_nothing_begin(world: World) -> None:
    world.enqueue()
    world.scheduler.at_rest()
    assert world.workers == 0


def test_settling_waits_as_long_as_it_is_told_and_no_longer(world: World) -> None:
    world.enqueue()
    begin = world.threads.time
    assert not world.scheduler.settle(2)
    assert 2e9 <= world.threads.time - begin < 2.1e9


def test_settling_waits_through_ends_until_all_is_still(world: World) -> None:
    events = [world.enqueue(), world.enqueue()]
    world.threads.while_waiting = [lambda event=event: world.scheduler.wait(event) for event in events]  # type: ignore[misc]
    assert world.scheduler.settle(2)
    assert world.threads.bells[-1].rings == 2, "an end rings for one that waits for stillness, once"


def test_settling_has_no_patience_for_less_than_no_time(world: World) -> None:
    world.enqueue()
    assert not world.scheduler.settle(0)
    assert world.threads.bells[-1].waits == []


def test_closing_waits_for_what_runs_and_not_for_what_is_ready(world: World) -> None:
    results: list[bool] = []
    event = world.enqueue(world.work(lambda: results.append(world.scheduler.close(1))))
    world.scheduler.wait(event)
    assert results == [False]
    assert world.scheduler.close(1)
    world.scheduler.reopen()
    world.enqueue()
    assert world.scheduler.close(1)


@pytest.mark.parametrize("blocking", [False, True])
def test_nothing_is_taken_when_closed_and_again_when_reopened(world: World, blocking: bool) -> None:
    world.scheduler.close(0)
    operation: Any = world.work()
    with pytest.raises(OutOfResources, match="exiting"):
        world.queue.run(cl.CL_COMMAND_TASK, operation, blocking)
    assert not world.queue.open
    world.scheduler.reopen()
    world.queue.run(cl.CL_COMMAND_TASK, operation, blocking)
    world.queue.flush()
    assert world.workers == (0 if blocking else 1)
