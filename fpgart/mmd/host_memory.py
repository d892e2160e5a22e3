# SPDX-License-Identifier: Apache-2.0
"""Host memory for boards: aocl_mmd_host_alloc and aocl_mmd_shared_alloc."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections.abc import Sequence

from fpgart.board.global_memory import AllocationType
from fpgart.board.mmd import Info, Mmd
from fpgart.mmd.errors import MmdError, Status

BUFFER_LOCATION = 3
"""The property that names a memory by its number. Boards need not support the other two of aocl_mmd.h."""


class HostMemory:
    """The allocations. Any thread may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begins: list[int] = []
        self._found: dict[int, tuple[int, Mmd]] = {}

    def allocate(
        self, boards: Sequence[Mmd], kind: AllocationType, size: int, alignment: int, properties: Sequence[int]
    ) -> int:
        """Allocates memory of `kind` for all of `boards`. Raises MmdError."""
        first = boards[0]
        for board in boards:
            _check_properties(board, properties)
            if not board.description.can_hold(kind):
                raise MmdError(
                    f"board '{board.description.name}' has no {kind.name or kind} memory of {size} bytes to give",
                    Status.OUT_OF_MEMORY,
                )
        if alignment & (alignment - 1):
            raise MmdError(f"an alignment of {alignment} bytes is not a power of two", Status.UNSUPPORTED_ALIGNMENT)
        wanted = alignment or int(first.get_info(Info.MIN_HOST_MEMORY_ALIGNMENT))
        make = first.host_alloc if kind is AllocationType.HOST else first.shared_alloc
        address = make(size, wanted) if size else 0
        if not address:
            raise MmdError(f"{size} bytes of host memory are not available", Status.OUT_OF_MEMORY)
        with self._lock:
            insort(self._begins, address)
            self._found[address] = size, first
        return address

    def free(self, address: int) -> None:
        """Frees an allocation. Raises MmdError if there is none at the address."""
        with self._lock:
            if address not in self._found:
                raise MmdError(f"{address:#x} is not what an allocation returned", Status.INVALID_POINTER)
            _, board = self._found.pop(address)
            self._begins.remove(address)
        board.free(address)

    def holds(self, address: int) -> bool:
        with self._lock:
            place = bisect_right(self._begins, address) - 1
            if place < 0:
                return False
            begin = self._begins[place]
            return address < begin + self._found[begin][0]


def _check_properties(board: Mmd, properties: Sequence[int]) -> None:
    """Raises MmdError for a property that the board does not support. `properties`: names and values in turn."""
    for name, value in zip(properties[::2], properties[1::2], strict=True):
        if name != BUFFER_LOCATION or not 0 <= value < len(board.description.memories):
            raise MmdError(
                f"host memory of board '{board.description.name}' has no property {name} with value {value}",
                Status.UNSUPPORTED_PROPERTY,
            )
