# SPDX-License-Identifier: Apache-2.0
"""Views: Python's objects for those that C has made.

Each function gets the object's parent, C's facts about it (`struct fpgart_unseen`), and its handle.
"""

from __future__ import annotations

from typing import Any

from _fpgart_icd import ffi

from fpgart.base import opencl as cl
from fpgart.board.memory_system import MemoryRange
from fpgart.bridge.arguments import is_kept
from fpgart.bridge.carrying import CarriedQueue
from fpgart.bridge.handles import KINDS, Maker, find
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import RUNNING, SUBMITTED, Event


def view_event(parent: CommandQueue | Context, found: Any, handle: int) -> Event:
    scheduler = (parent if isinstance(parent, Context) else parent.context).scheduler
    command = scheduler.core.command_at(int(found.command), is_user_event=isinstance(parent, Context))
    if isinstance(parent, Context):
        return Event(parent, None, int(found.type), None, SUBMITTED, command)
    return Event(parent.context, parent, int(found.type), None, RUNNING, command)


def view_kernel(program: Program, found: Any, handle: int) -> Kernel:
    kernel = Kernel(program, ffi.string(found.name).decode(errors="surrogateescape"))
    kernel.handle = handle
    is_kept(kernel)
    return kernel


def view_buffer(parent: Buffer | Context, found: Any, handle: int) -> Buffer:
    flags, size = int(found.flags), int(found.size)
    if isinstance(parent, Buffer):
        return Buffer(parent.context, flags, size, parent=parent, origin=int(found.origin))
    buffer = Buffer(parent, flags, size, int(found.host))
    if found.store:
        buffer.store = HostStore(size, int(found.store))
    if found.device:
        device = find(int(found.device), Device)
        block = device.adopt(Block(device, MemoryRange(0, int(found.block), size), buffer.number))
        buffer.blocks, buffer.home, buffer.on_host = {(device, block.memory): block}, block, False
    return buffer


def view_queue(context: Context, found: Any, handle: int) -> CommandQueue:
    properties = int(found.flags)
    given = (cl.CL_QUEUE_PROPERTIES, properties, 0) if found.has_list else None
    core = context.scheduler.core.queue_at(ffi.cast("struct core_queue *", found.core))
    queue = CommandQueue(context, find(int(found.device), Device), properties, given, core)
    queue.carried = CarriedQueue(handle)
    return queue


MAKERS: dict[int, Maker] = {
    KINDS["CommandQueue"][0]: view_queue,
    KINDS["Buffer"][0]: view_buffer,
    KINDS["Kernel"][0]: view_kernel,
    KINDS["Event"][0]: view_event,
}
