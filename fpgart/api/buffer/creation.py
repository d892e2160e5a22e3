# SPDX-License-Identifier: Apache-2.0
"""clCreateBuffer, clCreateBufferWithProperties, clCreateSubBuffer."""

from __future__ import annotations

from typing import Any

from fpgart.api.buffer.checks import check_range
from fpgart.api.context import property_pairs
from fpgart.api.mem_flags import (
    ACCESS,
    CHANNEL_SHIFT,
    CHANNELS,
    HOST_ACCESS,
    HOST_POINTERS,
    KNOWN_FLAGS,
    LAST_CHANNEL,
    check_flags,
)
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidBufferSize,
    InvalidHostPtr,
    InvalidMemObject,
    InvalidProperty,
    InvalidValue,
    MisalignedSubBufferOffset,
)
from fpgart.base.named_tuples import NamedTuple
from fpgart.bridge.entry import cast, entry
from fpgart.runtime.commands.transfers import WriteBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import auto_queue

PROPERTIES = (cl.CL_MEM_CHANNEL_INTEL, cl.CL_MEM_ALLOC_BUFFER_LOCATION_INTEL)
BASE_ALIGNMENT = 1024
ON_CHIP = "msmc"


class RequestedPlacement(NamedTuple):
    """The memory (None: any) and the bank (from 1; 0: any) that the host requests for a buffer.

    The bank has an effect in memories whose banks are not interleaved when the buffer is placed.
    """

    location: int | None = None
    bank: int = 0


ANYWHERE = RequestedPlacement()


def requested_placement(context: Context, properties: tuple[int, ...], flags: int) -> RequestedPlacement:
    """Returns the placement that properties and flags request. Raises InvalidProperty, InvalidValue."""
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
            raise InvalidProperty(f"{name:#x} is not a property of a buffer")
    if location is not None and not any(device.holds_buffers(location) for device in context.devices):
        if context.platform.personality.ignores_wrong_locations:
            return RequestedPlacement(None, bank)
        raise InvalidValue(f"buffer location {location} is not a memory for buffers of any device of the context")
    return RequestedPlacement(location, bank)


def check_within_svm(context: Context, flags: int, size: int, host_ptr: int) -> None:
    """Raises InvalidBufferSize if the host's memory for the buffer begins in an SVM allocation and exceeds it."""
    allocation = context.svm.find(host_ptr) if flags & (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR) else None
    if allocation is not None and host_ptr + size > allocation.end:
        room = allocation.end - host_ptr
        raise InvalidBufferSize(f"{size} bytes requested, the SVM allocation has {room} from host_ptr on")


def make_buffer(context: Context, flags: int, size: int, host_ptr: int, properties: tuple[int, ...] | None) -> Buffer:
    placement = requested_placement(context, properties or (), flags) if properties or flags & CHANNELS else ANYWHERE
    on_chip = flags & cl.CL_MEM_USE_MSMC_TI
    if on_chip and not any(device.board.has_msmc for device in context.devices):
        raise InvalidValue("no device of the context has on-chip memory for buffers (CL_MEM_USE_MSMC_TI)")
    check_flags(flags & ~on_chip)
    if not size:
        raise InvalidBufferSize("a buffer of 0 bytes is not possible")
    if size > context.max_mem_alloc_size:
        raise InvalidBufferSize(f"{size} bytes requested, the largest allocation is {context.max_mem_alloc_size}")
    if bool(host_ptr) != bool(flags & (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR)):
        raise InvalidHostPtr(
            "host_ptr is given without a flag that uses it" if host_ptr else "the flags need a host_ptr, it is NULL"
        )
    check_within_svm(context, flags, size, host_ptr)
    buffer = Buffer(
        context,
        flags or cl.CL_MEM_READ_WRITE,
        size,
        host_ptr,
        property_list=properties,
        bank=placement.bank,
        location=placement.location,
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
        raise InvalidMemObject("a sub-buffer cannot have sub-buffers")
    check_flags(flags, KNOWN_FLAGS & ~HOST_POINTERS)
    access, host_access = buffer.flags & ACCESS, buffer.flags & HOST_ACCESS
    if access not in (0, cl.CL_MEM_READ_WRITE) and flags & ACCESS & ~access:
        raise InvalidValue("the sub-buffer's access goes beyond its buffer's")
    if host_access and flags & HOST_ACCESS & ~host_access and not flags & cl.CL_MEM_HOST_NO_ACCESS:
        raise InvalidValue("the sub-buffer's host access goes beyond its buffer's")
    if buffer_create_type != cl.CL_BUFFER_CREATE_TYPE_REGION:
        raise InvalidValue(f"{buffer_create_type:#x} is not a cl_buffer_create_type")
    if not buffer_create_info:
        raise InvalidValue("no region is given")
    region = cast("size_t *", buffer_create_info)
    origin, size = int(region[0]), int(region[1])
    if not size:
        raise InvalidBufferSize("a sub-buffer of 0 bytes is not possible")
    check_range(buffer, origin, size)
    if origin % BASE_ALIGNMENT:
        raise MisalignedSubBufferOffset(f"origin {origin} is not a multiple of {BASE_ALIGNMENT} bytes")
    if flags & CHANNELS and flags & CHANNELS != buffer.flags & CHANNELS:
        raise InvalidValue("the sub-buffer's channel is not its buffer's")
    inherited = (
        (flags & ACCESS or access) | (flags & HOST_ACCESS or host_access) | buffer.flags & (HOST_POINTERS | CHANNELS)
    )
    return Buffer(buffer.context, inherited, size, parent=buffer, origin=origin)
