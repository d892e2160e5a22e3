# SPDX-License-Identifier: Apache-2.0
"""The operations behind commands for unified shared memory (cl_intel_unified_shared_memory)."""

from __future__ import annotations

from fpgart._native import ffi, lib
from fpgart.errors import InvalidValue
from fpgart.runtime.commands.transfers import FILL_CHUNK, Transfer
from fpgart.runtime.memory.block_copy import copy_block
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.memory.usm import Kind, UsmAllocation, UsmContext
from fpgart.runtime.scheduling.occupancy import Direction


class Place:
    """A pointer that a command was given: into an allocation, or into the host's other memory."""

    __slots__ = ("allocation", "pointer")

    def __init__(self, context: UsmContext, pointer: int, size: int) -> None:
        """Raises InvalidValue for a range that begins in an allocation and leaves it."""
        self.pointer = pointer
        self.allocation = context.usm.find(pointer) if len(context.usm) else None
        if self.allocation is not None and pointer + size > self.allocation.end:
            raise InvalidValue(
                f"{size} bytes from {pointer:#x} leave the allocation, which ends at {self.allocation.end:#x}"
            )

    @property
    def block(self) -> Block | None:
        """The block of a device allocation; None for memory that the host reaches."""
        return self.allocation.block if self.allocation is not None else None

    @property
    def board_address(self) -> int:
        assert self.allocation is not None
        return self.allocation.board_address(self.pointer)


class UsmTransfer(Transfer):
    """What copying and filling have in common: the devices of their allocations are kept busy."""

    __slots__ = ("places", "size")
    name_of_command = ""

    def __init__(self, device: Device, places: tuple[Place, ...], size: int) -> None:
        super().__init__(device)
        self.places = places
        self.size = size

    @property
    def allocations(self) -> list[UsmAllocation]:
        return [place.allocation for place in self.places if place.allocation is not None]

    def devices(self) -> tuple[Device, ...]:
        return tuple({place.block.device: None for place in self.places if place.block is not None})

    def run(self) -> None:
        raise NotImplementedError

    def settle_on_host(self) -> None:
        """Who copies or fills shared memory is the host, or the board's DMA in the host's memory."""
        for place in self.places:
            allocation = place.allocation
            if allocation is not None and allocation.kind is Kind.SHARED:
                allocation.move(place.pointer - allocation.pointer, self.size, None, self.name_of_command)


class UsmCopy(UsmTransfer):
    """Bytes from one pointer to another: through the MMD where a side is a device's, else by the host."""

    __slots__ = ()
    name_of_command = "clEnqueueMemcpyINTEL"

    @property
    def way(self) -> Direction:  # type: ignore[override]
        target, source = (place.block for place in self.places)
        if target is not None and source is not None:
            return Direction.BOTH
        return Direction.IN if target is not None else Direction.OUT if source is not None else Direction.NONE

    @property
    def direction(self) -> Direction:
        if not self.devices():
            return Direction.NONE
        return self.device.occupancy.lanes(self.way)

    def run(self) -> None:
        self.settle_on_host()
        target, source = self.places
        if target.block is not None and source.block is not None:
            copy_block(source.block, source.board_address, target.block, target.board_address, self.size)
        elif target.block is not None:
            target.block.device.mmd.write(source.pointer, target.board_address, self.size)
        elif source.block is not None:
            source.block.device.mmd.read(source.board_address, target.pointer, self.size)
        else:
            lib.copy_bytes(target.pointer, source.pointer, self.size)


class UsmFill(UsmTransfer):
    """A repeated pattern, written from the host at most 1 MiB at a time where the memory is a device's."""

    __slots__ = ("pattern",)
    name_of_command = "clEnqueueMemFillINTEL"
    way = Direction.IN

    def __init__(self, device: Device, place: Place, pattern: bytes, size: int) -> None:
        super().__init__(device, (place,), size)
        self.pattern = pattern

    def run(self) -> None:
        self.settle_on_host()
        (place,) = self.places
        block = place.block
        if block is None:
            lib.fill_bytes(place.pointer, ffi.from_buffer(self.pattern), len(self.pattern), self.size)
            return
        step = min(self.size, FILL_CHUNK)
        source = HostStore(step)
        lib.fill_bytes(source.address, ffi.from_buffer(self.pattern), len(self.pattern), step)
        for done in range(0, self.size, step):
            size = min(step, self.size - done)
            block.device.mmd.write(source.address, place.board_address + done, size)
