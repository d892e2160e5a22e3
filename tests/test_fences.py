# SPDX-License-Identifier: Apache-2.0
"""Commands of the scheduler behind, and beside, those that C carries (api/carrying.py), in whose place is a double."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from machine import Machine

from fpgart import opencl as cl
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, Event, Fence
from fpgart.runtime.scheduling.occupancy import Claim

Boards = Callable[..., Machine]


@dataclass
class Carried:
    """As CarriedQueue: whether commands are under way is what a test says."""

    is_open: bool = False
    holders: int = 0
    fence: Fence | None = None
    flushed: int = 0
    queue: CommandQueue | None = None

    def hold(self) -> bool:
        self.holders += 1
        return self.is_open

    def resume(self) -> None:
        self.holders -= 1

    def finish(self) -> None:
        if self.is_open and self.queue is not None:
            self.is_open = False
            self.queue.context.scheduler.queue_idle(self.queue)

    def flush(self) -> None:
        self.flushed += 1


class CarriedBoard:
    """As CarriedBoard."""

    def __init__(self, *, is_open: bool) -> None:
        self.is_awaited = is_open
        self.stopped = 0

    def stop(self) -> bool:
        self.stopped += 1
        return not self.is_awaited

    def go_on(self) -> None:
        self.stopped = 0

    def loaded(self) -> str:
        return ""

    def has_loaded(self, identity: str) -> None:
        """Nobody asks."""

    def idle(self) -> None:
        self.is_awaited = False


@pytest.fixture
def machine(boards: Boards) -> Machine:
    return boards("usm_s10")


@pytest.fixture
def carried(machine: Machine) -> Carried:
    made = Carried(queue=machine.queue)
    machine.queue.context.scheduler.let_carry(machine.queue, made)
    return made


def enqueue(machine: Machine, ran: list[int]) -> Event:
    work: Any = HostWork(machine.device, lambda: ran.append(len(ran)))
    return machine.queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, work)


def test_a_command_keeps_c_from_its_queue_until_it_has_ended(machine: Machine, carried: Carried) -> None:
    event = enqueue(machine, [])
    assert carried.holders == 1
    machine.scheduler.wait(event)
    assert carried.holders == 0


def test_a_command_runs_behind_what_c_carries_in_its_queue(machine: Machine, carried: Carried) -> None:
    carried.is_open = True
    ran: list[int] = []
    events = [enqueue(machine, ran), enqueue(machine, ran)]
    machine.queue.flush()
    assert (ran, carried.fence is not None) == ([], True)
    carried.finish()
    for event in events:
        machine.scheduler.wait(event)
    assert (ran, carried.fence, carried.holders) == ([0, 1], None, 0)


def test_who_waits_for_a_command_waits_for_what_c_carries_first(machine: Machine, carried: Carried) -> None:
    carried.is_open = True
    ran: list[int] = []
    machine.scheduler.wait(enqueue(machine, ran))
    assert ran == [0]


def test_a_blocking_command_waits_for_what_c_carries(machine: Machine, carried: Carried) -> None:
    carried.is_open = True
    ran: list[int] = []
    work: Any = HostWork(machine.device, lambda: ran.append(0))
    machine.queue.run(cl.CL_COMMAND_WRITE_BUFFER, work, True)
    assert (ran, carried.holders) == ([0], 0)


def test_commands_that_were_in_a_queue_before_keep_c_from_it(machine: Machine) -> None:
    gate = Event(machine.context, None, cl.CL_COMMAND_USER, None, RUNNING)
    work: Any = HostWork(machine.device, lambda: None)
    event = machine.queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, work, (gate,))
    carried = Carried(queue=machine.queue)
    machine.scheduler.let_carry(machine.queue, carried)
    assert carried.holders == 1
    gate.set_status(COMPLETE)
    machine.scheduler.wait(event)
    assert carried.holders == 0


def test_finish_and_flush_are_for_what_c_carries_too(machine: Machine, carried: Carried) -> None:
    carried.is_open = True
    machine.queue.finish()
    machine.queue.flush()
    assert (carried.is_open, carried.flushed) == (False, 1)


def test_a_board_is_programmed_when_nothing_is_carried_on_it(machine: Machine) -> None:
    board, occupancy = CarriedBoard(is_open=True), machine.device.occupancy
    occupancy.carried = board
    assert occupancy.claim_programming() is Claim.WAITS
    board.idle()
    assert occupancy.claim_programming() is Claim.TAKEN
    occupancy.end_programming()
    assert board.stopped == 0


class Command:
    """A carried command as views of its event see it."""

    def __init__(self, status: int) -> None:
        self.now = status

    def status(self) -> int:
        return self.now

    def wait(self) -> int:
        self.now = COMPLETE
        return self.now

    def times(self) -> tuple[int, int, int, int]:
        return 1, 2, 3, 4


def view(machine: Machine) -> Event:
    event = Event(machine.context, machine.queue, cl.CL_COMMAND_NDRANGE_KERNEL, None, RUNNING)
    event.unmet = 1
    event.carried = Command(RUNNING)
    return event


def test_a_command_that_waits_for_a_view_runs_when_that_has_ended(machine: Machine) -> None:
    waited, ran = view(machine), []
    work: Any = HostWork(machine.device, lambda: ran.append(waited.status))
    event = machine.queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, work, (waited,))
    machine.queue.flush()
    assert ran == []
    machine.scheduler.end_view(waited, COMPLETE)
    machine.scheduler.wait(event)
    assert ran == [COMPLETE]


def test_a_view_has_the_times_and_the_end_of_its_command_once(machine: Machine) -> None:
    event, called = view(machine), []
    event.when(COMPLETE, lambda _, status: called.append(status))
    machine.scheduler.wait(event)
    machine.scheduler.end_view(event, COMPLETE)
    assert called == [COMPLETE]
    assert (event.queued_ns, event.submit_ns, event.start_ns, event.end_ns) == (1, 2, 3, 4)


def test_whoever_asks_for_the_status_of_a_view_learns_the_end(machine: Machine) -> None:
    event = view(machine)
    assert event.seen_status() == RUNNING
    assert event.carried is not None
    event.carried.wait()
    assert event.seen_status() == COMPLETE
