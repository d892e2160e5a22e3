# SPDX-License-Identifier: Apache-2.0
"""Finds the places of the host's calls in its code, without the wrappers around its calls."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fpgart.watch.code_location import CodeLocation

if TYPE_CHECKING:
    from fpgart.watch.callers import Site
    from fpgart.watch.debug_info import DebugInfo

TOLD_FRAMES = 3
"""Frames that a sentence names."""


class Places:
    """The places of calls. Any thread may ask; debug information is read at the first question."""

    def __init__(self, wrappers: Iterable[str] = ()) -> None:
        """`wrappers` are names, perhaps with wildcards, of functions and files that only call others."""
        self._wrappers = tuple(wrappers)
        self._debug_info: DebugInfo | None = None
        self._lock = threading.Lock()

    def stack(self, site: Site) -> list[CodeLocation]:
        """Returns the host's frames, innermost first, wrappers included."""
        found: list[CodeLocation] = []
        for frame in site.frames:
            if isinstance(frame, CodeLocation):
                found.append(frame)
            else:
                found += self._at(frame - 1)  # the call, not the instruction behind it
        return found

    def is_host(self, code: int) -> bool:
        """True if an instruction is the host's own, not one of the driver's, a loader's or the C library's."""
        return bool(self._at(code))

    def is_c_library(self, code: int) -> bool:
        """True if an instruction is in a function of the C library."""
        with self._lock:
            return self._reader().in_c_library(code)

    def file_of(self, code: int) -> str:
        """Returns the executable or library with an instruction; "" for code of no file, as engines make it."""
        with self._lock:
            return self._reader().file_of(code)

    def _at(self, code: int) -> list[CodeLocation]:
        with self._lock:
            return self._reader().locate(code)

    def _reader(self) -> DebugInfo:
        if self._debug_info is None:
            from fpgart.watch.debug_info import DebugInfo

            self._debug_info = DebugInfo()
        return self._debug_info

    def told(self, site: Site) -> list[CodeLocation]:
        """Returns the frames that a sentence names: the innermost ones that are no wrappers, if there are any."""
        stack = self.stack(site)
        return ([place for place in stack if not self._wraps(place)] or stack)[:TOLD_FRAMES]

    def _wraps(self, place: CodeLocation) -> bool:
        names = [name for name in (place.function, PurePath(place.file).name, place.file) if name]
        return any(fnmatchcase(name, pattern) for pattern in self._wrappers for name in names)

    def where(self, site: Site) -> str:
        """Returns `main.c:33 in make_buffers, from main.c:80 in main`; "" if nothing is known."""
        return in_words(self.told(site))

    def describe(self, site: Site) -> str:
        """Returns the call and its place: `clCreateBuffer, main.c:33 in make_buffers, from main.c:80 in main`."""
        return ", ".join(filter(None, (site.call, self.where(site))))

    def facts(self, site: Site) -> dict[str, Any]:
        """Returns the call, the first named place, and the whole short stack, for JSON."""
        told = self.told(site)
        return {
            "call": site.call,
            "place": str(told[0]) if told else "",
            "stack": [frame.facts() for frame in self.stack(site)],
        }


def in_words(places: Iterable[CodeLocation]) -> str:
    """Returns frames in words, innermost first."""
    return ", from ".join(map(str, places))
