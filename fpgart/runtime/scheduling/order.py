# SPDX-License-Identifier: Apache-2.0
"""The order of a command queue: which commands each new one has to follow (OpenCL 3.0, 5.1, 5.13).

This is the only place that knows the rule. The scheduler, the simulated clock and the happens-before check each keep
a `QueueOrder` per queue, of commands of their own and with ends of their own.
"""

from __future__ import annotations

import enum
from typing import Generic, TypeVar

Command = TypeVar("Command")


class Role(enum.Enum):
    """What a command is to the order of its queue."""

    WORK = "work"
    MARKER = "marker"
    """It ends when what it follows has ended; commands behind it do not wait for it."""
    BARRIER = "barrier"
    """As a marker, but commands behind it wait for it, in out-of-order queues too."""


class QueueOrder(Generic[Command]):
    """The commands of one queue that later ones may have to follow.

    `open` holds those that have not ended, oldest first. `last` is the command that was enqueued last and `barrier`
    the last barrier, until they are forgotten.
    """

    __slots__ = ("barrier", "in_order", "last", "open")

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self.open: dict[Command, None] = {}
        self.last: Command | None = None
        self.barrier: Command | None = None

    def follow(self, command: Command, role: Role, *, waits: bool) -> tuple[Command, ...]:
        """Put a command at the end of the queue; returns those of the queue that it follows.

        `waits`: whether it was given a wait list. A marker or barrier without one waits for all commands before it.
        """
        before: tuple[Command, ...] = ()
        if self.in_order:
            if self.last is not None:
                before = (self.last,)
        elif role is not Role.WORK and not waits:
            before = tuple(self.open)
        elif self.barrier is not None:
            before = (self.barrier,)
        self.last = command
        self.open[command] = None
        if role is Role.BARRIER:
            self.barrier = command
        return before

    def ended(self, command: Command) -> None:
        """`command` has ended: markers and barriers to come do not wait for it."""
        self.open.pop(command, None)

    def forget(self, command: Command) -> None:
        """As ended(), and nothing that comes later has to follow `command` in any way."""
        self.open.pop(command, None)
        if self.last is command:
            self.last = None
        if self.barrier is command:
            self.barrier = None
