# SPDX-License-Identifier: Apache-2.0
"""clEnqueueMigrateMemObjects (OpenCL 3.0, 5.5)."""

from __future__ import annotations

from typing import Any

from _fpgart_icd import lib

from fpgart.api.buffer.checks import check_context
from fpgart.api.mem_flags import check_migration_flags
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue
from fpgart.bridge.carrying import carries_transfer
from fpgart.bridge.entry import Command, WaitList, entry
from fpgart.bridge.handles import find
from fpgart.runtime.commands.migration import MigrateToHost, Migration, migrate_to_device
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.queue import CommandQueue


@entry("clEnqueueMigrateMemObjects")
def enqueue_migrate_mem_objects(
    command_queue: CommandQueue, num_mem_objects: int, mem_objects: Any, flags: int, wait_list: WaitList
) -> Command:
    if not num_mem_objects or not mem_objects:
        raise InvalidValue("no memory objects are given")
    buffers = [find(mem_objects[index], Buffer) for index in range(num_mem_objects)]
    for buffer in buffers:
        check_context(command_queue, buffer)
    check_migration_flags(flags)
    if not flags and carries_transfer(command_queue, *buffers):
        return None
    device = command_queue.device
    buffers = [buffer for buffer in buffers if not buffer.owner.stays_on_host]
    # A sub-buffer moves with its whole buffer, whose other contents stay defined.
    is_undefined = flags & cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
    keep = not is_undefined or any(buffer.size < buffer.owner.size for buffer in buffers)
    operation: Migration | MigrateToHost
    if flags & cl.CL_MIGRATE_MEM_OBJECT_HOST or not device.knows_memories:
        # The memory in which the host writes to mapped regions would get the old contents.
        buffers = [buffer for buffer in buffers if not lib.fpgart_is_mapped(buffer.handle)]
        operation = MigrateToHost(device, buffers, keep)
    else:
        operation = migrate_to_device(device, buffers, keep)
    return command_queue.enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, wait_list)
