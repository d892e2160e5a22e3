# SPDX-License-Identifier: Apache-2.0
"""The assignments to variables, found in one pass over a text."""

from __future__ import annotations

import re
from bisect import bisect_left

GIVEN = re.compile(
    r"\b(?P<before>[A-Za-z_]\w*)\b(?=\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=)))"
    r"|(?:\+\+|--|\*\s*\)\s*&|(?<![\w)\]\s&])\s*&(?!&))\s*(?P<behind>[A-Za-z_]\w*)"
)
"""A change of a variable, or its address; not the operator `&` of two values."""


class Assignments:
    """The assignments in a text. Taking the address of a variable counts as one."""

    def __init__(self, text: str) -> None:
        self._places: dict[str, list[int]] = {}
        for found in GIVEN.finditer(text):
            self._places.setdefault(found["before"] or found["behind"], []).append(found.start())

    def count(self, name: str, begin: int = 0, end: int | None = None) -> int:
        """Returns how often a variable is assigned between two positions of the text, or in all of it."""
        places = self._places.get(name, [])
        last = len(places) if end is None else bisect_left(places, end)
        return max(0, last - bisect_left(places, begin))
