# SPDX-License-Identifier: Apache-2.0
"""The operations that occupy a board, and those that may begin beside them: the board's conflict matrix.

Transfers exclude each other, on full-duplex boards only those in the same direction. Kernels run beside transfers and
beside each other. Programming excludes everything. The scheduler's lock guards all state here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Protocol


class Direction(enum.IntEnum):
    """The direction of bytes as the board sees it. A half-duplex board transfers in one direction at a time.

    Directions are combined as integers, because flags of `enum` take a microsecond per operation.
    """

    NONE = 0
    IN = 1
    OUT = 2
    BOTH = 3


BOTH = Direction.BOTH


class Claim(enum.Enum):
    """Says what an operation has to do that asks to begin now."""

    TAKEN = "taken"
    """It begins: the board is occupied."""
    WAITS = "waits"
    """It waits. Younger operations that conflict with it stay behind it."""
    YIELDS = "yields"
    """It waits for a running kernel. That kernel may need later commands, so these may overtake it."""


TAKEN, WAITS = Claim.TAKEN, Claim.WAITS


class Carried(Protocol):
    """The commands that C gives to the engine, on one board."""

    def stop(self) -> bool:
        """Lets none begin until go_on(). Returns True if none is running; otherwise the scheduler is told when that is
        so.
        """

    def go_on(self) -> None: ...

    def uses(self, handles: Iterable[int]) -> bool:
        """True if a running one uses an object with one of these handles."""

    def loaded(self) -> str:
        """Returns the identity of the program on the board; "" for none."""

    def has_loaded(self, identity: str) -> None: ...


class Occupancy:
    """The operations that occupy one board.

    `moving`: the directions of running transfers. `programming`: True while it is programmed. `launches`: the number of
    launches that need the loaded binary. `busy_cores`: the number of cores that run tasks. `closing`: True while a
    launch waits only for transfers in order to program the board; no other transfer begins, because a host that never
    pauses would delay it for ever. `carried`: the commands that C carries, if it may; none runs while the board is
    programmed or buffers are migrated.
    """

    __slots__ = ("busy_cores", "carried", "closing", "cores", "full_duplex", "launches", "moving", "programming")

    def __init__(self, *, full_duplex: bool, cores: int) -> None:
        """`cores`: the number of tasks that can run at once; 0 for no limit."""
        self.full_duplex = full_duplex
        self.cores = cores
        self.moving: int = Direction.NONE
        self.programming = False
        self.closing = False
        self.launches = 0
        self.busy_cores = 0
        self.carried: Carried | None = None

    def lanes(self, way: Direction) -> Direction:
        """Returns the directions that a transfer in direction `way` occupies."""
        return way if self.full_duplex else BOTH

    def stop_carrying(self, handles: Iterable[int] | None = None) -> bool:
        """Lets no carried command begin until carry_on(). True if no running one uses the objects with these handles.

        Without `handles` it is True if none is running.
        """
        if self.carried is None or self.carried.stop():
            return True
        return handles is not None and not self.carried.uses(handles)

    def carry_on(self) -> None:
        """Ends stop_carrying(), unless the board is programmed or has cores at work."""
        if self.carried is not None and not (self.programming or self.busy_cores):
            self.carried.go_on()

    # Transfers

    def admits(self, way: Direction) -> bool:
        """True if a transfer may begin."""
        return not (self.programming or self.closing or self.moving & self.lanes(way))

    def begin_transfer(self, way: Direction) -> None:
        self.moving |= self.lanes(way)

    def end_transfer(self, way: Direction) -> None:
        self.moving &= ~self.lanes(way)

    # Programming

    def claim_programming(self) -> Claim:
        """Begins to program the board if nothing runs on it. While only transfers run, no others begin."""
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

    def claim_launch(self, cores: int) -> Claim:
        """Counts a launch among those that need the loaded binary; it occupies `cores` of the board.

        A carried kernel occupies all cores.
        """
        if self.programming or (cores and (self.busy_cores + cores > self.cores or not self.stop_carrying())):
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
        if cores:
            self.carry_on()
