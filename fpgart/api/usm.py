# SPDX-License-Identifier: Apache-2.0
"""Unified shared memory (cl_intel_unified_shared_memory, revision I)."""

from __future__ import annotations

from typing import Any

from _fpgart_icd import lib

from fpgart.api.buffer.checks import check_pattern
from fpgart.api.context import property_pairs
from fpgart.api.device import check_device
from fpgart.api.mem_flags import MIGRATION_FLAGS
from fpgart.base import opencl as cl
from fpgart.base.closed_memory import driver_address
from fpgart.base.errors import (
    InvalidBufferSize,
    InvalidOperation,
    InvalidProperty,
    InvalidValue,
    MemCopyOverlap,
)
from fpgart.bridge import info
from fpgart.bridge.carrying import carries_transfer
from fpgart.bridge.entry import Address, Answer, Command, WaitList, bytes_at, entry
from fpgart.bridge.handles import find, view_all
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.usm import UsmCopy, UsmFill, UsmPointer, by_host
from fpgart.runtime.memory import usm
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import Kind, UsmAllocation
from fpgart.runtime.objects.blocking_free import blocking_free
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue

LARGEST_ALIGNMENT = 128  # long16 and double16
PLACEMENT = cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL
KNOWN_FLAGS = PLACEMENT | cl.CL_MEM_ALLOC_WRITE_COMBINED_INTEL
ALLOC_PROPERTIES = (cl.CL_MEM_ALLOC_FLAGS_INTEL, cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL)
ADVICE = range(0x4208, 0x4210)

ALLOC_INFO: dict[int, info.Query[UsmAllocation]] = {
    cl.CL_MEM_ALLOC_TYPE_INTEL: lambda a: info.u32(a.kind),
    cl.CL_MEM_ALLOC_BASE_PTR_INTEL: lambda a: info.u64(a.pointer),
    cl.CL_MEM_ALLOC_SIZE_INTEL: lambda a: info.size(a.size),
    cl.CL_MEM_ALLOC_DEVICE_INTEL: lambda a: info.handle(a.device),
    cl.CL_MEM_ALLOC_FLAGS_INTEL: lambda a: info.bitfield(a.flags),
    cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL: lambda a: info.u32(a.location),
}
NOT_USM = {
    cl.CL_MEM_ALLOC_TYPE_INTEL: info.u32(cl.CL_MEM_TYPE_UNKNOWN_INTEL),
    cl.CL_MEM_ALLOC_BASE_PTR_INTEL: bytes(8),
    cl.CL_MEM_ALLOC_SIZE_INTEL: bytes(8),
    cl.CL_MEM_ALLOC_DEVICE_INTEL: bytes(8),
    cl.CL_MEM_ALLOC_FLAGS_INTEL: bytes(8),
    cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL: bytes(4),
}


def check_alignment(alignment: int) -> None:
    if alignment & (alignment - 1):
        raise InvalidValue(f"alignment {alignment} is not a power of two")
    if alignment > LARGEST_ALIGNMENT:
        raise InvalidValue(f"alignment {alignment} is above the largest data type's {LARGEST_ALIGNMENT} bytes")


def alloc_properties(properties: Any, devices: list[Device], kind: Kind) -> tuple[int, int | None]:
    """Returns flags and buffer location (None: none given). Raises InvalidProperty."""
    flags, location, seen = 0, None, set()
    listed = property_pairs(properties, ALLOC_PROPERTIES) if properties else ()
    for name, value in zip(listed[0:-1:2], listed[1::2], strict=False):
        if name in seen:
            raise InvalidProperty(f"property {name:#x} is given twice")
        seen.add(name)
        if name == cl.CL_MEM_ALLOC_FLAGS_INTEL:
            flags = value
        elif name == cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL:
            if _is_ignored(value, devices, kind):
                continue
            if not any(value < len(device.board.memories) for device in devices):
                raise InvalidProperty(f"buffer location {value} is not a memory of the device")
            if kind is Kind.DEVICE and not all(device.holds_buffers(value) for device in devices):
                raise InvalidProperty(f"memory {value} takes no device allocations")
            location = value
        else:
            raise InvalidProperty(f"{name:#x} is not a property of an allocation")
    if flags & ~KNOWN_FLAGS:
        raise InvalidProperty(f"{flags:#x} has bits that are not allocation flags")
    if flags & PLACEMENT == PLACEMENT or (flags & PLACEMENT and kind is not Kind.SHARED):
        raise InvalidProperty(f"{flags:#x}: placement on one side is possible, and for shared allocations only")
    return flags, location


def _is_ignored(location: int, devices: list[Device], kind: Kind) -> bool:
    """True if the platform treats a location that its boards do not have as none."""
    if not devices[0].platform.personality.ignores_wrong_locations:
        return False
    if kind is Kind.DEVICE:
        return not all(device.holds_buffers(location) for device in devices)
    return not any(location < len(device.board.memories) for device in devices)


def check_size(size: int, devices: list[Device]) -> None:
    if not size:
        raise InvalidBufferSize("an allocation of 0 bytes is not possible")
    for device in devices:
        if size > device.max_mem_alloc_size:
            raise InvalidBufferSize(
                f"{size} bytes requested, the largest allocation on device {device.id} is {device.max_mem_alloc_size}"
            )


def _known(context: Context, allocation: UsmAllocation) -> int:
    """Returns the pointer of a new allocation, and tells C about it (icd/entry/allocations.c)."""
    is_plain = allocation.pointer == allocation.address and len(allocation.reached_by) == len(context.devices)
    device = allocation.block.device.handle if allocation.block is not None else 0
    place = context.handle, allocation.pointer, allocation.size
    lib.fpgart_allocation_made(*place, is_plain, allocation.watched, device)
    return allocation.pointer


@entry("clHostMemAllocINTEL")
def host_mem_alloc(context: Context, properties: Any, size: int, alignment: int) -> Address:
    able = [device for device in context.devices if usm.supports(device, Kind.HOST)]
    if not able:
        raise InvalidOperation("no device of the context has host allocations")
    check_alignment(alignment)
    flags, location = alloc_properties(properties, able, Kind.HOST)
    check_size(size, able)
    return _known(context, usm.allocate_host(context, size, alignment, flags, location or 0))


@entry("clDeviceMemAllocINTEL")
def device_mem_alloc(context: Context, device: int, properties: Any, size: int, alignment: int) -> Address:
    owner = check_device(context, find(device, Device))
    if not usm.supports(owner, Kind.DEVICE):
        raise InvalidOperation(f"board '{owner.board.name}' has no device allocations")
    check_alignment(alignment)
    flags, location = alloc_properties(properties, [owner], Kind.DEVICE)
    check_size(size, [owner])
    return _known(context, usm.allocate_device(context, owner, size, flags, location))


@entry("clSharedMemAllocINTEL")
def shared_mem_alloc(context: Context, device: int, properties: Any, size: int, alignment: int) -> Address:
    owner = check_device(context, find(device, Device)) if device else None
    asked = [owner] if owner is not None else context.devices
    able = [each for each in asked if usm.supports(each, Kind.SHARED)]
    if not able:
        raise InvalidOperation("none of the devices has shared allocations")
    check_alignment(alignment)
    flags, location = alloc_properties(properties, able, Kind.SHARED)
    check_size(size, able)
    return _known(context, usm.allocate_shared(context, owner, size, alignment, flags, location or 0))


@entry("clMemFreeINTEL")
def mem_free(context: Context, ptr: int) -> None:
    if ptr:
        lib.fpgart_allocation_goes(context.handle, ptr)
        usm.free(context, ptr)


@entry("clMemBlockingFreeINTEL")
def mem_blocking_free(context: Context, ptr: int) -> None:
    if ptr:
        lib.fpgart_allocation_goes(context.handle, ptr)
        view_all("CommandQueue")
        blocking_free(context, ptr)


@entry("clGetMemAllocInfoINTEL")
def get_mem_alloc_info(context: Context, ptr: int, param_name: int) -> Answer:
    if param_name not in ALLOC_INFO:
        raise InvalidValue(f"{param_name:#x} is not a query for an allocation")
    allocation = context.usm.find(ptr)
    data = ALLOC_INFO[param_name](allocation) if allocation is not None else NOT_USM[param_name]
    if allocation is not None:
        lib.fpgart_remember_allocation(context.handle, allocation.pointer, param_name, data, len(data))
    return data


def fill(queue: CommandQueue, pointer: int, pattern: bytes, size: int, wait_list: WaitList) -> Command:
    if carries_transfer(queue):
        return None
    operation = UsmFill(queue.device, UsmPointer(queue.context, pointer, size), pattern, size)
    return queue.enqueue(cl.CL_COMMAND_MEMFILL_INTEL, by_host(operation), wait_list)


@entry("clEnqueueMemFillINTEL")
def enqueue_mem_fill(
    command_queue: CommandQueue, dst_ptr: int, pattern: int, pattern_size: int, size: int, wait_list: WaitList
) -> Command:
    if not dst_ptr or not pattern:
        raise InvalidValue("a pointer is NULL")
    check_pattern(pattern_size)
    if dst_ptr % pattern_size:
        raise InvalidValue(f"{dst_ptr:#x} is not aligned to the pattern's {pattern_size} bytes")
    if not size or size % pattern_size:
        raise InvalidValue(f"{size} bytes are not a multiple of the pattern's {pattern_size}")
    return fill(command_queue, dst_ptr, bytes_at(driver_address(pattern), pattern_size), size, wait_list)


@entry("clEnqueueMemsetINTEL")
def enqueue_memset(command_queue: CommandQueue, dst_ptr: int, value: int, size: int, wait_list: WaitList) -> Command:
    if not dst_ptr or not size:
        raise InvalidValue("there is nothing to set")
    return fill(command_queue, dst_ptr, bytes([value & 0xFF]), size, wait_list)


@entry("clEnqueueMemcpyINTEL")
def enqueue_memcpy(
    command_queue: CommandQueue, blocking: int, dst_ptr: int, src_ptr: int, size: int, wait_list: WaitList
) -> Command:
    if not dst_ptr or not src_ptr:
        raise InvalidValue("a pointer is NULL")
    if not size:
        raise InvalidValue("the size of the copy is 0 bytes")
    if dst_ptr < src_ptr + size and src_ptr < dst_ptr + size and dst_ptr != src_ptr:
        raise MemCopyOverlap("source and destination overlap")
    if carries_transfer(command_queue, blocking=blocking):
        return None
    context = command_queue.context
    target, source = UsmPointer(context, dst_ptr, size), UsmPointer(context, src_ptr, size)
    operation = by_host(UsmCopy(command_queue.device, target, source, size))
    return command_queue.run(cl.CL_COMMAND_MEMCPY_INTEL, operation, bool(blocking), wait_list)


@entry("clEnqueueMigrateMemINTEL")
def enqueue_migrate_mem(command_queue: CommandQueue, ptr: int, size: int, flags: int, wait_list: WaitList) -> Command:
    if not ptr:
        raise InvalidValue("the pointer is NULL")
    if not flags or flags & ~MIGRATION_FLAGS:
        raise InvalidValue(f"{flags:#x} are not valid flags for migrating")
    if carries_transfer(command_queue):
        return None
    side = None if flags & cl.CL_MIGRATE_MEM_OBJECT_HOST else command_queue.device
    allocation = command_queue.context.usm.find(ptr)

    def work() -> None:
        if allocation is not None and allocation.kind is Kind.SHARED:
            allocation.move(ptr - allocation.pointer, size, side, "clEnqueueMigrateMemINTEL")

    return command_queue.enqueue(cl.CL_COMMAND_MIGRATEMEM_INTEL, HostWork(command_queue.device, work), wait_list)


@entry("clEnqueueMemAdviseINTEL")
def enqueue_mem_advise(command_queue: CommandQueue, ptr: int, size: int, advice: int, wait_list: WaitList) -> Command:
    """Enqueues a command that does nothing: advice has no effect here."""
    if not ptr:
        raise InvalidValue("the pointer is NULL")
    if advice and advice not in ADVICE:
        raise InvalidValue(f"{advice:#x} is not valid advice")
    if carries_transfer(command_queue):
        return None
    operation = HostWork(command_queue.device, lambda: None)
    return command_queue.enqueue(cl.CL_COMMAND_MEMADVISE_INTEL, operation, wait_list)
