# SPDX-License-Identifier: Apache-2.0
"""A board's notifications for the host: ends of transfers with a handle, interrupts of kernels.

The host's handlers are called when it yields, on the thread that does so, and at no other time: hosts of boards whose
AOCL_MMD_USES_YIELD is 1 need no locks in their handlers.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from fpgart.mmd.errors import FAILURE, Status

PATIENCE_S = 0.001
"""The time that a call of tell() waits for notifications at most."""


class Notices:
    """Notifications that the host has not got. Any thread may call the methods."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._telling = threading.RLock()
        self._begun: Counter[int] = Counter()
        self._ended: dict[int, int] = {}
        self._interrupts = 0
        self.on_interrupt: Callable[[], None] | None = None
        self.on_status: Callable[[int, int], None] | None = None
        """Called with the handle of an operation and its status."""

    def begin(self, operation: int) -> None:
        """Records the begin of a transfer. Hosts give one handle to all rows of a rectangle."""
        with self._changed:
            self._begun[operation] += 1

    def end(self, operation: int, *, failed: bool) -> None:
        """Records the end of a transfer. The host gets it when all transfers with this handle have ended."""
        with self._changed:
            self._begun[operation] -= 1
            if not self._begun[operation]:
                del self._begun[operation]
            self._ended[operation] = FAILURE if failed else self._ended.get(operation, Status.SUCCESS)
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Records the end of a kernel."""
        with self._changed:
            self._interrupts += 1
            self._changed.notify_all()

    def tell(self) -> bool:
        """Calls the host's handlers, after waiting up to PATIENCE_S. Returns False if there was nothing to tell."""
        with self._changed:
            self._changed.wait_for(self._any, PATIENCE_S)
            ended = [operation for operation in self._ended if operation not in self._begun]
            told = [(operation, self._ended.pop(operation)) for operation in ended]
            interrupts, self._interrupts = self._interrupts, 0
        with self._telling:
            for operation, status in told:
                if self.on_status is not None:
                    self.on_status(operation, status)
            for _ in range(interrupts):
                if self.on_interrupt is not None:
                    self.on_interrupt()
        return bool(told or interrupts)

    def _any(self) -> bool:
        return self._interrupts > 0 or any(operation not in self._begun for operation in self._ended)
