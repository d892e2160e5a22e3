# SPDX-License-Identifier: Apache-2.0
"""The buffer at each address of a board, because calls through the MMD carry addresses only."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections.abc import Callable

from fpgart.runtime.memory.device import Block


class Blocks:
    """The live blocks of all devices, by address."""

    def __init__(self) -> None:
        self._begins: dict[int, list[int]] = {}
        self._blocks: dict[tuple[int, int], Block] = {}
        self._lock = threading.Lock()
        self.write_first: Callable[[], None] = lambda: None
        """Writes the events of launches that C carries, which name blocks."""

    def add(self, block: Block) -> None:
        device = block.device.id
        with self._lock:
            insort(self._begins.setdefault(device, []), block.address)
            self._blocks[device, block.address] = block

    def remove(self, block: Block) -> None:
        self.write_first()
        device = block.device.id
        with self._lock:
            if self._blocks.pop((device, block.address), None) is not None:
                begins = self._begins[device]
                del begins[bisect_right(begins, block.address) - 1]

    def mapped_at(self, device: int, pointer: int) -> Block | None:
        """Returns the block of a device that begins at an address of this process."""
        with self._lock:
            found = (block for (of, _), block in self._blocks.items() if of == device and block.pointer == pointer)
            return next(found, None)

    def owner(self, device: int, address: int) -> int:
        """Returns the number of the buffer at an address of a device; 0 for none."""
        with self._lock:
            begins = self._begins.get(device, [])
            index = bisect_right(begins, address) - 1
            if index < 0:
                return 0
            block = self._blocks[device, begins[index]]
        return block.owner if address < block.address + block.range.size else 0
