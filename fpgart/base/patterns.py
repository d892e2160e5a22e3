# SPDX-License-Identifier: Apache-2.0
"""Regular expressions that are compiled when they are first used.

Python compiles an expression in some 0.2 ms. Modules have many, and most programs need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any


class Sign:
    """A regular expression, and words of which every text that it matches has one.

    It is searched for only in texts with one of the words, because Python finds a word in a hundredth of the time. The
    text has a newline in front, so that a newline stands for the begin of a line: Python finds it faster than `^`.
    """

    def __init__(self, words: Iterable[str], text: str, flags: int = 0) -> None:
        self._words = tuple(words)
        self._pattern = pattern(text, flags)

    def is_in(self, text: str) -> bool:
        """True if the expression matches anywhere in the text."""
        return any(word in text for word in self._words) and self._pattern.search("\n" + text) is not None


if TYPE_CHECKING:
    pattern = re.compile
else:

    class pattern:
        """A regular expression that is compiled when one of its attributes is first read."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._of = (text, flags)

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(*self._of), name)
            setattr(self, name, found)  # which comes before __getattr__ from now on
            return found
