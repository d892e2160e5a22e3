# SPDX-License-Identifier: Apache-2.0
"""The operations behind mapping and unmapping buffers (OpenCL 3.0, 5.4.2)."""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.runtime.commands.access import Accesses, AccessMode, MemoryAccess
from fpgart.runtime.commands.transfers import BufferTransfer
from fpgart.runtime.memory.buffer import HOST_WRITES, Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.occupancy import Direction

FLAGS = {cl.CL_MAP_READ: "READ", cl.CL_MAP_WRITE: "WRITE", cl.CL_MAP_WRITE_INVALIDATE_REGION: "INVALIDATE"}


class MappingTransfer(BufferTransfer):
    """A region of a buffer, and the memory from `pointer` on in which the host has mapped it."""

    __slots__ = ("flags", "pointer")

    def __init__(self, device: Device, buffer: Buffer, pointer: int, region: tuple[int, int, int]) -> None:
        """`region`: offset and size in bytes, map flags."""
        super().__init__(device, buffer, region[0], region[1])
        self.pointer = pointer
        self.flags = region[2]

    def accesses_as(self, buffer: AccessMode, host: AccessMode) -> Accesses:
        mapping = MemoryAccess(host, ((self.pointer, self.pointer + self.size),), mapped=True)
        return MemoryAccess(buffer, (self.span(),), buffer=self.buffer), mapping

    def describe(self) -> dict[str, object]:
        return super().describe() | {"flags": "|".join(word for flag, word in FLAGS.items() if self.flags & flag)}


class MapBuffer(MappingTransfer):
    """Copies the contents of a region to where the host has mapped it."""

    __slots__ = ()
    way = Direction.OUT

    def run(self) -> None:
        try:
            self.buffer.map_in(self.pointer, self.offset, self.size, self.flags)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Marks the mapping as one without contents, so that unmapping it writes nothing back."""
        self.buffer.void_mapping(self.pointer, (self.offset, self.size, self.flags))

    def accesses(self) -> Accesses:
        if self.flags & cl.CL_MAP_WRITE_INVALIDATE_REGION:
            return ()
        return self.accesses_as(AccessMode.READ, AccessMode.WRITE)


class UnmapBuffer(MappingTransfer):
    """Writes a region back to the buffer if it was mapped for writing."""

    __slots__ = ()
    way = Direction.IN

    def run(self) -> None:
        self.buffer.map_out(self.pointer, (self.offset, self.size, self.flags))

    def accesses(self) -> Accesses:
        return self.accesses_as(AccessMode.WRITE, AccessMode.READ) if self.flags & HOST_WRITES else ()
