# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory (cl_intel_unified_shared_memory): allocations that hosts know by pointers.

Device allocations are blocks of the heaps that buffers use. The host's pointer is where the board's memory is mapped
into the process or, with FPGART_USM_POINTERS=encoded, the device address with bit 61, as a board has it. The MMD
allocates host and shared allocations from the host's memory. Nothing moves by itself. Each page range of a shared
allocation is on one side, the host's or a device's, and hints and kernels move it to the other.
"""

from __future__ import annotations

import enum
import re
import threading
from collections.abc import Iterator, Sequence
from time import monotonic_ns
from typing import Protocol

from fpgart._native import ffi, lib
from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue, OutOfHostMemory, OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.board.mmd import Capability, Info
from fpgart.runtime.memory.device import OWNERS, Block, Device
from fpgart.runtime.memory.registry import AddressRegistry

PAGE = 4096
TOUCHING = threading.Lock()
"""Guards the sides of shared allocations, and the counts of kernels that may use them."""
DEFAULT_ALIGNMENT = 128  # the largest data type of OpenCL C: long16, double16


class Kind(enum.IntEnum):
    """The kinds of allocations, with the extension's numbers."""

    HOST = cl.CL_MEM_TYPE_HOST_INTEL
    DEVICE = cl.CL_MEM_TYPE_DEVICE_INTEL
    SHARED = cl.CL_MEM_TYPE_SHARED_INTEL


class UsmAllocation:
    """`size` bytes at `pointer`, the host's pointer; `address` is their address in this process.

    `device` is the owner, or None for host allocations and shared ones without an owner. `number` identifies it in
    traces; buffers are numbered in the same sequence. `sides` of a shared allocation says where each range was last, as
    (begin, end, device or None for the host) in bytes, without gaps. TOUCHING guards it.
    """

    __slots__ = (
        "__weakref__",
        "address",
        "block",
        "device",
        "flags",
        "kind",
        "location",
        "number",
        "owners",
        "pointer",
        "reached_by",
        "running",
        "sides",
        "size",
        "watched",
    )

    def __init__(
        self,
        kind: Kind,
        device: Device | None,
        size: int,
        flags: int,
        location: int,
        pointer: int,
        owners: tuple[Device, ...],
        reached_by: tuple[Device, ...] = (),
    ) -> None:
        """`owners`: the first one allocated the memory, the MMDs of the others got its address.

        `reached_by`: the devices whose kernels may use it; by default the owners.
        """
        self.owners = owners
        self.reached_by = reached_by or owners
        self.kind = kind
        self.device = device
        self.size = size
        self.flags = flags
        self.location = location
        self.number = 0
        self.watched = kind is Kind.SHARED and config.touches_are_watched()
        """True if accesses by the host move ranges back to its side."""
        self.running = 0
        """The number of kernels that may use it now; TOUCHING guards it."""
        self.block: Block | None = None
        self.pointer = self.address = pointer
        begins_on_device = flags & cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL
        self.sides: list[tuple[int, int, Device | None]] = [(0, size, device if begins_on_device else None)]

    @property
    def end(self) -> int:
        return self.pointer + self.size

    def board_address(self, pointer: int) -> int:
        """Returns the address in the board's memory map for a device allocation's pointer."""
        assert self.block is not None
        return self.block.address + pointer - self.pointer

    def address_for_board(self, address: int) -> int:
        """Returns the address by which a board knows `address`; that of a device allocation has bit 61."""
        if self.block is None:
            return address
        return self.block.device_address.as_usm_device() + address - self.address

    def translated(self, pointer: int) -> int:
        """Returns the address in this process for the host's `pointer`."""
        return self.address + pointer - self.pointer

    def move(self, offset: int, size: int, side: Device | None, reason: str) -> None:
        """Moves a range of a shared allocation, in whole pages as boards do, to a side, and tells watchers."""
        with TOUCHING:
            self._move(offset, size, side, reason)

    def _move(self, offset: int, size: int, side: Device | None, reason: str) -> None:
        begin, end = offset // PAGE * PAGE, min(self.size, -(-(offset + size) // PAGE) * PAGE)
        owners = {owner for _, _, owner in self._within(begin, end)}
        if owners <= {side}:
            return
        if side is not None and owners - {None, side}:  # one board reaches another's side through the host
            self._move_from_others(begin, end, side, reason)
        now = monotonic_ns()
        moved = sum(stop - start for start, stop, owner in self._within(begin, end) if owner is not side)
        before = [(start, min(stop, begin), owner) for start, stop, owner in self.sides if start < begin]
        behind = [(max(start, end), stop, owner) for start, stop, owner in self.sides if stop > end]
        self.sides = _joined([*before, (begin, end, side), *behind])
        if self.watched and side is not None:
            self._forget_touches(begin, end)
        for listener in NOTICES.usm_migrated:
            listener(self, offset, moved, side, now, reason)

    def _move_from_others(self, begin: int, end: int, side: Device, reason: str) -> None:
        """Moves the parts that are on a third device's side to the host's."""
        for start, stop, owner in list(self._within(begin, end)):
            if owner is not None and owner is not side:
                self._move(start, stop - start, None, reason)

    # What the host touches between kernels, where that is watched

    def used_by_kernel(self) -> None:
        """Counts one more kernel that may use the allocation. The host's accesses since the last one are told first."""
        with TOUCHING:
            if not self.running:
                self.take_touches()
            self.running += 1

    def left_by_kernel(self) -> None:
        with TOUCHING:
            self.running -= 1
            self._forget_touches(0, self.size)

    def take_touches(self) -> None:
        """Moves the pages that the host has accessed back to its side. TOUCHING is held."""
        for begin, end, side in list(self.sides):
            if side is None:
                continue
            pages = -(-(end - begin) // PAGE)
            touched = ffi.new("char[]", pages)
            count = lib.touched_pages(self.pointer + begin, pages, touched)
            if count < 0:
                log.note(
                    "the system does not report which pages of shared memory the host has accessed (/proc/self/pagemap)"
                )
                self.watched = False
                return
            for first, count in _runs(ffi.buffer(touched)[:]):
                offset = begin + first * PAGE
                self._move(offset, min(count * PAGE, self.size - offset), None, "accessed by the host")

    def _forget_touches(self, begin: int, end: int) -> None:
        lib.forget_touches(self.pointer + begin, -(-(end - begin) // PAGE) * PAGE)

    def _within(self, begin: int, end: int) -> Iterator[tuple[int, int, Device | None]]:
        for start, stop, owner in self.sides:
            if start < end and stop > begin:
                yield max(start, begin), min(stop, end), owner


def _runs(marks: bytes) -> Iterator[tuple[int, int]]:
    """Yields the index and the length of each run of ones."""
    for found in re.finditer(b"\1+", marks):
        yield found.start(), found.end() - found.start()


def _joined(parts: list[tuple[int, int, Device | None]]) -> list[tuple[int, int, Device | None]]:
    joined = parts[:1]
    for begin, end, owner in parts[1:]:
        if joined[-1][2] is owner:
            joined[-1] = joined[-1][0], end, owner
        else:
            joined.append((begin, end, owner))
    return joined


# Allocating and freeing


class UsmContext(Protocol):
    """The members of a context that unified shared memory needs."""

    @property
    def devices(self) -> Sequence[Device]: ...

    usm: AddressRegistry[UsmAllocation]


def allocate_device(
    context: UsmContext, device: Device, size: int, flags: int = 0, location: int | None = None
) -> UsmAllocation:
    """Allocates memory of a device, in memory `location` (None: the default one). Raises OutOfResources."""
    device.open()
    device.reap_memory()
    memory = location if location is not None else 0
    block = device.allocate(size, memory, 0, next(OWNERS))
    if block is None:
        raise OutOfResources(
            f"no {size} bytes free in memory '{device.memories.name_of(memory)}' on device {device.id} "
            f"('{device.board.name}')"
        )
    pointer = block.pointer
    if config.USM_POINTERS.value == "encoded":
        pointer = int(block.device_address.as_usm_device())
    allocation = UsmAllocation(Kind.DEVICE, device, size, flags, memory, pointer, (device,))
    allocation.number = block.owner
    allocation.block = block
    allocation.address = block.pointer
    return _made(context, allocation)


def allocate_host(context: UsmContext, size: int, alignment: int, flags: int = 0, location: int = 0) -> UsmAllocation:
    """Allocates host memory for all devices of the context that support it. Raises OutOfHostMemory."""
    return _allocate_for(context, context.devices, Kind.HOST, None, size, alignment, flags, location)


def allocate_shared(
    context: UsmContext, device: Device | None, size: int, alignment: int, flags: int = 0, location: int = 0
) -> UsmAllocation:
    """Allocates memory that the host shares with a device or, with None, with all devices that support it.

    Raises OutOfHostMemory.
    """
    devices = context.devices if device is None else [device]
    return _allocate_for(context, devices, Kind.SHARED, device, size, alignment, flags, location)


def _allocate_for(
    context: UsmContext,
    devices: Sequence[Device],
    kind: Kind,
    owner: Device | None,
    size: int,
    alignment: int,
    flags: int,
    location: int,
) -> UsmAllocation:
    owners = tuple(device for device in devices if supports(device, kind))
    for device in devices:
        if device not in owners:
            log.note(
                f"device {device.id} ('{device.board.name}') has no {kind.name.lower()} allocations: "
                f"its kernels do not reach the {size} bytes allocated for the other devices of the context"
            )
    pointer = 0
    for done, device in enumerate(owners):
        device.open()
        allocate = device.mmd.host_alloc if kind is Kind.HOST else device.mmd.shared_alloc
        if not (given := allocate(size, alignment or DEFAULT_ALIGNMENT, pointer)):
            _free_by(owners[:done], pointer)
            raise OutOfHostMemory(f"no {size} bytes of {kind.name.lower()} memory for device {device.id}")
        pointer = given
    reached_by = owners
    if owner is not None:
        reached_by += tuple(other for other in context.devices if other is not owner and supports(other, kind))
    return _made(context, UsmAllocation(kind, owner, size, flags, location, pointer, owners, reached_by))


def _free_by(owners: tuple[Device, ...], pointer: int) -> None:
    """Frees the memory on each board. The board that allocated it comes last."""
    for device in reversed(owners):
        device.mmd.free(pointer)


def _made(context: UsmContext, allocation: UsmAllocation) -> UsmAllocation:
    allocation.number = allocation.number or next(OWNERS)
    context.usm.add(allocation)
    for listener in NOTICES.usm_allocated:
        listener(allocation)
    return allocation


def free(context: UsmContext, pointer: int) -> None:
    """Frees an allocation without waiting for commands. Raises InvalidValue if the context has none at `pointer`."""
    allocation = context.usm.remove(pointer)
    if allocation is None:
        inside = context.usm.find(pointer)
        words = f"it points into the allocation at {inside.pointer:#x}" if inside else "no allocation is there"
        raise InvalidValue(f"{pointer:#x} was not returned by an allocation function of this context: {words}")
    give_back(allocation)


def give_back(allocation: UsmAllocation) -> None:
    if allocation.watched:
        with TOUCHING:
            if not allocation.running:
                allocation.take_touches()
    for listener in NOTICES.usm_freed:
        listener(allocation)
    if allocation.block is not None:
        allocation.block.release()
    else:
        _free_by(allocation.owners, allocation.pointer)


CAPABILITIES = {
    Kind.HOST: Info.HOST_MEM_CAPABILITIES,
    Kind.DEVICE: Info.DEVICE_MEM_CAPABILITIES,
    Kind.SHARED: Info.SHARED_MEM_CAPABILITIES,
}


def supports(device: Device, kind: Kind) -> bool:
    """True if the board supports allocations of the kind."""
    return Capability.SUPPORTED in device.capabilities(CAPABILITIES[kind])
