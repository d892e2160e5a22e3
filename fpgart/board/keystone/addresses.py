# SPDX-License-Identifier: Apache-2.0
"""The address spaces of a 66AK2x: 36 bits of physical memory, and the 32 bits that its DSP cores address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

PAGE = 4096
"""The smallest region that a core's address extension (MPAX) maps."""


class PhysicalAddress(int):
    """An address of 36 bits, written as TI's documents do: 8:A000:0000."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self >> 32:X}:{self >> 16 & 0xFFFF:04X}:{self & 0xFFFF:04X}"

    def __repr__(self) -> str:
        return f"PhysicalAddress({self})"


class DspAddress(int):
    """An address of 32 bits as a DSP core uses it: A000:0000."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self >> 16:04X}:{self & 0xFFFF:04X}"

    def __repr__(self) -> str:
        return f"DspAddress({self})"


Address = TypeVar("Address", PhysicalAddress, DspAddress)


@dataclass(frozen=True, slots=True)
class Span(Generic[Address]):
    """`size` bytes of an address space from `begin`."""

    begin: Address
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size

    def __str__(self) -> str:
        return f"{self.begin} to {type(self.begin)(self.end - 1)}"


class Extent(Span[PhysicalAddress]):
    """Physical memory."""

    __slots__ = ()


class Block(Span[DspAddress]):
    """A part of a DSP core's address space."""

    __slots__ = ()


DDR = Extent(PhysicalAddress(0x8_0000_0000), 8 << 30)
LOW = Extent(DDR.begin, 2 << 30)
"""The part of the DDR3 that a DSP core sees after boot."""
WINDOW = Block(DspAddress(0x8000_0000), 2 << 30)
"""The addresses at which it sees that part."""

MSMC = Block(DspAddress(0x0C00_0000), 4864 << 10)
"""The part of the on-chip memory that buffers can be in. Cores and host use the same addresses for it."""


def dsp_at_boot(address: int) -> DspAddress:
    """Returns the DSP's address for a physical one in the low 2 GiB, as the mapping after boot has it.

    Raises ValueError for other addresses.
    """
    if not LOW.begin <= address < LOW.end:
        raise ValueError(f"{PhysicalAddress(address)} is not within {LOW}")
    return DspAddress(WINDOW.begin + address - LOW.begin)


def physical_at_boot(address: int) -> PhysicalAddress:
    """Returns the physical address for a DSP's one from 8000:0000 on, as the mapping after boot has it."""
    return PhysicalAddress(LOW.begin + address - WINDOW.begin)


def power_of_two_from(size: int) -> int:
    """Returns the smallest power of two that is not less than `size`."""
    return 1 << (size - 1).bit_length()
