# SPDX-License-Identifier: Apache-2.0
"""The MMD: the one door to a board. Nothing moves a byte to, from or in a board except through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fpgart.board.description import BoardDescription


@dataclass(slots=True)
class Traffic:
    """Calls made and bytes moved through one kind of MMD call."""

    calls: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.calls += 1
        self.bytes += size


class Mmd(Protocol):
    """What a board offers to the runtime, in the terms of aocl_mmd.h.

    Board addresses are those of the board's memory map, without device id. Host addresses are
    addresses of this process. All sizes are in bytes; all calls block until the bytes have moved. Those that
    move bytes or program raise BoardError when the board fails.
    """

    @property
    def description(self) -> BoardDescription:
        """What the board is made of."""

    @property
    def traffic(self) -> dict[str, Traffic]:
        """Calls and bytes so far, by the call's name without aocl_mmd_."""

    def open(self) -> None:
        """Power the board up; raises BoardError when the machine cannot carry its memory."""

    def close(self) -> None:
        """Give everything back."""

    def write(self, host: int, board: int, size: int) -> None:
        """aocl_mmd_write: host to board."""

    def read(self, board: int, host: int, size: int) -> None:
        """aocl_mmd_read: board to host."""

    def copy(self, source: int, destination: int, size: int) -> None:
        """aocl_mmd_copy: within the board."""

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        """aocl_mmd_program: load another binary; with `preserve` memory keeps its contents."""

    def host_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_host_alloc: host memory that the board may use; 0 when there is none.

        That call names several boards; here each gets one, and `given` is what the first of them has allocated.
        """

    def shared_alloc(self, size: int, alignment: int, given: int = 0) -> int:
        """aocl_mmd_shared_alloc: memory that moves between host and this board; 0 when there is none.

        `given` as for host_alloc(), for memory that belongs to no certain board.
        """

    def free(self, host: int) -> None:
        """aocl_mmd_free: give back what host_alloc or shared_alloc gave; the board that allocated it is the last."""

    def renew(self, kept: list[tuple[int, int]]) -> None:
        """Be a new board (no call of aocl_mmd.h): no traffic yet, memory is 0 but for `kept`, addresses and bytes."""

    def in_use(self, board: int, size: int) -> None:
        """A range was claimed; like unused() no call of aocl_mmd.h: they let the simulation save memory."""

    def unused(self, board: int, size: int) -> None:
        """A range has no contents any more."""

    def aperture(self, board: int) -> int:
        """Where the board's memory at `board` appears in this process, for the engine's kernels."""


class BoardError(Exception):
    """The board cannot do it; the sentence says what and why."""
