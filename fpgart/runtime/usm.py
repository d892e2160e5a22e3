# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory (cl_intel_unified_shared_memory): allocations that hosts know by pointers.

Device allocations borrow the buffers' first-fit space; the host sees them where the board's memory is mapped
into the process or, with FPGART_USM_POINTERS=encoded, as the device address with bit 61, as a board has it.
Host and shared allocations are host memory from the MMD. Nothing moves by itself, except that a shared
allocation is on one side or the other, page range by page range, as hints and kernels say.
"""

from __future__ import annotations

import enum
import re
import threading
from bisect import insort
from collections.abc import Iterator
from time import monotonic_ns
from typing import TYPE_CHECKING

from fpgart import config, log
from fpgart import opencl as cl
from fpgart._native import ffi, lib
from fpgart.board.mmd import Capability, Info
from fpgart.errors import InvalidValue, OutOfHostMemory, OutOfResources
from fpgart.notices import NOTICES
from fpgart.runtime.buffer import NUMBERS, HostStore, copy_block
from fpgart.runtime.device import Block, Device
from fpgart.runtime.occupancy import Direction
from fpgart.runtime.transfers import FILL_CHUNK, Transfer

if TYPE_CHECKING:
    from fpgart.runtime.context import Context

PAGE = 4096
TOUCHING = threading.Lock()
DEFAULT_ALIGNMENT = 128  # the largest data type of OpenCL C: long16, double16


class Kind(enum.IntEnum):
    """The kinds of allocations; the numbers are the extension's."""

    HOST = cl.CL_MEM_TYPE_HOST_INTEL
    DEVICE = cl.CL_MEM_TYPE_DEVICE_INTEL
    SHARED = cl.CL_MEM_TYPE_SHARED_INTEL


class UsmAllocation:
    """`size` bytes at `pointer`, which is what the host knows; `address` is where they are in this process.

    `device` is its owner, None for host allocations and shared ones without an owner; the devices that reach it are
    its `givers`. `number` is its name in
    traces, from the same row as buffers' numbers. `sides` of a shared allocation: where each range last was, as
    (begin, end, device or None for the host), in bytes, without gaps.
    """

    __slots__ = (
        "address",
        "block",
        "device",
        "flags",
        "givers",
        "kind",
        "location",
        "number",
        "pointer",
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
        givers: tuple[Device, ...],
    ) -> None:
        """`givers`: the devices whose MMDs gave the memory, and which reach it; the first one has allocated it."""
        self.givers = givers
        self.kind = kind
        self.device = device
        self.size = size
        self.flags = flags
        self.location = location
        self.number = 0
        self.watched = kind is Kind.SHARED and config.touches_are_watched()
        """Whether the host's touches bring ranges back to its side."""
        self.running = 0
        """Kernels that may touch it now; TOUCHING guards it."""
        self.block: Block | None = None
        self.pointer = self.address = pointer
        begins_on_device = flags & cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL
        self.sides: list[tuple[int, int, Device | None]] = [(0, size, device if begins_on_device else None)]

    @property
    def end(self) -> int:
        return self.pointer + self.size

    def board_address(self, pointer: int) -> int:
        """A device allocation's pointer in the board's memory map."""
        assert self.block is not None
        return self.block.address + pointer - self.pointer

    def address_for_board(self, address: int) -> int:
        """What a board knows this address in the process by: a device allocation's has bit 61."""
        if self.block is None:
            return address
        return self.block.device_address.as_usm_device() + address - self.address

    def translated(self, pointer: int) -> int:
        """Where a kernel finds what `pointer` stands for."""
        return self.address + pointer - self.pointer

    def move(self, offset: int, size: int, side: Device | None, reason: str) -> None:
        """A range of a shared allocation goes to a side; page by page, as boards do. Tells what was elsewhere."""
        begin, end = offset // PAGE * PAGE, min(self.size, -(-(offset + size) // PAGE) * PAGE)
        if all(owner is side for _, _, owner in self._within(begin, end)):
            return
        now = monotonic_ns()
        moved = sum(stop - start for start, stop, owner in self._within(begin, end) if owner is not side)
        kept = list(self._without(begin, end))
        insort(kept, (begin, end, side), key=lambda part: part[0])
        self.sides = _joined(kept)
        if self.watched and side is not None:
            self._forget_touches(begin, end)
        for listener in NOTICES.usm_migrated:
            listener(self, offset, moved, side, now, reason)

    # What the host touches between kernels, where that is watched

    def used_by_kernel(self) -> None:
        """One more kernel may touch it from now on; what the host has touched since the last one is told first."""
        with TOUCHING:
            if not self.running:
                self.take_touches()
            self.running += 1

    def left_by_kernel(self) -> None:
        with TOUCHING:
            self.running -= 1
            self._forget_touches(0, self.size)

    def take_touches(self) -> None:
        """What the host has touched of ranges on a device's side is on the host's again."""
        for begin, end, side in list(self.sides):
            if side is None:
                continue
            pages = -(-(end - begin) // PAGE)
            touched = ffi.new("char[]", pages)
            count = lib.touched_pages(self.pointer + begin, pages, touched)
            if count < 0:
                log.note(
                    "the system does not tell which pages of shared memory the host has touched (/proc/self/pagemap)"
                )
                self.watched = False
                return
            for first, count in _runs(ffi.buffer(touched)[:]):
                offset = begin + first * PAGE
                self.move(offset, min(count * PAGE, self.size - offset), None, "touched by the host")

    def _forget_touches(self, begin: int, end: int) -> None:
        lib.forget_touches(self.pointer + begin, -(-(end - begin) // PAGE) * PAGE)

    def _within(self, begin: int, end: int) -> Iterator[tuple[int, int, Device | None]]:
        for start, stop, owner in self.sides:
            if start < end and stop > begin:
                yield max(start, begin), min(stop, end), owner

    def _without(self, begin: int, end: int) -> Iterator[tuple[int, int, Device | None]]:
        for start, stop, owner in self.sides:
            if start < begin:
                yield start, min(stop, begin), owner
            if stop > end:
                yield max(start, end), stop, owner


def _runs(marks: bytes) -> Iterator[tuple[int, int]]:
    """Index and length of each run of ones."""
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


def allocate_device(
    context: Context, device: Device, size: int, flags: int = 0, location: int | None = None
) -> UsmAllocation:
    """Memory of a device, in memory `location` (None: the default one). Raises OutOfResources."""
    device.open()
    memory = location if location is not None else 0
    block = device.allocate(size, memory, 0, next(NUMBERS))
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


def allocate_host(context: Context, size: int, alignment: int, flags: int = 0, location: int = 0) -> UsmAllocation:
    """Memory of the host that all devices of the context reach, as far as they can. Raises OutOfHostMemory."""
    return _allocate_for(context, context.devices, Kind.HOST, None, size, alignment, flags, location)


def allocate_shared(
    context: Context, device: Device | None, size: int, alignment: int, flags: int = 0, location: int = 0
) -> UsmAllocation:
    """Memory that a device shares with the host, or (None) all devices of the context that can.

    Raises OutOfHostMemory.
    """
    devices = context.devices if device is None else [device]
    return _allocate_for(context, devices, Kind.SHARED, device, size, alignment, flags, location)


def _allocate_for(
    context: Context,
    devices: list[Device],
    kind: Kind,
    owner: Device | None,
    size: int,
    alignment: int,
    flags: int,
    location: int,
) -> UsmAllocation:
    givers = tuple(device for device in devices if supports(device, kind))
    for device in devices:
        if device not in givers:
            log.note(
                f"device {device.id} ('{device.board.name}') has no {kind.name.lower()} allocations: "
                f"its kernels do not reach the {size} bytes allocated for the other devices of the context"
            )
    pointer = 0
    for done, device in enumerate(givers):
        device.open()
        allocate = device.mmd.host_alloc if kind is Kind.HOST else device.mmd.shared_alloc
        if not (given := allocate(size, alignment or DEFAULT_ALIGNMENT, pointer)):
            _free_by(givers[:done], pointer)
            raise OutOfHostMemory(f"no {size} bytes of {kind.name.lower()} memory for device {device.id}")
        pointer = given
    return _made(context, UsmAllocation(kind, owner, size, flags, location, pointer, givers))


def _free_by(givers: tuple[Device, ...], pointer: int) -> None:
    """The board that has allocated the memory is the last to give it back."""
    for device in reversed(givers):
        device.mmd.free(pointer)


def _made(context: Context, allocation: UsmAllocation) -> UsmAllocation:
    allocation.number = allocation.number or next(NUMBERS)
    context.usm.add(allocation)
    for listener in NOTICES.usm_allocated:
        listener(allocation)
    return allocation


def free(context: Context, pointer: int) -> None:
    """Give an allocation back; waits for nobody. Raises InvalidValue for what is none of this context."""
    allocation = context.usm.remove(pointer)
    if allocation is None:
        inside = context.usm.find(pointer)
        words = f"it points into the allocation at {inside.pointer:#x}" if inside else "no allocation is there"
        raise InvalidValue(f"{pointer:#x} was not given by an allocation function of this context: {words}")
    give_back(allocation)


def give_back(allocation: UsmAllocation) -> None:
    if allocation.watched and not allocation.running:
        allocation.take_touches()
    for listener in NOTICES.usm_freed:
        listener(allocation)
    if allocation.block is not None:
        allocation.block.release()
    else:
        _free_by(allocation.givers, allocation.pointer)


# Commands


class Place:
    """A pointer that a command was given: into an allocation, or into the host's other memory."""

    __slots__ = ("allocation", "pointer")

    def __init__(self, context: Context, pointer: int, size: int) -> None:
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


# What a kernel touches


class Indirect(enum.IntFlag):
    """Kinds of allocations that a kernel may reach through pointers that are no arguments."""

    NONE = 0
    HOST = 1
    DEVICE = 2
    SHARED = 4

    @classmethod
    def of(cls, kind: Kind) -> Indirect:
        return cls[kind.name]


class UsmUse:
    """The allocations that a launch was given, and the kinds that it may reach besides."""

    __slots__ = ("allocations", "indirect")

    def __init__(self, allocations: list[UsmAllocation], indirect: Indirect) -> None:
        self.allocations = allocations
        self.indirect = indirect

    def may_touch(self, allocation: UsmAllocation) -> bool:
        return allocation in self.allocations or bool(self.indirect & Indirect.of(allocation.kind))

    def bring(self, context: Context, device: Device, reason: str) -> list[UsmAllocation]:
        """Shared allocations are on the device's side when the kernel runs. Gives those whose touches are watched."""
        wanted = list(self.allocations)
        if self.indirect & Indirect.SHARED:
            wanted += [a for a in context.usm.all() if a.kind is Kind.SHARED and device in a.givers]
        watched = []
        for allocation in wanted:
            if allocation.kind is Kind.SHARED:
                if allocation.watched:
                    allocation.used_by_kernel()
                    watched.append(allocation)
                allocation.move(0, allocation.size, device, reason)
        return watched


def uses(operation: object, allocation: UsmAllocation) -> bool:
    """Whether a command that has not ended may touch an allocation."""
    transfer = getattr(operation, "transfer", operation)
    if isinstance(transfer, UsmTransfer):
        return allocation in transfer.allocations
    use = getattr(getattr(operation, "launch", operation), "usm", None)
    return isinstance(use, UsmUse) and use.may_touch(allocation)


def blocking_free(context: Context, pointer: int) -> None:
    """free() after every command that may use the allocation, in any queue of the context, has ended."""
    allocation = context.usm.at(pointer)
    if allocation is not None:
        for event in context.scheduler.unfinished(context.all_queues()):
            if uses(event.operation, allocation):
                context.scheduler.wait(event)
                for listener in NOTICES.end_observed:
                    listener(event)
    free(context, pointer)


CAPABILITIES = {
    Kind.HOST: Info.HOST_MEM_CAPABILITIES,
    Kind.DEVICE: Info.DEVICE_MEM_CAPABILITIES,
    Kind.SHARED: Info.SHARED_MEM_CAPABILITIES,
}


def supports(device: Device, kind: Kind) -> bool:
    """Whether the board's memories take allocations of that kind."""
    return Capability.SUPPORTED in device.capabilities(CAPABILITIES[kind])
