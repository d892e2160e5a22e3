# SPDX-License-Identifier: Apache-2.0
"""Work that destructors defer, until a thread may take locks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from fpgart.base import log

Work = Callable[[], None]


class Destructible:
    """An object of whose destruction the host may be told (OpenCL 3.0, 4.4 and 5.4)."""

    destructors: tuple[Work, ...] = ()
    """The host's destructor callbacks. The one that was registered last is made first."""

    def when_destroyed(self, callback: Work) -> None:
        """Registers a destructor callback."""
        self.destructors = callback, *self.destructors


class Reaper(deque[Work]):
    """Work that destructors defer, oldest first: the host's destructor callbacks, and freeing memory.

    Destructors run wherever Python allocates, also where the thread holds any lock of the driver. So they take no lock
    and make no callback, but append to this queue.
    """

    def __init__(self) -> None:
        super().__init__()
        self._memory: deque[Work] = deque()
        self._freeing = threading.RLock()
        """Held while memory is freed, so that reap() returns only when other threads have freed theirs."""

    def __bool__(self) -> bool:
        return bool(len(self) or self._memory)

    def free_later(self, free: Work) -> None:
        """Defers `free` to the next call of reap() or free(). reap() makes the callbacks first."""
        self._memory.append(free)

    def reap(self) -> None:
        """Does all deferred work. No lock is held. Memory that was deferred before the call is free afterwards."""
        do_all(self)
        self.free()

    def free(self) -> None:
        """Does the deferred freeing of memory, and makes no callbacks. No lock is held."""
        with self._freeing:
            do_all(self._memory)


def do_all(left: deque[Work]) -> None:
    """Does the deferred work, and what is added meanwhile."""
    while len(left):
        try:
            dispose = left.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            dispose()
        except Exception:
            log.bug("deferred work of a destructor failed")
