# SPDX-License-Identifier: Apache-2.0
"""Buffers and sub-buffers (OpenCL 3.0, 5.2): described at creation, placed at first use.

A buffer has a *block* per device that it is needed on, reserved when a command that needs it is
enqueued. One of them is its *home*, where its contents are; it moves when a kernel runs elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from fpgart import opencl as cl
from fpgart._native import lib
from fpgart.board.first_fit import round_up
from fpgart.errors import InvalidValue, MemObjectAllocationFailure, OutOfHostMemory
from fpgart.runtime.device import Block, Device

if TYPE_CHECKING:
    from fpgart.runtime.context import Context

PAGE = 4096
HOST_WRITES = cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION


class HostStore:
    """Host memory of a buffer, for mapping it; unmapped when the buffer dies."""

    __slots__ = ("address", "size")

    def __init__(self, size: int) -> None:
        self.size = round_up(size, PAGE)
        self.address = int(lib.map_anonymous(self.size))
        if not self.address:
            raise OutOfHostMemory(f"no {size} bytes of host memory to map a buffer into")

    def __del__(self) -> None:
        lib.unmap(self.address, self.size)


class Buffer:
    """A buffer, or (`parent` set) a window of one. `size` and `origin` are in bytes."""

    __slots__ = (
        "__weakref__",
        "blocks",
        "callbacks",
        "context",
        "flags",
        "handle",
        "home",
        "host_ptr",
        "lock",
        "map_count",
        "mappings",
        "origin",
        "parent",
        "property_list",
        "root",
        "size",
        "store",
        "svm",
    )

    def __init__(
        self,
        context: Context,
        flags: int,
        size: int,
        host_ptr: int = 0,
        *,
        parent: Buffer | None = None,
        origin: int = 0,
        property_list: tuple[int, ...] | None = None,
    ) -> None:
        self.handle = 0
        self.context = context
        self.flags = flags
        self.size = size
        self.parent = parent
        self.root: Buffer | None = parent
        self.origin = origin
        self.property_list = property_list
        self.host_ptr = host_ptr if flags & cl.CL_MEM_USE_HOST_PTR else 0
        self.blocks: dict[Device, Block] | None = None
        self.home: Block | None = None
        self.store: HostStore | None = None
        self.callbacks: list[Callable[[], None]] | None = None
        self.mappings: dict[int, list[tuple[int, int, int]]] | None = None
        self.map_count = 0
        self.lock = None if parent else threading.Lock()
        self.svm = bool(self.host_ptr and context.svm and context_svm_base(context, host_ptr) is not None)

    # Placement

    @property
    def owner(self) -> Buffer:
        """The buffer whose blocks hold the contents: the parent of a sub-buffer, else itself."""
        return self.root or self

    @property
    def address_in_host(self) -> int:
        """Where the contents are in the host's own memory, for buffers that stay there."""
        return self.owner.host_ptr + self.origin

    def reserve(self, device: Device) -> Block:
        """The block on `device`, claimed now if there is none.

        Raises MemObjectAllocationFailure when the device's memory has no room.
        """
        owner = self.owner
        blocks = owner.blocks
        if blocks is not None:
            block = blocks.get(device)
            if block is not None:
                return block
        assert owner.lock is not None
        with owner.lock:
            if owner.blocks is None:
                owner.blocks = {}
            if device not in owner.blocks:
                claimed = device.allocate(owner.size)
                if claimed is None:
                    raise MemObjectAllocationFailure(
                        f"no {owner.size} bytes free on device {device.id} ('{device.board.name}')"
                    )
                owner.blocks[device] = claimed
            return owner.blocks[device]

    def bind(self, device: Device) -> None:
        """Make sure that the buffer has a place, on `device` if it has none yet.

        Contents in the host's own memory (CL_MEM_USE_HOST_PTR) stay there until a kernel needs them.
        """
        owner = self.owner
        if owner.blocks is None and not owner.host_ptr:
            self.reserve(device)

    def device_of_contents(self, default: Device) -> Device:
        """The device that a transfer of this buffer keeps busy."""
        home = self.owner.home
        return home.device if home is not None else default

    def settled(self) -> Block | None:
        """The block with the contents; None while they are in the host's own memory."""
        owner = self.owner
        if owner.home is None and owner.blocks and not owner.host_ptr:
            owner.home = next(iter(owner.blocks.values()))
        return owner.home

    def migrate(self, device: Device, *, keep: bool = True) -> bool:
        """Bring the contents to the block on `device`; False when they were there already.

        The block left behind is given back. With `keep` False the contents need not come along.
        """
        owner = self.owner
        target = owner.reserve(device)
        home = owner.home
        if home is target:
            return False
        if home is None:
            if owner.host_ptr and keep:
                device.mmd.write(owner.host_ptr, target.address, owner.size)
        elif keep:
            move_between_devices(home, target, owner.size)
        owner.home = target
        if home is not None and owner.blocks is not None:
            del owner.blocks[home.device]
            home.release()
        return True

    def aperture(self, device: Device) -> int:
        """Where a kernel on `device` finds the contents, as an address of this process."""
        owner = self.owner
        assert owner.blocks is not None
        return device.mmd.aperture(owner.blocks[device].address + self.origin)

    # Contents; offsets count from the buffer's own begin

    def write_from(self, host: int, offset: int, size: int) -> None:
        block = self.settled()
        if block is None:
            lib.copy_bytes(self.owner.host_ptr + self.origin + offset, host, size)
        else:
            block.device.mmd.write(host, block.address + self.origin + offset, size)

    def read_into(self, host: int, offset: int, size: int) -> None:
        block = self.settled()
        if block is None:
            lib.copy_bytes(host, self.owner.host_ptr + self.origin + offset, size)
        else:
            block.device.mmd.read(block.address + self.origin + offset, host, size)

    def copy_to(self, other: Buffer, offset: int, other_offset: int, size: int) -> None:
        source, target = self.settled(), other.settled()
        if source is None:
            other.write_from(self.owner.host_ptr + self.origin + offset, other_offset, size)
        elif target is None:
            self.read_into(other.owner.host_ptr + other.origin + other_offset, offset, size)
        else:
            from_address = source.address + self.origin + offset
            to_address = target.address + other.origin + other_offset
            if source.device is target.device:
                source.device.mmd.copy(from_address, to_address, size)
            else:
                copy_between_devices(source.device, from_address, target.device, to_address, size)

    # Mapping

    def map(self, offset: int, size: int, flags: int) -> int:
        """The host address under which the region will appear; map_in() brings the contents."""
        owner = self.owner
        if owner.host_ptr:
            base = owner.host_ptr
        else:
            assert owner.lock is not None
            with owner.lock:
                if owner.store is None:
                    owner.store = HostStore(owner.size)
                base = owner.store.address
        pointer = base + self.origin + offset
        if self.mappings is None:
            self.mappings = {}
        self.mappings.setdefault(pointer, []).append((offset, size, flags))
        self.map_count += 1
        return pointer

    def map_in(self, pointer: int, offset: int, size: int, flags: int) -> None:
        if not flags & cl.CL_MAP_WRITE_INVALIDATE_REGION and self.settled() is not None:
            self.read_into(pointer, offset, size)

    def unmap(self, pointer: int) -> tuple[int, int, int]:
        """Forget a mapping and return its offset, size and flags.

        Raises InvalidValue for a pointer that is no mapping of this buffer.
        """
        regions = (self.mappings or {}).get(pointer)
        if not regions or self.mappings is None:
            raise InvalidValue(f"{pointer:#x} is not the address of a mapping of this buffer")
        region = regions.pop()
        if not regions:
            del self.mappings[pointer]
        self.map_count -= 1
        return region

    def map_out(self, pointer: int, region: tuple[int, int, int]) -> None:
        offset, size, flags = region
        if flags & HOST_WRITES and self.settled() is not None:
            self.write_from(pointer, offset, size)

    # The end

    def when_destroyed(self, callback: Callable[[], None]) -> None:
        """Call back, last registered first, when the buffer is destroyed (OpenCL 3.0, 5.4)."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(callback)

    def __del__(self) -> None:
        try:
            blocks, callbacks = self.blocks, self.callbacks
        except AttributeError:  # __init__ did not get that far
            return
        if blocks or callbacks:
            reaper = self.context.reaper
            for callback in reversed(callbacks or ()):
                reaper.append(callback)
            for block in (blocks or {}).values():
                reaper.append(block.release)


CHUNK = 8 << 20


def move_between_devices(source: Block, target: Block, size: int) -> None:
    if source.device is target.device:
        source.device.mmd.copy(source.address, target.address, size)
    else:
        copy_between_devices(source.device, source.address, target.device, target.address, size)


def copy_between_devices(source: Device, from_address: int, target: Device, to_address: int, size: int) -> None:
    """Through the host, 8 MiB at a time, as the board's runtime does it."""
    staging = HostStore(min(size, CHUNK))
    done = 0
    while done < size:
        step = min(CHUNK, size - done)
        source.mmd.read(from_address + done, staging.address, step)
        target.mmd.write(staging.address, to_address + done, step)
        done += step


def context_svm_base(context: Context, pointer: int) -> int | None:
    """The begin of the SVM allocation of `context` that `pointer` lies in."""
    for base, size in context.svm.items():
        if base <= pointer < base + size:
            return base
    return None
