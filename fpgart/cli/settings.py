# SPDX-License-Identifier: Apache-2.0
"""Options in a file of the project: [tool.fpgart] in pyproject.toml, or fpgart.toml.

They become variables of the environment, unless these are set, so that hosts get them. The driver
itself reads no such file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from fpgart.base import config, log
from fpgart.base.config import PREFIX, OptionError
from fpgart.base.option_paths import absolute
from fpgart.base.toml_file import read_toml
from fpgart.cli.hints import did_you_mean

OWN, SHARED = "fpgart.toml", "pyproject.toml"
TRUE, FALSE = "1", "0"
ORIGINS: dict[str, str] = {}
"""By variable, the file of the project with its value, and the key there."""


def apply(environment: MutableMapping[str, str], folder: Path) -> dict[str, str]:
    """Sets the variables that the file has and that are not set; returns the origin of each. Raises OptionError.

    The file is that of `folder`, or of the nearest folder above it that has one.
    """
    found = settings_above(folder)
    if found is None:
        return {}
    file, table = found
    origins = {}
    for key, value in table.items():
        name = PREFIX + key.replace("-", "_").upper()
        if name not in config.OPTIONS:
            known = [each.removeprefix(PREFIX).lower() for each in config.OPTIONS if each.startswith(PREFIX)]
            raise OptionError(f"{file}: there is no option '{key}'{did_you_mean(key.replace('-', '_'), known)}")
        if name not in environment:
            text = absolute(_text(value, f"{file}: {key}"), config.OPTIONS[name].holds, str(file.parent))
            environment[name] = text
            origins[name] = f"{file}: {key}"
    return origins


def settings_above(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Returns the nearest file with options, and these. Raises OptionError for a file that is no TOML."""
    for each in (folder, *folder.parents):
        for name in (OWN, SHARED):
            file = each / name
            if not file.is_file():
                continue
            if not _is_trusted(file):
                log.note(f"{file} is ignored: another user may have written it")
            else:
                found = _read(file)
                table = found if name == OWN else found.get("tool", {}).get("fpgart")
                if table is not None:
                    return file, table
    return None


def _is_trusted(file: Path) -> bool:
    """True if only this user and root can have written the file. Anybody may put files into a folder like /tmp."""
    facts = file.stat()
    return facts.st_uid in (0, os.geteuid()) and not facts.st_mode & stat.S_IWOTH


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except ValueError as error:  # errors of the encoding included
        raise OptionError(f"{file}: {error}") from None


def _text(value: object, place: str) -> str:
    """Returns a value as the text of a variable."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    raise OptionError(f"{place}: a text, a number, true or false, or a list of texts is expected")
