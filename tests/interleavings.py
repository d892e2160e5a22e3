"""Threads whose every switch is chosen: all schedules of a small program, or random ones that a seed repeats.

`Explored` stands in for the system's threads (threads.py). Its threads are greenlets. They switch only
where real ones matter: when a lock is taken, when a bell is waited for, and where a program says `pause()`. A run in
which nobody can go on although something is left to do is a `Stuck`, with the choices that lead there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from typing import Protocol

import greenlet

from fpgart.runtime.scheduling.core import Command

LATE_NS = 500_000
"""Timers that are that close together may end in any order, or at once."""


class Stuck(AssertionError):
    """Nobody can go on."""


class Chooser(Protocol):
    """Says which thread goes on."""

    def choose(self, count: int, current: bool) -> int:
        """One of `count` threads, by index; with `current`, 0 is the one that runs already."""


@dataclass
class Randomly:
    """Choices from a seed; the running thread goes on more often than not."""

    random: Random

    def choose(self, count: int, current: bool) -> int:
        if current and self.random.random() < 0.6:
            return 0
        return self.random.randrange(count)


@dataclass
class Systematically:
    """Every schedule with at most `preemptions` switches away from a thread that could go on; one after another."""

    preemptions: int
    trail: list[list[int]] = field(default_factory=list)
    """Of each choice made: what was chosen, how many there were, and what one of them costs."""
    at: int = 0
    spent: int = 0

    def choose(self, count: int, current: bool) -> int:
        if self.at == len(self.trail):
            self.trail.append([0, count, int(current)])
        chosen, known, _ = self.trail[self.at]
        assert known == count, "the program does not do the same twice"
        self.at += 1
        self.spent += int(current and chosen > 0)
        return chosen

    def next(self) -> bool:
        """Goes to the next schedule; False when there is none."""
        while self.trail:
            chosen, count, cost = self.trail[-1]
            before = sum(1 for c, _, price in self.trail[:-1] if price and c > 0)
            if chosen + 1 < count and before + cost <= self.preemptions:
                self.trail[-1][0] += 1
                self.at = self.spent = 0
                return True
            self.trail.pop()
        return False


class ExploredLock:
    """As threading.Lock: whoever likes may release it."""

    def __init__(self, threads: Explored) -> None:
        self._threads = threads
        self._taken = False

    def acquire(self) -> bool:
        self._threads.pause()
        self._threads.block(lambda: not self._taken)
        self._taken = True
        return True

    def release(self) -> None:
        assert self._taken
        self._taken = False
        if self._threads.pauses_after_locks:
            self._threads.pause()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


class ExploredBell:
    def __init__(self, threads: Explored) -> None:
        self._threads = threads
        self._rings = 0

    def ring(self) -> None:
        self._rings += 1

    def wait(self, timeout_s: float | None = None) -> bool:
        rang = self._threads.block(lambda: self._rings > 0, timeout_s)
        self._rings -= rang
        return rang


@dataclass(eq=False)
class Thread:
    """A greenlet, and what it waits for."""

    work: Callable[[], None]
    is_driver: bool
    greenlet: greenlet.greenlet | None = None
    may_go_on: Callable[[], bool] | None = None
    until: int | None = None
    timed_out: bool = False


class Explored:
    """The `Threads` of a scheduler under exploration.

    `timers`: whether time passes; without, whatever needs a timer to go on is stuck. `limit`: how many threads the
    driver gets.
    """

    def __init__(self, chooser: Chooser, *, timers: bool, limit: int = 99) -> None:
        self._chooser = chooser
        self._timers = timers
        self._limit = limit
        self._threads: list[Thread] = []
        self._current: Thread | None = None
        self._time = 1_000
        self._hub: greenlet.greenlet | None = None
        self.most_of_driver = 0
        """The most threads that the driver has had at once."""
        self.pauses_after_locks = False
        """True if another thread may also go on when a lock has been released."""

    # For the scheduler

    def now(self) -> int:
        self._time += 1
        return self._time

    def ident(self) -> int:
        return id(self._current)

    def lock(self) -> ExploredLock:
        return ExploredLock(self)

    def bell(self) -> ExploredBell:
        return ExploredBell(self)

    def sleep_until_ended(self, command: Command) -> None:
        self.block(command.has_ended)

    def start(self, work: Callable[[], None]) -> bool:
        count = sum(thread.is_driver for thread in self._threads)
        if count >= self._limit:
            return False
        self._threads.append(Thread(work, is_driver=True))
        self.most_of_driver = max(self.most_of_driver, count + 1)
        return True

    # For programs

    def host(self, work: Callable[[], None]) -> None:
        """A thread of the host."""
        self._threads.append(Thread(work, is_driver=False))

    def pause(self) -> None:
        """Another thread may go on here."""
        self._switch(None, None)

    def block(self, may_go_on: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Until something is so; False when `timeout_s` is over first."""
        if may_go_on():
            return True
        until = None if timeout_s is None else self._time + int(timeout_s * 1e9)
        return self._switch(may_go_on, until)

    def _switch(self, may_go_on: Callable[[], bool] | None, until: int | None) -> bool:
        thread = self._current
        if thread is None or self._hub is None:  # nothing is explored yet
            return True
        thread.may_go_on, thread.until, thread.timed_out = may_go_on, until, False
        self._hub.switch()
        return not thread.timed_out

    # Exploring

    def run(self) -> None:
        """Until all threads of the host have ended and the driver's have nothing to do. Raises Stuck."""
        self._hub = greenlet.getcurrent()
        try:
            while self._step():
                pass
        finally:
            self._current = None
            for thread in self._threads:
                if thread.greenlet is not None and not thread.greenlet.dead:
                    thread.greenlet.throw()
            self._hub = None

    def _step(self) -> bool:
        current = self._current
        able = [t for t in self._threads if t.may_go_on is None or t.may_go_on()]
        if not able:
            return self._let_time_pass()
        goes_on = current in able
        if goes_on and current is not None:
            able.remove(current)
            able.insert(0, current)
        chosen = able[self._chooser.choose(len(able), goes_on)] if len(able) > 1 else able[0]
        self._current = chosen
        chosen.may_go_on = chosen.until = None
        if chosen.greenlet is None:
            chosen.greenlet = greenlet.greenlet(chosen.work)
        chosen.greenlet.switch()
        if chosen.greenlet.dead:
            self._threads.remove(chosen)
            self._current = None
        return True

    def _let_time_pass(self) -> bool:
        waiting = [t for t in self._threads if t.until is not None] if self._timers else []
        hosts = [t for t in self._threads if not t.is_driver]
        if not waiting:
            if hosts:
                raise Stuck(f"{len(hosts)} threads of the host wait for ever")
            return False
        first = min(thread.until or 0 for thread in waiting)
        self._time = max(self._time, first)
        for thread in waiting:
            if (thread.until or 0) <= first + LATE_NS:
                thread.may_go_on, thread.until, thread.timed_out = None, None, True
        return True


def schedules(preemptions: int, most: int) -> Iterator[Systematically]:
    """Choosers for one schedule after another, `most` of them at most."""
    chooser = Systematically(preemptions)
    for _ in range(most):
        yield chooser
        if not chooser.next():
            return
