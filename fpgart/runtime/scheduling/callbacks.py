# SPDX-License-Identifier: Apache-2.0
"""Calls the host back about events (OpenCL 3.0, 5.11), on the thread on which that is due.

The callbacks of a thread are a queue: one that is due while another runs is called after that has returned. So a
callback may register callbacks of ended events as often as it likes: the stack does not grow. Before a callback waits
for a command, those behind it are called, because the command may need what they do. Callbacks of a user event that a
callback ends are called at once, because commands that wait for the event begin behind them. What is due while a
callback runs that C makes is called on another thread, because nobody knows here when that callback returns.

One thread at a time calls the callbacks of a command, in the order of the statuses. If a second thread changes the
status of the command meanwhile, the first one calls the callbacks for that status, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from fpgart.base import log
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.threads import Lock, Threads

Call = Callable[[], object]
DEEPEST = 16
"""The most callbacks that run within each other."""


class Callbacks:
    """The queues of all threads that are in a callback."""

    __slots__ = ("_depths", "_due", "_ident", "_in_c", "_lock", "_start")

    def __init__(self, lock: Lock, threads: Threads, in_c: Callable[[], bool]) -> None:
        """`lock` is the scheduler's. `in_c` is true if the calling thread is in a callback that C makes."""
        self._lock = lock
        self._ident = threads.ident
        self._start = threads.start
        self._in_c = in_c
        self._due: dict[int, deque[Call]] = {}
        self._depths: dict[int, int] = {}
        """By thread, how many calls of call_at_once() run within each other."""

    def reached(self, event: Event) -> None:
        """Makes the callbacks of an event that are due, as call() does."""
        self.call(partial(self.call_due_of, event))

    def call_due_of(self, event: Event) -> None:
        """Makes the callbacks of an event that are due, unless another thread is making them: that makes these, too.

        No lock is held.
        """
        callbacks = event.callbacks
        assert callbacks is not None
        with self._lock:
            if callbacks.are_called:
                return
            callbacks.are_called = True
        while True:
            with self._lock:
                call = callbacks.next_due()
            if call is None:
                return
            _make(call)

    def call(self, call: Call) -> None:
        """Makes a callback; if the thread is in one, after that has returned. No lock is held.

        An exception of the callback is logged and not raised.
        """
        thread = self._ident()
        due = self._due.get(thread)
        if due is not None:
            due.append(call)
            return
        is_within = thread not in self._depths and self._in_c()
        if is_within and self._start(partial(self.call, call)):
            return
        due = self._due[thread] = deque([call])
        try:
            _empty(due)
        finally:
            del self._due[thread]

    def call_at_once(self, calls: Callable[[], None]) -> None:
        """Makes callbacks, by calling `calls`, also if the thread is in a callback.

        If DEEPEST of them run within each other, they are called after the innermost one has returned.
        """
        thread = self._ident()
        depth = self._depths.get(thread, 0)
        if depth == DEEPEST:
            calls()
            return
        due = self._due.pop(thread, None)
        self._depths[thread] = depth + 1
        try:
            calls()
        finally:
            if due is not None:
                self._due[thread] = due
            if depth > 0:
                self._depths[thread] = depth
            else:
                del self._depths[thread]

    def any_due(self) -> bool:
        """True if the calling thread is in a callback and others are due behind it."""
        return bool(self._due) and bool(self._due.get(self._ident()))

    def call_due(self) -> None:
        """Makes the callbacks that are due, before the calling thread waits."""
        _empty(self._due[self._ident()])


def _empty(due: deque[Call]) -> None:
    while due:
        _make(due.popleft())


def _make(call: Call) -> None:
    try:
        call()
    except BaseException:
        log.bug("an event callback failed")
