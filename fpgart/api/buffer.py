# SPDX-License-Identifier: Apache-2.0
"""Buffers (OpenCL 3.0, 5.2) and what applies to all memory objects (5.4 to 5.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from _fpgart_icd import ffi, lib

from fpgart import opencl as cl
from fpgart.api import info
from fpgart.api.context import property_pairs
from fpgart.api.entry import Command, Mapped, WaitList, bytes_at, cast, entry
from fpgart.api.handles import HELD, find, references
from fpgart.api.pipe import MEM_INFO as PIPE_MEM_INFO
from fpgart.errors import (
    CLError,
    InvalidBufferSize,
    InvalidContext,
    InvalidHostPtr,
    InvalidMemObject,
    InvalidOperation,
    InvalidProperty,
    InvalidValue,
    MemCopyOverlap,
    MisalignedSubBufferOffset,
)
from fpgart.notices import NOTICES
from fpgart.runtime.commands.boxes import Box, pieces
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, Migration, map_in_place, migrate_to_device
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, ReadRect, WriteBuffer, WriteRect
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue, auto_queue
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.scheduling.event import Operation

ACCESS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_WRITE_ONLY | cl.CL_MEM_READ_ONLY
HOST_ACCESS = cl.CL_MEM_HOST_WRITE_ONLY | cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS
HOST_POINTERS = cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_ALLOC_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR
CHANNEL_SHIFT = 16
LAST_CHANNEL = 7
CHANNELS = LAST_CHANNEL << CHANNEL_SHIFT
HETEROGENEOUS = 1 << 19
ON_CHIP = "msmc"
KNOWN_FLAGS = ACCESS | HOST_ACCESS | HOST_POINTERS | CHANNELS | HETEROGENEOUS
NOT_FOR_HOST_READS = cl.CL_MEM_HOST_WRITE_ONLY | cl.CL_MEM_HOST_NO_ACCESS
NOT_FOR_HOST_WRITES = cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS
MAP_FLAGS = cl.CL_MAP_READ | cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION
PROPERTIES = (cl.CL_MEM_CHANNEL_INTEL, cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL)
BASE_ALIGNMENT = 1024
LARGEST_PATTERN = 128

MEM_INFO: dict[int, info.Query[Buffer]] = {
    cl.CL_MEM_TYPE: lambda b: info.u32(cl.CL_MEM_OBJECT_BUFFER),
    cl.CL_MEM_FLAGS: lambda b: info.bitfield(b.flags),
    cl.CL_MEM_SIZE: lambda b: info.size(b.size),
    cl.CL_MEM_HOST_PTR: lambda b: info.u64(b.owner.host_ptr + b.origin if b.owner.host_ptr else 0),
    cl.CL_MEM_MAP_COUNT: lambda b: info.u32(b.map_count),
    cl.CL_MEM_REFERENCE_COUNT: lambda b: info.u32(references(b)),
    cl.CL_MEM_CONTEXT: lambda b: info.handle(b.context),
    cl.CL_MEM_ASSOCIATED_MEMOBJECT: lambda b: info.handle(b.parent),
    cl.CL_MEM_OFFSET: lambda b: info.size(b.origin),
    cl.CL_MEM_USES_SVM_POINTER: lambda b: info.boolean(b.owner.svm),
    cl.CL_MEM_PROPERTIES: lambda b: info.sizes(b.property_list or ()),
    cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL: lambda b: info.u32(b.memory),
}


FIXED_MEM_INFO = MEM_INFO.keys() - {
    cl.CL_MEM_MAP_COUNT,
    cl.CL_MEM_REFERENCE_COUNT,
    cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL,
}


def one_of(flags: int, among: int) -> bool:
    """Whether `flags` has at most one bit of `among`."""
    chosen = flags & among
    return not chosen & (chosen - 1)


def check_flags(flags: int, known: int = KNOWN_FLAGS) -> None:
    if flags & ~known:
        raise InvalidValue(f"{flags:#x} has bits that are no flags for a buffer")
    if not one_of(flags, ACCESS):
        raise InvalidValue(f"{flags:#x}: only one of read-write, write-only and read-only is possible")
    if not one_of(flags, HOST_ACCESS):
        raise InvalidValue(f"{flags:#x}: only one of the host access flags is possible")
    if flags & cl.CL_MEM_USE_HOST_PTR and flags & (cl.CL_MEM_ALLOC_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR):
        raise InvalidValue(f"{flags:#x}: CL_MEM_USE_HOST_PTR excludes allocating and copying")


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a buffer shall be: index of a memory (None: anywhere), bank from 1 (0: any).

    The bank is a hint, for memories whose banks are separate when the buffer is placed.
    """

    location: int | None = None
    bank: int = 0


ANYWHERE = Wish()


def placement_wish(context: Context, properties: tuple[int, ...], flags: int) -> Wish:
    """What properties and flags say about it; raises InvalidProperty, InvalidValue."""
    bank, location = (flags & CHANNELS) >> CHANNEL_SHIFT, None
    for name, value in zip(properties[0:-1:2], properties[1::2], strict=False):
        if properties[0:-1:2].count(name) > 1:
            raise InvalidProperty(f"property {name:#x} is given twice")
        if name == cl.CL_MEM_CHANNEL_INTEL:
            if bank:
                raise InvalidProperty("the bank is given by a flag and by CL_MEM_CHANNEL_INTEL")
            if value > LAST_CHANNEL:
                raise InvalidValue(f"channel {value} is not one of 0 to {LAST_CHANNEL}")
            bank = value
        elif name == cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL:
            location = value
        else:
            raise InvalidProperty(f"{name:#x} is no property for a buffer")
    if location is not None and not any(device.holds_buffers(location) for device in context.devices):
        raise InvalidValue(f"buffer location {location} is no memory for buffers of any device of the context")
    return Wish(location, bank)


def check_within_svm(context: Context, flags: int, size: int, host_ptr: int) -> None:
    """Raises InvalidBufferSize for a buffer made over an SVM allocation that ends before it."""
    allocation = context.svm.find(host_ptr) if flags & cl.CL_MEM_USE_HOST_PTR else None
    if allocation is not None and host_ptr + size > allocation.end:
        room = allocation.end - host_ptr
        raise InvalidBufferSize(f"{size} bytes asked for, the SVM allocation has {room} from host_ptr on")


def make_buffer(context: Context, flags: int, size: int, host_ptr: int, properties: tuple[int, ...] | None) -> Buffer:
    on_chip = flags & cl.CL_MEM_USE_MSMC_TI
    if on_chip and not any(memory.on_chip for device in context.devices for memory in device.board.memories):
        raise InvalidValue("no device of the context has on-chip memory for buffers (CL_MEM_USE_MSMC_TI)")
    check_flags(flags & ~on_chip)
    wish = placement_wish(context, properties or (), flags) if properties or flags & CHANNELS else ANYWHERE
    if not size:
        raise InvalidBufferSize("a buffer of 0 bytes is not possible")
    if size > context.max_mem_alloc_size:
        raise InvalidBufferSize(f"{size} bytes asked for, the largest allocation is {context.max_mem_alloc_size}")
    if bool(host_ptr) != bool(flags & (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR)):
        raise InvalidHostPtr(
            "host_ptr is given without a flag that uses it" if host_ptr else "the flags need a host_ptr, it is NULL"
        )
    check_within_svm(context, flags, size, host_ptr)
    buffer = Buffer(
        context,
        flags if flags & ACCESS else flags | cl.CL_MEM_READ_WRITE,
        size,
        host_ptr,
        property_list=properties,
        bank=wish.bank,
        location=wish.location,
    )
    if on_chip:
        buffer.hint = ON_CHIP
    if flags & cl.CL_MEM_COPY_HOST_PTR:
        buffer.bind(context.devices[0])
        operation = WriteBuffer(context.devices[0], buffer, 0, size, host_ptr)
        auto_queue(context).run(cl.CL_COMMAND_WRITE_BUFFER, operation, blocking=True)
    return buffer


@entry("clCreateBuffer")
def create_buffer(context: Context, flags: int, size: int, host_ptr: int) -> Buffer:
    return make_buffer(context, flags, size, host_ptr, None)


@entry("clCreateBufferWithProperties", "clCreateBufferWithPropertiesINTEL")
def create_buffer_with_properties(context: Context, properties: Any, flags: int, size: int, host_ptr: int) -> Buffer:
    return make_buffer(context, flags, size, host_ptr, property_pairs(properties, PROPERTIES) if properties else None)


@entry("clCreateSubBuffer")
def create_sub_buffer(buffer: Buffer, flags: int, buffer_create_type: int, buffer_create_info: int) -> Buffer:
    if buffer.parent is not None:
        raise InvalidMemObject("a sub-buffer has no sub-buffers")
    check_flags(flags, KNOWN_FLAGS & ~HOST_POINTERS)
    access, host_access = buffer.flags & ACCESS, buffer.flags & HOST_ACCESS
    if access != cl.CL_MEM_READ_WRITE and flags & ACCESS & ~access:
        raise InvalidValue("the sub-buffer's access goes beyond its buffer's")
    if host_access and flags & HOST_ACCESS & ~host_access and not flags & cl.CL_MEM_HOST_NO_ACCESS:
        raise InvalidValue("the sub-buffer's host access goes beyond its buffer's")
    if buffer_create_type != cl.CL_BUFFER_CREATE_TYPE_REGION:
        raise InvalidValue(f"{buffer_create_type:#x} is no way to make a sub-buffer")
    if not buffer_create_info:
        raise InvalidValue("no region is given")
    region = cast("size_t *", buffer_create_info)
    origin, size = int(region[0]), int(region[1])
    if not size:
        raise InvalidBufferSize("a sub-buffer of 0 bytes is not possible")
    check_range(buffer, origin, size)
    if origin % BASE_ALIGNMENT:
        raise MisalignedSubBufferOffset(f"origin {origin} is no multiple of {BASE_ALIGNMENT} bytes")
    if flags & CHANNELS and flags & CHANNELS != buffer.flags & CHANNELS:
        raise InvalidValue("the sub-buffer's channel is not its buffer's")
    inherited = (
        (flags & ACCESS or access) | (flags & HOST_ACCESS or host_access) | buffer.flags & (HOST_POINTERS | CHANNELS)
    )
    return Buffer(buffer.context, inherited, size, parent=buffer, origin=origin)


@entry("clGetMemObjectInfo")
def get_mem_object_info(
    memobj: int, param_name: int, param_value_size: int, param_value: int, param_value_size_ret: Any
) -> None:
    if HELD.get(memobj).__class__ is Pipe:
        info.answer(PIPE_MEM_INFO, HELD[memobj], param_name, param_value_size, param_value, param_value_size_ret)
    else:
        info.answer(
            MEM_INFO,
            find(memobj, Buffer),
            param_name,
            param_value_size,
            param_value,
            param_value_size_ret,
            FIXED_MEM_INFO,
        )


@entry("clSetMemObjectDestructorCallback")
def set_mem_object_destructor_callback(memobj: Buffer, pfn_notify: int, user_data: int) -> None:
    if not pfn_notify:
        raise InvalidValue("no callback is given")
    handle = memobj.handle
    memobj.when_destroyed(lambda: lib.fpgart_call_about_object(pfn_notify, handle, user_data))


# What the transfers have in common


def check_context(queue: CommandQueue, buffer: Buffer) -> None:
    if buffer.context is not queue.context:
        raise InvalidContext("queue and buffer are of different contexts")


def check_range(buffer: Buffer, offset: int, size: int) -> None:
    if offset + size > buffer.size:
        raise InvalidValue(f"offset {offset} and {size} bytes reach beyond the buffer's {buffer.size}")


def check_transfer(buffer: Buffer, offset: int, size: int) -> None:
    """check_range() for a command's bytes."""
    if offset + size > buffer.size:
        for listener in NOTICES.range_refused:
            listener(buffer, offset, size)
    check_range(buffer, offset, size)


def check_host_access(buffer: Buffer, refused: int, what: str) -> None:
    if buffer.flags & refused:
        raise InvalidOperation(f"the buffer's flags keep the host from {what} it")


def check_linear(queue: CommandQueue, buffer: Buffer, offset: int, size: int, ptr: int) -> None:
    check_context(queue, buffer)
    check_transfer(buffer, offset, size)
    if not ptr:
        raise InvalidValue("the host pointer is NULL")
    if not size:
        raise InvalidValue("0 bytes are to be transferred")


@entry("clEnqueueReadBuffer")
def enqueue_read_buffer(
    command_queue: CommandQueue,
    buffer: Buffer,
    blocking_read: int,
    offset: int,
    size: int,
    ptr: int,
    wait_list: WaitList,
) -> Command:
    check_linear(command_queue, buffer, offset, size, ptr)
    check_host_access(buffer, NOT_FOR_HOST_READS, "reading")
    device = command_queue.device
    buffer.bind(device)
    return command_queue.run(
        cl.CL_COMMAND_READ_BUFFER, ReadBuffer(device, buffer, offset, size, ptr), bool(blocking_read), wait_list
    )


@entry("clEnqueueWriteBuffer")
def enqueue_write_buffer(
    command_queue: CommandQueue,
    buffer: Buffer,
    blocking_write: int,
    offset: int,
    size: int,
    ptr: int,
    wait_list: WaitList,
) -> Command:
    check_linear(command_queue, buffer, offset, size, ptr)
    check_host_access(buffer, NOT_FOR_HOST_WRITES, "writing")
    device = command_queue.device
    buffer.bind(device)
    return command_queue.run(
        cl.CL_COMMAND_WRITE_BUFFER, WriteBuffer(device, buffer, offset, size, ptr), bool(blocking_write), wait_list
    )


def three(pointer: Any, what: str) -> tuple[int, int, int]:
    if not pointer:
        raise InvalidValue(f"{what} is NULL")
    x, y, z = ffi.unpack(pointer, 3)
    return x, y, z


def box_of(origin: tuple[int, int, int], region: tuple[int, int, int], row_pitch: int, slice_pitch: int) -> Box:
    """A box with the default pitches filled in; raises InvalidValue for pitches that are too small."""
    row = row_pitch or region[0]
    if row < region[0]:
        raise InvalidValue(f"row pitch {row} is less than a row of {region[0]} bytes")
    plane = slice_pitch or row * region[1]
    if plane < row * region[1]:
        raise InvalidValue(f"slice pitch {plane} is less than {region[1]} rows of {row} bytes")
    if slice_pitch and plane % row:
        raise InvalidValue(f"slice pitch {plane} is no multiple of row pitch {row}")
    return Box(origin, row, plane)


def check_box(buffer: Buffer, box: Box, region: tuple[int, int, int]) -> None:
    """Raises InvalidValue for a region that leaves the buffer."""
    end = box.end(region)
    if end > buffer.size:
        for listener in NOTICES.range_refused:
            listener(buffer, box.begin, end - box.begin)
        raise InvalidValue(f"the region ends at byte {end}, the buffer at {buffer.size}")


def region_of(pointer: Any) -> tuple[int, int, int]:
    region = three(pointer, "region")
    if 0 in region:
        raise InvalidValue(f"region {region} is empty")
    return region


def checked_boxes(
    queue: CommandQueue,
    buffer: Buffer,
    origins: tuple[Any, Any],
    region_pointer: Any,
    pitches: tuple[int, int, int, int],
    ptr: int,
) -> tuple[Box, Box, tuple[int, int, int]]:
    """The boxes of a rectangular read or write, in the buffer and in host memory."""
    check_context(queue, buffer)
    buffer_origin, host_origin = three(origins[0], "buffer origin"), three(origins[1], "host origin")
    region = region_of(region_pointer)
    box = box_of(buffer_origin, region, pitches[0], pitches[1])
    host_box = box_of(host_origin, region, pitches[2], pitches[3])
    check_box(buffer, box, region)
    if not ptr:
        raise InvalidValue("the host pointer is NULL")
    return box, host_box, region


@entry("clEnqueueReadBufferRect")
def enqueue_read_buffer_rect(
    command_queue: CommandQueue,
    buffer: Buffer,
    blocking_read: int,
    buffer_origin: Any,
    host_origin: Any,
    region: Any,
    buffer_row_pitch: int,
    buffer_slice_pitch: int,
    host_row_pitch: int,
    host_slice_pitch: int,
    ptr: int,
    wait_list: WaitList,
) -> Command:
    pitches = (buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch)
    box, host_box, extent = checked_boxes(command_queue, buffer, (buffer_origin, host_origin), region, pitches, ptr)
    check_host_access(buffer, NOT_FOR_HOST_READS, "reading")
    device = command_queue.device
    buffer.bind(device)
    operation = ReadRect(device, buffer, box, ptr, host_box, extent)
    return command_queue.run(cl.CL_COMMAND_READ_BUFFER_RECT, operation, bool(blocking_read), wait_list)


@entry("clEnqueueWriteBufferRect")
def enqueue_write_buffer_rect(
    command_queue: CommandQueue,
    buffer: Buffer,
    blocking_write: int,
    buffer_origin: Any,
    host_origin: Any,
    region: Any,
    buffer_row_pitch: int,
    buffer_slice_pitch: int,
    host_row_pitch: int,
    host_slice_pitch: int,
    ptr: int,
    wait_list: WaitList,
) -> Command:
    pitches = (buffer_row_pitch, buffer_slice_pitch, host_row_pitch, host_slice_pitch)
    box, host_box, extent = checked_boxes(command_queue, buffer, (buffer_origin, host_origin), region, pitches, ptr)
    check_host_access(buffer, NOT_FOR_HOST_WRITES, "writing")
    device = command_queue.device
    buffer.bind(device)
    operation = WriteRect(device, buffer, box, ptr, host_box, extent)
    return command_queue.run(cl.CL_COMMAND_WRITE_BUFFER_RECT, operation, bool(blocking_write), wait_list)


def absolute(buffer: Buffer, begin: int) -> int:
    return buffer.origin + begin


@entry("clEnqueueCopyBuffer")
def enqueue_copy_buffer(
    command_queue: CommandQueue,
    src_buffer: Buffer,
    dst_buffer: Buffer,
    src_offset: int,
    dst_offset: int,
    size: int,
    wait_list: WaitList,
) -> Command:
    check_context(command_queue, src_buffer)
    check_context(command_queue, dst_buffer)
    check_transfer(src_buffer, src_offset, size)
    check_transfer(dst_buffer, dst_offset, size)
    if not size:
        raise InvalidValue("0 bytes are to be copied")
    if src_buffer.owner is dst_buffer.owner:
        begin, other = absolute(src_buffer, src_offset), absolute(dst_buffer, dst_offset)
        if begin < other + size and other < begin + size:
            raise MemCopyOverlap("source and destination overlap in the same buffer")
    device = command_queue.device
    src_buffer.bind(device)
    dst_buffer.bind(device)
    operation = CopyBuffer(device, src_buffer, dst_buffer, [(src_offset, dst_offset, size)])
    return command_queue.enqueue(cl.CL_COMMAND_COPY_BUFFER, operation, wait_list)


@entry("clEnqueueCopyBufferRect")
def enqueue_copy_buffer_rect(
    command_queue: CommandQueue,
    src_buffer: Buffer,
    dst_buffer: Buffer,
    src_origin: Any,
    dst_origin: Any,
    region: Any,
    src_row_pitch: int,
    src_slice_pitch: int,
    dst_row_pitch: int,
    dst_slice_pitch: int,
    wait_list: WaitList,
) -> Command:
    check_context(command_queue, src_buffer)
    check_context(command_queue, dst_buffer)
    source_origin, target_origin = three(src_origin, "source origin"), three(dst_origin, "destination origin")
    extent = region_of(region)
    source = box_of(source_origin, extent, src_row_pitch, src_slice_pitch)
    target = box_of(target_origin, extent, dst_row_pitch, dst_slice_pitch)
    for buffer, box in ((src_buffer, source), (dst_buffer, target)):
        check_box(buffer, box, extent)
    if src_buffer is dst_buffer and (source.row_pitch, source.slice_pitch) != (target.row_pitch, target.slice_pitch):
        raise InvalidValue("within one buffer the pitches of source and destination have to agree")
    parts = list(pieces(extent, source, target))
    if src_buffer.owner is dst_buffer.owner and overlap(src_buffer, dst_buffer, parts):
        raise MemCopyOverlap("source and destination overlap in the same buffer")
    device = command_queue.device
    src_buffer.bind(device)
    dst_buffer.bind(device)
    operation = CopyBuffer(device, src_buffer, dst_buffer, parts)
    return command_queue.enqueue(cl.CL_COMMAND_COPY_BUFFER_RECT, operation, wait_list)


def overlap(source: Buffer, target: Buffer, parts: list[tuple[int, int, int]]) -> bool:
    """Whether any part of the source meets any part of the destination, in their common buffer."""
    marks = sorted(
        [(source.origin + a, source.origin + a + size, 0) for a, _, size in parts]
        + [(target.origin + b, target.origin + b + size, 1) for _, b, size in parts]
    )
    ends = [-1, -1]
    for begin, end, side in marks:
        if begin < ends[1 - side]:
            return True
        ends[side] = max(ends[side], end)
    return False


@entry("clEnqueueFillBuffer")
def enqueue_fill_buffer(
    command_queue: CommandQueue,
    buffer: Buffer,
    pattern: int,
    pattern_size: int,
    offset: int,
    size: int,
    wait_list: WaitList,
) -> Command:
    check_context(command_queue, buffer)
    check_transfer(buffer, offset, size)
    if not pattern or pattern_size not in (1, 2, 4, 8, 16, 32, 64, LARGEST_PATTERN):
        raise InvalidValue(f"a pattern has 1, 2, 4, 8, 16, 32, 64 or 128 bytes, not {pattern_size if pattern else 0}")
    if offset % pattern_size or size % pattern_size:
        raise InvalidValue(f"offset {offset} and size {size} are no multiples of the pattern's {pattern_size} bytes")
    if not size:
        raise InvalidValue("0 bytes are to be filled")
    device = command_queue.device
    buffer.bind(device)
    operation = FillBuffer(device, buffer, offset, size, bytes_at(pattern, pattern_size))
    return command_queue.enqueue(cl.CL_COMMAND_FILL_BUFFER, operation, wait_list)


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
        raise InvalidValue("0 bytes are to be mapped")
    invalidates = map_flags & cl.CL_MAP_WRITE_INVALIDATE_REGION
    if map_flags & ~MAP_FLAGS or (invalidates and map_flags & ~invalidates):
        raise InvalidValue(f"{map_flags:#x} are no flags for mapping")
    if map_flags & cl.CL_MAP_READ:
        check_host_access(buffer, NOT_FOR_HOST_READS, "reading")
    if map_flags & (cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION):
        check_host_access(buffer, NOT_FOR_HOST_WRITES, "writing")
    device = command_queue.device
    buffer.bind(device)
    block = buffer.reserve_for_mapping(device)
    pointer = buffer.map(offset, size, map_flags, block)
    operation: Operation
    if block is not None:
        operation = map_in_place(device, buffer, block, keep=not invalidates or size < buffer.owner.size)
    else:
        operation = MapBuffer(device, buffer, pointer, (offset, size, map_flags))
    try:
        return pointer, command_queue.run(cl.CL_COMMAND_MAP_BUFFER, operation, bool(blocking_map), wait_list)
    except CLError:  # the host gets no pointer that it could unmap
        buffer.void_mapping(pointer, (offset, size, map_flags))
        buffer.unmap(pointer)
        if block is not None:
            buffer.leave_mapping(block)
        raise


@entry("clEnqueueUnmapMemObject")
def enqueue_unmap_mem_object(
    command_queue: CommandQueue, memobj: Buffer, mapped_ptr: int, wait_list: WaitList
) -> Command:
    check_context(command_queue, memobj)
    region = memobj.unmap(mapped_ptr)
    block = memobj.mapped_block(mapped_ptr)
    operation: Operation
    if block is not None:
        leave = partial(memobj.leave_mapping, block)
        operation = HostWork(command_queue.device, leave, instead=leave)
    else:
        operation = UnmapBuffer(command_queue.device, memobj, mapped_ptr, region)
    return command_queue.enqueue(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, wait_list)


@entry("clEnqueueMigrateMemObjects")
def enqueue_migrate_mem_objects(
    command_queue: CommandQueue, num_mem_objects: int, mem_objects: Any, flags: int, wait_list: WaitList
) -> Command:
    if not num_mem_objects or not mem_objects:
        raise InvalidValue("no memory objects are given")
    if flags & ~(cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED):
        raise InvalidValue(f"{flags:#x} are no flags for migrating")
    buffers = [find(mem_objects[index], Buffer) for index in range(num_mem_objects)]
    for buffer in buffers:
        check_context(command_queue, buffer)
    device = command_queue.device
    buffers = [buffer for buffer in buffers if not buffer.owner.stays_on_host]
    keep = not flags & cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
    operation: Migration | MigrateToHost
    if flags & cl.CL_MIGRATE_MEM_OBJECT_HOST or not device.knows_memories:
        operation = MigrateToHost(device, buffers, keep)
    else:
        operation = migrate_to_device(device, buffers, keep)
    return command_queue.enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, wait_list)
