# SPDX-License-Identifier: Apache-2.0
"""Shared virtual memory (OpenCL 3.0, 5.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _fpgart_icd import ffi, lib

from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.api.buffer.checks import check_pattern
from fpgart.api.mem_flags import ACCESS, check_map_flags, check_migration_flags, one_of
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidOperation, InvalidValue, MemCopyOverlap
from fpgart.bridge import svm
from fpgart.bridge.carrying import carries_transfer
from fpgart.bridge.entry import Command, Pointer, WaitList, bytes_at, entry
from fpgart.bridge.handles import HELD
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.memory.svm import LARGEST_ALIGNMENT
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import Event


@entry("clSVMAlloc")
def svm_alloc(context: int, flags: int, size: int, alignment: int) -> Pointer:
    """Returns NULL for every error, because the specification has no status here."""
    owner = HELD.get(context)
    if owner.__class__ is not Context:
        return 0
    if flags & ~ACCESS or not one_of(flags, ACCESS):
        return 0
    if alignment & (alignment - 1) or alignment > LARGEST_ALIGNMENT:
        return 0
    if not 0 < size <= owner.max_mem_alloc_size or not any(device.has_svm for device in owner.devices):
        return 0
    return svm.allocate(owner, size, alignment)


@entry("clSVMFree", status=False)
def svm_free(context: int, svm_pointer: int) -> None:
    owner = HELD.get(context)
    if owner.__class__ is Context and svm_pointer:
        svm.free(owner, svm_pointer)


def check_svm(queue: CommandQueue) -> None:
    """Raises InvalidOperation if the device has no SVM."""
    device = queue.device
    if not device.has_svm:
        raise InvalidOperation(f"device {device.id} ('{device.board.name}') has no shared virtual memory")


def host_work(queue: CommandQueue, command: int, work: Callable[[], None], events: tuple[Event, ...]) -> Command:
    if carries_transfer(queue):
        return None
    return queue.enqueue(command, HostWork(queue.device, work), events)


@entry("clEnqueueSVMFree")
def enqueue_svm_free(
    command_queue: CommandQueue,
    num_svm_pointers: int,
    svm_pointers: Any,
    pfn_free_func: int,
    user_data: int,
    wait_list: WaitList,
) -> Command:
    check_svm(command_queue)
    if bool(num_svm_pointers) != bool(svm_pointers):
        raise InvalidValue("the pointers and their number contradict each other")
    pointers = ffi.unpack(svm_pointers, num_svm_pointers) if num_svm_pointers else []
    context = command_queue.context

    def work() -> None:
        if pfn_free_func:
            array = ffi.new("uintptr_t[]", pointers)
            lib.fpgart_call_to_free(pfn_free_func, command_queue.handle, len(pointers), array, user_data)
        else:
            for pointer in pointers:
                svm.free(context, pointer)

    return host_work(command_queue, cl.CL_COMMAND_SVM_FREE, work, wait_list)


@entry("clEnqueueSVMMemcpy")
def enqueue_svm_memcpy(
    command_queue: CommandQueue, blocking_copy: int, dst_ptr: int, src_ptr: int, size: int, wait_list: WaitList
) -> Command:
    check_svm(command_queue)
    if not dst_ptr or not src_ptr:
        raise InvalidValue("a pointer is NULL")
    if dst_ptr < src_ptr + size and src_ptr < dst_ptr + size:
        raise MemCopyOverlap("source and destination overlap")
    if carries_transfer(command_queue, blocking=blocking_copy):
        return None
    return command_queue.run(
        cl.CL_COMMAND_SVM_MEMCPY,
        HostWork(command_queue.device, lambda: native.copy_bytes(dst_ptr, src_ptr, size)),
        bool(blocking_copy),
        wait_list,
    )


@entry("clEnqueueSVMMemFill")
def enqueue_svm_mem_fill(
    command_queue: CommandQueue, svm_ptr: int, pattern: int, pattern_size: int, size: int, wait_list: WaitList
) -> Command:
    check_svm(command_queue)
    if not svm_ptr or not pattern:
        raise InvalidValue("a pointer is NULL")
    check_pattern(pattern_size)
    if svm_ptr % pattern_size or size % pattern_size:
        raise InvalidValue(f"pointer and size are not a multiple of the pattern's {pattern_size} bytes")
    data = bytes_at(pattern, pattern_size)

    def work() -> None:
        native.fill_bytes(svm_ptr, native_ffi.from_buffer(data), pattern_size, size)

    return host_work(command_queue, cl.CL_COMMAND_SVM_MEMFILL, work, wait_list)


@entry("clEnqueueSVMMap")
def enqueue_svm_map(
    command_queue: CommandQueue, blocking_map: int, flags: int, svm_ptr: int, size: int, wait_list: WaitList
) -> Command:
    check_svm(command_queue)
    if not svm_ptr or not size:
        raise InvalidValue("the size of the mapping is 0 bytes" if svm_ptr else "the pointer is NULL")
    check_map_flags(flags)
    if carries_transfer(command_queue, blocking=blocking_map):
        return None
    operation = HostWork(command_queue.device, lambda: None)
    return command_queue.run(cl.CL_COMMAND_SVM_MAP, operation, bool(blocking_map), wait_list)


@entry("clEnqueueSVMUnmap")
def enqueue_svm_unmap(command_queue: CommandQueue, svm_ptr: int, wait_list: WaitList) -> Command:
    check_svm(command_queue)
    if not svm_ptr:
        raise InvalidValue("the pointer is NULL")
    return host_work(command_queue, cl.CL_COMMAND_SVM_UNMAP, lambda: None, wait_list)


@entry("clEnqueueSVMMigrateMem")
def enqueue_svm_migrate_mem(
    command_queue: CommandQueue, num_svm_pointers: int, svm_pointers: Any, sizes: Any, flags: int, wait_list: WaitList
) -> Command:
    check_svm(command_queue)
    if not num_svm_pointers or not svm_pointers:
        raise InvalidValue("no pointers are given")
    check_migration_flags(flags)
    for index in range(num_svm_pointers):
        pointer, size = int(svm_pointers[index]), int(sizes[index]) if sizes else 0
        allocation = command_queue.context.svm.find(pointer)
        if allocation is None or pointer + size > allocation.end:
            raise InvalidValue(f"{pointer:#x} and {size} bytes are not within an allocation of this context")
    return host_work(command_queue, cl.CL_COMMAND_SVM_MIGRATE_MEM, lambda: None, wait_list)
