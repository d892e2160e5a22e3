# SPDX-License-Identifier: Apache-2.0
"""Reads, writes and copies of rectangular regions (OpenCL 3.0, 5.2.2 and 5.2.3)."""

from __future__ import annotations

from typing import Any

from _fpgart_icd import ffi

from fpgart.api.buffer.checks import check_context, check_host_access, is_carried
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue, MemCopyOverlap
from fpgart.base.notices import NOTICES
from fpgart.bridge.entry import Command, WaitList, entry
from fpgart.runtime.commands.boxes import Box, pieces
from fpgart.runtime.commands.transfers import CopyBuffer, ReadRect, WriteRect
from fpgart.runtime.memory.buffer import NOT_FOR_HOST_READS, NOT_FOR_HOST_WRITES, Buffer
from fpgart.runtime.objects.queue import CommandQueue


def three(pointer: Any, what: str) -> tuple[int, int, int]:
    if not pointer:
        raise InvalidValue(f"{what} is NULL")
    x, y, z = ffi.unpack(pointer, 3)
    return x, y, z


def box_of(origin: tuple[int, int, int], region: tuple[int, int, int], row_pitch: int, slice_pitch: int) -> Box:
    """Returns a box, with defaults for pitches of 0. Raises InvalidValue for pitches that are too small."""
    row = row_pitch or region[0]
    if row < region[0]:
        raise InvalidValue(f"row pitch {row} is less than a row of {region[0]} bytes")
    plane = slice_pitch or row * region[1]
    if plane < row * region[1]:
        raise InvalidValue(f"slice pitch {plane} is less than {region[1]} rows of {row} bytes")
    if slice_pitch and plane % row:
        raise InvalidValue(f"slice pitch {plane} is not a multiple of row pitch {row}")
    return Box(origin, row, plane)


def check_box(buffer: Buffer, box: Box, region: tuple[int, int, int]) -> None:
    """Raises InvalidValue for a region that exceeds the buffer."""
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
    """Returns the boxes of a rectangular read or write, in the buffer and in host memory, and the region."""
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
    if is_carried(command_queue, buffer, blocking=blocking_read):
        return None
    operation = ReadRect(command_queue.device, buffer, box, ptr, host_box, extent)
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
    if is_carried(command_queue, buffer, blocking=blocking_write):
        return None
    operation = WriteRect(command_queue.device, buffer, box, ptr, host_box, extent)
    return command_queue.run(cl.CL_COMMAND_WRITE_BUFFER_RECT, operation, bool(blocking_write), wait_list)


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
    if is_carried(command_queue, src_buffer, dst_buffer):
        return None
    operation = CopyBuffer(command_queue.device, src_buffer, dst_buffer, parts)
    return command_queue.enqueue(cl.CL_COMMAND_COPY_BUFFER_RECT, operation, wait_list)


def overlap(source: Buffer, target: Buffer, parts: list[tuple[int, int, int]]) -> bool:
    """True if a part of the source overlaps a part of the destination in their common buffer."""
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
