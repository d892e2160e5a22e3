# SPDX-License-Identifier: Apache-2.0
"""Work that destructors defer, until a thread may take locks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from fpgart.base import log

Work = Callable[[], None]


class Reaper(deque[Work]):
    """Work that destructors leave behind, oldest first: the host's destructor callbacks, and memory that is free.

    Destructors run wherever Python allocates, also where the same thread holds any lock of the driver: they take no
    lock and call nobody back, but append here.
    """

    def __init__(self) -> None:
        super().__init__()
        self._memory: deque[Work] = deque()
        self._freeing = threading.RLock()
        """Held while memory is freed, so that reap() returns only when other threads have freed theirs, too."""

    def __bool__(self) -> bool:
        return bool(len(self) or self._memory)

    def free_later(self, free: Work) -> None:
        """Have the next call of reap() or free() free memory; reap() makes the callbacks that stand here first."""
        self._memory.append(free)

    def reap(self) -> None:
        """Do it all. Must be called without a lock. What was to be freed before the call is free afterwards."""
        do_all(self)
        self.free()

    def free(self) -> None:
        """As reap(), but only free memory. Must be called without a lock."""
        with self._freeing:
            do_all(self._memory)


def do_all(left: deque[Work]) -> None:
    """Do what is left, and what is added meanwhile."""
    while len(left):
        try:
            dispose = left.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            dispose()
        except Exception:
            log.bug("what a dead object left could not be disposed of")
