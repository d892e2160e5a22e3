# SPDX-License-Identifier: Apache-2.0
"""The call of the host that a thread serves, and its place in the host's code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from itertools import islice
from time import monotonic_ns
from typing import Any

from fpgart.base.named_tuples import NamedTuple
from fpgart.watch.code_location import CodeLocation

MAY_WAIT = {
    "clFinish",
    "clWaitForEvents",
    "clMemBlockingFreeINTEL",
    "clEnqueueReadBuffer",
    "clEnqueueReadBufferRect",
    "clEnqueueWriteBuffer",
    "clEnqueueWriteBufferRect",
    "clEnqueueMapBuffer",
    "clEnqueueSVMMap",
    "clEnqueueSVMMemcpy",
    "clEnqueueMemcpyINTEL",
}
"""Calls in which a thread of the host may wait for commands."""
MOST_FRAMES = 24
BETWEEN = ("fpgart", "pyopencl", "ctypes", "cffi", "threading", "concurrent", "_pytest", "pluggy")
"""Packages between a user's own code and this driver."""

Frames = tuple[CodeLocation, ...] | tuple[int, ...]
HostFrames = Callable[[], Frames]


class Site(NamedTuple):
    """A place in the host's code, innermost frame first: Python frames, or return addresses."""

    call: str
    frames: Frames


class Waiting(NamedTuple):
    """A thread of the host in a call that may wait, since `begin_ns` of the monotonic clock."""

    thread: int
    site: Site
    begin_ns: int


class Callers:
    """The calls of the host that are under way; its observe() wraps the entry points."""

    def __init__(self, host_frames: HostFrames) -> None:
        """`host_frames` returns the frames behind the entry point that this thread is in."""
        self._host_frames = host_frames
        self._current = threading.local()
        self._sites: dict[Site, Site] = {}
        self.waiting: dict[int, Waiting] | None = None
        """The threads that may be waiting, by Python's number of the thread; None if nobody asks for them."""

    def observe(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the entry point, with its name known while it runs; calls may nest in the host's callbacks."""
        current = self._current
        if self.waiting is not None and name in MAY_WAIT:
            function = self._noting_waits(self.waiting, function)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            outer = getattr(current, "name", ""), getattr(current, "site", None)
            current.name, current.site = name, None
            try:
                return function(*arguments)
            finally:
                current.name, current.site = outer

        return call

    def _noting_waits(self, waiting: dict[int, Waiting], function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any) -> Any:
            thread, site = threading.get_ident(), self.here()
            assert site is not None
            outer = waiting.get(thread)
            waiting[thread] = Waiting(threading.get_native_id(), site, monotonic_ns())
            try:
                return function(*arguments)
            finally:
                if outer is None:
                    del waiting[thread]
                else:
                    waiting[thread] = outer

        return call

    @property
    def call(self) -> str:
        """The call that this thread serves, "" for none."""
        return getattr(self._current, "name", "")

    def here(self) -> Site | None:
        """Returns the place of the host's call; None on threads that serve no call."""
        name = self.call
        if not name:
            return None
        site: Site | None = self._current.site
        if site is None:
            made = Site(name, self._host_frames())
            self._current.site = site = self._sites.setdefault(made, made)
        return site


def python_frames(text: str) -> tuple[CodeLocation, ...]:
    """Returns the frames of a host written in Python, from four lines each: module, file, line, function."""
    lines = text.split("\n")
    all_frames = zip(lines[0::4], lines[1::4], lines[2::4], lines[3::4], strict=False)
    found = (
        CodeLocation(file, int(line), function)
        for module, file, line, function in all_frames
        if module and module.partition(".")[0] not in BETWEEN  # generated code has no module
    )
    return tuple(islice(found, MOST_FRAMES))
