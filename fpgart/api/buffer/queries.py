# SPDX-License-Identifier: Apache-2.0
"""clGetMemObjectInfo and clSetMemObjectDestructorCallback."""

from __future__ import annotations

from fpgart.api.buffer.mapping import update_mappings
from fpgart.api.pipe import MEM_INFO as PIPE_MEM_INFO
from fpgart.base import opencl as cl
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, entry
from fpgart.bridge.handles import HELD, call_when_destroyed, find, references
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.pipe import Pipe


def map_count(buffer: Buffer) -> bytes:
    update_mappings(buffer)
    return info.u32(buffer.map_count)


MEM_INFO: dict[int, info.Query[Buffer]] = {
    cl.CL_MEM_TYPE: lambda b: info.u32(cl.CL_MEM_OBJECT_BUFFER),
    cl.CL_MEM_FLAGS: lambda b: info.bitfield(b.flags),
    cl.CL_MEM_SIZE: lambda b: info.size(b.size),
    cl.CL_MEM_HOST_PTR: lambda b: info.u64(b.owner.host_ptr + b.origin if b.owner.host_ptr else 0),
    cl.CL_MEM_MAP_COUNT: map_count,
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


def memory_object(handle: int) -> Buffer | Pipe:
    """Returns the memory object of a handle. Raises InvalidMemObject."""
    item = HELD.get(handle)
    return item if item.__class__ is Pipe else find(handle, Buffer)


@entry("clGetMemObjectInfo")
def get_mem_object_info(memobj: int, param_name: int) -> Answer:
    item = memory_object(memobj)
    if isinstance(item, Pipe):
        return info.answer_of(PIPE_MEM_INFO, item, param_name)
    return info.answer_of(MEM_INFO, item, param_name, FIXED_MEM_INFO)


@entry("clSetMemObjectDestructorCallback")
def set_mem_object_destructor_callback(memobj: int, pfn_notify: int, user_data: int) -> None:
    call_when_destroyed(memory_object(memobj), memobj, pfn_notify, user_data)
