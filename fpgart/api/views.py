# SPDX-License-Identifier: Apache-2.0
"""Views of objects that C has made, which Python needs when somebody asks it about one.

Each function gets the object's parent, what C says of the object (`struct fpgart_unseen`), and its handle.
"""

from __future__ import annotations

from typing import Any

from _fpgart_icd import ffi, lib

from fpgart import opencl as cl
from fpgart.api.arguments import is_kept
from fpgart.api.carrying import BOARDS, CarriedQueue
from fpgart.api.handles import KINDS, Maker, find
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import RUNNING, SUBMITTED, Event


class CommandInC:
    """The command of an event that C has made, or a user event, by its address; the event's handle keeps it."""

    __slots__ = ("_address",)

    def __init__(self, address: int) -> None:
        self._address = address

    def status(self) -> int:
        return int(lib.fpgart_command_status(self._address))

    def wait(self) -> int:
        return int(lib.fpgart_command_wait(self._address))

    def claim(self) -> bool:
        return bool(lib.fpgart_user_event_claim(self._address))

    def set(self, status: int) -> None:
        lib.fpgart_user_event_set(self._address, status)

    def let_follow(self) -> None:
        lib.fpgart_user_event_let_follow(self._address)

    def watch(self) -> int:
        """Have Python hear of the end (view_ended); the status."""
        return int(lib.fpgart_command_watch(self._address))

    def times(self) -> tuple[int, int, int, int]:
        found = ffi.new("uint64_t[4]")
        lib.fpgart_command_times(self._address, found)
        return found[cl.CL_QUEUED], found[cl.CL_SUBMITTED], found[cl.CL_RUNNING], found[cl.CL_COMPLETE]


def view_event(parent: CommandQueue | Context, found: Any, handle: int) -> Event:
    if isinstance(parent, Context):
        event = Event(parent, None, int(found.type), None, SUBMITTED)
    else:
        event = Event(parent.context, parent, int(found.type), None, RUNNING)
    event.unmet = 1
    event.carried = CommandInC(int(found.command))
    return event


def view_kernel(program: Program, found: Any, handle: int) -> Kernel:
    kernel = Kernel(program, ffi.string(found.name).decode(errors="surrogateescape"))
    kernel.handle = handle
    is_kept(kernel)
    return kernel


def view_buffer(parent: Buffer | Context, found: Any, handle: int) -> Buffer:
    flags, size = int(found.flags), int(found.size)
    if isinstance(parent, Buffer):
        return Buffer(parent.context, flags, size, parent=parent, origin=int(found.origin))
    buffer = Buffer(parent, flags, size)
    if found.block:
        device = parent.devices[0]
        block = BOARDS[device].spares.take(int(found.block))
        block.owner = buffer.number
        buffer.blocks, buffer.home = {(device, block.memory): block}, block
    return buffer


def view_queue(context: Context, found: Any, handle: int) -> CommandQueue:
    device, properties, has_list = ffi.new("uintptr_t *"), ffi.new("uint64_t *"), ffi.new("int *")
    lib.fpgart_queue_says(handle, device, properties, has_list)
    wanted = int(properties[0])
    given = (cl.CL_QUEUE_PROPERTIES, wanted, 0) if has_list[0] else None
    queue = CommandQueue(context, find(int(device[0]), Device), wanted, given)
    context.scheduler.let_carry(queue, CarriedQueue(handle))
    return queue


MAKERS: dict[int, Maker] = {
    KINDS["CommandQueue"][0]: view_queue,
    KINDS["Buffer"][0]: view_buffer,
    KINDS["Kernel"][0]: view_kernel,
    KINDS["Event"][0]: view_event,
}
