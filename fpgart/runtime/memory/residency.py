# SPDX-License-Identifier: Apache-2.0
"""The places of a buffer's contents: described at creation, placed at first use.

A buffer has a *block* for each memory of each device that it is needed in, reserved when a command that
needs it is enqueued: `blocks`, a list by device and memory. One of them is its *home*, where its contents
are. A transfer copies bytes and does not change the home; a migration moves the home and frees the old
block. Contents may also be in the host's memory (`on_host`): those of CL_MEM_USE_HOST_PTR
until a kernel needs them, and those that were migrated to the host.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, TypeVar

from fpgart.base import log
from fpgart.base.errors import MemObjectAllocationFailure
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.block_copy import copy_block
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.host_store import HostStore

if TYPE_CHECKING:
    from fpgart.runtime.memory.placement import Placement

R = TypeVar("R", bound="Residency")


class Residency:
    """The blocks of a buffer. A sub-buffer (`parent` set) uses its parent's. `size` and `origin` are in bytes.

    `bank` (from 1; 0 for none) and `location` (index of a memory; None for none) are the host's requests. `hint` is the
    buffer_location of the first kernel argument that the buffer was set as before it had a place, or "". `number`
    identifies it in traces.
    """

    # Most buffers keep most of these defaults: without slots they are cheap to create.
    number: int
    context: Placement
    size: int
    parent: Residency | None
    origin: int
    bank: int
    location: int | None
    blocks: dict[tuple[Device, int], Block] | None = None
    home: Block | None = None
    on_host = False
    moving = 0
    """The number of migrations under way; the scheduler's lock guards it."""
    host_ptr = 0
    hint = ""
    store: HostStore | None = None

    @property
    def owner(self: R) -> R:
        """The buffer whose blocks have the contents: the parent of a sub-buffer, otherwise the buffer itself."""
        return self.parent or self  # type: ignore[return-value]

    @property
    def placed(self) -> bool:
        """True if the contents have a place, or will have one when the enqueued commands have run."""
        owner = self.owner
        return bool(owner.blocks) or owner.on_host

    @property
    def memory(self) -> int:
        """The index of the memory that it is in or, without a block, will be in on the context's first device."""
        owner = self.owner
        block = owner.home or next(iter((owner.blocks or {}).values()), None)
        return block.memory if block is not None else owner._wanted(owner.context.devices[0]) or 0

    def host_address(self) -> int:
        """Returns the buffer's address in the host's memory, which the first call allocates."""
        owner = self.owner
        if owner.host_ptr:
            return owner.host_ptr + self.origin
        if owner.store is None:
            with owner.context.placing:
                if owner.store is None:
                    owner.store = HostStore(owner.size)
        return owner.store.address + self.origin

    def reserve(
        self,
        device: Device,
        memory: int | None = None,
        user: int = 0,
        *,
        mapped: bool = False,
        interleaving: tuple[bool, ...] | None = None,
    ) -> Block:
        """Returns the block in a memory of `device`; allocates it if there is none.

        `memory` None: the one that the buffer is in or, if it has no block on the device, the one that was requested.
        `interleaving`: by memory, True if the binary that will use it interleaves the banks; None: the loaded binary.

        A `user` (the number of a Reservation) keeps the block until it is removed from its users. So does a mapping
        (`mapped`) until leave_mapping(). Raises MemObjectAllocationFailure if there is no room.
        """
        owner = self.owner
        home = owner.home
        if home is None or home.device is not device or memory not in (None, home.memory):
            device.reap_memory()
        with owner.context.placing:
            block = owner._on(device, memory)
            if block is None:
                block = owner._claim(device, memory, interleaving)
            if user:
                block.users[user] = None
            block.mapped += mapped
        return block

    def _on(self, device: Device, memory: int | None) -> Block | None:
        blocks, home = self.blocks, self.home
        if blocks is None:
            return None
        if memory is not None:
            return blocks.get((device, memory))
        if home is not None and home.device is device:
            return home
        return next((block for (where, _), block in blocks.items() if where is device), None)

    def _claim(self, device: Device, memory: int | None, interleaving: tuple[bool, ...] | None = None) -> Block:
        device.open()
        if memory is None:
            memory = self._wanted(device)
        bank = self._bank_on(device, memory, interleaving) if self.bank else 0
        block = device.allocate(self.size, memory, bank, self.number)
        if block is None:
            where = f" in memory '{device.memories.name_of(memory)}'" if memory is not None else ""
            raise MemObjectAllocationFailure(
                f"no {self.size} bytes free{where} on device {device.id} ('{device.board.name}')"
            )
        block.has_contents = False
        if bank:
            self._tell_bank(block, bank)
        if self.blocks is None:
            self.blocks = {}
        self.blocks[device, block.memory] = block
        return block

    def _bank_on(self, device: Device, memory: int | None, interleaving: tuple[bool, ...] | None) -> int:
        """Returns the requested bank, or 0 if the binary interleaves the banks."""
        if not device.interleaves(memory, self.size, interleaving):
            return self.bank
        log.note(
            f"buffer {self.number} asks for bank {self.bank} of device {device.id} ('{device.board.name}'), "
            "whose memory interleaves its banks: the request has no effect"
        )
        for listener in NOTICES.bank_ignored:
            listener(self, device)
        return 0

    def _tell_bank(self, block: Block, bank: int) -> None:
        """Logs that a block is not in the requested bank, because that was full, and tells watchers."""
        first, last = block.device.memories.banks_of(block.range)
        wanted = block.device.board.memories[block.memory].wrapped_bank(bank)
        if first == last == wanted:
            return
        log.note(
            f"buffer {self.number} asks for bank {bank} of device {block.device.id} ('{block.device.board.name}'), "
            f"which lacks the room: it begins in bank {first} and ends in bank {last}"
        )
        for listener in NOTICES.bank_full:
            listener(self, block)

    def _wanted(self, device: Device) -> int | None:
        """Returns the memory that the host, or else a kernel argument, requests; None for none."""
        if self.location is not None:
            return self.location if device.holds_buffers(self.location) else None
        if not self.hint:
            return None
        try:
            return device.memories.memory_for(self.hint)
        except KeyError:  # another device's memory
            return None

    def bind(self, device: Device) -> None:
        """Gives the buffer a place, on `device` if it has none.

        A simulator without a binary has no memories yet: the contents stay in the host's memory.
        """
        owner = self.owner
        if owner.home is not None or owner.on_host:
            return
        if owner.blocks or device.knows_memories:
            device.reap_memory()
            owner._settle_on(device)
        else:
            self.host_address()
            owner.on_host = True

    def _settle_on(self, device: Device) -> None:
        """Gives the buffer a home for contents that are about to be written.

        The home does not depend on the launches that reserved the block.
        """
        with self.context.placing:
            if self.home is None and not self.on_host:
                self.move_home(next(iter((self.blocks or {}).values()), None) or self._claim(device, None))

    def adopt(self, block: Block) -> None:
        """Makes `block` the home of a buffer that has no contents yet."""
        with self.context.placing:
            if self.home is None and not self.on_host:
                self.move_home(block)

    def move_home(self, block: Block | None) -> None:
        """Makes `block` the home; with None there is none, because the contents are in the host's memory."""
        if self.home is not None:
            self.home.has_contents = False
        self.home = block
        if block is not None:
            block.has_contents = True

    def device_of_contents(self, default: Device) -> Device:
        """Returns the device that a transfer of this buffer occupies."""
        owner = self.owner
        if owner.home is not None:
            return owner.home.device
        if owner.blocks:
            return next(iter(owner.blocks.values())).device
        return default

    def settled(self) -> Block | None:
        """Returns the block with the contents; None while they are in the host's memory."""
        owner = self.owner
        if owner.home is None and owner.blocks and not owner.on_host:
            owner.adopt(next(iter(owner.blocks.values())))
        return owner.home

    # Migration

    def migrate(self, target: Block, reason: str, *, keep: bool = True) -> None:
        """Copies the contents to the block `target`, which becomes the home. With `keep` False nothing is copied.

        Blocks that are neither home nor reserved are freed.
        """
        owner = self.owner
        begin = monotonic_ns()
        home = owner.home
        source = home
        if home is not target:
            if not keep or (home is None and not owner.on_host):
                source = target
            elif home is None:
                target.device.mmd.write(owner.host_address(), target.address, owner.size)
            else:
                copy_block(home, home.address, target, target.address, owner.size)
            owner.move_home(target)
            owner.on_host = False
            if home is not None:
                home.device.epoch_ended()
            owner.drop_unused()
        for listener in NOTICES.migrated:
            listener(owner, source, target, begin, reason)

    def migrate_to_host(self, reason: str, *, keep: bool = True) -> None:
        """Copies the contents to the host's memory and frees the blocks. With `keep` False nothing is copied."""
        owner = self.owner
        begin = monotonic_ns()
        home = owner.settled()
        address = owner.host_address()
        if home is not None and keep:
            home.device.mmd.read(home.address, address, owner.size)
        owner.on_host = True
        owner.move_home(None)
        if home is not None:
            home.device.epoch_ended()
        owner.drop_unused()
        for listener in NOTICES.migrated:
            listener(owner, home if keep else None, None, begin, reason)

    def drop_unused(self) -> None:
        """Frees the blocks that are neither home nor reserved nor mapped."""
        if self.blocks is None:
            return
        with self.context.placing:
            for key, block in list(self.blocks.items()):
                if block is not self.home and not block.users and not block.mapped:
                    del self.blocks[key]
                    block.release()
