# SPDX-License-Identifier: Apache-2.0
"""Makes paths in the texts of options absolute, because the process may change its folder later."""

from __future__ import annotations

import os
from enum import Enum

STDERR = "stderr"


class Holds(Enum):
    """The kind of paths in an option's text."""

    NOTHING = "nothing"
    FILE = "a file that is written"
    FILE_OR_STDERR = "a file that is written, or stderr"
    FOLDER = "a folder that is written to"
    SOCKET = "a name, or the path of a socket if there is a / in it"
    NAMES = "names, separated by commas, of which those with a / or a file name extension are paths"
    CODE = "names of modules, separated by commas, or paths as among NAMES"
    FIXED_FILES = "nothing, but files with fixed names in the working directory follow from it"


PATH_ENDINGS = (".xml", ".py", ".toml", ".yaml", ".yml")


def is_path(name: str) -> bool:
    """True if a name of a board, an engine or a module is a path."""
    return "/" in name or name.endswith(PATH_ENDINGS)


def absolute(text: str, holds: Holds, folder: str) -> str:
    """Returns an option's text with relative paths made absolute, from `folder`."""
    if holds in (Holds.NOTHING, Holds.FIXED_FILES) or (holds is Holds.FILE_OR_STDERR and text == STDERR):
        return text
    if holds not in (Holds.NAMES, Holds.CODE, Holds.SOCKET):
        return os.path.join(folder, text)
    return ",".join(_absolute_name(name.strip(), folder) for name in text.split(","))


def _absolute_name(name: str, folder: str) -> str:
    """Returns a name or an absolute path. A `+` stands before a board that is added to others."""
    plus = "+" if name.startswith("+") else ""
    path = name.removeprefix(plus)
    return plus + os.path.join(folder, path) if is_path(path) else name


def names_files(text: str, holds: Holds) -> bool:
    """True if an option's text names a file, or code that its author chose."""
    match holds:
        case Holds.NOTHING:
            return False
        case Holds.FILE_OR_STDERR:
            return text != STDERR
        case Holds.NAMES:
            return any(is_path(name.strip()) for name in text.split(","))
    return True
