# SPDX-License-Identifier: Apache-2.0
"""The section .acl.autodiscovery of a container, which holds the string."""

from __future__ import annotations

SECTION_UNIT = 256
TRAILER = 8


def to_section(text: str) -> bytes:
    """Returns the section for a string.

    It has blanks up to a multiple of 256 bytes. The last eight bytes are the length of the string plus one, in
    upper-case hexadecimal digits.
    """
    data = text.encode(errors="surrogateescape")
    padded = -(-(len(data) + 1 + TRAILER) // SECTION_UNIT) * SECTION_UNIT
    return data.ljust(padded - TRAILER) + b"%08X" % (len(data) + 1)


def from_section(data: bytes) -> str:
    """Returns the string of a section; parse() ignores the bytes behind the kernels, the trailer included."""
    return data.decode(errors="surrogateescape")
