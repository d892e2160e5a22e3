# SPDX-License-Identifier: Apache-2.0
"""Executing kernels (OpenCL 3.0, 5.10)."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from struct import unpack
from typing import Any

from _fpgart_icd import ffi

from fpgart.api.device_extensions import extensions
from fpgart.api.device_info import DEVICE_INFO
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidContext,
    InvalidGlobalOffset,
    InvalidGlobalWorkSize,
    InvalidKernelArgs,
    InvalidOperation,
    InvalidProgramExecutable,
    InvalidValue,
    InvalidWorkDimension,
    InvalidWorkGroupSize,
    InvalidWorkItemSize,
)
from fpgart.bridge.carrying import carries_launch, carries_transfer
from fpgart.bridge.entry import Command, WaitList, entry
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.work_groups import compiled_limits, fits_engine, largest_group, takes_uneven_groups

SUGGESTED_LOCAL_SIZE = "cl_khr_suggested_local_work_size"
SIZE_MAX = (1 << 64) - 1
ONES, ZEROS = (1, 1, 1), (0, 0, 0)


@lru_cache(maxsize=128)
def admits_uneven_groups(device: Device) -> bool:
    return bool(unpack("I", DEVICE_INFO[cl.CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT](device))[0])


def check_kernel(queue: CommandQueue, kernel: Kernel) -> None:
    if kernel.context is not queue.context:
        raise InvalidContext("kernel and queue belong to different contexts")
    kernel.program.check_built(queue.device)
    if not kernel.program.has_kernel(kernel.name, queue.device):
        raise InvalidProgramExecutable(f"the program has no kernel '{kernel.name}' for device {queue.device.id}")
    kernel.update_arguments()
    if None in kernel.arguments:
        missing = kernel.describe(kernel.arguments.index(None))
        raise InvalidKernelArgs(f"{missing} has not been set")


def check_local(device: Device, kernel: Kernel, sizes: tuple[int, ...], local: tuple[int, ...]) -> None:
    for index, size in enumerate(local):
        if not size:
            raise InvalidWorkGroupSize(f"the local size in dimension {index} is 0")
        if sizes[index] % size and not (admits_uneven_groups(device) and takes_uneven_groups(kernel.program, device)):
            raise InvalidWorkGroupSize(
                f"global size {sizes[index]} is not a multiple of local size {size} in dimension {index}"
            )
    if not fits_engine(device, local):
        check_large_group(device, kernel, local)
    most, per_dimension = compiled_limits(kernel)
    if prod(local) > most or any(map(int.__gt__, local, per_dimension)):
        raise InvalidWorkGroupSize(f"local size {local} is above the max_work_group_size of kernel '{kernel.name}'")
    required = kernel.interface.required_work_group_size
    if required != ZEROS and tuple(local) + ONES[len(local) :] != required:
        raise InvalidWorkGroupSize(f"kernel '{kernel.name}' requires local size {required}, not {local}")


def check_large_group(device: Device, kernel: Kernel, local: tuple[int, ...]) -> None:
    """Checks a group that the engine does not accept. Raises InvalidWorkItemSize, InvalidWorkGroupSize."""
    most, reason = largest_group(kernel, device)
    if prod(local) <= most:
        return
    per_dimension = unpack("3Q", DEVICE_INFO[cl.CL_DEVICE_MAX_WORK_ITEM_SIZES](device))
    for index, size in enumerate(local):
        if size > per_dimension[index]:
            raise InvalidWorkItemSize(
                f"local size {size} in dimension {index} is above the device's {per_dimension[index]}: {reason}"
            )
    raise InvalidWorkGroupSize(f"{prod(local)} work-items per group, kernel '{kernel.name}' can have {most}: {reason}")


def checked_offset(sizes: tuple[int, ...], given: Any) -> tuple[int, ...]:
    """Returns the global offset, zeros for NULL. Raises InvalidGlobalOffset if the last global ID exceeds a size_t."""
    if not given:
        return ZEROS[: len(sizes)]
    offset = tuple(ffi.unpack(given, len(sizes)))
    for first, size in zip(offset, sizes, strict=True):
        if first and first + size > SIZE_MAX:
            raise InvalidGlobalOffset(f"offset {first} and size {size} exceed a size_t")
    return offset


def required_size(kernel: Kernel, work_dim: int) -> tuple[int, ...]:
    """Returns the work-group size that the kernel's source requires, or ()."""
    required = kernel.interface.required_work_group_size
    return required[:work_dim] if required != ZEROS else ()


@entry("clEnqueueNDRangeKernel")
def enqueue_nd_range_kernel(
    command_queue: CommandQueue,
    kernel: Kernel,
    work_dim: int,
    global_work_offset: Any,
    global_work_size: Any,
    local_work_size: Any,
    wait_list: WaitList,
) -> Command:
    check_kernel(command_queue, kernel)
    if not 1 <= work_dim <= 3:
        raise InvalidWorkDimension(f"{work_dim} dimensions are given; 1 to 3 are allowed")
    pad = ONES[work_dim:]
    sizes = tuple(ffi.unpack(global_work_size, work_dim)) if global_work_size else (0,) * work_dim
    offset = checked_offset(sizes, global_work_offset)
    if max(sizes) > SIZE_MAX >> 1:
        raise InvalidGlobalWorkSize(f"global size {sizes} is beyond any device")
    local = tuple(ffi.unpack(local_work_size, work_dim)) if local_work_size else required_size(kernel, work_dim)
    if local:
        check_local(command_queue.device, kernel, sizes, local)
    if 0 in sizes:  # allowed since OpenCL 2.1: the command does nothing
        if carries_transfer(command_queue):
            return None
        return command_queue.enqueue(
            cl.CL_COMMAND_NDRANGE_KERNEL, HostWork(command_queue.device, lambda: None), wait_list
        )
    if carries_launch(command_queue, kernel):
        return None
    launch = new_launch(
        kernel,
        command_queue.device,
        work_dim,
        (*offset, *ZEROS[work_dim:], *sizes, *pad, *(local or ONES[:work_dim]), *pad),
        bool(local),
    )
    return command_queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, launch, wait_list)


@entry("clEnqueueTask")
def enqueue_task(command_queue: CommandQueue, kernel: Kernel, wait_list: WaitList) -> Command:
    check_kernel(command_queue, kernel)
    check_local(command_queue.device, kernel, ONES[:1], ONES[:1])
    if carries_launch(command_queue, kernel):
        return None
    launch = new_launch(kernel, command_queue.device, 1, (*ZEROS, *ONES, *ONES), True)
    return command_queue.enqueue(cl.CL_COMMAND_TASK, launch, wait_list)


@entry("clGetKernelSuggestedLocalWorkSizeKHR")
def get_kernel_suggested_local_work_size(
    command_queue: CommandQueue,
    kernel: Kernel,
    work_dim: int,
    global_work_offset: Any,
    global_work_size: Any,
    suggested_local_work_size: Any,
) -> None:
    """Writes the engine's answer, because the engine chooses the local size if clEnqueueNDRangeKernel gets none."""
    if SUGGESTED_LOCAL_SIZE not in extensions(command_queue.device):
        raise InvalidOperation(f"engine '{command_queue.device.platform.engine.name}' has no {SUGGESTED_LOCAL_SIZE}")
    check_kernel(command_queue, kernel)
    if not 1 <= work_dim <= 3:
        raise InvalidWorkDimension(f"{work_dim} dimensions are given; 1 to 3 are allowed")
    sizes = tuple(ffi.unpack(global_work_size, work_dim)) if global_work_size else (0,) * work_dim
    if 0 in sizes:
        raise InvalidGlobalWorkSize(f"no local size can be suggested for global size {sizes}")
    offset = checked_offset(sizes, global_work_offset)
    if not suggested_local_work_size:
        raise InvalidValue("suggested_local_work_size is NULL")
    kernel.update_arguments()
    arguments = [(a[1], a[2] if isinstance(a[2], bytes) else None) for a in kernel.arguments if a is not None]
    local = required_size(kernel, work_dim) or kernel.engine_kernel.suggested_local_size(arguments, offset, sizes)
    suggested_local_work_size[0:work_dim] = local


@entry("clEnqueueNativeKernel")
def enqueue_native_kernel(
    command_queue: CommandQueue,
    user_func: int,
    args: int,
    cb_args: int,
    num_mem_objects: int,
    mem_list: Any,
    args_mem_loc: Any,
    wait_list: WaitList,
) -> Command:
    raise InvalidOperation("the device runs no native kernels (CL_EXEC_NATIVE_KERNEL)")
