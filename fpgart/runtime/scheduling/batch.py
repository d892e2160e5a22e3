# SPDX-License-Identifier: Apache-2.0
"""Batches of launches that are submitted to the engine together, because waiting for each end costs more than a kernel.

Only short launches are batched, so that they do not delay other commands for long. Their ends are observed in order.
What is enqueued behind a batch may join it while its launches run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from fpgart.base import log
from fpgart.base.errors import CLError, ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.runtime.scheduling.attempt import fail_with, tell_failure
from fpgart.runtime.scheduling.event import COMPLETE, Event, Launch

if TYPE_CHECKING:
    from fpgart.engine.interface import Batch, EngineKernel

Attempt = Callable[[Event, Callable[[], None]], tuple[int, None]]
"""Runs a step of a command; returns CL_COMPLETE, or the status of the error that it raised."""
Command = tuple[Event, Launch]


class RefusedBatch:
    """Replaces a batch that the engine could not make: each launch that is added fails with the engine's error."""

    takes_more = True
    failure: CLError | None = None

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def add(self, kernel: EngineKernel, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        raise self._error

    def submit(self) -> tuple[int, None]:
        return 0, None

    def wait(self, most: int) -> list[int]:
        return []


def _batch_of(first: Launch, most: int) -> Batch:
    try:
        return first.batch(most)
    except BaseException as error:  # the launches are claimed: each has to end
        return RefusedBatch(error)


class LaunchBatch:
    """Claimed commands in one batch of the engine. `left`: those whose end is not known, oldest first."""

    __slots__ = ("_attempt", "_batch", "_failed", "_now", "_since", "_waiting", "left")

    def __init__(self, commands: Sequence[Command], now: Callable[[], int], attempt: Attempt) -> None:
        self.left: deque[Command] = deque()
        self._waiting: deque[Command] = deque()
        """Those of `left` that the engine has not got."""
        self._batch = _batch_of(commands[0][1], len(commands))
        self._attempt = attempt
        self._failed: dict[Event, int] = {}
        self._now = now
        self._since = now()
        self.follow(commands)

    def follow(self, commands: Sequence[Command]) -> None:
        """Adds claimed commands at the end. The next call of ended() gives them to the engine."""
        self.left += commands
        self._waiting += commands

    def ended(self) -> list[tuple[Event, int]]:
        """Waits until the oldest command has ended. Returns it and the ended ones behind it, with their statuses."""
        if self._waiting and (self._batch.takes_more or len(self._waiting) == len(self.left)):
            launches = list(self._waiting)
            self._waiting.clear()
            self._hand_over_launches(launches)
        return self._ended_launches()

    def _hand_over_launches(self, rest: Sequence[Command]) -> None:
        """Gives launches to the engine. Those that fail, and those that wait for such a one, end with an error."""
        while rest:
            added = [(event, launch) for event, launch in rest if self._add(event, launch)]
            done, error = self._batch.submit()
            rest = added[done + 1 :]
            if error is not None:
                event, launch = added[done]
                launch.abandon()
                self._failed[event], _ = self._attempt(event, partial(fail_with, error))

    def _add(self, event: Event, launch: Launch) -> bool:
        if any(other in self._failed for other in event.wait_list):
            launch.abandon()
            self._failed[event] = ExecStatusErrorForEventsInWaitList.status
            return False
        return self._put(event, launch)

    def _put(self, event: Event, launch: Launch) -> bool:
        status, _ = self._attempt(event, partial(launch.hand_over, self._batch))
        if status < COMPLETE:
            self._failed[event] = status
        return status == COMPLETE

    def _ended_launches(self) -> list[tuple[Event, int]]:
        handed_over = islice(self.left, len(self.left) - len(self._waiting))
        launches = list(handed_over)
        running = sum(event not in self._failed for event, _ in launches)
        statuses = deque(self._await(running) if launches[0][0] not in self._failed else ())
        now, count = self._now(), len(statuses)
        found = []
        for event, launch in launches:
            status = self._failed.get(event)
            if status is None:
                if not statuses:
                    break
                status = statuses.popleft()
                if status < COMPLETE and self._batch.failure is not None:
                    tell_failure(event, self._batch.failure)
                launch.took((now - self._since) // count)
            found.append((event, status))
            self.left.popleft()
        self._since = now
        return found

    def _await(self, most: int) -> list[int]:
        try:
            return self._batch.wait(most)
        except BaseException:
            log.bug("launches could not be waited for")
            return [OutOfResources.status] * most
