# SPDX-License-Identifier: Apache-2.0
"""Batches of launches that are submitted to the engine together, because waiting for each end costs more than a kernel.

Only short launches are batched, so that they do not delay other commands for long. Their ends are observed in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fpgart import log
from fpgart.errors import ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.runtime.scheduling.attempt import fail_with, tell_failure
from fpgart.runtime.scheduling.event import COMPLETE, Event, Launch

if TYPE_CHECKING:
    from fpgart.engine.interface import Batch

Attempt = Callable[[Event, Callable[[], None]], tuple[int, None]]
"""Does something for a command; returns CL_COMPLETE, or the status of the error that it raised."""


class LaunchBatch:
    """Claimed commands in one batch of the engine. `left`: those whose ends are not known yet, oldest first."""

    __slots__ = ("_batch", "_failed", "_now", "_since", "left")

    def __init__(self, commands: Sequence[tuple[Event, Launch]], now: Callable[[], int]) -> None:
        self.left = deque(commands)
        self._batch: Batch = commands[0][1].batch(len(commands))
        self._failed: dict[Event, int] = {}
        self._now = now
        self._since = now()

    def hand_over(self, attempt: Attempt) -> None:
        """Give all of them to the engine, but for those that fail in this, and those that wait for such a one."""
        rest = list(self.left)
        while rest:
            added = [(event, launch) for event, launch in rest if self._add(event, launch, attempt)]
            done, error = self._batch.submit()
            rest = added[done + 1 :]
            if error is not None:
                event, launch = added[done]
                launch.abandon()
                self._failed[event], _ = attempt(event, partial(fail_with, error))

    def _add(self, event: Event, launch: Launch, attempt: Attempt) -> bool:
        if any(other in self._failed for other in event.wait_list):
            launch.abandon()
            self._failed[event] = ExecStatusErrorForEventsInWaitList.status
            return False
        status, _ = attempt(event, partial(launch.hand_over, self._batch))
        if status < COMPLETE:
            self._failed[event] = status
        return status == COMPLETE

    def ended(self) -> list[tuple[Event, int]]:
        """Wait until the oldest one has ended; that one and those behind it that have, too, each with its status."""
        statuses = deque(self._await() if self.left[0][0] not in self._failed else ())
        now, count = self._now(), len(statuses)
        found = []
        while self.left and (statuses or self.left[0][0] in self._failed):
            event, launch = self.left.popleft()
            status = self._failed.get(event)
            if status is None:
                status = statuses.popleft()
                if status < COMPLETE and self._batch.failure is not None:
                    tell_failure(event, self._batch.failure)
                launch.took((now - self._since) // count)
            found.append((event, status))
        self._since = now
        return found

    def _await(self) -> list[int]:
        try:
            return self._batch.wait()
        except BaseException:
            log.bug("launches could not be waited for")
            return [OutOfResources.status] * (len(self.left) - len(self._failed))
