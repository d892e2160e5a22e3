# SPDX-License-Identifier: Apache-2.0
"""Commands that C carries, as the scheduler sees them: views of their events, and a board on which they are open.

Without an engine, a user event stands for a carried command: C sets it.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from fpgart._native import ffi, lib
from machine import Machine

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidOperation
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, Event

pytestmark = pytest.mark.machine("usm_s10")


def view(machine: Machine) -> Event:
    command = machine.scheduler.core.user_event()
    return Event(machine.context, machine.queue, cl.CL_COMMAND_NDRANGE_KERNEL, None, RUNNING, command)


def end(event: Event, status: int = COMPLETE) -> None:
    """The command of a view ends in C."""
    assert event.command is not None
    event.command.set(status)
    event.command.let_follow()


def enqueue(machine: Machine, ran: list[int], *waits: Event) -> Event:
    work: Any = HostWork(machine.device, lambda: ran.append(len(ran)))
    return machine.queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, work, waits)


def test_who_waits_for_a_carried_command_returns_when_that_has_ended(machine: Machine) -> None:
    event = view(machine)
    thread = threading.Thread(target=machine.scheduler.wait, args=(event,))
    thread.start()
    end(event)
    thread.join()
    assert event.status == COMPLETE


def test_callbacks_that_c_has_for_a_user_event_return_before_commands_that_wait_for_it_begin(machine: Machine) -> None:
    seen = list[int]()
    command = machine.scheduler.core.user_event()
    event = Event(machine.context, None, cl.CL_COMMAND_USER, None, SUBMITTED, command)
    call = ffi.callback("void(struct core_command *, int32_t, void *)", lambda of, status, data: seen.append(status))
    assert lib.core_callback(command.pointer, cl.CL_COMPLETE, call, ffi.NULL)
    follower = enqueue(machine, seen, event)
    event.set_status(COMPLETE)
    machine.scheduler.wait(follower)
    assert seen == [COMPLETE, 1], "the follower adds the number of those before it"


def test_a_user_event_that_c_has_set_is_not_set_again(machine: Machine) -> None:
    command = machine.scheduler.core.user_event()
    event = Event(machine.context, None, cl.CL_COMMAND_USER, None, SUBMITTED, command)
    assert command.claim()
    command.set(-5)
    with pytest.raises(InvalidOperation, match="that of this one is -5"):
        event.set_status(COMPLETE)


def test_whoever_asks_for_the_status_of_a_view_learns_the_end(machine: Machine) -> None:
    event = view(machine)
    assert event.seen_status() == RUNNING
    end(event)
    assert event.seen_status() == COMPLETE
