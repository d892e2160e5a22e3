# SPDX-License-Identifier: Apache-2.0
"""Work that destructors defer, until a thread may take locks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fpgart import log


class Reaper(deque[Callable[[], None]]):
    """Work that destructors leave behind, oldest first.

    Destructors run wherever Python allocates, also where the same thread holds any lock of the driver: they take no
    lock and call nobody back, but append here.
    """

    def reap(self) -> None:
        """Do it; must be called without a lock."""
        while self:
            try:
                dispose = self.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                dispose()
            except Exception:
                log.bug("what a dead object left could not be disposed of")
