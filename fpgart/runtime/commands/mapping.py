# SPDX-License-Identifier: Apache-2.0
"""The operations behind mapping and unmapping buffers (OpenCL 3.0, 5.4.2)."""

from __future__ import annotations

from fpgart.runtime.commands.transfers import WriteBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.occupancy import Direction


class MapBuffer(WriteBuffer):
    """Bring a region's contents to where it is mapped."""

    __slots__ = ("flags",)
    way = Direction.OUT

    def __init__(self, device: Device, buffer: Buffer, pointer: int, region: tuple[int, int, int]) -> None:
        """`region`: offset and size in bytes, map flags."""
        super().__init__(device, buffer, region[0], region[1], pointer)
        self.flags = region[2]

    def run(self) -> None:
        try:
            self.buffer.map_in(self.host, self.offset, self.size, self.flags)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """The host may unmap what it got no contents in: nothing is written back then."""
        self.buffer.void_mapping(self.host, (self.offset, self.size, self.flags))


class UnmapBuffer(MapBuffer):
    """Write a mapped region back if it was mapped for writing."""

    __slots__ = ()
    way = Direction.IN

    def run(self) -> None:
        self.buffer.map_out(self.host, (self.offset, self.size, self.flags))

    def abandon(self) -> None:
        """The region has been unmapped since the host's call; nothing is written back."""
