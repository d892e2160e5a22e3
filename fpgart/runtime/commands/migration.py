# SPDX-License-Identifier: Apache-2.0
"""The operations that move buffers to another device or to the host (OpenCL 3.0, 5.7)."""

from __future__ import annotations

from collections.abc import Iterable

from fpgart.runtime.commands.access import Accesses, AccessMode, whole
from fpgart.runtime.commands.transfers import Transfer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.reservation import NOTHING, Reservation
from fpgart.runtime.scheduling.event import Operation
from fpgart.runtime.scheduling.occupancy import TAKEN, Claim

Move = tuple[Buffer, Block]
"""A buffer, and the block to which its contents go."""


def stop_carrying(devices: tuple[Device, ...], buffers: Iterable[Buffer]) -> bool:
    """Lets C carry no more commands on the devices.

    Returns True if no carried command uses the buffers, so that they may move.
    """
    handles = [buffer.owner.handle for buffer in buffers]
    stopped = [device.occupancy.stop_carrying(handles) for device in devices]
    return all(stopped)


def carry_on(devices: tuple[Device, ...]) -> None:
    for device in devices:
        device.occupancy.carry_on()


def begin_to_move(buffers: Iterable[Buffer]) -> None:
    """Keeps kernels from using the buffers where they are. The scheduler's lock is held."""
    for buffer in buffers:
        buffer.moving += 1


def end_move(buffers: Iterable[Buffer]) -> None:
    """Ends begin_to_move(), whether the buffers moved or not. The scheduler's lock is held."""
    for buffer in buffers:
        buffer.moving -= 1


class MoveToBlocks(Transfer):
    """Migrates buffers to blocks on a device.

    It waits while a running kernel uses a block that contents would move from or to.
    """

    __slots__ = ("leaving", "moves")
    name = "migration"

    def __init__(self, device: Device, moves: list[Move]) -> None:
        super().__init__(device)
        self.moves = moves
        self.leaving: tuple[Buffer, ...] = ()
        """The buffers whose contents are moving."""

    def devices(self) -> tuple[Device, ...]:
        found = {self.device: None}
        for buffer, _ in self.moves:
            home = buffer.owner.home
            if home is not None:
                found[home.device] = None
        return tuple(found)

    def claim(self) -> Claim:
        if not stop_carrying(self.devices(), (buffer for buffer, _ in self.moves)):
            return Claim.YIELDS
        for buffer, target in self.moves:
            home = buffer.owner.home
            if home is not target and (target.running or (home is not None and home.running)):
                return Claim.YIELDS
        claim = super().claim()
        if claim is TAKEN:
            self.leaving = tuple(buffer.owner for buffer, target in self.moves if buffer.owner.home is not target)
            begin_to_move(self.leaving)
        return claim

    def release(self, following: Operation | None) -> None:
        super().release(following)
        end_move(self.leaving)
        carry_on(self.busy)

    def accesses(self) -> Accesses:
        return tuple(whole(AccessMode.MOVE, buffer.owner) for buffer, _ in self.moves)


class Migration(MoveToBlocks):
    """Migrates buffers because the host asked for it. Watchers get `reason`."""

    __slots__ = ("keep", "reason", "reserved")

    def __init__(
        self, device: Device, moves: list[Move], reason: str, *, keep: bool = True, reserved: Reservation = NOTHING
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


class MigrateToHost(Transfer):
    """Migrates buffers to the host's memory (OpenCL 3.0, 5.7: CL_MIGRATE_MEM_OBJECT_HOST)."""

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
        if not stop_carrying(self.devices(), self.buffers):
            return Claim.YIELDS
        homes = [buffer.owner.home for buffer in self.buffers]
        if any(home.running for home in homes if home is not None):
            return Claim.YIELDS
        claim = super().claim()
        if claim is TAKEN:
            begin_to_move(buffer.owner for buffer in self.buffers)
        return claim

    def release(self, following: Operation | None) -> None:
        super().release(following)
        end_move(buffer.owner for buffer in self.buffers)
        carry_on(self.busy)

    def run(self) -> None:
        for buffer in self.buffers:
            buffer.migrate_to_host(self.reason, keep=self.keep)

    def accesses(self) -> Accesses:
        return tuple(whole(AccessMode.MOVE, buffer.owner) for buffer in self.buffers)
