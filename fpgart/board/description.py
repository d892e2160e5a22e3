# SPDX-License-Identifier: Apache-2.0
"""The parts of a board that hosts can observe. Sizes and addresses are in bytes."""

from __future__ import annotations

from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.global_memory import AllocationType, GlobalMemory
from fpgart.board.memory_system import GlobalMemories, MemorySystem


class Timing(NamedTuple):
    """The numbers of a board for the model of time (docs/time.md), apart from its memories.

    `pcie_payload` in bytes per packet; `mmd_latency` nanoseconds per MMD call, `dma_latency` per begun `dma_block` of
    bytes; `kernel_clock` in MHz, `launch_latency` in nanoseconds per launch, `program_time` in milliseconds. Cables
    between boards have `cable_rate` in Mbit/s each way, and `cable_latency` in nanoseconds from end to end.
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
    cable_rate: int = 40_000
    cable_latency: int = 520


class IoChannel(NamedTuple):
    """An I/O channel, by its name in __attribute__((io("..."))). Kernels write to it (`output`) or read from it."""

    name: str
    output: bool
    width: int
    """The bits of a word."""


class OwnMemories(Protocol):
    """The memory map of a board that is no FPGA board, and manages its memories in its own way."""

    def memory_system(self) -> MemorySystem:
        """Returns the memories of one such board, all free."""


class BoardDescription(NamedTuple):
    """The description of a board. The first memory is the compiler's default.

    `full_duplex`: it reads and writes at once. `text`: the file that it was read from. `cores`: the number of tasks
    that run at once, 0 for no limit. `largest_group`: the largest work-group of its compiler in work-items, 0 for the
    engine's limit only. `lowest_first`: a host's write to a buffer that no kernel argument has placed goes to the
    memory at the lowest address, not to the default one. `told_allocation`: the largest buffer that queries report, in
    bytes; 0 for the largest possible. `local_memory` in bytes and `clock_mhz` are 0 if unknown. `channels`: its I/O
    channels, empty if unknown. `system_allocations`: kernels use all memory of the host, also malloc's.
    """

    name: str
    vendor: str
    memories: tuple[GlobalMemory, ...]
    full_duplex: bool = False
    unified_memory: bool = False
    lowest_first: bool = False
    system_allocations: bool = False
    cores: int = 0
    largest_group: int = 0
    told_allocation: int = 0
    local_memory: int = 0
    clock_mhz: int = 0
    text: str = ""
    timing: Timing = Timing()
    channels: tuple[IoChannel, ...] = ()
    own: OwnMemories | None = None

    def _told(self) -> tuple[object, ...]:
        """Returns all fields but the text, which may be written differently."""
        return tuple(self._replace(text=""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoardDescription) and self._told() == other._told()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._told())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._told()!r}"

    @property
    def is_fpga(self) -> bool:
        """True for an FPGA board. Its kernels use the host's addresses for the host's memory (SVM)."""
        return self.own is None

    @property
    def has_msmc(self) -> bool:
        """True for a board with a 66AK2x, whose buffers may be in memory on the chip."""
        return any(memory.on_chip for memory in self.memories)

    @property
    def macros(self) -> tuple[str, ...]:
        """The macros that compilers for such boards define, as NAME or NAME=VALUE."""
        return ("INTELFPGA_CL", "ALTERA_CL") if self.is_fpga else ()

    def build_options(self, options: str) -> str:
        """Returns a program's options with the board's macros."""
        return " ".join((*(f"-D{macro}" for macro in self.macros), options)).strip()

    @property
    def device_private(self) -> tuple[GlobalMemory, ...]:
        return tuple(memory for memory in self.memories if memory.is_device_private)

    @property
    def global_size(self) -> int:
        """The size of the memory that buffers can be in, in bytes."""
        return sum(memory.size for memory in self.device_private if not memory.on_chip)

    @property
    def largest_allocation(self) -> int:
        """The largest buffer that fits on an empty board, in bytes."""
        return max(memory.usable_size for memory in self.device_private)

    def memory_system(self) -> MemorySystem:
        """Returns the memories of one board of this kind, all free."""
        return GlobalMemories(self) if self.own is None else self.own.memory_system()

    def can_hold(self, kind: AllocationType) -> bool:
        """True if a memory of the board supports unified shared memory of this kind."""
        return any(kind in memory.allocation_types for memory in self.memories)
