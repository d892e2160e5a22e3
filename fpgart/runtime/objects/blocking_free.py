# SPDX-License-Identifier: Apache-2.0
"""Freeing unified shared memory that commands may still use."""

from __future__ import annotations

from fpgart.notices import NOTICES
from fpgart.runtime.commands.usm import UsmTransfer
from fpgart.runtime.memory.usm import UsmAllocation, free
from fpgart.runtime.memory.usm_use import UsmUse
from fpgart.runtime.objects.context import Context


def uses(operation: object, allocation: UsmAllocation) -> bool:
    """Whether a command that has not ended may touch an allocation."""
    transfer = getattr(operation, "transfer", operation)
    if isinstance(transfer, UsmTransfer):
        return allocation in transfer.allocations
    use = getattr(getattr(operation, "launch", operation), "usm", None)
    return isinstance(use, UsmUse) and use.may_touch(allocation)


def blocking_free(context: Context, pointer: int) -> None:
    """free() after every command that may use the allocation, in any queue of the context, has ended."""
    allocation = context.usm.at(pointer)
    if allocation is not None:
        for event in context.scheduler.unfinished(context.all_queues()):
            if uses(event.operation, allocation):
                context.scheduler.wait(event)
                for listener in NOTICES.end_observed:
                    listener(event)
    free(context, pointer)
