# SPDX-License-Identifier: Apache-2.0
"""The places in the host's code that a trace has numbers for; debug information is read at queries only."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fpgart.base import config
from fpgart.watch.callers import Site
from fpgart.watch.code_location import CodeLocation
from fpgart.watch.places import Places
from fpgart.watch.report.trace_events import Args

if TYPE_CHECKING:
    from fpgart.watch.debug_info import DebugInfo


class Sites:
    """Takes the events of a trace that explain numbers."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, list[Args]]] = {}
        self._places = Places(config.WRAPPERS.value)
        self._known: dict[int, Site] = {}

    def take(self, event: Args) -> None:
        if event.get("cat") == "site":
            self._calls[event["args"]["site"]] = event["name"], event["args"]["frames"]

    def call(self, number: int) -> str:
        """Returns the call, such as clFinish; "" if the trace does not say."""
        return self._calls.get(number, ("", []))[0]

    def describe(self, number: int) -> str:
        """Returns `clFinish, main.c:33 in main`; "" if the trace does not say."""
        return self._places.describe(self._site(number)) if number in self._calls else ""

    def place(self, number: int) -> str:
        """Returns the innermost frame that is no wrapper: `main.c:33 in main`; "" if nothing is known."""
        told = self._places.told(self._site(number)) if number in self._calls else []
        return str(told[0]) if told else ""

    def facts(self, number: int) -> dict[str, object]:
        """Returns the place for JSON."""
        return self._places.facts(self._site(number)) if number in self._calls else {}

    def _site(self, number: int) -> Site:
        if number not in self._known:
            call, frames = self._calls[number]
            self._known[number] = Site(call, tuple(place for frame in frames for place in _locations(frame)))
        return self._known[number]


def place_of(facts: Args) -> tuple[str, int]:
    """Returns file and line of the frame that the result of facts() names; "" and 0 if they are not known.

    The place has the path relative to the folder of the process that wrote it.
    """
    place = facts.get("place", "")
    for frame in facts.get("stack", ()):
        known = CodeLocation(**{"file": "", "line": 0, "function": "", **frame})
        behind = known.behind_file()
        if known.line and place.endswith(behind) and known.file.endswith(place.removesuffix(behind)):
            return known.file, known.line
    return "", 0


def _locations(frame: Args) -> list[CodeLocation]:
    if "path" not in frame:
        return [CodeLocation(**frame)]
    path, offset = frame["path"], frame["offset"]
    if not path or not _is_unchanged(path, frame["changed"]):
        return [CodeLocation("", 0, "", Path(path).name, offset)]
    return _debug_info().in_file(path, offset)


def _is_unchanged(path: str, changed: int) -> bool:
    """True if a file has not been changed since the trace."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime_ns == changed


@lru_cache(maxsize=1)
def _debug_info() -> DebugInfo:
    from fpgart.watch.debug_info import DebugInfo

    return DebugInfo()
