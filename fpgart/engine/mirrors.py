# SPDX-License-Identifier: Apache-2.0
"""Boards' memory that an engine has in buffers of its own, from one launch to the next.

A `Mirror` is such a buffer for a stretch of this process. For each byte either both sides are equal, or the host's is
newer, or the engine's is. What the host writes is sent with the next launch that may reach it; what kernels may have
written is brought back when the host reads it, and no more than that. Bytes that nobody has written are not sent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from fpgart._native import ffi, lib
from fpgart.engine.contents import Range, Ranges, holes

GAP = 4096
"""Bytes that both sides have which are sent along rather than making two transfers of one."""
PIECE = 16 << 20
"""Bytes of a transfer at most, because each has a copy of them meanwhile."""


class Store(Protocol):
    """The engine's buffers, by handle. All calls raise CLError, and end when the bytes have moved."""

    def create(self, size: int) -> int:
        """A buffer; its contents are undefined."""

    def release(self, handle: int) -> None:
        """Give a buffer back."""

    def write(self, handle: int, offset: int, data: bytes) -> None:
        """Host to engine."""

    def read(self, handle: int, offset: int, size: int) -> bytes:
        """Engine to host."""


class Stretch(NamedTuple):
    """What a launch may reach, or write if `written`; `place` is a pointer into it that the launch is given."""

    begin: int
    end: int
    place: int
    written: bool


class Mirror:
    """A buffer of the engine for the bytes from `begin` to `end`; its own first byte stands for that at `base`.

    `host_newer` and `engine_newer` have no bytes in common. While `running` launches may still write, the host gets
    what there is, and the engine's bytes stay newer.
    """

    __slots__ = ("base", "begin", "end", "engine_newer", "handle", "host_newer", "running")

    def __init__(self, handle: int, base: int, begin: int, end: int) -> None:
        self.handle = handle
        self.base = base
        self.begin = begin
        self.end = end
        self.host_newer = Ranges()
        self.engine_newer = Ranges()
        self.running = 0

    def written_by_host(self, begin: int, end: int) -> None:
        """The host's bytes count there from now on."""
        begin, end = max(begin, self.begin), min(end, self.end)
        self.engine_newer.remove(begin, end)
        self.host_newer.add(begin, end)

    def written_by_kernel(self, begin: int, end: int) -> None:
        """The engine's bytes count there from now on."""
        self.host_newer.remove(begin, end)
        self.engine_newer.add(begin, end)

    def to_send(self, begin: int, end: int) -> list[Range]:
        """What the host has newer, in few ranges: with small gaps between them that both sides have."""
        found: list[Range] = []
        for low, high in self.host_newer.within(begin, end):
            if found and low - found[-1][1] <= GAP and not self.engine_newer.within(found[-1][1], low):
                found[-1] = found[-1][0], high
            else:
                found.append((low, high))
        return found


class Mirrors:
    """All that an engine has of boards' memory. Any thread may call; addresses are those of this process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: list[Mirror] = []
        self._undefined = Ranges()
        """What nobody has written since it was last forgotten."""
        self._forgotten: deque[Range] = deque()
        self._released: list[Mirror] = []
        self._lock = threading.RLock()

    # What boards tell

    def fetch(self, begin: int, end: int) -> None:
        """The host is about to read: bring back what the engine has newer. Raises CLError."""
        with self._in_use():
            for mirror in self._touched(begin, end):
                for low, high in mirror.engine_newer.within(begin, end):
                    self._bring_back(mirror, low, high)

    def overwrite(self, begin: int, end: int) -> None:
        """The host writes. To be told before and after: in between nobody brings back or sends what is half written."""
        with self._in_use():
            self._undefined.remove(begin, end)
            for mirror in self._touched(begin, end):
                mirror.written_by_host(begin, end)

    def forget(self, begin: int, end: int) -> None:
        """What is there has no contents any more. Takes no lock: it may be told under any."""
        self._forgotten.append((begin, end))

    @contextmanager
    def used_by_host(self, ranges: list[Range]) -> Iterator[None]:
        """Within, the host reads and writes these bytes as it likes; raises CLError."""
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
    def reached(self, stretches: list[Stretch], alignment: int) -> Iterator[list[Mirror]]:
        """A mirror of each stretch, up to date, for a launch that may reach them; raises CLError.

        The stretches have no bytes in common. Each one's `place` is at a multiple of `alignment` from its mirror's
        base. A kernel that fails may have written, too.
        """
        with self._in_use():
            for stretch in stretches:
                self._covering(stretch, alignment)
            mirrors = [self._covering(stretch, alignment) for stretch in stretches]  # none in place of another's now
            for stretch, mirror in zip(stretches, mirrors, strict=True):
                for low, high in mirror.to_send(stretch.begin, stretch.end):
                    self._send(mirror, low, high)
            for stretch, mirror in zip(stretches, mirrors, strict=True):
                mirror.running += 1
                if stretch.written:
                    self._undefined.remove(stretch.begin, stretch.end)
                    mirror.written_by_kernel(stretch.begin, stretch.end)
        try:
            yield mirrors
        finally:
            with self._lock:
                for mirror in mirrors:
                    mirror.running -= 1

    def _covering(self, stretch: Stretch, alignment: int) -> Mirror:
        """The mirror that has all of these bytes; a new one instead of those that have some."""
        begin, end = stretch.begin, stretch.end
        touched = self._touched(begin, end)
        for mirror in touched:
            if mirror.begin <= begin and end <= mirror.end and (stretch.place - mirror.base) % alignment == 0:
                return mirror
        for mirror in touched:
            for low, high in mirror.engine_newer.within(mirror.begin, mirror.end):
                self._bring_back(mirror, low, high)
        base = begin - (begin - stretch.place) % alignment
        made = Mirror(self._store.create(end - base), base, begin, end)
        for low, high in holes(self._undefined.within(begin, end), begin, end):
            made.host_newer.add(low, high)
        for mirror in touched:
            self._drop(mirror)
        self._found.append(made)
        return made

    # Bytes; the lock is held

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """The lock, with all forgotten that has been told."""
        with self._lock:
            while self._forgotten:
                self._leave(*self._forgotten.popleft())
            yield

    def _touched(self, begin: int, end: int) -> list[Mirror]:
        return [mirror for mirror in self._found if mirror.begin < end and begin < mirror.end]

    def _leave(self, begin: int, end: int) -> None:
        self._undefined.add(begin, end)
        for mirror in self._touched(begin, end):
            mirror.host_newer.remove(begin, end)
            mirror.engine_newer.remove(begin, end)
            if not holes(self._undefined.within(mirror.begin, mirror.end), mirror.begin, mirror.end):
                self._drop(mirror)

    def _drop(self, mirror: Mirror) -> None:
        """It goes; its buffer as soon as no kernel is using it."""
        self._found.remove(mirror)
        self._released.append(mirror)

    def release_unused(self) -> None:
        """Give back the buffers of mirrors that have gone; raises CLError."""
        with self._in_use():
            idle = [mirror for mirror in self._released if not mirror.running]
            self._released = [mirror for mirror in self._released if mirror.running]
            for mirror in idle:
                self._store.release(mirror.handle)

    def _bring_back(self, mirror: Mirror, begin: int, end: int) -> None:
        for low, high in _pieces(begin, end):
            data = self._store.read(mirror.handle, low - mirror.base, high - low)
            lib.copy_bytes(low, int(ffi.cast("uintptr_t", ffi.from_buffer(data))), high - low)
            if not mirror.running:
                mirror.engine_newer.remove(low, high)

    def _send(self, mirror: Mirror, begin: int, end: int) -> None:
        for low, high in _pieces(begin, end):
            data = bytes(ffi.buffer(ffi.cast("char *", low), high - low))
            self._store.write(mirror.handle, low - mirror.base, data)
            mirror.host_newer.remove(low, high)


def _pieces(begin: int, end: int) -> Iterator[Range]:
    for low in range(begin, end, PIECE):
        yield low, min(low + PIECE, end)
