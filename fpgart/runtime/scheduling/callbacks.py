# SPDX-License-Identifier: Apache-2.0
"""Calls the host back about events (OpenCL 3.0, 5.11), on the thread on which that is due.

The callbacks of a thread are a queue: one that is due while another runs is called after that has returned. So a
callback may register callbacks of ended events as often as it likes: the stack does not grow. Before a callback waits
for a command, those behind it are called, because the command may need what they do. Callbacks of a user event that a
callback ends are called at once, because commands that wait for the event begin behind them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fpgart.base import log
from fpgart.runtime.scheduling.event import Callback, Event

Call = tuple[Callback, Event, int]
DEEPEST = 16
"""The most callbacks that run within each other."""


class Callbacks:
    """The queues of all threads that are in a callback."""

    __slots__ = ("_depths", "_due", "_ident")

    def __init__(self, ident: Callable[[], int]) -> None:
        """`ident` identifies the calling thread."""
        self._ident = ident
        self._due: dict[int, deque[Call]] = {}
        self._depths: dict[int, int] = {}

    def call(self, callback: Callback, event: Event, status: int) -> None:
        """Calls the host back; if the thread is in a callback, after that has returned. No lock is held.

        An exception of the callback is logged and not raised.
        """
        thread = self._ident()
        due = self._due.get(thread)
        if due is not None:
            due.append((callback, event, status))
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
        depth = self._depths.get(thread, 1)
        due = self._due.pop(thread, None) if depth < DEEPEST else None
        if due is None:
            calls()
            return
        self._depths[thread] = depth + 1
        try:
            calls()
        finally:
            self._due[thread] = due
            if depth > 1:
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
