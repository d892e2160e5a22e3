# SPDX-License-Identifier: Apache-2.0
"""The order of a command queue: the commands that each new one has to follow (OpenCL 3.0, 5.1, 5.13).

The scheduler's copy of the rule is in C (core/queue.c). The simulated clock and the happens-before check each keep a
`QueueOrder` per queue, with commands and ends of their own.
"""

from __future__ import annotations

import enum
from typing import Generic, TypeVar

Command = TypeVar("Command")


class Role(enum.Enum):
    """The role of a command in the order of its queue."""

    WORK = "work"
    MARKER = "marker"
    """It ends when the commands that it follows have ended; later commands do not wait for it."""
    BARRIER = "barrier"
    """A marker for which later commands wait, in out-of-order queues too."""


class QueueOrder(Generic[Command]):
    """The commands of one queue that later ones may have to follow.

    `open` has those that have not ended, oldest first. `last` is the command that was enqueued last and `barrier` the
    last barrier, until forget().
    """

    __slots__ = ("barrier", "in_order", "last", "open")

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self.open: dict[Command, None] = {}
        self.last: Command | None = None
        self.barrier: Command | None = None

    def follow(self, command: Command, role: Role, *, waits: bool) -> tuple[Command, ...]:
        """Puts a command at the end of the queue. Returns the commands of the queue that it follows.

        `waits` is True if it has a wait list. A marker or barrier without one waits for all commands before it.
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
        """Records the end of a command, for which later markers and barriers do not wait."""
        self.open.pop(command, None)

    def forget(self, command: Command) -> None:
        """Records the end of a command that nothing later has to follow."""
        self.open.pop(command, None)
        if self.last is command:
            self.last = None
        if self.barrier is command:
            self.barrier = None
