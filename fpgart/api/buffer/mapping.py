# SPDX-License-Identifier: Apache-2.0
"""Mapping and unmapping (OpenCL 3.0, 5.4.2)."""

from __future__ import annotations

from functools import partial

from _fpgart_icd import ffi, lib

from fpgart.api.buffer.checks import check_context, check_host_access, check_transfer
from fpgart.api.mem_flags import check_map_flags
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidValue
from fpgart.bridge.carrying import carries_map, carries_transfer
from fpgart.bridge.entry import Command, Mapped, WaitList, entry
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import map_in_place
from fpgart.runtime.memory.buffer import NOT_FOR_HOST_READS, NOT_FOR_HOST_WRITES, Buffer
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import Operation


def update_mappings(buffer: Buffer) -> None:
    """Adds the mappings of commands that C carried to a buffer."""
    taken = ffi.new("struct fpgart_mapping *")
    while lib.fpgart_take_any_mapping(buffer.handle, taken):
        buffer.add_mapping(int(taken.pointer), (int(taken.offset), int(taken.size), int(taken.flags)))


@entry("clEnqueueMapBuffer")
def enqueue_map_buffer(
    command_queue: CommandQueue,
    buffer: Buffer,
    blocking_map: int,
    map_flags: int,
    offset: int,
    size: int,
    wait_list: WaitList,
) -> Mapped:
    check_context(command_queue, buffer)
    check_transfer(buffer, offset, size)
    if not size:
        raise InvalidValue("the size of the mapping is 0 bytes")
    check_map_flags(map_flags)
    if map_flags & cl.CL_MAP_READ:
        check_host_access(buffer, NOT_FOR_HOST_READS, "reading")
    if map_flags & (cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION):
        check_host_access(buffer, NOT_FOR_HOST_WRITES, "writing")
    device = command_queue.device
    buffer.bind(device)
    if carries_map(command_queue, buffer, blocking=blocking_map):
        return buffer.host_address() + offset, None
    update_mappings(buffer)
    block = buffer.reserve_for_mapping(device)
    pointer = buffer.map(offset, size, map_flags, block)
    lib.fpgart_python_maps(buffer.handle, 1)
    operation: Operation
    if block is not None:
        keep = not map_flags & cl.CL_MAP_WRITE_INVALIDATE_REGION or size < buffer.owner.size
        operation = map_in_place(device, buffer, block, keep=keep)
    else:
        operation = MapBuffer(device, buffer, pointer, (offset, size, map_flags))
    try:
        return pointer, command_queue.run(cl.CL_COMMAND_MAP_BUFFER, operation, bool(blocking_map), wait_list)
    except CLError:  # the host gets no pointer to unmap
        buffer.void_mapping(pointer, (offset, size, map_flags))
        buffer.unmap(pointer)
        lib.fpgart_python_maps(buffer.handle, -1)
        if block is not None:
            buffer.leave_mapping(block)
        raise


@entry("clEnqueueUnmapMemObject")
def enqueue_unmap_mem_object(
    command_queue: CommandQueue, memobj: Buffer, mapped_ptr: int, wait_list: WaitList
) -> Command:
    check_context(command_queue, memobj)
    if carries_transfer(command_queue, memobj):
        return None
    update_mappings(memobj)
    region = memobj.unmap(mapped_ptr)
    lib.fpgart_python_maps(memobj.handle, -1)
    block = memobj.mapped_block(mapped_ptr)
    operation: Operation
    if block is not None:
        leave = partial(memobj.leave_mapping, block)
        operation = HostWork(command_queue.device, leave, instead=leave)
    else:
        operation = UnmapBuffer(command_queue.device, memobj, mapped_ptr, region)
    return command_queue.enqueue(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, wait_list)
