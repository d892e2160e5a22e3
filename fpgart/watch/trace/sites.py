# SPDX-License-Identifier: Apache-2.0
"""The places in the host's code that a trace's events come from: a number for each, which an event declares.

Return addresses are written as offsets in their files; `fpgart report` reads the debug information.
"""

from __future__ import annotations

import os
from typing import Any

from fpgart.watch.callers import Site
from fpgart.watch.code_location import CodeLocation
from fpgart.watch.modules import Modules
from fpgart.watch.origins import no_origins
from fpgart.watch.trace.timeline import Timeline

NUMBERED = "site"
"""The argument of events with the number."""


class Sites:
    """Numbers for the places of calls."""

    def __init__(self, timeline: Timeline) -> None:
        self.origins = no_origins()
        """The places of calls; there are none if calls are not observed."""
        self._timeline = timeline
        self._numbers: dict[Site, int] = {}
        self._modules = Modules()

    def here(self) -> dict[str, Any]:
        """Returns the argument of an event of the call that this thread serves."""
        return self._args(self.origins.here())

    def of(self, item: object) -> dict[str, Any]:
        """Returns `site`: the number of the host's call that enqueued a command or made an object; {} without one."""
        return self._args(self.origins.of(item))

    def at(self, call: str, frames: tuple[int, ...]) -> dict[str, Any]:
        """Returns the argument of an event of a call from those frames."""
        return self._args(Site(call, frames))

    def _args(self, site: Site | None) -> dict[str, Any]:
        if site is None:
            return {}
        number = self._numbers.get(site)
        if number is None:
            number = self._numbers[site] = len(self._numbers) + 1
            frames = [self._frame(frame) for frame in site.frames]
            self._timeline.mark("site", site.call, {NUMBERED: number, "frames": frames})
        return {NUMBERED: number}

    def _frame(self, frame: CodeLocation | int) -> dict[str, Any]:
        if isinstance(frame, CodeLocation):
            return frame.facts()
        path, offset = self._modules.find(frame - 1) or ("", frame - 1)  # the call, not the instruction behind it
        return {"path": path, "offset": offset, "changed": _changed(path)}


def _changed(path: str) -> int:
    """Returns a file's modification time in nanoseconds, by which a report notices another version; 0 if unknown."""
    try:
        return os.stat(path).st_mtime_ns if path else 0
    except OSError:
        return 0
