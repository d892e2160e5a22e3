# SPDX-License-Identifier: Apache-2.0
"""Global memories of boards: their addresses and banks. Sizes and addresses are in bytes."""

from __future__ import annotations

import enum
import os

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple

ZERO_PAGE = 1024
"""The first KiB of a memory that begins at 0 is never allocated, so that no buffer has address 0."""


def host_memory() -> int:
    """Returns the size of this machine's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class AllocationType(enum.IntFlag):
    """The kinds of unified shared memory that a memory supports, with autodiscovery's numbers."""

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
        """The bytes of its longest burst."""
        return max(1, self.width * self.maxburst // 8)


class GlobalMemory(NamedTuple):
    """One global memory: `begin` to `end` (exclusive) in the board's memory map, divided into equal banks.

    `interleaved_bytes`: the number of consecutive bytes in a bank before the next bank's; 0: banks are not interleaved.
    `max_bandwidth` is in MB/s, `config_addr` a register's offset.
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
    """True for a small fast memory beside the board's own: only the host places buffers in it."""
    largest_region: int = 0
    """The largest region in bytes, if kernels access the memory only through mapped regions; else 0."""

    @property
    def size(self) -> int:
        return self.end - self.begin

    @property
    def bank_size(self) -> int:
        return self.size // self.banks

    @property
    def interleaved(self) -> bool:
        """True if consecutive addresses are spread over the banks, so that no bank can be requested."""
        return self.banks > 1 and self.interleaved_bytes > 0

    @property
    def usable_begin(self) -> int:
        return self.begin if self.begin or config.NULL_ADDRESS.value else ZERO_PAGE

    @property
    def usable_size(self) -> int:
        return self.end - self.usable_begin

    @property
    def room(self) -> int:
        """The bytes from `begin` on that blocks can be in. A memory of the host has as many as this machine has."""
        return self.size if self.is_device_private else min(self.size, host_memory())

    @property
    def is_device_private(self) -> bool:
        """True for the board's own memory. Buffers are in it, unless a kernel argument names another one."""
        return not self.allocation_types or AllocationType.DEVICE in self.allocation_types

    @property
    def has_rows(self) -> bool:
        """True for DRAM of the board. Descriptions do not say it; memories named QDR are SRAM."""
        return self.is_device_private and not self.on_chip and "QDR" not in self.name.upper()

    def banks_of(self, address: int, size: int) -> tuple[int, int]:
        """Returns the numbers, from 1, of the banks in which `size` bytes at `address` begin and end."""
        return self.bank_of(address), self.bank_of(address + max(size, 1) - 1)

    def bank_of(self, address: int) -> int:
        """Returns the number, from 1, of the bank that contains `address`."""
        return (address - self.begin) // self.bank_size + 1

    def wrapped_bank(self, bank: int) -> int:
        """Returns the bank for a host's number; numbers beyond the last bank start again at the first."""
        return (bank - 1) % self.banks + 1

    def bank_begin(self, bank: int) -> int:
        """Returns the address of the bank for a host's number."""
        return self.begin + (self.wrapped_bank(bank) - 1) * self.bank_size
