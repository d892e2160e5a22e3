"""From handles to objects (fpgart/bridge/handles.py), beside a double of C's table of handles."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
from machine import Machine

from fpgart.base import opencl as cl
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import Event

HANDLE = 0x1000


class Table:
    """The functions of icd/entry/handles.c, with the host's references to one handle."""

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
    monkeypatch.delitem(sys.modules, "fpgart.bridge.handles", raising=False)
    module = importlib.import_module("fpgart.bridge.handles")
    monkeypatch.delitem(sys.modules, "fpgart.bridge.handles")
    return module


@pytest.fixture
def queue(boards: Callable[..., Machine]) -> CommandQueue:
    return boards("hetero").queue


def new_event(queue: CommandQueue) -> Event:
    return queue.new_event(cl.CL_COMMAND_NDRANGE_KERNEL)


class TableOfReleases(Table):
    """The same with last references that were put off."""

    def __init__(self, *released: int) -> None:
        super().__init__(references=1)
        self.released = list(released)

    def fpgart_next_released(self) -> int:
        return self.released.pop(0) if self.released else 0

    def fpgart_callbacks_are_left(self, flag: int) -> None:
        pass

    def fpgart_released_done(self) -> None:
        """Nobody waits."""


def test_a_callback_of_a_release_that_was_put_off_may_wait_for_a_thread_that_calls(
    boards: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, table = boards("hetero"), TableOfReleases(HANDLE)
    monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=table, ffi=None))
    monkeypatch.delitem(sys.modules, "fpgart.bridge.handles", raising=False)
    handles = importlib.import_module("fpgart.bridge.handles")
    monkeypatch.delitem(sys.modules, "fpgart.bridge.handles")
    ended: list[bool] = []

    def destroyed() -> None:
        other = threading.Thread(target=handles.reap, daemon=True)  # each call into Python begins so
        other.start()
        other.join(20)
        ended.append(not other.is_alive())

    buffer = machine.buffer(64)
    buffer.when_destroyed(destroyed)
    handles._hold(buffer, HANDLE)
    del buffer
    table.references = 0
    handles.reap()
    assert ended == [True]
