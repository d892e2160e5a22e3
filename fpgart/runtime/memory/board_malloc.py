# SPDX-License-Identifier: Apache-2.0
"""Allocations of a 66AK2x's memory by the host, which kernels use without a copy.

The host's processor uses the board's DDR3 and on-chip memory too. A buffer that is created over such memory
(CL_MEM_USE_HOST_PTR) never moves.
"""

from __future__ import annotations

import threading

from fpgart.runtime.memory.device import Block, Device

NOBODY = 0
"""The owner of the blocks in traces: no buffer."""


class BoardMalloc:
    """The allocations of a process. Any thread may call the methods."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[int, Block] = {}

    def allocate(self, device: Device, size: int, memory: str = "") -> int:
        """Returns the address of `size` bytes in a memory of the board, or 0 if it has no room.

        "" is the memory that a buffer of that size would be in.

        Raises DeviceNotAvailable.
        """
        device.open()
        device.reap_memory()
        block = device.allocate(size, device.memories.memory_for(memory), 0, NOBODY)
        if block is None:
            return 0
        with self._lock:
            self._blocks[block.pointer] = block
        return block.pointer

    def free(self, address: int) -> None:
        """Frees an allocation. It ignores an address that is none."""
        with self._lock:
            block = self._blocks.pop(address, None)
        if block is not None:
            block.release()

    def holds(self, address: int) -> bool:
        if not self._blocks:
            return False
        with self._lock:
            return any(begin <= address < begin + block.range.size for begin, block in self._blocks.items())
