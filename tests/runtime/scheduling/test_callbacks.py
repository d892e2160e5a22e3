# SPDX-License-Identifier: Apache-2.0
"""Callbacks of Python's while the thread is in one that C makes (runtime/scheduling/callbacks.py)."""

from __future__ import annotations

from functools import partial
from queue import SimpleQueue

import pytest

from fpgart.runtime.scheduling.callbacks import DEEPEST, Callbacks
from fpgart.runtime.scheduling.threads import SystemThreads


class Calls:
    """Notes on which threads a callback is called. The thread that makes the object is in a callback of C's."""

    def __init__(self) -> None:
        self.idents: SimpleQueue[int] = SimpleQueue()
        self.threads = SystemThreads()
        here = self.threads.ident()
        self.callbacks = Callbacks(self.threads.lock(), self.threads, lambda: self.threads.ident() == here)

    def note(self) -> None:
        self.idents.put(self.threads.ident())


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_a_callback_that_is_due_within_one_of_cs_is_called_on_another_thread(calls: Calls) -> None:
    calls.callbacks.call(calls.note)
    assert calls.idents.get() != calls.threads.ident()


def test_a_callback_of_a_user_event_is_called_within_one_of_cs(calls: Calls) -> None:
    calls.callbacks.call_at_once(partial(calls.callbacks.call, calls.note))
    assert calls.idents.get() == calls.threads.ident()


def test_callbacks_that_are_due_within_one_of_cs_are_called_there_without_threads(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.threads, "start", lambda work: False)
    callbacks = Callbacks(calls.threads.lock(), calls.threads, lambda: True)
    callbacks.call(calls.note)
    assert calls.idents.get() == calls.threads.ident()


@pytest.fixture
def callbacks() -> Callbacks:
    threads = SystemThreads()
    return Callbacks(threads.lock(), threads, lambda: False)


def test_what_is_due_behind_a_callback_is_called_after_those_that_it_calls_at_once(callbacks: Callbacks) -> None:
    order = list[object]()

    def outer() -> None:
        callbacks.call(lambda: order.append("due"))
        callbacks.call_at_once(lambda: callbacks.call(lambda: order.append("at once")))
        order.append(callbacks.any_due())

    callbacks.call(outer)
    assert order == ["at once", True, "due"]


def test_calls_at_once_behind_each_other_do_not_count_as_within_each_other(callbacks: Callbacks) -> None:
    order = list[object]()

    def calls(number: int) -> None:
        def callback() -> None:
            callbacks.call_at_once(lambda: callbacks.call(lambda: order.append(number)))
            order.append("behind")

        callbacks.call(callback)

    callbacks.call_at_once(lambda: [calls(number) for number in range(2 * DEEPEST)])
    assert order == [each for number in range(2 * DEEPEST) for each in (number, "behind")]


def test_calls_that_are_too_deep_are_made_once(callbacks: Callbacks) -> None:
    order = list[int]()

    def nest(depth: int) -> None:
        order.append(depth)
        if depth < DEEPEST:
            callbacks.call_at_once(lambda: nest(depth + 1))

    callbacks.call_at_once(lambda: nest(0))
    assert order == [*range(DEEPEST + 1)]


def test_nothing_is_kept_of_a_thread_that_is_in_no_callback(callbacks: Callbacks) -> None:
    callbacks.call_at_once(lambda: callbacks.call_at_once(lambda: None))
    assert (callbacks._due, callbacks._depths) == ({}, {})
