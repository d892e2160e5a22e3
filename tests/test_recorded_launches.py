# SPDX-License-Identifier: Apache-2.0
"""What becomes of launches that C has recorded (fpgart/api/launches.py), beside a double of C's records."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import cffi
import pytest
from machine import Machine

from fpgart import opencl as cl
from fpgart.errors import OutOfHostMemory
from fpgart.runtime.scheduling.event import COMPLETE, Event

QUEUE, EVENTS = 0x1000, (0x2000, 0, 0x3000)
SERIAL = 7
MODULES = ("arguments", "candidates", "handles", "info", "launches")


@dataclass
class Records:
    """The functions of icd/launches.c and icd/handles.c, with one record of launches; the host wants some events."""

    held: set[int] = field(default_factory=lambda: {QUEUE, *EVENTS})
    """What the host holds."""
    recorded: Any = None

    def record(self) -> None:
        launches = [SimpleNamespace(event=event, after=0, kernel=0) for event in EVENTS]
        self.recorded = SimpleNamespace(
            count=len(EVENTS), kernel_count=1, kernels=[SimpleNamespace(handle=0, serial=0)], use_count=0, uses=[],
            waits=0, launches=launches,
        )  # fmt: skip

    def fpgart_take_launches(self, only: int, queue: Any, serial: Any, by_keeper: bool) -> Any:
        taken, self.recorded = self.recorded, None
        queue[0], serial[0] = QUEUE, SERIAL
        return taken

    def fpgart_launches_taken(self, launches: Any) -> None:
        """The record is free."""

    def fpgart_launch_events(self, launches: Any, numbers: Any) -> int:
        for place, number in enumerate(wanted := [number for number, event in enumerate(EVENTS) if event]):
            numbers[place] = number
        return len(wanted)

    def fpgart_handle_serial(self, handle: int) -> int:
        return SERIAL if handle == QUEUE else 0

    def fpgart_event_born(self, handle: int) -> bool:
        return True

    def fpgart_handle_is_held(self, handle: int) -> bool:
        return handle in self.held

    def fpgart_handle_free(self, handle: int) -> None:
        self.held.discard(handle)


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch, records: Records) -> ModuleType:
    ffi = cffi.FFI()
    ffi.cdef("typedef struct { int number; } launch; struct fpgart_launches { launch launches[512]; };")
    monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=records, ffi=ffi))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"fpgart.api.{name}", raising=False)
    module = importlib.import_module("fpgart.api.launches")
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"fpgart.api.{name}", raising=False)
    return module


def statuses(launches: ModuleType) -> list[int]:
    events: list[Event] = [launches.HELD[handle] for handle in EVENTS if handle]
    return [event.status for event in events]


@pytest.mark.parametrize("which", ["_look_up", "_may_run_together", "_enqueue_one_by_one"])
@pytest.mark.parametrize("error", [MemoryError("no room"), OutOfHostMemory("no room for another handle")])
def test_recorded_launches_that_cannot_be_enqueued_are_commands_that_fail(
    boards: Callable[..., Machine],
    records: Records,
    launches: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    which: str,
    error: Exception,
) -> None:
    machine = boards("usm_s10")
    told: list[str] = []
    machine.context._notify = lambda error: told.append(str(error))
    launches.publish_as(machine.queue, QUEUE)

    def fail(self: object) -> None:
        raise error

    monkeypatch.setattr(launches._Recorded, which, fail)
    records.record()
    launches.enqueue_recorded()
    machine.queue.finish()
    assert statuses(launches) == [OutOfHostMemory.status] * 2
    assert len(told) == len(EVENTS)


def test_launches_behind_one_that_was_enqueued_fail_alone(
    boards: Callable[..., Machine], records: Records, launches: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = boards("usm_s10")
    launches.publish_as(machine.queue, QUEUE)
    kernel = machine.kernel(lambda: None)
    made = launches.new_launch_with([], kernel, machine.device, 1, (0, 0, 0, 1, 1, 1, 1, 1, 1), True)
    answers = iter([made])
    monkeypatch.setattr(launches, "new_launch_with", lambda *_: next(answers))
    monkeypatch.setattr(launches._Recorded, "_arguments_of", lambda *_: [])
    monkeypatch.setattr(launches, "_object", lambda handle, *_: machine.queue if handle == QUEUE else kernel)
    records.record()
    for launch in records.recorded.launches:
        launch.nd_range = SimpleNamespace(dimensions=1, sizes=(0,) * 9, has_local=1)
    monkeypatch.setattr(launches._Recorded, "_may_run_together", lambda _: False)
    launches.enqueue_recorded()
    machine.queue.finish()
    assert statuses(launches) == [COMPLETE, OutOfHostMemory.status]


def test_a_callback_of_what_was_released_while_it_was_recorded_may_wait_for_a_thread_that_calls(
    boards: Callable[..., Machine], records: Records, launches: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = boards("usm_s10")
    launches.publish_as(machine.queue, QUEUE)
    ended: list[bool] = []

    def destroyed() -> None:
        other = threading.Thread(target=launches.enqueue_recorded, daemon=True)  # each call into Python begins so
        other.start()
        other.join(20)
        ended.append(not other.is_alive())

    class LastUser(Event):
        """The event of a command that is the last one to use a buffer."""

        def __del__(self) -> None:
            self.context.reaper.append(destroyed)

    def enqueue(self: Any) -> None:
        event = LastUser(machine.context, machine.queue, cl.CL_COMMAND_NDRANGE_KERNEL, None, COMPLETE)
        self._publish(event, EVENTS[0])

    monkeypatch.setattr(launches._Recorded, "_enqueue_one_by_one", enqueue)
    monkeypatch.setattr(launches._Recorded, "_may_run_together", lambda _: False)
    records.held.discard(EVENTS[0])
    records.record()
    launches.enqueue_recorded()
    assert ended == [True]


def test_memories_that_threads_name_at_once_have_numbers_of_their_own(launches: ModuleType) -> None:
    numbers = launches._LOCATIONS

    class Interrupted(str):
        """A name; another thread numbers one of its own as soon as it is looked for."""

        def __hash__(self) -> int:
            numbers["other"]
            return super().__hash__()

    assert numbers[Interrupted("mine")] != numbers["other"]
