# SPDX-License-Identifier: Apache-2.0
"""The operations behind commands for unified shared memory (cl_intel_unified_shared_memory)."""

from __future__ import annotations

from fpgart._native import ffi, lib
from fpgart.base.errors import InvalidValue
from fpgart.base.notices import NOTICES
from fpgart.board.device_address import USM_DEVICE_BIT
from fpgart.runtime.commands.access import Accesses, AccessMode, MemoryAccess
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.transfers import Filling, Transfer
from fpgart.runtime.memory.block_copy import copy_block
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.usm import Kind, UsmContext
from fpgart.runtime.scheduling.occupancy import Direction


class UsmPointer:
    """A pointer that the host passed with a command: into an allocation, or to other memory of the host."""

    __slots__ = ("address", "allocation")

    def __init__(self, context: UsmContext, address: int, size: int) -> None:
        """Raises InvalidValue if the range exceeds the allocation, or is a board's memory in no allocation."""
        self.address = address
        self.allocation = context.usm.find(address) if len(context.usm) else None
        if self.allocation is None:
            _refuse_memory_of_a_board(context, address)
        elif address + size > self.allocation.end:
            raise InvalidValue(
                f"{size} bytes from {address:#x} leave the allocation, which ends at {self.allocation.end:#x}"
            )

    @property
    def block(self) -> Block | None:
        """The block of a device allocation; None for memory that the host reaches."""
        return self.allocation.block if self.allocation is not None else None

    @property
    def board_address(self) -> int:
        assert self.allocation is not None
        return self.allocation.board_address(self.address)

    def access(self, mode: AccessMode, size: int) -> MemoryAccess:
        """Returns the access to `size` bytes from the pointer on."""
        if self.allocation is None:
            return MemoryAccess(mode, ((self.address, self.address + size),))
        offset = self.address - self.allocation.pointer
        return MemoryAccess(mode, ((offset, offset + size),), allocation=self.allocation, block=self.block)

    def settle_on_host(self, size: int, reason: str) -> None:
        """Moves the range of a shared allocation to the host's side.

        Copies and fills need it there, because the host does them, or the board's DMA does them in the host's memory.
        """
        if self.allocation is not None and self.allocation.kind is Kind.SHARED:
            self.allocation.move(self.address - self.allocation.pointer, size, None, reason)

    def describe(self, key: str, offset: str) -> dict[str, object]:
        """Returns the number of the allocation under `key`, and the offset in it under `offset`."""
        if self.allocation is None:
            return {}
        return {key: self.allocation.number, offset: self.address - self.allocation.pointer}


def _refuse_memory_of_a_board(context: UsmContext, address: int) -> None:
    """Raises InvalidValue for an address in a board's memory that is in no allocation of the context.

    A device allocation that was freed, or that another context has, is no memory of the host: bytes reach it through
    the MMD only. An encoded pointer is no address of the processor at all.
    """
    if address & USM_DEVICE_BIT:
        _tell_refused(address)
        raise InvalidValue(f"{address:#x} is a device's address (bit 61) and in no allocation of this context")
    for device in context.devices[0].platform.devices:
        if not device.board.unified_memory and device.mmd.maps(address):
            _tell_refused(address)
            raise InvalidValue(
                f"{address:#x} is in the memory of device {device.id} ('{device.board.name}') and in no allocation of "
                "this context"
            )


def _tell_refused(address: int) -> None:
    for listener in NOTICES.memory_refused:
        listener(address)


class UsmCopy(Transfer):
    """Copies bytes from one pointer to another: with the MMD if one is a device allocation's, otherwise by the host."""

    __slots__ = ("size", "source", "target")

    def __init__(self, device: Device, target: UsmPointer, source: UsmPointer, size: int) -> None:
        super().__init__(device)
        self.target = target
        self.source = source
        self.size = size

    @property
    def way(self) -> Direction:  # type: ignore[override]
        target, source = self.target.block, self.source.block
        if target is not None and source is not None:
            return Direction.BOTH
        return Direction.IN if target is not None else Direction.OUT if source is not None else Direction.NONE

    def devices(self) -> tuple[Device, ...]:
        blocks = (self.target.block, self.source.block)
        return tuple({block.device: None for block in blocks if block is not None})

    def run(self) -> None:
        target, source, size = self.target, self.source, self.size
        for pointer in (target, source):
            pointer.settle_on_host(size, "clEnqueueMemcpyINTEL")
        if target.block is not None and source.block is not None:
            copy_block(source.block, source.board_address, target.block, target.board_address, size)
        elif target.block is not None:
            target.block.device.mmd.write(source.address, target.board_address, size)
        elif source.block is not None:
            source.block.device.mmd.read(source.board_address, target.address, size)
        else:
            lib.copy_bytes(target.address, source.address, size)

    def accesses(self) -> Accesses:
        return self.target.access(AccessMode.WRITE, self.size), self.source.access(AccessMode.READ, self.size)

    def describe(self) -> dict[str, object]:
        facts: dict[str, object] = {"size": self.size}
        return facts | self.target.describe("allocation", "offset") | self.source.describe("source", "source_offset")


class UsmFill(Transfer):
    """Writes a repeated pattern. It is written to a device allocation by the MMD, at most 1 MiB per call."""

    __slots__ = ("pattern", "size", "target")
    way = Direction.IN

    def __init__(self, device: Device, target: UsmPointer, pattern: bytes, size: int) -> None:
        """Raises InvalidValue for an allocation that the device does not reach."""
        super().__init__(device)
        allocation = target.allocation
        if allocation is not None and device not in allocation.reached_by:
            owners = ", ".join(str(each.id) for each in allocation.owners)
            raise InvalidValue(
                f"{target.address:#x} is in a {allocation.kind.name.lower()} allocation of device {owners}, which "
                f"device {device.id} ('{device.board.name}') does not reach"
            )
        self.target = target
        self.pattern = pattern
        self.size = size

    def devices(self) -> tuple[Device, ...]:
        block = self.target.block
        return () if block is None else (block.device,)

    def run(self) -> None:
        target, block = self.target, self.target.block
        target.settle_on_host(self.size, "clEnqueueMemFillINTEL")
        if block is None:
            lib.fill_bytes(target.address, ffi.from_buffer(self.pattern), len(self.pattern), self.size)
            return
        filled = Filling(self.pattern, self.size)
        for done, size in filled.pieces():
            block.device.mmd.write(filled.address, target.board_address + done, size)

    def accesses(self) -> Accesses:
        return (self.target.access(AccessMode.WRITE, self.size),)

    def describe(self) -> dict[str, object]:
        facts: dict[str, object] = {"size": self.size}
        return facts | self.target.describe("allocation", "offset")


def by_host(operation: UsmCopy | UsmFill) -> UsmCopy | UsmFill | HostWork:
    """Returns the operation, or the same work as HostWork if its pointers lead to memory that the host reaches."""
    if operation.devices():
        return operation
    return HostWork(operation.device, operation.run, accesses=operation.accesses)
