# SPDX-License-Identifier: Apache-2.0
"""Memory of the host that a kernel uses and its board process cannot access: copied there and back."""

from __future__ import annotations

from collections.abc import Sequence

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfHostMemory
from fpgart.base.shared_memory import SharedMemory
from fpgart.engine.interface import ARGUMENT, Reach


class _Piece:
    """Host memory that arguments reach; those that overlap are one piece. `copy`: the address that the kernel gets."""

    __slots__ = ("arguments", "begin", "copy", "end", "written")

    def __init__(self, begin: int, end: int, written: bool) -> None:
        self.begin = begin
        self.end = end
        self.written = written
        self.arguments: list[int] = []
        self.copy = 0


class Staged:
    """Copies for one launch, whose arguments become `image`. Raises OutOfHostMemory."""

    def __init__(self, memory: SharedMemory, image: bytes, reaches: Sequence[Reach]) -> None:
        self._memory = memory
        self._pieces = _pieces(memory, reaches)
        self.image = image
        if not self._pieces:
            return
        changed = bytearray(image)
        for piece in self._pieces:
            size = piece.end - piece.begin
            piece.copy = memory.allocate(size)
            if not piece.copy:
                self.give_back()
                raise OutOfHostMemory(f"no {size} bytes for a copy of the host's memory for the board process")
            lib.copy_bytes(piece.copy, piece.begin, size)
            for index in piece.arguments:
                kind, width, value = ARGUMENT.unpack_from(changed, ARGUMENT.size * index)
                ARGUMENT.pack_into(changed, ARGUMENT.size * index, kind, width, value - piece.begin + piece.copy)
        self.image = bytes(changed)

    def copy_back(self) -> None:
        """Copies the memory that the kernel may have written back to the host's."""
        for piece in self._pieces:
            if piece.written:
                lib.copy_bytes(piece.begin, piece.copy, piece.end - piece.begin)

    def give_back(self) -> None:
        """Frees the copies. The kernel has ended, with or without an error."""
        for piece in self._pieces:
            if piece.copy:
                self._memory.free(piece.copy)
                piece.copy = 0


def _pieces(memory: SharedMemory, reaches: Sequence[Reach]) -> list[_Piece]:
    found: list[_Piece] = []
    for index, reach in sorted(enumerate(reaches), key=lambda pair: pair[1].address):
        if not reach.size or memory.begin <= reach.address < memory.begin + memory.size:
            continue
        written = reach.flags != cl.CL_MEM_READ_ONLY
        if found and reach.address < found[-1].end:
            found[-1].end = max(found[-1].end, reach.end)
            found[-1].written |= written
        else:
            found.append(_Piece(reach.address, reach.end, written))
        found[-1].arguments.append(index)
    return found
