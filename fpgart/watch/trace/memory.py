# SPDX-License-Identifier: Apache-2.0
"""Events of buffers, blocks and unified shared memory."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.usm import UsmAllocation
from fpgart.watch.names import ALLOCATORS
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import Timeline
from fpgart.watch.words import banks_in_words


class BufferEvents:
    """Events of buffers, and of the host's requests for a bank or a memory: whether they took effect."""

    def __init__(self, timeline: Timeline, sites: Sites) -> None:
        self._timeline = timeline
        self._sites = sites

    def buffer_created(self, buffer: Buffer) -> None:
        args: dict[str, Any] = {"buffer": buffer.number, "size": buffer.size, "flags": hex(buffer.flags)}
        args |= self._sites.of(buffer)
        if buffer.parent is not None:
            args |= {"parent": buffer.parent.number, "origin": buffer.origin}
        if buffer.bank:
            args["bank"] = buffer.bank
        if buffer.stays_on_host:
            args["in_place"] = True
        if buffer.location is not None:
            args["location"] = buffer.location
        self._timeline.mark("buffer", "create", args)

    def buffer_destroyed(self, number: int) -> None:
        self._timeline.mark("buffer", "release", {"buffer": number})

    def bank_ignored(self, buffer: Buffer, device: Device) -> None:
        words = "has no effect: the binary on the board interleaves the banks"
        self._timeline.mark("placing", "bank ignored", {"buffer": buffer.number, "bank": buffer.bank, "words": words})

    def bank_full(self, buffer: Buffer, block: Block) -> None:
        words = f"has no room for it: it is in {banks_in_words(*block.banks)}"
        self._timeline.mark("placing", "bank full", {"buffer": buffer.number, "bank": buffer.bank, "words": words})

    def place_hinted(self, buffer: Buffer, location: str, argument: str) -> None:
        args = {"buffer": buffer.number, "location": location, "argument": argument}
        self._timeline.mark("placing", "argument set", args)


class BlockEvents:
    def __init__(self, timeline: Timeline, blocks: AddressRegistry[Block]) -> None:
        self._timeline = timeline
        self._blocks = blocks
        self.write_first: Callable[[], None] = lambda: None
        """Writes the events of launches that C carries, which name blocks."""

    def block_reserved(self, block: Block) -> None:
        self._blocks.add(block)
        self._timeline.mark("memory", "reserve", block_facts(block))

    def block_freed(self, block: Block) -> None:
        self.write_first()
        self._blocks.remove(block.pointer)
        self._timeline.mark("memory", "free", block_facts(block))

    def block_refused(self, device: Device, size: int, owner: int) -> None:
        self._timeline.mark("refusal", "no room", {"device": device.id, "size": size, "buffer": owner})

    def yielded(self, device: Device, begin: int, calls: int) -> None:
        args = {"device": device.id, "size": 0, "calls": calls}
        args |= self._timeline.of_operation() | self._timeline.of_command()
        self._timeline.emit("mmd", "aocl_mmd_yield", begin, monotonic_ns() - begin, args)

    def lock_refused(self, size: int, limit: int) -> None:
        self._timeline.mark("fpgart", "not locked", {"size": size, "limit": limit})


class UsmEvents:
    def __init__(self, timeline: Timeline, sites: Sites) -> None:
        self._timeline = timeline
        self._sites = sites

    def usm_allocated(self, allocation: UsmAllocation) -> None:
        args = usm_facts(allocation) | self._sites.of(allocation)
        args |= {"call": ALLOCATORS[allocation.kind], "pointer": hex(allocation.pointer)}
        self._timeline.mark("usm", "allocate", args)

    def usm_freed(self, allocation: UsmAllocation) -> None:
        self._timeline.mark("usm", "free", usm_facts(allocation))

    def usm_migrated(
        self, allocation: UsmAllocation, offset: int, moved: int, side: Device | None, begin: int, reason: str
    ) -> None:
        operation, queue = self._timeline.operation()
        args = usm_facts(allocation)
        args |= {"device": side.id if side is not None else allocation.owners[0].id, "operation": operation}
        args |= {"offset": offset, "size": moved, "reason": reason}
        args["to"] = "host" if side is None else f"device {side.id}"
        self._timeline.emit("usm", "migrate", begin, monotonic_ns() - begin, args, queue)


def block_facts(block: Block) -> dict[str, Any]:
    """Returns the arguments of an event about a block."""
    first, last = block.banks
    facts: dict[str, Any] = {
        "device": block.device.id,
        "memory": block.device.memories.name_of(block.memory),
        "bank": first,
        "address": hex(block.device_address),
        "board_address": hex(block.address),
        "size": block.range.size,
        "buffer": block.owner,
    }
    spread = interleaving_of(block)
    if spread:
        facts["interleaved"] = spread
    return facts | ({"last_bank": last} if last > first else {}) | ({"program": block.program} if block.program else {})


def interleaving_of(block: Block) -> dict[str, int]:
    """Returns how many banks a block is interleaved over, and the bytes of each stripe; {} if it is not interleaved."""
    memory = block.device.board.memories[block.memory]
    if memory.banks < 2 or not block.device.interleaving[block.memory]:
        return {}
    return {"banks": memory.banks, "bytes": memory.interleaved_bytes}


def usm_facts(allocation: UsmAllocation) -> dict[str, Any]:
    """Returns the arguments of an event about an allocation."""
    args: dict[str, Any] = {"allocation": allocation.number, "kind": allocation.kind.name.lower()}
    args["size"] = allocation.size
    if allocation.device is not None:
        args["device"] = allocation.device.id
    if allocation.block is not None:
        args["address"] = hex(allocation.block.device_address.as_usm_device())
        args["board_address"] = hex(allocation.block.address)
    return args
