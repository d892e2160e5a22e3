# SPDX-License-Identifier: Apache-2.0
"""The scheduler's interface to the system's threads. Tests substitute threads that switch at chosen points."""

from __future__ import annotations

import _thread
import threading
from _queue import Empty, SimpleQueue  # queue brings heapq along
from collections.abc import Callable
from time import monotonic_ns
from types import TracebackType
from typing import Protocol

from fpgart.base import log
from fpgart.runtime.scheduling.core import Command


class Lock(Protocol):
    """A context manager that excludes other threads."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class Bell(Protocol):
    """Each ring() wakes one thread that is in wait(), or the next one that comes."""

    def ring(self) -> None: ...

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for ring(). Returns False if `timeout_s` seconds pass before."""


class Threads(Protocol):
    """The system's threads, as the scheduler uses them."""

    def now(self) -> int:
        """Returns the nanoseconds of the monotonic clock."""

    def ident(self) -> int:
        """Returns a number that identifies the calling thread."""

    def lock(self) -> Lock: ...

    def bell(self) -> Bell: ...

    def sleep_until_ended(self, command: Command) -> None:
        """Returns when a command has ended."""

    def start(self, work: Callable[[], None]) -> bool:
        """Runs `work` on a new thread. Returns False if the system cannot create one."""


class _SystemBell:
    __slots__ = ("_rings",)

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        self._rings.put(None)

    def wait(self, timeout_s: float | None = None) -> bool:
        try:
            self._rings.get(timeout=timeout_s)
        except Empty:
            return False
        return True


class SystemThreads:
    """The threads of the system. One that has done its work waits for more, so that few are created."""

    MOST_IDLE = 16
    """So many threads without work are kept."""

    now = staticmethod(monotonic_ns)
    ident = staticmethod(_thread.get_ident)

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        """By idle thread, where it gets its next work. Other threads append and remove, too: each is one operation."""

    def lock(self) -> Lock:
        return threading.Lock()

    def bell(self) -> Bell:
        return _SystemBell()

    def sleep_until_ended(self, command: Command) -> None:
        command.wait()

    def start(self, work: Callable[[], None]) -> bool:
        """Runs `work` on a thread that the process does not wait for when it exits."""
        try:
            self._idle.pop().put(work)
        except IndexError:
            return self._create(work)
        return True

    def _create(self, work: Callable[[], None]) -> bool:
        try:
            _thread.start_new_thread(self._serve, ([work],))
        except (RuntimeError, MemoryError) as error:
            log.note(f"the system cannot create a thread: {error}")
            return False
        return True

    def _serve(self, first: list[Callable[[], None]]) -> None:
        """Does one work after another. The list is emptied, so that nothing keeps the work."""
        following: SimpleQueue[Callable[[], None]] = SimpleQueue()
        first.pop()()
        while len(self._idle) < self.MOST_IDLE:
            self._idle.append(following)
            following.get()()
