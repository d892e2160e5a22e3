# SPDX-License-Identifier: Apache-2.0
"""The memory that a launch needs, and the MPAX regions that map it."""

from __future__ import annotations

from dataclasses import dataclass

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.sizes import in_words
from fpgart.board.keystone.addresses import DspAddress, PhysicalAddress
from fpgart.board.memory_system import NotVisible

REGIONS = 7


class NoMapping(NotVisible):
    """No regions show a kernel's buffers together. The message says what they need and what would fit."""


@dataclass(frozen=True, slots=True)
class Need:
    """`size` bytes of physical memory that a kernel uses; `name` is for error messages."""

    address: PhysicalAddress
    size: int
    name: str = "buffer"

    @property
    def end(self) -> int:
        return self.address + self.size

    def __str__(self) -> str:
        return f"{self.name} ({in_words(self.size)} at {self.address})"


@dataclass(frozen=True, slots=True)
class Region:
    """`size` bytes of physical memory from `physical` on, at the core's address `dsp`."""

    physical: PhysicalAddress
    dsp: DspAddress
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The regions to set up, in order of physical addresses, and the core's address for each need."""

    regions: tuple[Region, ...]
    addresses: tuple[DspAddress, ...]


class Piece(NamedTuple):
    """Physical memory that consecutive regions of up to `step` bytes show."""

    begin: int
    size: int
    step: int
    regions: int

    def yields_to(self, other: Piece) -> bool:
        """True if `other` makes this piece useless: it shows less and fits wherever this one does."""
        return (
            other.begin >= self.begin
            and other.begin + other.size <= self.begin + self.size
            and other.step <= self.step
            and other.regions <= self.regions
        )
