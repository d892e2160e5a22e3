# SPDX-License-Identifier: Apache-2.0
"""The words for objects and commands in findings."""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.base.sizes import in_words
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.operation import DeviceOperation, operation_of
from fpgart.runtime.commands.programming import PROGRAM_COMMAND
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import Event
from fpgart.watch.names import ALLOCATORS, LAUNCHES

CALLS = LAUNCHES | {
    cl.CL_COMMAND_READ_BUFFER: "clEnqueueReadBuffer",
    cl.CL_COMMAND_WRITE_BUFFER: "clEnqueueWriteBuffer",
    cl.CL_COMMAND_COPY_BUFFER: "clEnqueueCopyBuffer",
    cl.CL_COMMAND_READ_BUFFER_RECT: "clEnqueueReadBufferRect",
    cl.CL_COMMAND_WRITE_BUFFER_RECT: "clEnqueueWriteBufferRect",
    cl.CL_COMMAND_COPY_BUFFER_RECT: "clEnqueueCopyBufferRect",
    cl.CL_COMMAND_FILL_BUFFER: "clEnqueueFillBuffer",
    cl.CL_COMMAND_MAP_BUFFER: "clEnqueueMapBuffer",
    cl.CL_COMMAND_UNMAP_MEM_OBJECT: "clEnqueueUnmapMemObject",
    cl.CL_COMMAND_MIGRATE_MEM_OBJECTS: "clEnqueueMigrateMemObjects",
    cl.CL_COMMAND_MARKER: "clEnqueueMarkerWithWaitList",
    cl.CL_COMMAND_BARRIER: "clEnqueueBarrierWithWaitList",
    cl.CL_COMMAND_MEMFILL_INTEL: "clEnqueueMemFillINTEL",
    cl.CL_COMMAND_MEMCPY_INTEL: "clEnqueueMemcpyINTEL",
    cl.CL_COMMAND_MIGRATEMEM_INTEL: "clEnqueueMigrateMemINTEL",
    cl.CL_COMMAND_MEMADVISE_INTEL: "clEnqueueMemAdviseINTEL",
    cl.CL_COMMAND_SVM_FREE: "clEnqueueSVMFree",
    cl.CL_COMMAND_SVM_MEMCPY: "clEnqueueSVMMemcpy",
    cl.CL_COMMAND_SVM_MEMFILL: "clEnqueueSVMMemFill",
    cl.CL_COMMAND_SVM_MAP: "clEnqueueSVMMap",
    cl.CL_COMMAND_SVM_UNMAP: "clEnqueueSVMUnmap",
}


def command(event: Event, operation: DeviceOperation | None = None) -> str:
    """Returns the call that enqueued a command, such as `clEnqueueNDRangeKernel ('scale') in queue 2`.

    `operation`: its work, if the event has lost it.
    """
    queue = event.queue
    if queue is None:
        return "clCreateUserEvent"
    if event.command_type == PROGRAM_COMMAND:
        return f"the programming of device {queue.device.id}"
    if not queue.handle:
        return "clCreateBuffer (its CL_MEM_COPY_HOST_PTR)"
    name = CALLS.get(event.command_type, f"command {event.command_type:#x}")
    work = operation or operation_of(event)
    launch = work.launch if work is not None else None
    kernel = f" ('{launch.kernel.name}')" if launch is not None else ""
    return f"{name}{kernel} in queue {queue.number}"


def launch_command(call: str, launch: LaunchKernel, queue: CommandQueue) -> str:
    """Returns what command() does for a launch that `call` enqueued."""
    return f"{call} ('{launch.kernel.name}') in queue {queue.number}"


def buffer_name(buffer: Buffer) -> str:
    if buffer.parent is not None:
        return (
            f"sub-buffer {buffer.number}, {in_words(buffer.size)} from byte {buffer.origin} "
            f"of buffer {buffer.parent.number}"
        )
    return f"buffer {buffer.number} of {in_words(buffer.size)}"


def buffer_maker(buffer: Buffer) -> str:
    if buffer.parent is not None:
        return "clCreateSubBuffer"
    return "clCreateBuffer" if buffer.property_list is None else "clCreateBufferWithProperties"


def allocation_name(allocation: UsmAllocation) -> str:
    kind = allocation.kind.name.lower()
    return f"{kind} allocation {allocation.number} of {in_words(allocation.size)} at {allocation.pointer:#x}"


def allocation_maker(allocation: UsmAllocation) -> str:
    return ALLOCATORS[allocation.kind]


def span(begin: int, end: int) -> str:
    """Returns the bytes from `begin` to (not including) `end` in words."""
    return f"byte {begin}" if end == begin + 1 else f"bytes {begin} to {end - 1}"


def context_of(event: Event) -> Context:
    """Returns the context of a command or user event. Events themselves declare only the scheduler's part of it."""
    context = event.context
    assert isinstance(context, Context)
    return context
