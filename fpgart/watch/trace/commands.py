# SPDX-License-Identifier: Apache-2.0
"""Numbers for commands, so that the events of a command can be found from the call that enqueued it, and back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from fpgart.runtime.scheduling.event import Event

ENQUEUED = "enqueued"
"""The argument of events with the number."""


class CommandNumbers:
    """Listens to NOTICES, before the watchers that query it."""

    def __init__(self, new_number: Callable[[], int]) -> None:
        self._new_number = new_number
        self._numbers: WeakKeyDictionary[Event, int] = WeakKeyDictionary()
        self._last = threading.local()

    def event_made(self, event: Event) -> None:
        if not event.is_view:
            self._last.number = self._numbers[event] = self._new_number()

    def command_carried(self, number: int) -> None:
        self._last.number = number

    def command_handed_over(self, event: Event, number: int, call: str, frames: tuple[int, ...]) -> None:
        self._numbers[event] = number

    def of(self, event: Event) -> dict[str, Any]:
        """Returns the argument of an event about a command."""
        number = self._numbers.get(event)
        return {} if number is None else {ENQUEUED: number}

    def enqueued_here(self) -> dict[str, Any]:
        """Returns the argument of a call's event: the command that this thread has made since the last query."""
        number = getattr(self._last, "number", 0)
        self._last.number = 0
        return {ENQUEUED: number} if number else {}
