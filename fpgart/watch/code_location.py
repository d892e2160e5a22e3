# SPDX-License-Identifier: Apache-2.0
"""A place in a program's code, as precisely as it is known."""

from __future__ import annotations

import os
from typing import Any

from fpgart.base.config import working_folder
from fpgart.base.named_tuples import NamedTuple


class CodeLocation(NamedTuple):
    """A place in code.

    `file` is empty and `line` 0 without debug information; `offset` counts in the file of the module.
    """

    file: str
    line: int
    function: str
    module: str = ""
    offset: int = 0

    def __str__(self) -> str:
        """Returns `main.c:33 in main`, `main of host`, `host+0x1139`, or `0x7f0012345678` for code of no file."""
        if self.line:
            return shown(self.file) + self.behind_file()
        if self.function:
            return f"{self.function} of {self.module}"
        return f"{self.module}+{self.offset:#x}" if self.module else f"{self.offset:#x}"

    def behind_file(self) -> str:
        """Returns what words for a known line have behind the file: `:33 in main`."""
        return f":{self.line} in {self.function or '?'}"

    def facts(self) -> dict[str, Any]:
        """Returns the known parts, for JSON."""
        return {name: value for name, value in self._asdict().items() if value}


def shown(path: str) -> str:
    """Returns a path relative to the working directory, if it lies below, and that is not the root."""
    here = os.path.join(working_folder(), "")
    return path[len(here) :] if here != "/" and path.startswith(here) else path
