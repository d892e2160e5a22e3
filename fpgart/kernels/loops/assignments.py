# SPDX-License-Identifier: Apache-2.0
"""The assignments to the variables of a function, found in one pass over its body."""

from __future__ import annotations

import re
from bisect import bisect_left

GIVEN = re.compile(
    r"\b(?P<before>[A-Za-z_]\w*)\b(?=\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=)))"
    r"|(?:\+\+|--|&)\s*(?P<behind>[A-Za-z_]\w*)"
)


class Assignments:
    """The assignments in a body without directives. Taking the address of a variable counts as one."""

    def __init__(self, body: str) -> None:
        self._places: dict[str, list[int]] = {}
        for found in GIVEN.finditer(body):
            self._places.setdefault(found["before"] or found["behind"], []).append(found.start())

    def count(self, name: str, begin: int = 0, end: int | None = None) -> int:
        """Returns how often a variable is assigned between two positions of the body, or in all of it."""
        places = self._places.get(name, [])
        last = len(places) if end is None else bisect_left(places, end)
        return max(0, last - bisect_left(places, begin))
