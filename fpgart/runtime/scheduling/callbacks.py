# SPDX-License-Identifier: Apache-2.0
"""Calls the host back about events (OpenCL 3.0, 5.11), on the thread on which that is due.

The callbacks of a thread are a queue: one that is due while another runs is called after that has returned. So a
callback may register callbacks of ended events as often as it likes: the stack does not grow. Before a callback waits
for a command, those behind it are called, because the command may need what they do. Callbacks of a user event that a
callback ends are called at once, because commands that wait for the event begin behind them. What is due while a
callback runs that C makes is called on another thread, because nobody knows here when that callback returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from fpgart.base import log
from fpgart.runtime.scheduling.event import Callback, Event
from fpgart.runtime.scheduling.threads import Threads

Call = tuple[Callback, Event, int]
DEEPEST = 16
"""The most callbacks that run within each other."""


class Callbacks:
    """The queues of all threads that are in a callback."""

    __slots__ = ("_depths", "_due", "_ident", "_in_c", "_start")

    def __init__(self, threads: Threads, in_c: Callable[[], bool]) -> None:
        """`in_c` is true if the calling thread is in a callback that C makes."""
        self._ident = threads.ident
        self._start = threads.start
        self._in_c = in_c
        self._due: dict[int, deque[Call]] = {}
        self._depths: dict[int, int] = {}
        """By thread, how many calls of call_at_once() run within each other."""

    def call(self, callback: Callback, event: Event, status: int) -> None:
        """Calls the host back; if the thread is in a callback, after that has returned. No lock is held.

        An exception of the callback is logged and not raised.
        """
        thread = self._ident()
        due = self._due.get(thread)
        if due is not None:
            due.append((callback, event, status))
            return
        is_within = thread not in self._depths and self._in_c()
        if is_within and self._start(partial(self.call, callback, event, status)):
            return
        due = self._due[thread] = deque([(callback, event, status)])
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
        callback, event, status = due.popleft()
        try:
            callback(event, status)
        except BaseException:
            log.bug("an event callback failed")
