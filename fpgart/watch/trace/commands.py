# SPDX-License-Identifier: Apache-2.0
"""Numbers for commands, so that the events of a command can be found from the call that enqueued it, and back."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from fpgart.runtime.scheduling.event import Event

ENQUEUED = "enqueued"
"""The argument of events with the number."""


class CommandNumbers:
    """Listens to NOTICES, before the watchers that query it."""

    def __init__(self) -> None:
        self._counter = count(1)
        self._numbers: WeakKeyDictionary[Event, int] = WeakKeyDictionary()
        self._last = threading.local()

    def event_made(self, event: Event) -> None:
        self._last.number = self._numbers[event] = next(self._counter)

    def of(self, event: Event) -> dict[str, Any]:
        """Returns the argument of an event about a command."""
        number = self._numbers.get(event)
        return {} if number is None else {ENQUEUED: number}

    def enqueued_here(self) -> dict[str, Any]:
        """Returns the argument of a call's event: the command that this thread has made since the last query."""
        number = getattr(self._last, "number", 0)
        self._last.number = 0
        return {ENQUEUED: number} if number else {}
