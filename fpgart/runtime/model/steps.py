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
    """Where contents begin on a board; in the plans, None stands for the host's memory."""

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
    """Bytes from one spot to another, `count` MMD calls of `size` bytes each.

    `migration`: a buffer changes its place.
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
        """What it does to the memory of one of its ends."""
        return Access(spot.memory, spot.address, self.bytes, self.count)


@dataclass(frozen=True, slots=True)
class Programming:
    """A board gets another binary."""

    device: Device
    program: Program


@dataclass(frozen=True, slots=True)
class Run:
    """A kernel runs: work-items, how many of them its hardware takes at once, and each byte of its arguments once.

    `cycles` is what the loops of a work-item take; None where they cannot be counted.
    """

    device: Device
    program: str
    kernel: str
    work_items: int
    width: int
    accesses: tuple[Access, ...]
    cycles: int | None = 1
    uses: tuple[LinkUse, ...] = ()
    """What it moved through cables."""
    talking: Talking | None = None
    """What it does with channels, where that is known; else `untold` says why not, of a kernel that has channels."""
    untold: str = ""
    depth: int = 0
    """Cycles from where an iteration begins until it ends."""
    patterns: tuple[tuple[int, Pattern], ...] = ()
    """How it goes through memory, by index, where that is not from the first byte of a buffer to the last."""


Step = Movement | Programming | Run
