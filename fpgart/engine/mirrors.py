# SPDX-License-Identifier: Apache-2.0
"""Boards' memory that an engine has in buffers of its own, from one launch to the next.

A `Mirror` is such a buffer for a range of this process's memory. Bytes that the host writes are sent with the next
launch that may reach them; bytes that kernels may have written are brought back when the host reads them, and no
others. Mirrors may overlap, as buffers and their sub-buffers do; bytes that are newer in one mirror than in another are
copied within the engine. Bytes that have not been written are not sent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Protocol

from fpgart._native import ffi, lib
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.ranges import Range
from fpgart.engine.contents import Ranges, holes

GAP = 4096
"""The size, in bytes, up to which a gap that both sides have is sent, too, because one transfer is faster than two."""
PIECE = 16 << 20
"""The most bytes of a transfer, because each one needs a copy of them."""


MOST_BESIDE = 8
"""The most mirrors of the same bytes."""


class Store(Protocol):
    """The engine's buffers, by handle. All calls but release() raise CLError, and end when the bytes have moved."""

    def create(self, size: int) -> int:
        """Creates a buffer; its contents are undefined."""

    def release(self, handle: int) -> None:
        """Releases a buffer, and ignores errors of the engine."""

    def write(self, handle: int, offset: int, data: bytes) -> None:
        """Copies from the host to the engine."""

    def read(self, handle: int, offset: int, size: int) -> bytes:
        """Copies from the engine to the host."""

    def copy(self, source: int, source_offset: int, target: int, target_offset: int, size: int) -> None:
        """Copies from one buffer to another."""


class Stretch(NamedTuple):
    """The bytes that a launch may reach from a pointer on; it may write them if `written`."""

    begin: int
    end: int
    written: bool


class Mirror:
    """A buffer of the engine for the bytes from `begin` to `end`.

    `stale`: bytes that are newer in the host or in another mirror. `newer`: bytes that are newer here than in the host;
    while `running` launches may still write, bytes that are brought back stay in it.
    """

    __slots__ = ("begin", "end", "handle", "newer", "running", "stale", "used")

    def __init__(self, handle: int, begin: int, end: int) -> None:
        self.handle = handle
        self.begin = begin
        self.end = end
        self.stale = Ranges()
        self.newer = Ranges()
        self.running = 0
        self.used = 0
        """The number of the launch that last used it."""

    def written_elsewhere(self, begin: int, end: int) -> None:
        """Marks these bytes as newer in the host or in another mirror."""
        begin, end = max(begin, self.begin), min(end, self.end)
        self.newer.remove(begin, end)
        self.stale.add(begin, end)

    def has_newer(self, begin: int, end: int) -> None:
        """Marks these bytes as newer in this mirror than in the host."""
        self.stale.remove(begin, end)
        self.newer.add(begin, end)

    def to_send(self, begin: int, end: int) -> list[Range]:
        """Returns the ranges to send: the stale bytes, with small gaps between them that the host has, too."""
        found: list[Range] = []
        for low, high in self.stale.within(begin, end):
            if found and low - found[-1][1] <= GAP and not self.newer.within(found[-1][1], low):
                found[-1] = found[-1][0], high
            else:
                found.append((low, high))
        return found


class Mirrors:
    """All mirrors of an engine. Any thread may call; addresses are those of this process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: list[Mirror] = []
        self._undefined = Ranges()
        """The bytes that have not been written since they were last forgotten."""
        self._forgotten: deque[Range] = deque()
        self._released: list[Mirror] = []
        self._launches = count(1)
        self._lock = threading.RLock()

    # What boards tell

    def fetch(self, begin: int, end: int) -> None:
        """Brings newer bytes of the engine back, before the host reads. Raises CLError."""
        with self._in_use():
            for mirror in self._touched(begin, end):
                self._bring_back(mirror, begin, end)

    def overwrite(self, begin: int, end: int) -> None:
        """Marks bytes as written by the host.

        The caller does this before the write and after it, so that the bytes are neither sent nor brought back
        meanwhile.
        """
        with self._in_use():
            self._undefined.remove(begin, end)
            for mirror in self._touched(begin, end):
                mirror.written_elsewhere(begin, end)

    def forget(self, begin: int, end: int) -> None:
        """Marks bytes as undefined. Takes no lock, so that it may be called while any lock is held."""
        self._forgotten.append((begin, end))

    @contextmanager
    def used_by_host(self, ranges: list[Range]) -> Iterator[None]:
        """Lets the host read and write these bytes within the context; raises CLError."""
        for begin, end in ranges:
            self.fetch(begin, end)
            self.overwrite(begin, end)
        try:
            yield
        finally:
            for begin, end in ranges:
                self.overwrite(begin, end)

    # What launches need

    @contextmanager
    def reached(self, stretches: list[Stretch]) -> Iterator[list[Mirror]]:
        """Yields an up-to-date mirror of each stretch that a launch may reach; raises CLError.

        A mirror's buffer begins where the stretch does. The stretches have no bytes in common. A kernel that fails may
        have written, too.
        """
        with self._in_use():
            mirrors: list[Mirror] = []
            for stretch in stretches:
                mirrors.append(self._mirror_of(stretch, mirrors))
            for stretch, mirror in zip(stretches, mirrors, strict=True):
                self._update(mirror, stretch.begin, stretch.end)
            for stretch, mirror in zip(stretches, mirrors, strict=True):
                mirror.running += 1
                if stretch.written:
                    self._written_by_kernel(mirror, stretch.begin, stretch.end)
        try:
            yield mirrors
        finally:
            with self._lock:
                for mirror in mirrors:
                    mirror.running -= 1

    def _mirror_of(self, stretch: Stretch, taken: list[Mirror]) -> Mirror:
        """Returns a mirror with that begin that is long enough, a new one if need be; `taken` must stay."""
        begin, end = stretch.begin, stretch.end
        beside = self._touched(begin, end)
        found = next((mirror for mirror in beside if mirror.begin == begin and end <= mirror.end), None)
        if found is None:
            idle = sorted((mirror for mirror in beside if mirror not in taken), key=lambda mirror: mirror.used)
            for mirror in idle[: max(0, len(beside) - MOST_BESIDE + 1)]:
                self._bring_back(mirror, mirror.begin, mirror.end)
                self._drop(mirror)
            found = Mirror(self._store.create(end - begin), begin, end)
            for low, high in holes(self._undefined.within(begin, end), begin, end):
                found.stale.add(low, high)
            self._found.append(found)
        found.used = next(self._launches)
        return found

    def _written_by_kernel(self, mirror: Mirror, begin: int, end: int) -> None:
        self._undefined.remove(begin, end)
        for other in self._touched(begin, end):
            if other is not mirror:
                other.written_elsewhere(begin, end)
        mirror.has_newer(begin, end)

    # Bytes; the lock is held

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Holds the lock; the bytes of all calls of forget() are undefined within."""
        with self._lock:
            while self._forgotten:
                self._leave(*self._forgotten.popleft())
            yield

    def _touched(self, begin: int, end: int) -> list[Mirror]:
        return [mirror for mirror in self._found if mirror.begin < end and begin < mirror.end]

    def _leave(self, begin: int, end: int) -> None:
        self._undefined.add(begin, end)
        for mirror in self._touched(begin, end):
            mirror.stale.remove(begin, end)
            mirror.newer.remove(begin, end)
            if not holes(self._undefined.within(mirror.begin, mirror.end), mirror.begin, mirror.end):
                self._drop(mirror)

    def _drop(self, mirror: Mirror) -> None:
        """Removes a mirror; its buffer is released as soon as no kernel uses it."""
        self._found.remove(mirror)
        self._released.append(mirror)

    def release_unused(self) -> None:
        """Releases the buffers of removed mirrors."""
        with self._in_use():
            idle = [mirror for mirror in self._released if not mirror.running]
            self._released = [mirror for mirror in self._released if mirror.running]
            for mirror in idle:
                self._store.release(mirror.handle)

    def _bring_back(self, mirror: Mirror, begin: int, end: int) -> None:
        """Copies the bytes that are newer in this mirror to the host."""
        for start, stop in mirror.newer.within(begin, end):
            for low, high in _pieces(start, stop):
                data = self._store.read(mirror.handle, low - mirror.begin, high - low)
                lib.copy_bytes(low, int(ffi.cast("uintptr_t", ffi.from_buffer(data))), high - low)
                if not mirror.running:
                    for each in self._touched(low, high):
                        each.newer.remove(low, high)

    def _update(self, mirror: Mirror, begin: int, end: int) -> None:
        """Copies the bytes that are stale in this mirror from other mirrors or from the host."""
        for other in self._touched(begin, end) if mirror.stale.within(begin, end) else ():
            for start, stop in mirror.stale.within(begin, end):
                for low, high in other.newer.within(start, stop):
                    self._store.copy(other.handle, low - other.begin, mirror.handle, low - mirror.begin, high - low)
                    mirror.has_newer(low, high)
        for start, stop in mirror.to_send(begin, end):
            for low, high in _pieces(start, stop):
                data = bytes(ffi.buffer(ffi.cast("char *", low), high - low))
                self._store.write(mirror.handle, low - mirror.begin, data)
                mirror.stale.remove(low, high)


def _pieces(begin: int, end: int) -> Iterator[Range]:
    for low in range(begin, end, PIECE):
        yield low, min(low + PIECE, end)
