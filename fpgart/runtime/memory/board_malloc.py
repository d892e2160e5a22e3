# SPDX-License-Identifier: Apache-2.0
"""Memory of a 66AK2x that the host allocates directly, and that kernels reach without a copy.

The board's DDR3 and on-chip memory belong to the host's processor too. A buffer that is made over such memory
(CL_MEM_USE_HOST_PTR) never moves.
"""

from __future__ import annotations

import threading

from fpgart.runtime.memory.device import Block, Device

NOBODY = 0
"""The blocks' number in traces: they are for no buffer."""


class BoardMalloc:
    """The allocations of a process. Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[int, Block] = {}

    def allocate(self, device: Device, size: int, memory: str = "") -> int:
        """Address of `size` bytes in a memory of the board ("": where a buffer of that size would be); 0 for no room.

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
        """Give an allocation back; an address that is none is left alone."""
        with self._lock:
            block = self._blocks.pop(address, None)
        if block is not None:
            block.release()

    def holds(self, address: int) -> bool:
        """Whether an address is in one of the allocations."""
        if not self._blocks:
            return False
        with self._lock:
            return any(begin <= address < begin + block.range.size for begin, block in self._blocks.items())
