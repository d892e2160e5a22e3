# SPDX-License-Identifier: Apache-2.0
"""Locks of the driver in a host written in Python, where the collector may come back into the driver.

The collector runs wherever Python code allocates, so also where the driver holds a lock. It then destroys objects of
the host, whose destructors release and free: in the same thread, which would wait for its own lock. So the collector is
held off for as long as any of these locks is held, by whichever thread. Reentrant locks would not do: they would let
the destructor see what is half changed.

For the same reason it is held off in a thread that runs a command: a destructor that waits for that command would wait
for itself. Not while the engine runs a kernel, which may take long, or for ever: what the host does next may end it.

A C host has no such destructors: its locks are plain ones, and nothing is held off.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Protocol

from fpgart._collector import hold_off, let_go

__all__ = ["Lock", "QuietLock", "expect_destructors", "hold_off", "let_go", "new_lock"]


class Lock(Protocol):
    """What `with` needs, and acquire() and release()."""

    def acquire(self) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class QuietLock:
    """A lock under which the collector does not run."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self) -> bool:
        hold_off()
        return self._lock.acquire()

    def release(self) -> None:
        self._lock.release()
        let_go()

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
