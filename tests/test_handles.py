"""From handles to objects (fpgart/api/handles.py), beside a double of C's table of handles."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
from machine import Machine

from fpgart import opencl as cl
from fpgart.errors import InvalidEvent
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import Event

HANDLE = 0x1000


class Table:
    """The functions of icd/handles.c, with the host's references to one handle."""

    def __init__(self, references: int) -> None:
        self.references = references
        self.freed: list[int] = []

    def fpgart_handle_references(self, handle: int) -> int:
        return self.references

    def fpgart_handle_is_held(self, handle: int) -> bool:
        return self.references > 0

    def fpgart_handle_free(self, handle: int) -> None:
        self.freed.append(handle)


@pytest.fixture
def table() -> Table:
    return Table(references=1)


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch, table: Table) -> ModuleType:
    monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=table))
    monkeypatch.delitem(sys.modules, "fpgart.api.handles", raising=False)
    module = importlib.import_module("fpgart.api.handles")
    monkeypatch.delitem(sys.modules, "fpgart.api.handles")
    return module


@pytest.fixture
def queue(boards: Callable[..., Machine]) -> CommandQueue:
    return boards("hetero").queue


def new_event(queue: CommandQueue) -> Event:
    return queue.new_event(cl.CL_COMMAND_NDRANGE_KERNEL)


def test_an_object_that_the_host_knows_already_is_found_by_its_handle(handles: ModuleType, queue: CommandQueue) -> None:
    event = new_event(queue)
    handles.publish_as(event, HANDLE)
    assert handles.find(HANDLE, Event) is event
    assert event.handle == HANDLE


def test_an_event_that_was_released_while_it_was_made_lives_for_its_command_only(
    handles: ModuleType, table: Table, queue: CommandQueue
) -> None:
    table.references = 0
    event = new_event(queue)
    handles.publish_as(event, HANDLE)
    handles.release_unheld([HANDLE])
    assert HANDLE not in handles.HELD
    assert handles.find(HANDLE, Event) is event
    del event
    assert table.freed == [HANDLE]


def test_an_event_that_was_released_while_it_was_made_goes_when_nobody_needs_it(
    handles: ModuleType, table: Table, queue: CommandQueue
) -> None:
    table.references = 0
    handles.publish_as(new_event(queue), HANDLE)
    handles.release_unheld([HANDLE])
    assert (handles.HELD, handles.KEPT, table.freed) == ({}, {}, [HANDLE])


def test_an_event_that_another_thread_is_making_is_found(
    handles: ModuleType, table: Table, queue: CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = new_event(queue)
    begun, asked = threading.Event(), threading.Event()

    def other_thread() -> None:
        with handles._BEARING:
            begun.set()
            asked.wait()
            handles.publish_as(event, HANDLE)

    def parent_of(handle: int) -> int:
        asked.set()
        return 0

    monkeypatch.setattr(table, "fpgart_event_parent", parent_of, raising=False)
    monkeypatch.setattr(table, "fpgart_await_birth", lambda handle: None, raising=False)
    other = threading.Thread(target=other_thread)
    other.start()
    begun.wait()
    assert handles.find(HANDLE, Event) is event
    other.join()


class TableOfReleases(Table):
    """The same with last references that were put off."""

    def __init__(self, *released: int) -> None:
        super().__init__(references=1)
        self.released = list(released)

    def fpgart_next_released(self) -> int:
        return self.released.pop(0) if self.released else 0

    def fpgart_released_done(self) -> None:
        """Nobody waits."""


def test_a_callback_of_a_release_that_was_put_off_may_wait_for_a_thread_that_calls(
    boards: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, table = boards("hetero"), TableOfReleases(HANDLE)
    monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=table))
    monkeypatch.delitem(sys.modules, "fpgart.api.handles", raising=False)
    handles = importlib.import_module("fpgart.api.handles")
    monkeypatch.delitem(sys.modules, "fpgart.api.handles")
    ended: list[bool] = []

    def destroyed() -> None:
        other = threading.Thread(target=handles.reap, daemon=True)  # each call into Python begins so
        other.start()
        other.join(20)
        ended.append(not other.is_alive())

    buffer = machine.buffer(64)
    buffer.when_destroyed(destroyed)
    handles.publish_as(buffer, HANDLE)
    del buffer
    table.references = 0
    handles.reap()
    assert ended == [True]


class TableOfRuns(Table):
    """The same while C has a launch run whose end is not near: which events end with what, by their handles."""

    def __init__(self, *, is_over: bool) -> None:
        """`is_over`: the run whose event is asked for has ended meanwhile."""
        super().__init__(references=0)
        self.is_over = is_over
        self.parents: dict[int, int] = {}

    def fpgart_handle_new(self, kind: int, references: int) -> int:
        return COMMAND

    def fpgart_await_birth(self, handle: int) -> int:
        return 0 if handle in self.parents else QUEUE

    def fpgart_run_becomes(self, handle: int, command: int) -> None:
        if self.is_over:
            self.parents[handle] = 0
        else:
            self.parents[handle] = command
            self.references += 1

    def fpgart_event_parent(self, handle: int) -> int:
        return self.parents.get(handle, 0)

    def fpgart_event_bear(self, handle: int) -> bool:
        return True

    def fpgart_event_loses_child(self, parent: int) -> bool:
        return False


QUEUE, COMMAND, EVENT, OTHER = 0x2000, 0x3000, 0x4000, 0x5000


def test_an_event_is_found_whose_command_another_thread_has_published_and_dropped(
    boards: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = boards("hetero").queue
    table = TableOfRuns(is_over=True)
    monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=table))
    monkeypatch.delitem(sys.modules, "fpgart.api.handles", raising=False)
    handles = importlib.import_module("fpgart.api.handles")
    monkeypatch.delitem(sys.modules, "fpgart.api.handles")
    handles.publish_as(queue, QUEUE)
    command = new_event(queue)
    monkeypatch.setattr(queue.context.scheduler, "command_of", lambda loan: command, raising=False)
    with pytest.raises(InvalidEvent):
        handles.find(EVENT, Event)
    assert COMMAND not in handles.HELD
    table.is_over = False
    assert handles.find(OTHER, Event).predecessors == (command,)
