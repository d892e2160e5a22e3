# SPDX-License-Identifier: Apache-2.0
"""The operations that a board is busy with, and those that may begin beside them: the board's conflict matrix.

Transfers exclude each other, on full-duplex boards only those in the same direction. Kernels run beside transfers
and beside each other. Programming excludes everything. The scheduler's lock guards all state here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable


class Direction(enum.IntEnum):
    """Which way bytes go, seen from the board; what a half-duplex board can do only one of at a time.

    The bits of several are combined as integers: flags of `enum` cost a microsecond per operation.
    """

    NONE = 0
    IN = 1
    OUT = 2
    BOTH = 3


BOTH = Direction.BOTH


class Claim(enum.Enum):
    """Whether an operation may begin now."""

    TAKEN = "taken"
    """It may, and the board is busy with it from now on."""
    WAITS = "waits"
    """Not yet. Younger operations that conflict with it stay behind it."""
    YIELDS = "yields"
    """Not before a running kernel has ended. That kernel may need transfers to come, so these may pass."""


TAKEN, WAITS = Claim.TAKEN, Claim.WAITS


class Occupancy:
    """What one board is busy with.

    `moving`: the directions in which transfers are under way. `programming`: whether it is being programmed.
    `launches`: how many launches count on the binary that is loaded. `busy_cores`: how many cores run tasks.
    `closing`: whether a launch waits to program the board for transfers alone; no other transfer begins then, or
    hosts that never pause would keep it waiting for ever. `lent` takes the board back from C, if C may carry out
    transfers or launches by itself (loan.py): what is under way is among those that are moving, or launches, then.
    """

    __slots__ = ("busy_cores", "closing", "cores", "full_duplex", "launches", "lent", "moving", "programming")

    def __init__(self, *, full_duplex: bool, cores: int) -> None:
        """`cores`: how many tasks can run at once; 0 for no limit."""
        self.full_duplex = full_duplex
        self.cores = cores
        self.moving: int = Direction.NONE
        self.programming = False
        self.closing = False
        self.launches = 0
        self.busy_cores = 0
        self.lent: Callable[[], None] | None = None

    def lanes(self, way: Direction) -> Direction:
        """The directions that a transfer keeps busy which goes `way`."""
        return way if self.full_duplex else BOTH

    def call_in(self) -> None:
        """Have what C does by itself be among what the board is busy with."""
        if self.lent is not None:
            self.lent()

    # Transfers

    def admits(self, way: Direction) -> bool:
        """Whether a transfer may begin."""
        if self.lent is not None:
            self.lent()
        return not (self.programming or self.closing or self.moving & self.lanes(way))

    def begin_transfer(self, way: Direction) -> None:
        self.moving |= self.lanes(way)

    def end_transfer(self, way: Direction) -> None:
        self.moving &= ~self.lanes(way)

    @property
    def is_idle(self) -> bool:
        """Whether nothing moves, is programmed, or waits to be."""
        return not (self.moving or self.programming or self.closing)

    # Programming

    def claim_programming(self) -> Claim:
        """Begin to program the board when nothing runs on it; from when only transfers do, no new ones begin."""
        if self.lent is not None:
            self.lent()
        if self.programming or self.launches:
            return WAITS
        if self.moving:
            self.closing = True
            return WAITS
        self.programming = True
        self.closing = False
        return TAKEN

    def end_programming(self) -> None:
        self.programming = False

    # Launches

    def claim_launch(self, cores: int) -> Claim:
        """Count a launch among those that the loaded binary is needed for; `cores` of the board are busy with it."""
        if self.programming or (cores and self.busy_cores + cores > self.cores):
            return WAITS
        self.closing = False
        self.begin_launch(cores)
        return TAKEN

    def begin_launch(self, cores: int) -> None:
        self.launches += 1
        self.busy_cores += cores

    def end_launch(self, cores: int) -> None:
        self.launches -= 1
        self.busy_cores -= cores
