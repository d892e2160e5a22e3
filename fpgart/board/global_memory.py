# SPDX-License-Identifier: Apache-2.0
"""Global memories of boards: where they lie, and their banks. Sizes and addresses are in bytes."""

from __future__ import annotations

import enum
import os

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple

ZERO_PAGE = 1024
"""The first kibibyte of a memory that begins at 0 is never handed out: no buffer has address 0."""


def host_memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class AllocationType(enum.IntFlag):
    """Kinds of unified shared memory that a memory can hold; the numbers are autodiscovery's."""

    NONE = 0
    HOST = 1
    SHARED = 2
    DEVICE = 4


class Interface(NamedTuple):
    """A port of a memory: one bank. `width` in bits, `latency` in nanoseconds."""

    name: str
    address: int
    size: int
    width: int = 512
    latency: int = 0
    maxburst: int = 16

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def longest_burst(self) -> int:
        """Bytes that it moves in one burst at most."""
        return max(1, self.width * self.maxburst // 8)


class GlobalMemory(NamedTuple):
    """One global memory: `begin` to `end` (exclusive) in the board's map, cut into equal banks.

    `interleaved_bytes` is how much of consecutive addresses lies in a bank before the next one's turn;
    0: the banks are separate. `max_bandwidth` is in MB/s, `config_addr` a register's offset.
    """

    name: str
    begin: int
    end: int
    banks: int = 1
    interleaved_bytes: int = 0
    allocation_types: AllocationType = AllocationType.NONE
    max_bandwidth: int = 0
    config_addr: int = 0
    interfaces: tuple[Interface, ...] = ()
    on_chip: bool = False
    """A small fast memory besides the board's own: buffers are in it only if the host says so."""
    largest_region: int = 0
    """Where kernels see it only in regions that are mapped for them: bytes of the largest one; 0 elsewhere."""

    @property
    def size(self) -> int:
        return self.end - self.begin

    @property
    def bank_size(self) -> int:
        return self.size // self.banks

    @property
    def interleaved(self) -> bool:
        """Whether consecutive addresses are spread over the banks, so that none can be chosen."""
        return self.banks > 1 and self.interleaved_bytes > 0

    @property
    def usable_begin(self) -> int:
        return self.begin if self.begin or config.NULL_ADDRESS.value else ZERO_PAGE

    @property
    def usable_size(self) -> int:
        return self.end - self.usable_begin

    @property
    def room(self) -> int:
        """Bytes from `begin` that blocks can be in: of the host's memory, what this machine has of it."""
        return self.size if self.is_device_private else min(self.size, host_memory())

    @property
    def is_device_private(self) -> bool:
        """Whether it is the board's own, where buffers are unless a kernel's argument has to be elsewhere."""
        return not self.allocation_types or AllocationType.DEVICE in self.allocation_types

    @property
    def has_rows(self) -> bool:
        """Whether it is DRAM of the board. Descriptions do not say so; QDR memories are SRAM."""
        return self.is_device_private and not self.on_chip and "QDR" not in self.name.upper()

    def banks_of(self, address: int, size: int) -> tuple[int, int]:
        """Numbers of the first and the last bank, from 1, that `size` bytes at `address` lie in."""
        return self.bank_of(address), self.bank_of(address + max(size, 1) - 1)

    def bank_of(self, address: int) -> int:
        """Number of the bank, from 1, that `address` lies in."""
        return (address - self.begin) // self.bank_size + 1

    def wrapped_bank(self, bank: int) -> int:
        """The bank that a host means by number `bank`: beyond the last one they are counted from the first again."""
        return (bank - 1) % self.banks + 1

    def bank_begin(self, bank: int) -> int:
        """Where the bank that a host means by number `bank` begins."""
        return self.begin + (self.wrapped_bank(bank) - 1) * self.bank_size
