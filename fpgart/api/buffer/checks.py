# SPDX-License-Identifier: Apache-2.0
"""Checks that all commands on buffers share, and the offer of transfers to C."""

from __future__ import annotations

from fpgart.base.errors import InvalidContext, InvalidOperation, InvalidValue
from fpgart.base.notices import NOTICES
from fpgart.bridge.carrying import carries_transfer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.queue import CommandQueue


def check_context(queue: CommandQueue, buffer: Buffer) -> None:
    if buffer.context is not queue.context:
        raise InvalidContext("queue and buffer belong to different contexts")


def check_range(buffer: Buffer, offset: int, size: int) -> None:
    if offset + size > buffer.size:
        raise InvalidValue(f"offset {offset} and {size} bytes reach beyond the buffer's {buffer.size}")


def check_transfer(buffer: Buffer, offset: int, size: int) -> None:
    """Raises InvalidValue if the bytes of a command are not in the buffer; watchers get the range."""
    if offset + size > buffer.size:
        for listener in NOTICES.range_refused:
            listener(buffer, offset, size)
    check_range(buffer, offset, size)


def check_host_access(buffer: Buffer, refused: int, what: str) -> None:
    if buffer.flags & refused:
        raise InvalidOperation(f"the buffer's flags keep the host from {what} it")


def check_pattern(size: int) -> None:
    if size not in (1, 2, 4, 8, 16, 32, 64, 128):
        raise InvalidValue(f"a pattern has 1, 2, 4, 8, 16, 32, 64 or 128 bytes, not {size}")


def is_carried(queue: CommandQueue, *buffers: Buffer, blocking: int = 0) -> bool:
    """Gives the buffers their places on the queue's board. Returns True if C carries the transfer."""
    for buffer in buffers:
        buffer.bind(queue.device)
    return carries_transfer(queue, *buffers, blocking=blocking)
