# SPDX-License-Identifier: Apache-2.0
"""The places in the host's code that made objects and enqueued commands."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.callers import Callers, Site

FREES = ("clMemFreeINTEL", "clMemBlockingFreeINTEL")
"""Calls by which a host frees unified shared memory itself; a context frees the rest."""


class Origins:
    """Listens to NOTICES, before the watchers that query it."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._sites: WeakKeyDictionary[Any, Site] = WeakKeyDictionary()
        self._numbered: dict[int, Site] = {}

    def here(self) -> Site | None:
        """Returns the host's call that this thread serves; None on the driver's threads and in calls that C serves."""
        return self._callers.here()

    def of(self, item: object) -> Site | None:
        """Returns the call that enqueued a command, or made an object; None if the driver did."""
        return self._sites.get(item)

    def of_number(self, number: int) -> Site | None:
        """Returns the call that made a live buffer or allocation; they share one sequence of numbers from 1."""
        return self._numbered.get(number)

    def freed_by_host(self) -> bool:
        """True if this thread frees an allocation because the host asked for that."""
        return self._callers.call in FREES

    def event_made(self, event: Event) -> None:
        if not event.is_view:
            self._note(event)

    def command_handed_over(self, event: Event, number: int, call: str, frames: tuple[int, ...]) -> None:
        self._sites[event] = Site(call, frames)

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        self._note_numbered(allocation)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        self._numbered.pop(allocation.number, None)

    def buffer_created(self, buffer: Buffer) -> None:
        self._note_numbered(buffer)

    def buffer_destroyed(self, number: int) -> None:
        self._numbered.pop(number, None)

    def handle_given(self, item: Any) -> None:
        if not isinstance(item, (Event, Buffer)):
            self._note(item)

    def _note_numbered(self, item: Buffer | UsmAllocation) -> None:
        self._note(item)
        site = self._callers.here()
        if site is not None:
            self._numbered[item.number] = site

    def _note(self, item: object) -> None:
        site = self._callers.here()
        if site is not None:
            self._sites[item] = site


def no_origins() -> Origins:
    """Returns origins without any places, for runs in which the host's calls are not observed."""
    return Origins(Callers(lambda: ()))
