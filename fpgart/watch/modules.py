# SPDX-License-Identifier: Apache-2.0
"""The file that the code at an address of this process comes from (/proc/self/maps)."""

from __future__ import annotations

import os
from bisect import bisect_right
from pathlib import Path

from fpgart.base.named_tuples import NamedTuple


class Mapping(NamedTuple):
    """A range of this process that a file is mapped into; `offset` in the file."""

    begin: int
    end: int
    offset: int
    path: str


def mappings(text: str) -> list[Mapping]:
    """Returns the mappings of code in /proc/<pid>/maps, in the order of addresses."""
    found = []
    for line in text.rstrip("\n").split("\n"):  # paths may have what splitlines() takes for ends of lines
        area, rights, offset, _, _, *path = line.split(maxsplit=5)
        if "x" in rights and path and path[0].startswith("/"):
            begin, _, end = area.partition("-")
            found.append(Mapping(int(begin, 16), int(end, 16), int(offset, 16), path[0]))
    return sorted(found)


class Modules:
    """The files from which this process has mapped code."""

    def __init__(self) -> None:
        self._mappings: list[Mapping] = []

    def find(self, address: int) -> tuple[str, int] | None:
        """Returns the file that contains an instruction, and the offset in it; None if no file does."""
        for again in (False, True):
            if again:  # another library may have been loaded meanwhile
                self._mappings = mappings(os.fsdecode(Path("/proc/self/maps").read_bytes()))
            index = bisect_right(self._mappings, address, key=lambda mapping: mapping.begin) - 1
            if index >= 0 and address < self._mappings[index].end:
                found = self._mappings[index]
                return found.path, address - found.begin + found.offset
        return None
