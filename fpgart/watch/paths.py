# SPDX-License-Identifier: Apache-2.0
"""Paths as reports show them."""

from __future__ import annotations

import os


def shown(path: str) -> str:
    """Returns a path relative to the working directory, if it lies below."""
    here = os.path.join(working_directory(), "")
    return path[len(here) :] if path.startswith(here) else path


def working_directory() -> str:
    """Returns the working directory; "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""
