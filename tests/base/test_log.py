"""The driver's log, and watchers that fail: commands end in spite of their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from machine import Machine, SetOption, machine_of

from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.scheduling.event import COMPLETE, Event, Operation
from fpgart.runtime.scheduling.occupancy import Claim


@pytest.fixture
def machine() -> Iterator[Machine]:
    yield from machine_of("usm_s10")


def test_a_log_that_cannot_be_written_is_told_about_once_and_fails_nothing(
    set_option: SetOption, capfd: pytest.CaptureFixture[str]
) -> None:
    set_option(config.LOG, "/dev/full")
    log.error(OutOfResources("first"))
    log.error(OutOfResources("second"))
    words = capfd.readouterr().err
    assert words.count("FPGART_LOG=/dev/full cannot be written: No space left on device") == 1
    assert "first" in words
    assert "second" in words


class Failing:
    """A watcher that raises whatever it hears."""

    def __init__(self) -> None:
        self.heard = 0

    def operation_began(self, event: Event, operation: Operation, *end: int) -> None:
        self.heard += 1
        raise KeyError("a bug of the watcher")

    operation_ended = operation_began


@pytest.mark.parametrize("blocking", [True, False])
def test_a_watcher_that_raises_is_heard_of_once_and_the_queue_goes_on(
    machine: Machine, blocking: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    watcher = Failing()
    NOTICES.listen(watcher)
    ran: list[int] = []
    try:
        for number in range(3):
            work = HostWork(machine.device, lambda number=number: ran.append(number))  # type: ignore[misc]
            event = machine.queue.run(cl.CL_COMMAND_MARKER, work, blocking)
            machine.queue.finish()
            assert event.status == COMPLETE
    finally:
        NOTICES.silence(watcher)
    assert ran == [0, 1, 2]
    assert watcher.heard == 2, "once for each of its methods"
    assert "Failing failed in operation_began, which is not reported to it from now on" in capfd.readouterr().err


def raising(*_: object) -> None:
    raise MemoryError("of an operation")


def claim_raises(work: HostWork) -> None:
    work.claim = raising  # type: ignore[assignment,method-assign]


def release_raises(work: HostWork) -> None:
    work.release = raising  # type: ignore[method-assign]


def run_raises(work: HostWork) -> None:
    work.work = raising


class Breakable(HostWork):
    """Its methods can be replaced: it has a __dict__."""


@pytest.mark.parametrize("breaks", [claim_raises, release_raises, run_raises])
@pytest.mark.parametrize("blocking", [True, False])
def test_an_operation_that_raises_ends_its_own_command_and_no_other(
    machine: Machine, breaks: Callable[[HostWork], None], blocking: bool
) -> None:
    broken = Breakable(machine.device, lambda: None)
    breaks(broken)
    if blocking:
        with pytest.raises(OutOfResources):
            machine.queue.run(cl.CL_COMMAND_MARKER, broken, blocking=True)
    else:
        event = machine.queue.enqueue(cl.CL_COMMAND_MARKER, broken)
        machine.queue.finish()
        assert event.status == OutOfResources.status
    ran: list[bool] = []
    machine.queue.run(cl.CL_COMMAND_MARKER, HostWork(machine.device, lambda: ran.append(True)), blocking=True)
    assert ran == [True]
    assert machine.scheduler.settle(5)


def test_an_event_callback_that_raises_fails_nothing(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    event = machine.queue.enqueue(cl.CL_COMMAND_MARKER, HostWork(machine.device, lambda: None))
    machine.queue.finish()
    event.when(COMPLETE, raising)  # on this thread, because the command has ended
    assert event.status == COMPLETE
    assert "an event callback failed" in capfd.readouterr().err


def test_an_operation_whose_wait_list_failed_is_abandoned_once_and_without_the_lock(machine: Machine) -> None:
    gate = Event(machine.context, None, cl.CL_COMMAND_USER, None, 2)
    given_up: list[bool] = []
    work = Breakable(machine.device, raising)

    def abandon() -> None:
        machine.scheduler.unfinished([machine.queue])  # takes the lock
        given_up.append(True)

    work.abandon = abandon  # type: ignore[method-assign]
    event = machine.queue.enqueue(cl.CL_COMMAND_MARKER, work, (gate,))
    gate.set_status(-5)
    assert event.status == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert given_up == [True]


def test_a_claim_is_never_taken_by_a_broken_operation(machine: Machine) -> None:
    from fpgart.runtime.scheduling.unclaimable import Unclaimable

    stand_in = Unclaimable(HostWork(machine.device, lambda: None), MemoryError())
    assert stand_in.claim() is Claim.TAKEN
    stand_in.release(None)
    assert stand_in.ready_list is machine.scheduler.host_ready
