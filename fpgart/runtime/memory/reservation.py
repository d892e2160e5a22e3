# SPDX-License-Identifier: Apache-2.0
"""The blocks that enqueued commands will need."""

from __future__ import annotations

from functools import partial
from itertools import count

from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device


class Reservation:
    """The blocks that a command will need, kept for it until it gives them back.

    What is forgotten gives them back, too: a command can die with its queue, unrun.
    """

    __slots__ = ("_kept", "_number", "_taken")

    def __init__(self) -> None:
        self._number = next(RESERVATIONS)
        self._kept = True
        self._taken: list[tuple[Buffer, Block]] = []

    def take(
        self,
        buffer: Buffer,
        device: Device,
        memory: int | None = None,
        interleaving: tuple[bool, ...] | None = None,
    ) -> Block:
        """The block of a buffer in a memory of `device`, as Buffer.reserve(). Raises MemObjectAllocationFailure."""
        block = buffer.reserve(device, memory, self._number, interleaving=interleaving)
        self._taken.append((buffer.owner, block))
        return block

    def leave(self) -> None:
        """The command has ended well: the contents are where it wanted them. Any lock may be held."""
        self._kept = False
        for _, block in self._taken:
            block.users.pop(self._number, None)

    def give_back(self) -> None:
        """The command does not need them any more: blocks that only it wanted are free. May be called again."""
        taken, self._taken = self._taken, []
        leave_blocks(self._number, taken)

    def __del__(self) -> None:
        if self._kept and any(self._number in block.users for _, block in self._taken):
            context = self._taken[0][0].context
            context.reaper.free_later(partial(leave_blocks, self._number, self._taken))


RESERVATIONS = count(1)
NOTHING = Reservation()
"""Of a command that needs no blocks, or none yet."""


def leave_blocks(user: int, taken: list[tuple[Buffer, Block]]) -> None:
    """Take a user out of blocks, and free those that nobody needs then."""
    for _, block in taken:
        block.users.pop(user, None)
    for owner in {owner: None for owner, _ in taken}:
        owner.drop_unused()
