# SPDX-License-Identifier: Apache-2.0
"""Reads TOML files."""

from __future__ import annotations

import os
import sys
from typing import Any

from fpgart.base.input_file import LARGEST_DESCRIPTION, read_input


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the table of a file. Raises OSError, and ValueError for errors of TOML and of the encoding."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(read_input(path, LARGEST_DESCRIPTION).decode())
