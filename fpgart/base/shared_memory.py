# SPDX-License-Identifier: Apache-2.0
"""Defines the memory that a host shares with its board process."""

from __future__ import annotations

from typing import Protocol


class SharedMemory(Protocol):
    """Memory of this process and of a board process: a file, mapped at the same addresses in both."""

    descriptor: int
    begin: int
    size: int

    def allocate(self, size: int) -> int:
        """Returns the address of `size` bytes of zeros; 0 if there is no room."""

    def free(self, address: int) -> None:
        """Frees an allocation."""
