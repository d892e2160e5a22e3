# SPDX-License-Identifier: Apache-2.0
"""Calls the host back about events (OpenCL 3.0, 5.11), on the thread on which that is due.

Callbacks of a thread are a queue: what becomes due while one runs is called when that has returned. So a callback may
register callbacks of ended events, or end user events that have some, as often as it likes: the stack does not grow.
A callback that waits for a command has those behind it called first, because the command may need what they do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fpgart.base import log
from fpgart.runtime.scheduling.event import Callback, Event

Call = tuple[Callback, Event, int]


class Callbacks:
    """The queues of all threads that are in a callback."""

    __slots__ = ("_due", "_ident")

    def __init__(self, ident: Callable[[], int]) -> None:
        """`ident` identifies the calling thread."""
        self._ident = ident
        self._due: dict[int, deque[Call]] = {}

    def call(self, callback: Callback, event: Event, status: int) -> None:
        """Call the host back, without a lock; on a thread that is in a callback, when that has returned.

        What a callback raises is logged and goes no further.
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

    def any_due(self) -> bool:
        """Whether the calling thread is in a callback, and others are due behind that."""
        return bool(self._due) and bool(self._due.get(self._ident()))

    def call_due(self) -> None:
        """Call those; the calling thread is about to wait."""
        _empty(self._due[self._ident()])


def _empty(due: deque[Call]) -> None:
    while due:
        callback, event, status = due.popleft()
        try:
            callback(event, status)
        except BaseException:
            log.bug("an event callback failed")
