# SPDX-License-Identifier: Apache-2.0
"""Frees unified shared memory that commands may still use."""

from __future__ import annotations

from fpgart.base.notices import NOTICES
from fpgart.runtime.commands.operation import DeviceOperation, operation_of
from fpgart.runtime.memory.usm import UsmAllocation, free
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.objects.context import Context


def uses(operation: DeviceOperation | None, allocation: UsmAllocation) -> bool:
    """True if a command that has not ended may use the allocation."""
    if operation is None:
        return False
    if operation.launch is not None:
        return operation.launch.usm is not None and operation.launch.usm.may_touch(allocation)
    return any(access.allocation is allocation for access in operation.accesses())


def blocking_free(context: Context, pointer: int) -> None:
    """Waits for every command in the context's queues that may use the allocation, then frees it."""
    allocation = context.usm.at(pointer)
    if allocation is not None:
        context.scheduler.call_due()
        context.scheduler.flush()  # commands that C carries may follow others
        for queue in context.queues.all():
            if queue.carried is not None:
                use = allocation.pointer, allocation.end, Indirect.of(allocation.kind)
                for command in queue.carried.users(*use):
                    context.scheduler.wait_for(command)
        for event in context.scheduler.unfinished(context.queues.all()):
            if uses(operation_of(event), allocation):
                context.scheduler.wait(event)
                for listener in NOTICES.end_observed:
                    listener(event)
    free(context, pointer)
