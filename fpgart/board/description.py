# SPDX-License-Identifier: Apache-2.0
"""What a board is made of, as far as a host can notice. Sizes and addresses are in bytes."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fpgart import config

if TYPE_CHECKING:
    from fpgart.board.memory_system import MemorySystem

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


@dataclass(frozen=True, slots=True)
class Interface:
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


@dataclass(frozen=True, slots=True)
class GlobalMemory:
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


@dataclass(frozen=True, slots=True)
class Timing:
    """What the model of time (docs/time.md) knows of a board besides its memories.

    `pcie_payload` in bytes per packet; `mmd_latency` nanoseconds per MMD call, `dma_latency` per begun `dma_block`
    of bytes; `kernel_clock` in MHz, `launch_latency` in nanoseconds per launch, `program_time` in milliseconds.
    """

    pcie_generation: int = 3
    pcie_lanes: int = 8
    pcie_payload: int = 256
    mmd_latency: int = 10_000
    dma_latency: int = 13_000
    dma_block: int = 1 << 20
    kernel_clock: int = 300
    launch_latency: int = 10_000
    program_time: int = 2_000


@dataclass(frozen=True, slots=True)
class BoardDescription:
    """A board's name, vendor and memories; the first memory is the compiler's default.

    `full_duplex`: reads and writes may be under way at once. `text` is the file it was read from. `cores`: how many
    tasks can run at once, 0 for no limit. `largest_group`: the work-items of a group that its compiler takes, 0 where
    there is none but the engine's. `lowest_first`: what a host writes to a buffer that no kernel argument has placed
    goes to the memory at the lowest address and not to the default one. `told_allocation`: bytes of the largest
    buffer as hosts are told, 0 where it is the largest there can be. `local_memory` in bytes and `clock_mhz` are 0
    where nothing is said of them.
    """

    name: str
    vendor: str
    memories: tuple[GlobalMemory, ...]
    full_duplex: bool = False
    unified_memory: bool = False
    lowest_first: bool = False
    cores: int = 0
    largest_group: int = 0
    told_allocation: int = 0
    local_memory: int = 0
    clock_mhz: int = 0
    text: str = field(default="", repr=False, compare=False)
    timing: Timing = Timing()

    @property
    def has_svm(self) -> bool:
        """Whether kernels reach memory of the host by its own addresses."""
        return True

    @property
    def macros(self) -> tuple[str, ...]:
        """What compilers for such boards define, as NAME or NAME=VALUE."""
        return ("INTELFPGA_CL", "ALTERA_CL")

    def build_options(self, options: str) -> str:
        """A program's options with the board's macros."""
        return " ".join((*(f"-D{macro}" for macro in self.macros), options)).strip()

    @property
    def device_private(self) -> tuple[GlobalMemory, ...]:
        return tuple(memory for memory in self.memories if memory.is_device_private)

    @property
    def global_size(self) -> int:
        """Bytes of memory that buffers can be in."""
        return sum(memory.size for memory in self.device_private if not memory.on_chip)

    @property
    def largest_allocation(self) -> int:
        """Bytes of the largest buffer that an empty board can hold."""
        return max(memory.usable_size for memory in self.device_private)

    def memory_system(self) -> MemorySystem:
        """The memories of one board of this kind, all free."""
        from fpgart.board.memory_system import GlobalMemories

        return GlobalMemories(self)

    def can_hold(self, kind: AllocationType) -> bool:
        """Whether some memory of the board takes unified shared memory of this kind."""
        return any(kind in memory.allocation_types for memory in self.memories)
