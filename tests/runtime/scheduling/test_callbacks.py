# SPDX-License-Identifier: Apache-2.0
"""Callbacks of Python's while the thread is in one that C makes (runtime/scheduling/callbacks.py)."""

from __future__ import annotations

from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from fpgart.runtime.scheduling.callbacks import Callbacks
from fpgart.runtime.scheduling.threads import SystemThreads

EVENT: Any = None


class Calls:
    """Notes on which threads a callback is called. The thread that makes the object is in a callback of C's."""

    def __init__(self) -> None:
        self.idents: SimpleQueue[int] = SimpleQueue()
        self.threads = SystemThreads()
        here = self.threads.ident()
        self.callbacks = Callbacks(self.threads, lambda: self.threads.ident() == here)

    def note(self, *_: object) -> None:
        self.idents.put(self.threads.ident())


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_a_callback_that_is_due_within_one_of_cs_is_called_on_another_thread(calls: Calls) -> None:
    calls.callbacks.call(calls.note, EVENT, 0)
    assert calls.idents.get() != calls.threads.ident()


def test_a_callback_of_a_user_event_is_called_within_one_of_cs(calls: Calls) -> None:
    calls.callbacks.call_at_once(partial(calls.callbacks.call, calls.note, EVENT, 0))
    assert calls.idents.get() == calls.threads.ident()


def test_callbacks_that_are_due_within_one_of_cs_are_called_there_without_threads(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.threads, "start", lambda work: False)
    callbacks = Callbacks(calls.threads, lambda: True)
    callbacks.call(calls.note, EVENT, 0)
    assert calls.idents.get() == calls.threads.ident()
