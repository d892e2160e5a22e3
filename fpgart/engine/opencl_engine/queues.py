# SPDX-License-Identifier: Apache-2.0
"""Command queues of the driver, each used by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fpgart.base import opencl as cl
from fpgart.engine.driver import Driver


class ThreadQueue:
    """A queue that belongs to a thread until the thread ends."""

    __slots__ = ("_free", "handle")

    def __init__(self, handle: int, free: list[int]) -> None:
        self.handle = handle
        self._free = free

    def __del__(self) -> None:
        self._free.append(self.handle)


class Queues:
    """The queues of a driver; those that are free are reused."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._of_threads = threading.local()
        self._free: list[int] = []

    def of_thread(self) -> int:
        """Returns the calling thread's queue, so that clFinish waits for the kernels of this thread alone."""
        found: ThreadQueue | None = getattr(self._of_threads, "queue", None)
        if found is None:
            self._of_threads.queue = found = ThreadQueue(self.acquire(), self._free)
        return found.handle

    def acquire(self) -> int:
        """Returns a queue for the caller alone, until release()."""
        try:
            return self._free.pop()
        except IndexError:
            return self._make(0)

    @contextmanager
    def profiled(self) -> Iterator[int]:
        """Yields a queue with profiling for one use."""
        handle = self._make(cl.CL_QUEUE_PROFILING_ENABLE)
        try:
            yield handle
        finally:
            self._driver.function("clReleaseCommandQueue")(handle)

    def _make(self, properties: int) -> int:
        driver = self._driver
        return int(driver.create("clCreateCommandQueue", driver.context, driver.device, properties))

    def release(self, handle: int) -> None:
        """Frees the queue, which is empty, for others."""
        self._free.append(handle)
