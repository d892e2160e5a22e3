# SPDX-License-Identifier: Apache-2.0
"""Buffers and sub-buffers (OpenCL 3.0, 5.2): their contents, and the regions of them that the host has mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpgart._native import lib
from fpgart.base import opencl as cl
from fpgart.base.closed_memory import driver_address
from fpgart.base.errors import InvalidValue
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.block_copy import copy_block
from fpgart.runtime.memory.device import OWNERS, Block, Device
from fpgart.runtime.memory.residency import Residency
from fpgart.runtime.scheduling.reaper import Destructible

if TYPE_CHECKING:
    from fpgart.runtime.memory.placement import Placement

NOT_FOR_HOST_READS = cl.CL_MEM_HOST_WRITE_ONLY | cl.CL_MEM_HOST_NO_ACCESS
NOT_FOR_HOST_WRITES = cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS
HOST_WRITES = cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION


class Buffer(Residency, Destructible):
    """A buffer, or a sub-buffer if `parent` is set."""

    handle = 0
    parent: Buffer | None
    mappings: dict[int, list[tuple[int, int, int]]] | None = None
    map_count = 0
    svm = False
    stays_on_host = False
    """True if kernels use the host's memory that the buffer is made over: its contents never move."""

    def __init__(
        self,
        context: Placement,
        flags: int,
        size: int,
        host_ptr: int = 0,
        *,
        parent: Buffer | None = None,
        origin: int = 0,
        property_list: tuple[int, ...] | None = None,
        bank: int = 0,
        location: int | None = None,
    ) -> None:
        self.number = next(OWNERS)
        self.context = context
        self.flags = flags
        self.size = size
        self.parent = parent
        self.origin = origin
        self.property_list = property_list
        self.bank = bank
        self.location = location
        if host_ptr and flags & cl.CL_MEM_USE_HOST_PTR:
            self.host_ptr = host_ptr
            self.on_host = True
            self.svm = context.svm.find(host_ptr) is not None
            self.stays_on_host = self.svm or context.unified_memory or context.malloced.holds(host_ptr)
        for listener in NOTICES.buffer_created:
            listener(self)

    # Contents; offsets count from the buffer's own begin

    def write_from(self, host: int, offset: int, size: int) -> None:
        block = self.settled()
        if block is None:
            lib.copy_bytes(driver_address(self.host_address()) + offset, driver_address(host), size)
        else:
            block.device.mmd.write(host, block.range.address + self.origin + offset, size)

    def read_into(self, host: int, offset: int, size: int) -> None:
        block = self.settled()
        if block is None:
            lib.copy_bytes(driver_address(host), driver_address(self.host_address()) + offset, size)
        else:
            block.device.mmd.read(block.range.address + self.origin + offset, host, size)

    def copy_to(self, other: Buffer, offset: int, other_offset: int, size: int) -> None:
        source, target = self.settled(), other.settled()
        if source is None:
            other.write_from(self.host_address() + offset, other_offset, size)
        elif target is None:
            self.read_into(other.host_address() + other_offset, offset, size)
        else:
            from_address = source.address + self.origin + offset
            copy_block(source, from_address, target, target.address + other.origin + other_offset, size)

    # Mapping

    def map(self, offset: int, size: int, flags: int, block: Block | None = None) -> int:
        """Adds a mapping and returns its host address. map_in() copies the contents.

        With `block` that is an address in the block: the host uses the board's memory itself.
        """
        pointer = self.host_address() + offset if block is None else block.pointer + self.origin + offset
        self.add_mapping(pointer, (offset, size, flags))
        for listener in NOTICES.region_mapped:
            listener(self, pointer, offset, size, flags)
        return pointer

    def add_mapping(self, pointer: int, region: tuple[int, int, int]) -> None:
        """Records that the host has mapped a region: offset and size in bytes, map flags."""
        with self.context.placing:
            if self.mappings is None:
                self.mappings = {}
            self.mappings.setdefault(pointer, []).append(region)
            self.map_count += 1

    def map_in(self, pointer: int, offset: int, size: int, flags: int) -> None:
        if not flags & cl.CL_MAP_WRITE_INVALIDATE_REGION and self.settled() is not None:
            self.read_into(pointer, offset, size)

    def unmap(self, pointer: int) -> tuple[int, int, int]:
        """Removes a mapping and returns its offset, size and flags.

        Raises InvalidValue for a pointer that is no mapping of this buffer.
        """
        with self.context.placing:
            regions = (self.mappings or {}).get(pointer)
            if not regions or self.mappings is None:
                raise InvalidValue(f"{pointer:#x} is not the address of a mapping of this buffer")
            region = regions.pop()
            if not regions:
                del self.mappings[pointer]
            self.map_count -= 1
        for listener in NOTICES.region_unmapped:
            listener(self, pointer, *region)
        return region

    def void_mapping(self, pointer: int, region: tuple[int, int, int]) -> None:
        """Records that a mapping did not get its contents, so that unmapping it writes nothing back.

        The host may have unmapped it already.
        """
        with self.context.placing:
            regions = (self.mappings or {}).get(pointer, [])
            if region in regions:
                regions.remove(region)
                regions.append((region[0], region[1], 0))

    def reserve_for_mapping(self, device: Device) -> Block | None:
        """Returns a block that the host uses in place, reserved until leave_mapping().

        Returns None if regions are mapped in memory of the host.
        """
        if not self.context.maps_in_place or not device.knows_memories or self.owner.stays_on_host:
            return None
        return self.reserve(device, mapped=True)

    def mapped_block(self, pointer: int) -> Block | None:
        """Returns the block that contains a mapping, or None."""
        blocks = self.owner.blocks or {}
        return next((b for b in blocks.values() if b.pointer <= pointer < b.pointer + b.range.size), None)

    def leave_mapping(self, block: Block) -> None:
        """Ends the host's use of a block that reserve_for_mapping() returned."""
        with self.context.placing:
            block.mapped -= 1
        self.owner.drop_unused()

    def map_out(self, pointer: int, region: tuple[int, int, int]) -> None:
        offset, size, flags = region
        if flags & HOST_WRITES and self.settled() is not None:
            self.write_from(pointer, offset, size)

    # The end

    def __del__(self) -> None:
        blocks, self.blocks = self.blocks, None  # the collector destroys its reservation, too, which frees those here
        if blocks or self.destructors:
            reaper = self.context.reaper
            reaper.extend(self.destructors)
            for block in (blocks or {}).values():
                reaper.free_later(block.release)
        for listener in NOTICES.buffer_destroyed:
            listener(self.number)
