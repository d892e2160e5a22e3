# SPDX-License-Identifier: Apache-2.0
"""Counts a board's unfinished work for the host: transfers with a handle, kernels."""

from __future__ import annotations

import threading
import time


class UnderWay:
    """A count that threads can wait for. Any thread may call the methods."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        return self._count

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def end(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds` until the count is 0. Returns True if it is."""
        until = time.monotonic() + seconds
        with self._changed:
            while self._count and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._count
