# SPDX-License-Identifier: Apache-2.0
"""The steps of commands on a board, without times: movements, programming and kernels."""

from __future__ import annotations

from dataclasses import dataclass

from fpgart.board.timing import Access
from fpgart.channels.links import LinkUse
from fpgart.kernels.loops.access_patterns import Pattern
from fpgart.runtime.memory.device import Block, Device
from fpgart.runtime.model.streaming import Talking
from fpgart.runtime.programs.program import Program


@dataclass(frozen=True, slots=True)
class Spot:
    """The place on a board where contents begin; None stands for the host's memory."""

    device: Device
    memory: int
    address: int

    @classmethod
    def of(cls, block: Block) -> Spot:
        return cls(block.device, block.memory, block.address)

    def at(self, offset: int) -> Spot:
        return Spot(self.device, self.memory, self.address + offset)

    def in_same_memory(self, other: Spot) -> bool:
        return self.device is other.device and self.memory == other.memory


@dataclass(frozen=True, slots=True)
class Movement:
    """Bytes from one spot to another, in `count` MMD calls of `size` bytes each.

    `migration`: the movement changes a buffer's place.
    """

    source: Spot | None
    target: Spot | None
    size: int
    count: int = 1
    migration: bool = False

    @property
    def bytes(self) -> int:
        return self.size * self.count

    def access(self, spot: Spot) -> Access:
        """Returns the access to the memory at one of its ends."""
        return Access(spot.memory, spot.address, self.bytes, self.count)


@dataclass(frozen=True, slots=True)
class Programming:
    """The programming of a board with another binary."""

    device: Device
    program: Program


@dataclass(frozen=True, slots=True)
class Run:
    """The run of a kernel: work-items, those that its hardware takes per cycle, each byte of its arguments once.

    `cycles` is the number that a work-item's loops take; None if they cannot be counted.
    """

    device: Device
    program: str
    kernel: str
    work_items: int
    width: int
    accesses: tuple[Access, ...]
    cycles: int | None = 1
    uses: tuple[LinkUse, ...] = ()
    """The packets that it moved through cables."""
    talking: Talking | None = None
    """Its uses of channels if they are known; otherwise `untold` has the reason, for a kernel with channels."""
    untold: str = ""
    depth: int = 0
    """The cycles from the begin of an iteration to its end."""
    patterns: tuple[tuple[int, Pattern], ...] = ()
    """Its access patterns that are not sequential, with the index of the memory."""
    cores: int = 0
    """The number of the board's cores that it occupies; 0 for a kernel with hardware of its own."""


Step = Movement | Programming | Run
