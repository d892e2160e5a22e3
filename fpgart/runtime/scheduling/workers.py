# SPDX-License-Identifier: Apache-2.0
"""The driver's own threads, which run the commands that no waiting thread of the host runs.

*Workers* run commands that are due and end when there is none. The *keeper* runs no command. It makes commands due
that the host has neither flushed nor waited for, and adds a worker when all of them have been busy for a while and
commands wait. So there is always a thread for what the conflict matrix allows, also while kernels run that wait for
other commands.

A thread that makes commands ready, or ends what they wait for, and then claims no more has to call leave(). That is the
rule against lost wake-ups; tests explore it (tests/runtime/scheduling/test_scheduler_interleavings.py). The scheduler's
lock guards all state here.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.readiness import Readiness
from fpgart.runtime.scheduling.threads import Lock, Threads

PATIENCE_NS = 200_000  # a command that was not flushed waits so long for a thread of the host that runs it
MOST_PATIENCE_NS = 5_000_000  # the same while the host enqueues without a pause, with which a worker would interfere
TICK_S = 0.0005  # the keeper's interval while commands are ready or were enqueued lately
SLOW_TICK_S = 0.05  # the same while the system creates no thread
QUIET_NS = 20_000_000  # after so long without new commands, the keeper sleeps until ring()


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
        """`run` runs a claimed command; `forgotten` is called when a worker has dropped it. Both are called without the
        lock.
        """
        self._lock = lock
        self._threads = threads
        self._readiness = readiness
        self._run = run
        self._forgotten = forgotten
        self._base = max(2, os.cpu_count() or 2)
        self._count = 0
        self._short = False
        """True if a worker was needed when none was free, and none has looked for commands since."""
        self._still_short = False
        """True if `_short` was set at the keeper's last look, and no worker has looked since."""
        self._kept = False
        """True if there is a keeper."""
        self._resting = False
        """True if the keeper sleeps until it is woken."""
        self._keeper_bell = threads.bell()
        self._latest_ns = 0
        self._closed = False

    # With the lock held

    @property
    def stranded(self) -> bool:
        """True if commands wait for a worker and the system cannot create one."""
        return self._count == 0 and self._short

    def command_enqueued(self, now: int, *, ready: bool) -> None:
        """Records that the host has enqueued a command, and wakes the keeper if it is ready."""
        self._latest_ns = now
        if ready:
            self._wake_keeper()

    def claim(self) -> Event | None:
        """Claims a command for a thread that runs any. A worker is called if more are due."""
        event = None if self._closed else self._readiness.claim_any()
        if event is not None and self._readiness.any_due():
            self.call()
        return event

    def leave(self) -> None:
        """Calls a worker, or the keeper, for ready commands, because the calling thread claims no more."""
        readiness = self._readiness
        if readiness.any_due():
            self.call()
        self._remind_keeper()

    def _remind_keeper(self) -> None:
        """Wakes the keeper if commands are ready and not due yet."""
        if (self._resting or not self._kept) and self._readiness.any_later_than(self._readiness.horizon):
            self._wake_keeper()

    def call(self) -> None:
        """Adds a worker, unless there are enough."""
        if self._closed:
            return
        if self._count >= self._base or not self._add():
            self._short = True
            self._wake_keeper()

    def close(self) -> None:
        """Lets all threads end when they next look for commands."""
        self._closed = True
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
                    self._count -= 1
                    return
            self._run(event)
            event = None  # destroyed here, not at the next assignment, which is under the lock
            self._forgotten()

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
        """Does the keeper's work. Returns the seconds until the next time; None to sleep until it is woken."""
        readiness = self._readiness
        before = readiness.horizon
        enqueueing = now - self._latest_ns < PATIENCE_NS
        readiness.make_due(now - (MOST_PATIENCE_NS if enqueueing else PATIENCE_NS))
        if readiness.any_due() and readiness.any_later_than(before):
            self.call()
        if self._still_short:  # all workers were busy since the last look
            self._short = not self._add()
            if self._short:
                return SLOW_TICK_S
        self._still_short = self._short
        if self._short or readiness.any_later_than(readiness.horizon) or now - self._latest_ns < QUIET_NS:
            return TICK_S
        return None
