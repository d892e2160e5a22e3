# SPDX-License-Identifier: Apache-2.0
"""Devices: a board behind its MMD, and what is known about the engine that runs its kernels."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fpgart.board.description import BoardDescription, GlobalMemory
from fpgart.board.device_address import DeviceAddress
from fpgart.board.first_fit import FirstFit
from fpgart.board.mmd import BoardError, Mmd
from fpgart.errors import DeviceNotAvailable

if TYPE_CHECKING:
    from fpgart.runtime.platform import Platform
    from fpgart.runtime.scheduler import Scheduler


class Block:
    """A range of a device's memory, held until release()."""

    __slots__ = ("address", "device", "memory", "placement", "size")

    def __init__(
        self, device: Device, memory: GlobalMemory, address: int, size: int, placement: Placement | None
    ) -> None:
        self.device = device
        self.memory = memory
        self.address = address
        self.size = size
        self.placement = placement

    @property
    def device_address(self) -> DeviceAddress:
        return DeviceAddress.of(self.device.id, self.address)

    def release(self) -> None:
        self.device.free(self)


REMEMBERED = 64  # placements that a device's history holds


@dataclass(slots=True)
class Placement:
    """A block that was claimed; addresses are the board's, sizes in bytes."""

    address: int
    size: int
    memory: str
    bank: int
    freed: bool = False


class Device:
    """An OpenCL device (OpenCL 3.0, 4.2): one board.

    `id` is its number on the platform, and in its device addresses.
    """

    def __init__(self, platform: Platform, scheduler: Scheduler, id: int, mmd: Mmd) -> None:
        self.handle = 0
        self.platform = platform
        self.scheduler = scheduler
        self.id = id
        self.mmd = mmd
        self.ready_transfers = scheduler.new_place()
        self.ready_kernels = scheduler.new_place()
        self.transferring = False
        self._allocators = [FirstFit(m.usable_begin, m.end) for m in mmd.description.memories]
        self._allocating = threading.Lock()
        self._opened = False
        self.history: list[Placement] = []
        self.forgotten = 0
        self.kernels_run = 0
        self.kernel_ns = 0

    @property
    def board(self) -> BoardDescription:
        return self.mmd.description

    @property
    def max_mem_alloc_size(self) -> int:
        """Bytes of the largest buffer that fits an empty board."""
        return self.board.largest_allocation

    def open(self) -> None:
        """Power up the board; raises DeviceNotAvailable when it cannot be."""
        if not self._opened:
            try:
                self.mmd.open()
            except BoardError as error:
                raise DeviceNotAvailable(str(error)) from None
            self._opened = True

    def default_memory(self, size: int) -> int | None:
        """Index of the lowest device-private memory that can hold `size` bytes at all."""
        fitting = [m for m in self.board.device_private if m.usable_size >= size]
        if not fitting:
            return None
        return self.board.memories.index(min(fitting, key=lambda memory: memory.begin))

    def allocate(self, size: int, memory: int | None = None) -> Block | None:
        """First fit in a memory, by default the default one; None when nothing is free there."""
        self.open()
        index = self.default_memory(size) if memory is None else memory
        if index is None:
            return None
        with self._allocating:
            address = self._allocators[index].allocate(size)
        if address is None:
            return None
        chosen = self.board.memories[index]
        return Block(self, chosen, address, size, self._remember(chosen, address, size))

    def free(self, block: Block) -> None:
        with self._allocating:
            self._allocators[self.board.memories.index(block.memory)].free(block.address, block.size)
        if block.placement is not None:
            block.placement.freed = True

    def _remember(self, memory: GlobalMemory, address: int, size: int) -> Placement | None:
        if len(self.history) >= REMEMBERED:
            self.forgotten += 1
            return None
        placement = Placement(address, size, memory.name, memory.bank_of(address))
        self.history.append(placement)
        return placement
