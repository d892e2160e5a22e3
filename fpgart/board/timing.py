# SPDX-License-Identifier: Apache-2.0
"""Times of a board's operations: the formulas of docs/time.md, which has their sources.

Rates are exact fractions, in bytes per second, and times whole nanoseconds, rounded up, so that all machines compute
the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.description import BoardDescription, Timing
from fpgart.board.global_memory import GlobalMemory, Interface

SECOND = 1_000_000_000
MEGA = 1_000_000
TRANSFERS = {1: 2_500, 2: 5_000, 3: 8_000, 4: 16_000, 5: 32_000}
"""Millions per second and lane, by the generation of PCI Express."""
PACKET_OVERHEAD = 24
"""The bytes around a packet's payload: framing and sequence number 4, header with 64-bit address 16, checksum 4."""
CABLE_WIDTH = 256
"""The bits of a word on a cable, unless the board's description has them."""
ROW = 8192
"""The bytes of a memory's row, of all chips together."""
ROW_TIME = Fraction(108, 10)
"""The nanoseconds from one access to the next in a bank of the board if each is in another row."""
REQUEST_CYCLES = 1
"""The cycles of a memory's interface that each burst takes besides its data."""


def nanoseconds(size: int, rate: Fraction) -> int:
    """Returns the time of `size` bytes at `rate` bytes per second."""
    return -(-size * SECOND * rate.denominator // rate.numerator)


def pcie_rate(timing: Timing) -> Fraction:
    """Returns the bytes of payload per second and direction."""
    coding = Fraction(8, 10) if timing.pcie_generation < 3 else Fraction(128, 130)
    packets = Fraction(timing.pcie_payload, timing.pcie_payload + PACKET_OVERHEAD)
    return TRANSFERS[timing.pcie_generation] * MEGA * timing.pcie_lanes * coding / 8 * packets


def memory_rate(memory: GlobalMemory, interleaved: bool, kernel_clock: int) -> Fraction:
    """Returns the bytes per second between kernels and a memory: of all banks if they are interleaved, else of one.

    It is the lesser of the interfaces' rate at the kernels' clock (MHz) and the memory's, less the overhead of bursts.
    """
    interface = _interface(memory)
    channels = memory.banks if interleaved else 1
    rate = Fraction(interface.width, 8) * kernel_clock * MEGA * channels
    if memory.max_bandwidth:
        rate = min(rate, Fraction(memory.max_bandwidth * MEGA * channels, memory.banks))
    return rate * interface.maxburst / (interface.maxburst + REQUEST_CYCLES)


def in_words(memory: GlobalMemory, size: int) -> int:
    """Returns the bytes that an access of `size` bytes moves: whole words of the interface."""
    word = -(-_interface(memory).width // 8)
    return -(-size // word) * word


def _interface(memory: GlobalMemory) -> Interface:
    return memory.interfaces[0] if memory.interfaces else Interface("", memory.begin, memory.size)


class Bank(NamedTuple):
    """The resource that simultaneous accesses share: a bank (from 1) of a memory (index), or all of its banks (0)."""

    memory: int
    number: int = 0


class Access(NamedTuple):
    """`size` bytes from `address` on in a memory (index) that are read or written, in `pieces` equal parts."""

    memory: int
    address: int
    size: int
    pieces: int = 1
    jumps: tuple[Jump, ...] = ()
    """The access patterns of a kernel that are not sequential."""


class Jump(NamedTuple):
    """`times` accesses to `run` consecutive bytes, each `stride` bytes from the one before; 0: anywhere."""

    run: int
    stride: int
    times: int


class Pace:
    """The formulas with a board's numbers. `interleaved`: by memory, True if the binary interleaves the banks."""

    def __init__(self, board: BoardDescription, interleaved: Sequence[bool]) -> None:
        self.board = board
        self.interleaved = tuple(interleaved)
        timing = board.timing
        self.link_rate = Fraction(0) if board.unified_memory else pcie_rate(timing)
        """The bytes per second over PCIe; 0 if the memory is the host's own."""
        self.rates = [
            memory_rate(memory, spread, timing.kernel_clock)
            for memory, spread in zip(board.memories, self.interleaved, strict=True)
        ]
        """By memory, the bytes per second through a bank, or through all banks of an interleaved memory."""
        if self.link_rate:  # the host's memory is behind the link
            for index, memory in enumerate(board.memories):
                if not memory.is_device_private:
                    self.rates[index] = min(self.rates[index], self.link_rate)

    def bank_time(self, accesses: Iterable[Access]) -> dict[Bank, int]:
        """Returns the nanoseconds for which the accesses occupy each bank."""
        moved: dict[Bank, int] = {}
        jumped: dict[Bank, int] = {}
        for access in accesses:
            memory = self.board.memories[access.memory]
            if access.jumps:
                jumping = sum(self.jump_time(access.memory, jump) for jump in access.jumps)
                for bank, share in self.shares(access):
                    jumped[bank] = jumped.get(bank, 0) + -(-jumping * share.numerator // share.denominator)
                continue
            size = in_words(memory, -(-access.size // access.pieces)) * access.pieces
            for bank, part in self._parts(access, size):
                moved[bank] = moved.get(bank, 0) + part
        return {
            bank: nanoseconds(moved.get(bank, 0), self.rates[bank.memory]) + jumped.get(bank, 0)
            for bank in sorted(moved.keys() | jumped.keys())
        }

    def shares(self, access: Access) -> list[tuple[Bank, Fraction]]:
        """Returns the banks that contain a range, and the part in each."""
        size = max(1, access.size)
        return [(bank, Fraction(part, size)) for bank, part in self._parts(access, size)]

    def _parts(self, access: Access, size: int) -> list[tuple[Bank, int]]:
        """Returns the banks that contain `size` bytes from the access's address on, and the bytes in each."""
        memory = self.board.memories[access.memory]
        if self.interleaved[access.memory] or memory.banks == 1:
            return [(Bank(access.memory), size)]
        return [(Bank(access.memory, number), part) for number, part in _spread(memory, access.address, size)]

    def jump_time(self, index: int, jump: Jump) -> int:
        """Returns the nanoseconds for which accesses that are not sequential occupy a bank, or interleaved banks."""
        memory = self.board.memories[index]
        spread = self.interleaved[index]
        burst = Fraction(_interface(memory).maxburst, _interface(memory).maxburst + REQUEST_CYCLES)
        channels = _channels_hit(memory, jump.stride) if spread else 1
        rate = self.rates[index] / burst * channels / (memory.banks if spread else 1)
        word = -(-_interface(memory).width // 8)
        transfer = Fraction((in_words(memory, jump.run) + REQUEST_CYCLES * word) * SECOND) / rate
        row = Fraction(min(jump.stride, ROW), ROW) if jump.stride else Fraction(1)
        opening = max(Fraction(0), ROW_TIME / channels - transfer) * row if memory.has_rows else Fraction(0)
        total = (transfer + opening) * jump.times
        return -(-total.numerator // total.denominator)

    def run_time(self, index: int, size: int) -> int:
        """Returns the nanoseconds of sequential bytes in a bank, or in interleaved banks."""
        return nanoseconds(size, self.rates[index])

    def call_latency(self, calls: int, blocks: int) -> int:
        """Returns the nanoseconds of MMD calls before and between their data."""
        return calls * self.board.timing.mmd_latency + blocks * self.board.timing.dma_latency

    def link_time(self, size: int) -> int:
        """Returns the nanoseconds of `size` bytes on the PCIe link; 0 without one."""
        return nanoseconds(size, self.link_rate) if self.link_rate else 0

    def pipeline_time(self, work_items: int, width: int, cycles: int = 1, depth: int = 0) -> int:
        """Returns the nanoseconds until `work_items` have left a pipeline of `depth` stages.

        `width` of them enter at once, each for `cycles`.
        """
        return -(-(-(-work_items // width) * cycles + depth) * 1000 // self.board.timing.kernel_clock)

    def cable_time(self, channel: str, packet: int, packets: int) -> int:
        """Returns the nanoseconds of packets on an I/O channel's cable. Each takes whole words of the channel."""
        width = next((each.width for each in self.board.channels if each.name == channel), CABLE_WIDTH)
        words = -(-8 * packet // width) * packets
        return nanoseconds(words * width, Fraction(self.board.timing.cable_rate * MEGA))

    def memory_latency(self, accesses: Iterable[Access]) -> int:
        """Returns the nanoseconds until the slowest of the memories answers for the first time."""
        return max((_interface(self.board.memories[access.memory]).latency for access in accesses), default=0)


def _channels_hit(memory: GlobalMemory, stride: int) -> int:
    """Returns the number of banks of an interleaved memory that accesses with a stride use."""
    turns, rest = divmod(stride, memory.interleaved_bytes or 1)
    return memory.banks if rest or not stride else memory.banks // gcd(turns, memory.banks)


def _spread(memory: GlobalMemory, address: int, size: int) -> Iterable[tuple[int, int]]:
    """Yields the banks that contain a range, and the bytes in each. Bytes behind the last bank count there."""
    while size > 0:
        bank = min(memory.bank_of(address), memory.banks)
        end = memory.begin + bank * memory.bank_size
        part = size if bank == memory.banks else min(size, end - address)
        yield bank, part
        address, size = address + part, size - part
