# SPDX-License-Identifier: Apache-2.0
"""Reads, writes, copies and fills of a linear range (OpenCL 3.0, 5.2.2 to 5.2.4)."""

from __future__ import annotations

from fpgart.api.buffer.checks import check_context, check_host_access, check_pattern, check_transfer, is_carried
from fpgart.base import opencl as cl
from fpgart.base.closed_memory import driver_address
from fpgart.base.errors import InvalidValue, MemCopyOverlap
from fpgart.bridge.entry import Command, WaitList, bytes_at, entry
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, WriteBuffer
from fpgart.runtime.memory.buffer import NOT_FOR_HOST_READS, NOT_FOR_HOST_WRITES, Buffer
from fpgart.runtime.objects.queue import CommandQueue


def check_linear(queue: CommandQueue, buffer: Buffer, offset: int, size: int, ptr: int) -> None:
    check_context(queue, buffer)
    check_transfer(buffer, offset, size)
    if not ptr:
        raise InvalidValue("the host pointer is NULL")
    if not size:
        raise InvalidValue("the size of the transfer is 0 bytes")


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
    if is_carried(command_queue, buffer, blocking=blocking_read):
        return None
    operation = ReadBuffer(command_queue.device, buffer, offset, size, ptr)
    return command_queue.run(cl.CL_COMMAND_READ_BUFFER, operation, bool(blocking_read), wait_list)


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
    if is_carried(command_queue, buffer, blocking=blocking_write):
        return None
    operation = WriteBuffer(command_queue.device, buffer, offset, size, ptr)
    return command_queue.run(cl.CL_COMMAND_WRITE_BUFFER, operation, bool(blocking_write), wait_list)


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
        raise InvalidValue("the size of the copy is 0 bytes")
    if src_buffer.owner is dst_buffer.owner:
        begin, other = src_buffer.origin + src_offset, dst_buffer.origin + dst_offset
        if begin < other + size and other < begin + size:
            raise MemCopyOverlap("source and destination overlap in the same buffer")
    if is_carried(command_queue, src_buffer, dst_buffer):
        return None
    operation = CopyBuffer(command_queue.device, src_buffer, dst_buffer, [(src_offset, dst_offset, size)])
    return command_queue.enqueue(cl.CL_COMMAND_COPY_BUFFER, operation, wait_list)


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
    check_pattern(pattern_size if pattern else 0)
    if offset % pattern_size or size % pattern_size:
        raise InvalidValue(f"offset {offset} and size {size} are not a multiple of the pattern's {pattern_size} bytes")
    if not size:
        raise InvalidValue("the size of the fill is 0 bytes")
    if is_carried(command_queue, buffer):
        return None
    operation = FillBuffer(command_queue.device, buffer, offset, size, bytes_at(driver_address(pattern), pattern_size))
    return command_queue.enqueue(cl.CL_COMMAND_FILL_BUFFER, operation, wait_list)
