# SPDX-License-Identifier: Apache-2.0
"""Regular expressions that are compiled when they are first used.

Python compiles an expression in some 0.2 ms. Modules have many, and most programs need few of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
