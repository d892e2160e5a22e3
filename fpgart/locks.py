# SPDX-License-Identifier: Apache-2.0
"""Locks of the driver in a host written in Python, where the collector may come back into the driver.

The collector runs wherever Python code allocates, so also where the driver holds a lock. It then destroys objects of
the host, whose destructors release and free: in the same thread, which would wait for its own lock. So the collector is
held off for as long as any of these locks is held, by whichever thread. Reentrant locks would not do: they would let
the destructor see what is half changed.

A C host has no such destructors, and its locks are plain ones.
"""

from __future__ import annotations

import gc
import threading
from types import TracebackType
from typing import Protocol


class Lock(Protocol):
    """What `with` needs, and acquire() and release()."""

    def acquire(self) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class _Collector:
    """Python's collector, off while somebody needs that."""

    __slots__ = ("_depth", "_lock", "_was_on")

    def __init__(self) -> None:
        # Reentrant: until it is off, the collector may run in here, and what it calls leaves _depth as it was.
        self._lock = threading.RLock()
        self._depth = 0
        self._was_on = False

    def hold_off(self) -> None:
        with self._lock:
            if not self._depth:
                self._was_on = gc.isenabled()
            gc.disable()
            self._depth += 1

    def let_go(self) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth and self._was_on:
                gc.enable()


_collector = _Collector()


class QuietLock:
    """A lock under which the collector does not run."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self) -> bool:
        _collector.hold_off()
        return self._lock.acquire()

    def release(self) -> None:
        self._lock.release()
        _collector.let_go()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


_quiet = False


def expect_destructors() -> None:
    """The host is written in Python: locks that are made from now on hold the collector off."""
    global _quiet
    _quiet = True


def new_lock() -> Lock:
    """A lock for what calls that destructors make need, too."""
    return QuietLock() if _quiet else threading.Lock()
