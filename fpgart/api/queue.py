# SPDX-License-Identifier: Apache-2.0
"""Command queues (OpenCL 3.0, 5.1) and what applies to a whole queue (5.14, 5.15)."""

from __future__ import annotations

from typing import Any

from fpgart.api.context import property_pairs
from fpgart.api.device import check_device
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidCommandQueue,
    InvalidOperation,
    InvalidQueueProperties,
    InvalidValue,
)
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, Command, WaitList, entry, wait_list
from fpgart.bridge.handles import references
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue

HOST_PROPERTIES = cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl.CL_QUEUE_PROFILING_ENABLE
DEVICE_PROPERTIES = cl.CL_QUEUE_ON_DEVICE | cl.CL_QUEUE_ON_DEVICE_DEFAULT


def queue_size(queue: CommandQueue) -> bytes:
    raise InvalidCommandQueue("only queues on the device have a size")


QUEUE_INFO: dict[int, info.Query[CommandQueue]] = {
    cl.CL_QUEUE_CONTEXT: lambda q: info.handle(q.context),
    cl.CL_QUEUE_DEVICE: lambda q: info.handle(q.device),
    cl.CL_QUEUE_REFERENCE_COUNT: lambda q: info.u32(references(q)),
    cl.CL_QUEUE_PROPERTIES: lambda q: info.bitfield(q.properties),
    cl.CL_QUEUE_PROPERTIES_ARRAY: lambda q: info.sizes(q.property_list or ()),
    cl.CL_QUEUE_SIZE: queue_size,
    cl.CL_QUEUE_DEVICE_DEFAULT: lambda q: info.u64(0),
}


FIXED_QUEUE_INFO = QUEUE_INFO.keys() - {cl.CL_QUEUE_REFERENCE_COUNT, cl.CL_QUEUE_DEVICE_DEFAULT}


def check_properties(device: Device, properties: int) -> None:
    timed = cl.CL_QUEUE_KERNEL_TIMEOUT_COMPUTE_UNIT_TI if device.board.has_msmc else 0
    if properties & ~(HOST_PROPERTIES | DEVICE_PROPERTIES | timed):
        raise InvalidValue(f"{properties:#x} has bits that are not queue properties")
    if properties & DEVICE_PROPERTIES:
        raise InvalidQueueProperties("boards have no queues on the device")
    if properties & timed:
        raise InvalidQueueProperties("kernels have no time limit: no engine can end them")


@entry("clCreateCommandQueue")
def create_command_queue(context: Context, device: Device, properties: int) -> CommandQueue:
    check_device(context, device)
    check_properties(device, properties)
    return CommandQueue(context, device, properties)


@entry("clCreateCommandQueueWithProperties", "clCreateCommandQueueWithPropertiesKHR")
def create_command_queue_with_properties(context: Context, device: Device, properties: Any) -> CommandQueue:
    check_device(context, device)
    found = property_pairs(properties, (cl.CL_QUEUE_PROPERTIES, cl.CL_QUEUE_SIZE))
    wanted = 0
    for name, value in zip(found[0:-1:2], found[1::2], strict=False):
        if name == cl.CL_QUEUE_PROPERTIES:
            check_properties(device, value)
            wanted = value
        elif name == cl.CL_QUEUE_SIZE:
            raise InvalidQueueProperties("CL_QUEUE_SIZE is for queues on the device, which boards do not have")
        else:
            raise InvalidValue(f"{name:#x} is not a queue property")
    return CommandQueue(context, device, wanted, found if properties else None)


@entry("clGetCommandQueueInfo")
def get_command_queue_info(command_queue: CommandQueue, param_name: int) -> Answer:
    return info.answer_of(QUEUE_INFO, command_queue, param_name, FIXED_QUEUE_INFO)


@entry("clSetCommandQueueProperty")
def set_command_queue_property(command_queue: CommandQueue, properties: int, enable: int, old_properties: Any) -> None:
    """Refuses the call of OpenCL 1.0, as drivers of later versions may."""
    if old_properties:
        old_properties[0] = command_queue.properties
    raise InvalidOperation("the properties of a queue cannot be changed since OpenCL 1.1")


@entry("clFlush")
def flush(command_queue: CommandQueue) -> None:
    command_queue.flush()


@entry("clFinish")
def finish(command_queue: CommandQueue) -> None:
    command_queue.finish()


@entry("clEnqueueMarkerWithWaitList")
def enqueue_marker_with_wait_list(command_queue: CommandQueue, wait_list: WaitList) -> Command:
    return command_queue.enqueue(cl.CL_COMMAND_MARKER, None, wait_list)


@entry("clEnqueueBarrierWithWaitList")
def enqueue_barrier_with_wait_list(command_queue: CommandQueue, wait_list: WaitList) -> Command:
    return command_queue.enqueue(cl.CL_COMMAND_BARRIER, None, wait_list)


@entry("clEnqueueMarker")
def enqueue_marker(command_queue: CommandQueue, event: Any) -> None:
    from fpgart.bridge.handles import publish

    if not event:
        raise InvalidValue("a marker without an event to wait for is of no use")
    event[0] = publish(command_queue.enqueue(cl.CL_COMMAND_MARKER, None))


@entry("clEnqueueBarrier")
def enqueue_barrier(command_queue: CommandQueue) -> None:
    command_queue.enqueue(cl.CL_COMMAND_BARRIER, None)


@entry("clEnqueueWaitForEvents")
def enqueue_wait_for_events(command_queue: CommandQueue, num_events: int, event_list: Any) -> None:
    from fpgart.base.errors import InvalidEvent, InvalidEventWaitList

    if not num_events or not event_list:
        raise InvalidValue("there are no events to wait for")
    try:
        events = wait_list(num_events, event_list, command_queue.context)
    except InvalidEventWaitList as error:
        raise InvalidEvent(str(error)) from None
    command_queue.enqueue(cl.CL_COMMAND_BARRIER, None, events)
