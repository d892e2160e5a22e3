# SPDX-License-Identifier: Apache-2.0
"""The driver's own threads, which run the commands that no waiting thread of the host runs.

*Workers* take commands that are due and sleep when there is none. The *keeper* runs no command and keeps the time: it
makes commands due that the host has neither flushed nor waited for, and adds a worker when all of them have been busy
for a while and commands wait. So there is always a thread for what the conflict matrix lets run, also while kernels
run that wait for other commands.

A thread that makes commands ready, or frees what they wait for, and then looks no further has to call leave(). That
is the one rule against lost wake-ups; tests explore it (tests/runtime/scheduling/test_scheduler_interleavings.py).

The scheduler's lock guards all state here.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.readiness import Readiness
from fpgart.runtime.scheduling.threads import Lock, Threads

PATIENCE_NS = 200_000  # how long a command that was not flushed waits for a thread of the host that runs it
MOST_PATIENCE_NS = 5_000_000  # the same while the host enqueues without a pause, with which a worker would interfere
TICK_S = 0.0005  # how often the keeper looks while there is something to look after
SLOW_TICK_S = 0.05  # the same while no thread can be made
QUIET_NS = 20_000_000  # without new commands for that long, the keeper sleeps until it is rung


class Workers:
    """Threads for the commands of one `Readiness`."""

    def __init__(
        self,
        lock: Lock,
        threads: Threads,
        readiness: Readiness,
        run: Callable[[Event], None],
        forgotten: Callable[[], None],
    ) -> None:
        """`run` runs a claimed command; `forgotten` is called when a worker has let go of it. Both without the lock."""
        self._lock = lock
        self._threads = threads
        self._readiness = readiness
        self._run = run
        self._forgotten = forgotten
        self._base = max(2, os.cpu_count() or 2)
        self._count = 0
        self._idle = 0
        """Workers that sleep and have not been rung."""
        self._work_bell = threads.bell()
        self._short = False
        """A worker was called when none was free, and none has looked since."""
        self._still_short = False
        """The keeper has seen that, and no worker has looked since."""
        self._kept = False
        """Whether there is a keeper."""
        self._resting = False
        """The keeper sleeps until it is rung."""
        self._keeper_bell = threads.bell()
        self._latest_ns = 0
        self._closed = False

    # With the lock held

    @property
    def stranded(self) -> bool:
        """Whether commands wait for a worker and the system has no thread for one."""
        return self._count == 0 and self._short

    def command_enqueued(self, now: int, *, ready: bool) -> None:
        """The host has enqueued a command."""
        self._latest_ns = now
        if ready and (self._resting or not self._kept):
            self._wake_keeper()

    def claim(self) -> Event | None:
        """A command for a thread that looks for any; somebody else looks for the next one."""
        event = None if self._closed else self._readiness.claim_any()
        if event is not None and self._readiness.any_due():
            self.call()
        return event

    def leave(self) -> None:
        """The calling thread looks no more for what is ready; whoever is needed takes over."""
        readiness = self._readiness
        if readiness.any_due():
            self.call()
        self._remind_keeper()

    def _remind_keeper(self) -> None:
        """What became ready and is not due yet must become so."""
        if (self._resting or not self._kept) and self._readiness.any_later_than(self._readiness.horizon):
            self._wake_keeper()

    def call(self) -> None:
        """Have a worker look for what is due."""
        if self._closed:
            return
        if self._idle:
            self._idle -= 1
            self._work_bell.ring()
        elif self._count >= self._base or not self._add():
            self._short = True
            self._wake_keeper()

    def close(self) -> None:
        """Have all threads end when they next look."""
        self._closed = True
        for _ in range(self._idle):
            self._work_bell.ring()
        self._idle = 0
        if self._kept:
            self._keeper_bell.ring()

    def reopen(self) -> None:
        self._closed = False

    def _add(self) -> bool:
        self._count += 1
        if not self._threads.start(self._work):
            self._count -= 1
            return False
        return True

    def _wake_keeper(self) -> None:
        if self._closed:
            return
        if not self._kept:
            self._kept = self._threads.start(self._keep)
        elif self._resting:
            self._resting = False
            self._keeper_bell.ring()

    # The threads

    def _work(self) -> None:
        while True:
            with self._lock:
                self._short = self._still_short = False
                event = self.claim()
                if event is None:
                    self._remind_keeper()
                    if self._closed or self._idle >= self._base:
                        self._count -= 1
                        return
                    self._idle += 1
            if event is not None:
                self._run(event)
                event = None  # destroyed here, not when the next one takes its place, under the lock
                self._forgotten()
            else:
                self._work_bell.wait()

    def _keep(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    self._kept = self._resting = False
                    return
                pause = self._tend(self._threads.now())
                self._resting = pause is None
            self._keeper_bell.wait(pause)

    def _tend(self, now: int) -> float | None:
        """One look of the keeper; returns seconds until the next one, None if it may sleep until it is rung."""
        readiness = self._readiness
        before = readiness.horizon
        enqueueing = now - self._latest_ns < PATIENCE_NS
        readiness.make_due(now - (MOST_PATIENCE_NS if enqueueing else PATIENCE_NS))
        if readiness.any_due() and readiness.any_later_than(before):
            self.call()
        if self._still_short:  # for a whole tick, all of them were busy
            self._short = not self._add()
            if self._short:
                return SLOW_TICK_S
        self._still_short = self._short
        if self._short or readiness.any_later_than(readiness.horizon) or now - self._latest_ns < QUIET_NS:
            return TICK_S
        return None
