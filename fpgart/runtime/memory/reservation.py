# SPDX-License-Identifier: Apache-2.0
"""The blocks that enqueued commands will need."""

from __future__ import annotations

from functools import partial
from itertools import count

from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device


class Reservation:
    """The blocks that a command will need, kept until give_back() or leave().

    The destructor gives them back too: a command that has not run can be destroyed with its queue.
    """

    __slots__ = ("_kept", "_number", "_taken")

    def __init__(self) -> None:
        self._number = next(RESERVATIONS)
        self._kept = True
        self._taken: list[tuple[Buffer, Block]] = []

    def take(
        self, buffer: Buffer, device: Device, memory: int | None = None, interleaving: tuple[bool, ...] | None = None
    ) -> Block:
        """Reserves and returns the block of a buffer in a memory of `device`, as Buffer.reserve() does.

        Raises MemObjectAllocationFailure.
        """
        block = buffer.reserve(device, memory, self._number, interleaving=interleaving)
        self._taken.append((buffer.owner, block))
        return block

    def leave(self) -> None:
        """Ends the reservation after success: the contents are in the blocks. The caller may hold any lock."""
        self._kept = False
        for _, block in self._taken:
            block.users.pop(self._number, None)

    def give_back(self) -> None:
        """Ends the reservation and frees the blocks that only this command needed. It may be called again."""
        taken, self._taken = self._taken, []
        leave_blocks(self._number, taken)

    def __del__(self) -> None:
        if self._kept and any(self._number in block.users for _, block in self._taken):
            context = self._taken[0][0].context
            context.reaper.free_later(partial(leave_blocks, self._number, self._taken))


RESERVATIONS = count(1)
NOTHING = Reservation()
"""The reservation of a command that needs no blocks, or has not reserved them yet."""


def leave_blocks(user: int, taken: list[tuple[Buffer, Block]]) -> None:
    """Removes a user from blocks, and frees those that nothing needs."""
    for _, block in taken:
        block.users.pop(user, None)
    for owner in {owner: None for owner, _ in taken}:
        owner.drop_unused()
