# SPDX-License-Identifier: Apache-2.0
"""The operations that a board is busy with, and those that may begin beside them: the board's conflict matrix.

Transfers exclude each other, on full-duplex boards only those in the same direction. Kernels run beside transfers
and beside each other, but launches of one kernel with an end of a pipe take turns. Programming excludes everything.
The scheduler's lock guards all state here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Protocol


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
    """Not before a running kernel has ended. That kernel may need commands to come, so these may pass."""


TAKEN, WAITS, YIELDS = Claim.TAKEN, Claim.WAITS, Claim.YIELDS


class Carried(Protocol):
    """The commands that C gives to the engine by itself, on one board."""

    def stop(self) -> bool:
        """Have none begin until go_on(); whether none is under way. Who may go on then is told to look again."""

    def go_on(self) -> None: ...

    def uses(self, handles: Iterable[int]) -> bool:
        """Whether one that is under way needs one of these objects, by their handles."""

    def loaded(self) -> str:
        """The identity of the program that the board is loaded with; "" for none."""

    def has_loaded(self, identity: str) -> None: ...


class Occupancy:
    """What one board is busy with.

    `moving`: the directions in which transfers are under way. `programming`: whether it is being programmed.
    `launches`: how many launches count on the binary that is loaded. `busy_cores`: how many cores run tasks.
    `alone`: the kernels that run and whose launches run one after another. `closing`: whether a launch waits to program
    the board for transfers alone; no other transfer begins then, or hosts that never pause would keep it waiting for
    ever. `carried`: the commands that C carries, if it may; none is
    under way while the board is programmed or buffers are migrated.
    """

    __slots__ = (
        "alone",
        "busy_cores",
        "carried",
        "closing",
        "cores",
        "full_duplex",
        "launches",
        "moving",
        "programming",
    )

    def __init__(self, *, full_duplex: bool, cores: int) -> None:
        """`cores`: how many tasks can run at once; 0 for no limit."""
        self.full_duplex = full_duplex
        self.cores = cores
        self.moving: int = Direction.NONE
        self.programming = False
        self.closing = False
        self.launches = 0
        self.busy_cores = 0
        self.alone: set[str] = set()
        self.carried: Carried | None = None

    def lanes(self, way: Direction) -> Direction:
        """The directions that a transfer keeps busy which goes `way`."""
        return way if self.full_duplex else BOTH

    def stop_carrying(self, handles: Iterable[int] | None = None) -> bool:
        """Have no carried command begin until carry_on(); whether none is under way that needs one of these objects.

        Without `handles`: whether none is under way at all.
        """
        if self.carried is None or self.carried.stop():
            return True
        return handles is not None and not self.carried.uses(handles)

    def carry_on(self) -> None:
        if self.carried is not None:
            self.carried.go_on()

    # Transfers

    def admits(self, way: Direction) -> bool:
        """Whether a transfer may begin."""
        return not (self.programming or self.closing or self.moving & self.lanes(way))

    def begin_transfer(self, way: Direction) -> None:
        self.moving |= self.lanes(way)

    def end_transfer(self, way: Direction) -> None:
        self.moving &= ~self.lanes(way)

    # Programming

    def claim_programming(self) -> Claim:
        """Begin to program the board when nothing runs on it; from when only transfers do, no new ones begin."""
        if self.programming or self.launches:
            return WAITS
        if self.moving:
            self.closing = True
            return WAITS
        if not self.stop_carrying():
            return WAITS
        self.programming = True
        self.closing = False
        return TAKEN

    def end_programming(self) -> None:
        self.programming = False
        self.carry_on()

    # Launches

    def claim_launch(self, cores: int, alone: str = "") -> Claim:
        """Count a launch among those that the loaded binary is needed for; `cores` of the board are busy with it.

        `alone`: the name of a kernel whose launches run one after another. Other kernels may pass one that waits for
        its turn: the launch in front of it may wait for them.
        """
        if self.programming or (cores and self.busy_cores + cores > self.cores):
            return WAITS
        if alone in self.alone:
            return YIELDS
        self.closing = False
        self.begin_launch(cores, alone)
        return TAKEN

    def begin_launch(self, cores: int, alone: str = "") -> None:
        self.launches += 1
        self.busy_cores += cores
        if alone:
            self.alone.add(alone)

    def end_launch(self, cores: int, alone: str = "") -> None:
        self.launches -= 1
        self.busy_cores -= cores
        self.alone.discard(alone)
