# SPDX-License-Identifier: Apache-2.0
"""Host memory that the driver allocates to map a buffer into."""

from __future__ import annotations

from fpgart._native import lib
from fpgart.base.errors import OutOfHostMemory
from fpgart.board.first_fit import round_up

PAGE = 4096


class HostStore:
    """Page-aligned host memory for a buffer's contents. It is unmapped when the object is destroyed."""

    __slots__ = ("address", "size")

    def __init__(self, size: int, address: int = 0) -> None:
        """`address`: of memory that has been mapped for it; 0 maps some. Raises OutOfHostMemory."""
        self.size = round_up(size, PAGE)
        self.address = address or int(lib.map_anonymous(self.size))
        if not self.address:
            raise OutOfHostMemory(f"no {size} bytes of host memory to map a buffer into")

    def __del__(self) -> None:
        lib.unmap(self.address, self.size)
