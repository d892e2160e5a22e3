"""Queries and errors of events and queues (OpenCL 3.0, 5.1, 5.11, 5.14), and the system's threads behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Machine, listening

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidOperation, InvalidValue, OutOfResources, ProfilingInfoNotAvailable
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling import threads as system
from fpgart.runtime.scheduling.event import COMPLETE, QUEUED, RUNNING, SUBMITTED, Event
from fpgart.runtime.scheduling.threads import SystemThreads

pytestmark = pytest.mark.machine("usm_s10")

TOLD = (
    "event_made", "command_enqueued", "end_observed", "queue_drained", "user_event_ended"
)  # fmt: skip


@contextmanager
def heard() -> Any:
    """Yields a list that gets each notice: its name and arguments."""
    notices: list[tuple[Any, ...]] = []
    listener = SimpleNamespace(
        **{name: lambda *told, name=name: notices.append((name, *told)) for name in TOLD}  # type: ignore[misc]
    )
    with listening(listener):
        yield notices


def work_of(machine: Machine) -> HostWork:
    return HostWork(machine.device, lambda: None)


# Events


def test_an_event_begins_queued_with_no_time_and_no_handle(machine: Machine) -> None:
    event = Event(machine.context, machine.queue, cl.CL_COMMAND_TASK, None)
    assert event.status == QUEUED
    assert (event.queued_ns, event.submit_ns, event.start_ns, event.end_ns) == (0, 0, 0, 0)
    assert (event.handle, event.command) == (0, None)
    assert event.command_type == cl.CL_COMMAND_TASK


@pytest.mark.parametrize("status", [-1, QUEUED, 4])
def test_a_callback_is_for_submitted_running_or_complete_only(machine: Machine, status: int) -> None:
    with pytest.raises(InvalidValue):
        machine.user_event().when(status, lambda event, status: None)


@pytest.mark.parametrize("status", [1, 2])
def test_a_user_event_ends_complete_or_failed(machine: Machine, status: int) -> None:
    event = machine.user_event()
    with pytest.raises(InvalidValue):
        event.set_status(status)
    assert event.status == SUBMITTED


@pytest.mark.parametrize("status", [COMPLETE, -7])
def test_a_user_event_ends_once(machine: Machine, status: int) -> None:
    event = machine.user_event()
    with heard() as notices:
        event.set_status(status)
        with pytest.raises(InvalidOperation):
            event.set_status(COMPLETE)
    assert event.status == status
    assert notices == [("user_event_ended", event)]


def test_of_two_threads_that_end_a_user_event_one_is_refused(machine: Machine) -> None:
    event = machine.user_event()
    refused: list[str] = []

    def other_thread(ending: Event) -> None:
        try:
            ending.set_status(-5)
        except InvalidOperation as error:
            refused.append(str(error))

    with listening(SimpleNamespace(user_event_ended=other_thread)):
        event.set_status(COMPLETE)
    assert event.status == COMPLETE
    assert refused == [f"the status of a user event is set once; that of this one is {SUBMITTED}"]


def test_a_host_that_asks_is_told_the_status_and_the_scheduler_that_it_asked(machine: Machine) -> None:
    told: list[object] = []
    scheduler: Any = SimpleNamespace(saw_end=told.append, host_polls=lambda: told.append("polls"))
    event = Event(SimpleNamespace(scheduler=scheduler), machine.queue, 0, None)  # type: ignore[arg-type]
    for status in (SUBMITTED, RUNNING):
        event.status = status
        assert event.seen_status() == status
    assert told == ["polls", "polls"]
    for status in (COMPLETE, -5):
        event.status = status
        assert event.seen_status() == status
    assert told == ["polls", "polls", event, event]


def test_profiling_is_for_commands_of_queues_made_for_it_that_have_completed(machine: Machine) -> None:
    profiled = CommandQueue(machine.context, machine.device, cl.CL_QUEUE_PROFILING_ENABLE)
    with pytest.raises(ProfilingInfoNotAvailable, match="user events"):
        machine.user_event().profiling_time("end")
    with pytest.raises(ProfilingInfoNotAvailable, match="CL_QUEUE_PROFILING_ENABLE"):
        machine.queue.run(cl.CL_COMMAND_TASK, work_of(machine), blocking=True).profiling_time("end")
    gate = machine.user_event()
    event = profiled.enqueue(cl.CL_COMMAND_TASK, work_of(machine), (gate,))
    with pytest.raises(ProfilingInfoNotAvailable, match="not completed"):
        event.profiling_time("end")
    gate.set_status(-1)
    with pytest.raises(ProfilingInfoNotAvailable, match="-14"):
        event.profiling_time("end")
    done = profiled.run(cl.CL_COMMAND_TASK, work_of(machine), blocking=True)
    assert done.profiling_time("end") == done.end_ns > 0


# Queues


def test_queues_have_numbers_of_their_own_and_no_handle_yet(machine: Machine) -> None:
    first, second = (CommandQueue(machine.context, machine.device) for _ in range(2))
    assert second.number == first.number + 1 > 1
    assert first.handle == 0


def test_a_queue_is_known_to_its_context_and_to_the_scheduler(machine: Machine) -> None:
    made: list[CommandQueue] = []
    machine.scheduler.queue_made = made.append  # type: ignore[method-assign]
    queue = CommandQueue(machine.context, machine.device)
    assert queue in machine.context.queues.all()
    assert made == [queue]


@pytest.mark.parametrize(
    ("properties", "in_order"),
    [(0, True), (cl.CL_QUEUE_PROFILING_ENABLE, True), (cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, False)],
)
def test_a_queue_is_in_order_unless_it_is_made_otherwise(machine: Machine, properties: int, in_order: bool) -> None:
    queue = CommandQueue(machine.context, machine.device, properties, (1, 2, 0))
    assert queue.property_list == (1, 2, 0)
    assert queue.in_order == in_order


@pytest.mark.parametrize("blocking", [False, True])
def test_watchers_hear_of_a_command_before_it_runs_and_of_the_hosts_seeing_its_end(
    machine: Machine, blocking: bool
) -> None:
    ran: list[int] = []
    with heard() as notices:
        work = HostWork(machine.device, lambda: ran.append(len(notices)))
        event = machine.queue.run(cl.CL_COMMAND_TASK, work, blocking)
        machine.queue.finish()
    seen = [("end_observed", event)] if blocking else []
    assert notices == [
        ("event_made", event),
        ("command_enqueued", event, (), blocking),
        *seen,
        ("queue_drained", machine.queue),
    ]
    assert ran[0] >= 2
    assert event.status == COMPLETE


def test_watchers_hear_of_an_enqueued_command_with_its_wait_list(machine: Machine) -> None:
    gate = machine.user_event()
    with heard() as notices:
        event = machine.queue.enqueue(cl.CL_COMMAND_TASK, work_of(machine), (gate,))
    assert notices == [("event_made", event), ("command_enqueued", event, (gate,), False)]
    gate.set_status(COMPLETE)


def test_a_blocking_command_that_fails_has_been_seen_to_end_too(machine: Machine) -> None:
    def fails() -> None:
        raise OutOfResources("of a test")

    with heard() as notices, pytest.raises(OutOfResources):
        machine.queue.run(cl.CL_COMMAND_TASK, HostWork(machine.device, fails), True)
    assert notices[-1][0] == "end_observed"


class Kept(HostWork):
    """Work that counts how often what it reserved is given back without it."""

    abandoned = 0

    def abandon(self) -> None:
        self.abandoned += 1


@pytest.fixture
def closed(machine: Machine) -> Iterator[Machine]:
    """A machine whose scheduler takes no commands."""
    machine.scheduler.close(1)
    yield machine
    machine.scheduler.reopen()


@pytest.mark.parametrize("put", [CommandQueue.enqueue, partial(CommandQueue.run, blocking=False),
                                 partial(CommandQueue.run, blocking=True)])  # fmt: skip
def test_a_command_that_is_not_taken_gives_back_once_what_it_reserved(
    closed: Machine, put: Callable[..., Event]
) -> None:
    work = Kept(closed.device, lambda: None)
    with pytest.raises(OutOfResources):
        put(closed.queue, cl.CL_COMMAND_TASK, work)
    assert work.abandoned == 1
    assert not closed.queue.open


@pytest.mark.parametrize("blocking", [False, True])
def test_a_marker_that_is_not_taken_has_nothing_to_give_back(closed: Machine, blocking: bool) -> None:
    with pytest.raises(OutOfResources, match="exiting"):
        closed.queue.run(cl.CL_COMMAND_MARKER, None, blocking)


def test_a_blocking_command_whose_wait_is_broken_off_stays_in_its_queue(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, work = machine.user_event(), Kept(machine.device, lambda: None)

    def breaks_off(event: Event) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(machine.scheduler, "wait", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        machine.queue.run(cl.CL_COMMAND_TASK, work, True, (gate,))
    monkeypatch.undo()
    assert work.abandoned == 0
    (event,) = machine.queue.open
    gate.set_status(COMPLETE)
    machine.queue.finish()
    assert event.status == COMPLETE


# The system's threads


def test_a_bell_wakes_as_many_as_it_rings(machine: Machine) -> None:
    bell = SystemThreads().bell()
    assert not bell.wait(0.001)
    bell.ring()
    bell.ring()
    assert bell.wait(0.001)
    assert bell.wait()
    assert not bell.wait(0.001)


def test_work_runs_on_a_thread_of_its_own() -> None:
    done = threading.Event()
    seen: list[int] = []
    assert SystemThreads().start(lambda: (seen.append(threading.get_ident()), done.set())[1])
    done.wait()
    assert seen != [threading.get_ident()]


class Noting(list[Any]):
    """Notes that something has been appended."""

    def __init__(self) -> None:
        super().__init__()
        self.has_some = threading.Event()

    def append(self, item: Any) -> None:
        super().append(item)
        self.has_some.set()


def test_a_thread_that_has_done_its_work_does_the_next() -> None:
    threads, seen = SystemThreads(), []
    threads._idle = idle = Noting()
    for _ in range(2):
        assert threads.start(lambda: seen.append(threading.get_ident()))
        idle.has_some.wait()
        idle.has_some.clear()
    assert seen == [seen[0]] * 2


def test_a_thread_without_work_ends_if_enough_others_wait_for_some() -> None:
    threads = SystemThreads()
    threads._idle = [SimpleQueue() for _ in range(SystemThreads.MOST_IDLE)]
    thread = threading.Thread(target=threads._serve, args=([lambda: None],))
    thread.start()
    thread.join()


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_a_system_without_threads_says_so(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(work: object, arguments: object) -> None:
        raise error

    monkeypatch.setattr(system._thread, "start_new_thread", refuse)
    assert not SystemThreads().start(lambda: None)


def test_locks_are_locks_of_their_own() -> None:
    threads = SystemThreads()
    with threads.lock(), threads.lock():
        assert threads.now() <= threads.now()


def test_a_queue_is_for_the_device_that_it_was_made_for_and_has_no_properties_by_itself(machine: Machine) -> None:
    queue = CommandQueue(machine.context, machine.device)
    assert (queue.device, queue.properties) == (machine.device, 0)
