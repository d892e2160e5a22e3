# SPDX-License-Identifier: Apache-2.0
"""The operations that bring buffers to another place (OpenCL 3.0, 5.7)."""

from __future__ import annotations

from fpgart.runtime.commands.transfers import Transfer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.reservation import Reservation
from fpgart.runtime.scheduling.event import Operation
from fpgart.runtime.scheduling.occupancy import Claim


class Migration(Transfer):
    """Buffers to blocks on a device; `reason` is told to watchers.

    It waits while a running kernel uses a block that it would move contents from or to.
    """

    __slots__ = ("keep", "moves", "reason")
    name = "migration"

    def __init__(self, device: Device, moves: list[tuple[Buffer, Block]], reason: str, *, keep: bool = True) -> None:
        super().__init__(device)
        self.moves = moves
        self.reason = reason
        self.keep = keep

    def devices(self) -> tuple[Device, ...]:
        found = {self.device: None}
        for buffer, _ in self.moves:
            home = buffer.owner.home
            if home is not None:
                found[home.device] = None
        return tuple(found)

    def claim(self) -> Claim:
        for buffer, target in self.moves:
            home = buffer.owner.home
            if home is not target and (target.running or (home is not None and home.running)):
                return Claim.YIELDS
        return super().claim()

    def run(self) -> Operation | None:
        for buffer, target in self.moves:
            buffer.migrate(target, self.reason, keep=self.keep)
        return None


class MapInPlace(Migration):
    """A buffer to the block in which the host has mapped it; nothing moves if it is there already."""

    __slots__ = ()

    def __init__(self, device: Device, buffer: Buffer, block: Block, *, keep: bool) -> None:
        super().__init__(device, [(buffer, block)], "clEnqueueMapBuffer", keep=keep)


class MigrateToDevice(Migration):
    """Buffers to a device because the host says so (OpenCL 3.0, 5.7); room is reserved at once."""

    __slots__ = ("_reserved",)

    def __init__(self, device: Device, buffers: list[Buffer], keep: bool) -> None:
        """Raises MemObjectAllocationFailure; nothing stays reserved then."""
        self._reserved = Reservation()
        try:
            moves = [(buffer, self._reserved.take(buffer, device)) for buffer in buffers]
        except BaseException:
            self.abandon()
            raise
        super().__init__(device, moves, "clEnqueueMigrateMemObjects", keep=keep)

    def run(self) -> Operation | None:
        try:
            return super().run()
        except BaseException:
            self.abandon()
            raise

    def release(self, following: Operation | None) -> None:
        super().release(following)
        self._reserved.leave()

    def abandon(self) -> None:
        self._reserved.give_back()


class MigrateToHost(Transfer):
    """Buffers' contents back to the host's memory (OpenCL 3.0, 5.7: CL_MIGRATE_MEM_OBJECT_HOST)."""

    __slots__ = ("buffers", "keep")
    name = "migration"
    reason = "clEnqueueMigrateMemObjects to the host"

    def __init__(self, device: Device, buffers: list[Buffer], keep: bool) -> None:
        super().__init__(device)
        self.buffers = buffers
        self.keep = keep

    def devices(self) -> tuple[Device, ...]:
        return tuple({buffer.device_of_contents(self.device): None for buffer in self.buffers})

    def claim(self) -> Claim:
        homes = [buffer.owner.home for buffer in self.buffers]
        if any(home.running for home in homes if home is not None):
            return Claim.YIELDS
        return super().claim()

    def run(self) -> None:
        for buffer in self.buffers:
            buffer.migrate_to_host(self.reason, keep=self.keep)
