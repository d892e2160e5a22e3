"""The driver's log, and watchers that fail: commands end in spite of their errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from machine import Machine, SetOption, machine_of

from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.scheduling.event import COMPLETE, Event, Operation


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


class Breakable(HostWork):
    """Its methods can be replaced: it has a __dict__."""


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
