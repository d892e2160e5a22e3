# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes in words."""

from __future__ import annotations

UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def in_words(size: int) -> str:
    """Returns a number of bytes with a unit: 1.5 GiB, 512 MiB."""
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
