# SPDX-License-Identifier: Apache-2.0
"""Blocking transfers that C carries out without Python, because one like them was carried out before (icd/copies.c).

Python tells C where a buffer is, and lends the board's transfers to the queue as long as nothing else needs them.
"""

from __future__ import annotations

from _fpgart_icd import lib

from fpgart.notices import NOTICES
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.occupancy import Direction


def let_copies_pass(queue: CommandQueue, buffer: Buffer, way: Direction) -> None:
    """Blocking transfers of this buffer in this queue need no decision as long as nothing changes."""
    if not lib.fpgart_copy_was_missed():
        return
    device, scheduler = queue.device, queue.context.scheduler
    if not scheduler.lends or NOTICES.hear_of_commands or not device.mmd.own_traffic:
        return
    loan = device.loan or scheduler.loan_of(device)
    if not loan.is_worth_while():
        return

    def enter() -> bool:
        home = buffer.owner.home
        traffic = device.mmd.own_traffic  # there may be faults by now
        if home is None or home.device is not device or not traffic:
            return False
        place = home.pointer + buffer.origin, buffer.size
        context = lib.fpgart_handle_serial(queue.context.handle)
        loan.enter(buffer.handle, lib.fpgart_handle_serial(buffer.handle), way, place, traffic, context)
        return True

    if scheduler.lend(queue, lib.fpgart_handle_serial(queue.handle), loan, enter):
        lib.fpgart_let_copies_pass(queue.handle, loan.address)
