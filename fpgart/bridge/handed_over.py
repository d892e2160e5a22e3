# SPDX-License-Identifier: Apache-2.0
"""Makes operations of C's commands (icd/entry/commands.c) whose board had changed, or was held, at their turn.

The command contains the arguments with which the host enqueued it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from _fpgart_icd import ffi, lib

from fpgart._native import ffi as native_ffi
from fpgart._native import lib as native
from fpgart.base import opencl as cl
from fpgart.bridge.arguments import arguments_of
from fpgart.bridge.handles import known
from fpgart.bridge.watched import tell_handed_over
from fpgart.runtime.commands.boxes import Box, pieces
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.migration import migrate_to_device
from fpgart.runtime.commands.new_launch import new_launch_with
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadRect, WriteRect
from fpgart.runtime.commands.usm import UsmCopy, UsmFill, UsmPointer, by_host
from fpgart.runtime.scheduling.attempt import attempt
from fpgart.runtime.scheduling.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from fpgart.runtime.memory.buffer import Buffer
    from fpgart.runtime.objects.queue import CommandQueue
    from fpgart.runtime.programs.kernel import Kernel
    from fpgart.runtime.scheduling.event import Callback, Operation
    from fpgart.runtime.scheduling.scheduler import Scheduler

WRITTEN, READ, COPIED = range(3)
"""The kinds of moves, by the counter of their bytes."""


def run_handed_over(
    command: int, queue_handle: int, kernel_handle: int, kind: int, address: int, counter: int, count: int, uses: Any
) -> None:
    """Runs a command on a thread of the driver. `address`: its operation in C, valid until the command ends.

    `uses`: the buffers, and the offset in each or the index of the argument. The command holds the buffers.
    """
    queue: CommandQueue = known(queue_handle)
    places = [(int(uses[i].buffer), int(uses[i].at)) for i in range(count)]
    carried = native_ffi.cast("struct carried *", address)
    scheduler, event = queue.context.scheduler, Event(queue.context, queue, kind, None)
    tell_handed_over(command, event)
    make = partial(_operation_of, queue, kernel_handle, kind, carried, counter, places)
    scheduler.run_apart(partial(_run, scheduler, command, event, make))


def _run(scheduler: Scheduler, command: int, event: Event, make: Callable[[], Operation]) -> None:
    """Makes the operation and runs it.

    Only the event refers to it and its buffers: the host may have released them, and uses their memory after the end.
    """
    status, event.operation = attempt(event, make)
    if event.operation is not None:
        status, _ = attempt(event, partial(scheduler.run_handed_over, event, _began(command), _ended(command)))
        if status == 0:
            return
        event.operation.abandon()
    _end(command, status)


def _end(command: int, status: int) -> None:
    lib.core_end(ffi.cast("struct core_command *", command), status)


def _began(command: int) -> Callback:
    return lambda event, status: lib.core_begin(ffi.cast("struct core_command *", command))


def _ended(command: int) -> Callback:
    return lambda event, status: _end(command, status)


def _operation_of(
    queue: CommandQueue, kernel_handle: int, kind: int, carried: Any, counter: int, places: list[tuple[int, int]]
) -> Operation:
    """Returns the operation that the scheduler runs for a command, which holds the buffers. Raises CLError.

    `places`: the handle of each buffer, and the offset in it or the index of the argument.
    """
    device = queue.device
    buffers: list[tuple[Buffer, int]] = [(known(handle), at) for handle, at in places]
    if carried.kind == native.CARRIED_LAUNCH:
        return _launch_of(queue, known(kernel_handle), carried, buffers)
    if kind in (cl.CL_COMMAND_MEMCPY_INTEL, cl.CL_COMMAND_MEMFILL_INTEL):
        return _usm_operation(queue, carried)
    if not buffers:  # a command on shared virtual memory, or one that does nothing
        return HostWork(device, partial(native.carrier_do, carried))
    if kind == cl.CL_COMMAND_MIGRATE_MEM_OBJECTS:
        return migrate_to_device(device, [buffer for buffer, _ in buffers], keep=True)
    buffer, offset = buffers[0]
    if carried.kind == native.CARRIED_FILL:
        pattern = bytes(native_ffi.buffer(carried.more, carried.count))
        return FillBuffer(device, buffer, offset, int(carried.size[0]), pattern)
    region = (int(carried.size[0]), int(carried.size[1]), int(carried.size[2]))
    if counter == WRITTEN:
        box, host_box = _box(offset, carried.to_pitch), _box(0, carried.from_pitch)
        return WriteRect(device, buffer, box, int(getattr(carried, "from")), host_box, region)
    if counter == READ:
        box, host_box = _box(offset, carried.from_pitch), _box(0, carried.to_pitch)
        return ReadRect(device, buffer, box, int(carried.to), host_box, region)
    other, other_offset = buffers[1]
    boxes = _box(offset, carried.from_pitch), _box(other_offset, carried.to_pitch)
    return CopyBuffer(device, buffer, other, list(pieces(region, *boxes)))


def _usm_operation(queue: CommandQueue, carried: Any) -> Operation:
    size = int(carried.size[0])
    target = UsmPointer(queue.context, int(carried.to), size)
    if carried.kind == native.CARRIED_FILL:
        pattern = bytes(native_ffi.buffer(carried.more, carried.count))
        return by_host(UsmFill(queue.device, target, pattern, size))
    source = UsmPointer(queue.context, int(getattr(carried, "from")), size)
    return by_host(UsmCopy(queue.device, target, source, size))


def _box(begin: int, pitches: Any) -> Box:
    return Box((begin, 0, 0), int(pitches[0]), int(pitches[1]))


def _launch_of(queue: CommandQueue, kernel: Kernel, carried: Any, buffers: list[tuple[Buffer, int]]) -> Operation:
    arguments = arguments_of(carried, buffers)
    sizes = tuple(int(size) for size in carried.sizes)
    return new_launch_with(arguments, kernel, queue.device, int(carried.dimensions), sizes, bool(carried.has_local))
