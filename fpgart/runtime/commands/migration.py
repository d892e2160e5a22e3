# SPDX-License-Identifier: Apache-2.0
"""The operations that move buffers to another device or to the host (OpenCL 3.0, 5.7)."""

from __future__ import annotations

from collections.abc import Sequence

from fpgart.runtime.commands.access import Accesses, AccessMode, whole
from fpgart.runtime.commands.transfers import Transfer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.reservation import NOTHING, Reservation
from fpgart.runtime.scheduling.event import Operation
from fpgart.runtime.scheduling.occupancy import TAKEN, Claim


class Move(Transfer):
    """Moves the contents of buffers.

    It waits while a running kernel uses a block that contents would move from or to.
    """

    __slots__ = ("leaving",)
    name = "migration"

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.leaving: tuple[Buffer, ...] = ()
        """The buffers whose contents are moving: kernels do not use them where they are."""

    def targets(self) -> Sequence[tuple[Buffer, Block | None]]:
        """Returns the buffers, and the block to which the contents of each go; None for the host's memory."""
        raise NotImplementedError

    def claim(self) -> Claim:
        targets = self.targets()
        handles = [buffer.owner.handle for buffer, _ in targets]
        stopped = [device.occupancy.stop_carrying(handles) for device in self.devices()]
        if not all(stopped):
            return Claim.YIELDS
        for buffer, target in targets:
            home = buffer.owner.home
            if home is not target and ((target and target.running) or (home and home.running)):
                return Claim.YIELDS
        claim = super().claim()
        if claim is TAKEN:
            owners = ((buffer.owner, target) for buffer, target in targets)
            self.leaving = tuple(owner for owner, target in owners if target is None or owner.home is not target)
            for owner in self.leaving:
                owner.moving += 1
        return claim

    def release(self, following: Operation | None) -> None:
        super().release(following)
        for owner in self.leaving:
            owner.moving -= 1
        for device in self.busy:
            device.occupancy.carry_on()

    def accesses(self) -> Accesses:
        return tuple(whole(AccessMode.MOVE, buffer.owner) for buffer, _ in self.targets())


class MoveToBlocks(Move):
    """Moves buffers to blocks on a device."""

    __slots__ = ("moves",)

    def __init__(self, device: Device, moves: list[tuple[Buffer, Block]]) -> None:
        super().__init__(device)
        self.moves = moves

    def targets(self) -> Sequence[tuple[Buffer, Block]]:
        return self.moves

    def devices(self) -> tuple[Device, ...]:
        found = {self.device: None}
        for buffer, _ in self.moves:
            home = buffer.owner.home
            if home is not None:
                found[home.device] = None
        return tuple(found)


class Migration(MoveToBlocks):
    """Migrates buffers because the host asked for it. Watchers get `reason`."""

    __slots__ = ("keep", "reason", "reserved")

    def __init__(
        self,
        device: Device,
        moves: list[tuple[Buffer, Block]],
        reason: str,
        *,
        keep: bool = True,
        reserved: Reservation = NOTHING,
    ) -> None:
        """`reserved` keeps the blocks until the command has ended. Contents are not copied if `keep` is False."""
        super().__init__(device, moves)
        self.reason = reason
        self.keep = keep
        self.reserved = reserved

    def run(self) -> None:
        try:
            for buffer, target in self.moves:
                buffer.migrate(target, self.reason, keep=self.keep)
        except BaseException:
            self.abandon()
            raise

    def release(self, following: Operation | None) -> None:
        super().release(following)
        self.reserved.leave()

    def abandon(self) -> None:
        self.reserved.give_back()


def map_in_place(device: Device, buffer: Buffer, block: Block, *, keep: bool) -> Migration:
    """Returns the migration of a buffer to the block in which the host has mapped it.

    It moves nothing if the contents are there already.
    """
    return Migration(device, [(buffer, block)], "clEnqueueMapBuffer", keep=keep)


def migrate_to_device(device: Device, buffers: list[Buffer], keep: bool) -> Migration:
    """Returns the migration of buffers to a device (OpenCL 3.0, 5.7). Their blocks are reserved now.

    Raises MemObjectAllocationFailure; nothing stays reserved then.
    """
    reserved = Reservation()
    try:
        moves = [(buffer, reserved.take(buffer, device)) for buffer in buffers]
    except BaseException:
        reserved.give_back()
        raise
    return Migration(device, moves, "clEnqueueMigrateMemObjects", keep=keep, reserved=reserved)


class MoveFromHost(Transfer):
    """Moves a buffer from the host's memory to a block, for a launch that is being enqueued.

    Carried commands go on meanwhile: none uses the buffer.
    """

    __slots__ = ("buffer", "target")
    name = "migration"

    def __init__(self, device: Device, buffer: Buffer, target: Block) -> None:
        super().__init__(device)
        self.buffer = buffer
        self.target = target

    def run(self) -> None:
        if self.buffer.on_host:  # and no other thread has moved it
            self.buffer.migrate(self.target, "clEnqueueNDRangeKernel")


class MigrateToHost(Move):
    """Migrates buffers to the host's memory (OpenCL 3.0, 5.7: CL_MIGRATE_MEM_OBJECT_HOST)."""

    __slots__ = ("buffers", "keep")
    reason = "clEnqueueMigrateMemObjects to the host"

    def __init__(self, device: Device, buffers: list[Buffer], keep: bool) -> None:
        super().__init__(device)
        self.buffers = buffers
        self.keep = keep

    def targets(self) -> Sequence[tuple[Buffer, None]]:
        return [(buffer, None) for buffer in self.buffers]

    def devices(self) -> tuple[Device, ...]:
        return tuple({buffer.device_of_contents(self.device): None for buffer in self.buffers})

    def run(self) -> None:
        for buffer in self.buffers:
            buffer.migrate_to_host(self.reason, keep=self.keep)
