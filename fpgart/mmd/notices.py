# SPDX-License-Identifier: Apache-2.0
"""A board's notifications for the host: ends of transfers with a handle, interrupts of kernels.

The host is told when it yields, by the thread that does, and never while it is doing something else: boards whose
AOCL_MMD_USES_YIELD is 1 need no locks in the host's handlers.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from fpgart.mmd.errors import FAILURE, Status

PATIENCE_S = 0.001
"""How long a call of tell() waits at most for something to tell."""


class Notices:
    """What has not been told yet. Any thread may call."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._telling = threading.RLock()
        self._begun: Counter[int] = Counter()
        self._ended: dict[int, int] = {}
        self._interrupts = 0
        self.on_interrupt: Callable[[], None] | None = None
        self.on_status: Callable[[int, int], None] | None = None
        """Takes the handle of an operation and its status."""

    def begin(self, operation: int) -> None:
        """A transfer begins. Hosts give one handle to all rows of a rectangle."""
        with self._changed:
            self._begun[operation] += 1

    def end(self, operation: int, *, failed: bool) -> None:
        """A transfer has ended; the host hears of it when all with this handle have."""
        with self._changed:
            self._begun[operation] -= 1
            if not self._begun[operation]:
                del self._begun[operation]
            self._ended[operation] = FAILURE if failed else self._ended.get(operation, Status.SUCCESS)
            self._changed.notify_all()

    def interrupt(self) -> None:
        """A kernel has ended."""
        with self._changed:
            self._interrupts += 1
            self._changed.notify_all()

    def tell(self) -> bool:
        """Tell what there is, or comes within a moment; whether there was anything."""
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
