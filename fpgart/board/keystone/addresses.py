# SPDX-License-Identifier: Apache-2.0
"""The two address spaces of a 66AK2x: 36 bits of physical memory, and the 32 bits that its DSP cores see."""

from __future__ import annotations

from dataclasses import dataclass

PAGE = 4096
"""The smallest region that a core's address extension (MPAX) maps."""

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


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


@dataclass(frozen=True, slots=True)
class Extent:
    """`size` bytes of physical memory from `begin`."""

    begin: PhysicalAddress
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size

    def __str__(self) -> str:
        return f"{self.begin} to {PhysicalAddress(self.end - 1)}"


@dataclass(frozen=True, slots=True)
class Block:
    """`size` bytes of a DSP core's address space from `begin`."""

    begin: DspAddress
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size

    def __str__(self) -> str:
        return f"{self.begin} to {DspAddress(self.end - 1)}"


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def power_of_two_from(size: int) -> int:
    """The smallest power of two that is at least `size`."""
    return 1 << (size - 1).bit_length()


def in_words(size: int) -> str:
    """Bytes as a person would say them: 1.5 GiB, 512 MiB."""
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"
