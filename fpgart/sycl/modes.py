# SPDX-License-Identifier: Apache-2.0
"""Access modes of accessors (SYCL 1.2.1, 4.7.6.3)."""

from __future__ import annotations

import enum


class SyclError(Exception):
    """Raised if SYCL does not allow the program, or an OpenCL call failed; the message says which."""


class Mode(str, enum.Enum):
    """An access mode. Modes that discard do not need the contents."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"
    DISCARD_WRITE = "discard_write"
    DISCARD_READ_WRITE = "discard_read_write"

    @property
    def writes(self) -> bool:
        return self is not Mode.READ

    @property
    def discards(self) -> bool:
        return self in (Mode.DISCARD_WRITE, Mode.DISCARD_READ_WRITE)

    @property
    def keeping(self) -> Mode:
        """The mode that writes and reads the same and does not discard."""
        return {Mode.DISCARD_WRITE: Mode.WRITE, Mode.DISCARD_READ_WRITE: Mode.READ_WRITE}.get(self, self)

    @classmethod
    def of(cls, mode: Mode | str) -> Mode:
        """Returns the mode of that name. Raises SyclError for other names."""
        try:
            return cls(mode)
        except ValueError:
            raise SyclError(f"'{mode}' is not one of {', '.join(m.value for m in cls)}") from None
