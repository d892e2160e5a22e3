# SPDX-License-Identifier: Apache-2.0
"""Times of a board's operations: the formulas of docs/time.md, with their sources there.

All machines agree: rates are exact fractions, in bytes per second, and times whole nanoseconds, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from fpgart.board.description import BoardDescription, Timing
from fpgart.board.global_memory import GlobalMemory, Interface

SECOND = 1_000_000_000
MEGA = 1_000_000
TRANSFERS = {1: 2_500, 2: 5_000, 3: 8_000, 4: 16_000, 5: 32_000}
"""Millions per second and lane, by the generation of PCI Express."""
PACKET_OVERHEAD = 24
"""Bytes around a packet's payload: framing and sequence number 4, header with 64-bit address 16, checksum 4."""
CABLE_WIDTH = 256
"""Bits of a word on a cable, where the board's description does not say it."""
ROW = 8192
"""Bytes of a memory's row, all chips together."""
ROW_TIME = Fraction(108, 10)
"""Nanoseconds from an access to the next, of one bank of the board, where each is in another row."""
REQUEST_CYCLES = 1
"""Cycles of a memory's interface that each burst costs besides its data."""


def nanoseconds(size: int, rate: Fraction) -> int:
    """How long `size` bytes take at `rate` bytes per second."""
    return -(-size * SECOND * rate.denominator // rate.numerator)


def pcie_rate(timing: Timing) -> Fraction:
    """Bytes of payload per second and direction."""
    coding = Fraction(8, 10) if timing.pcie_generation < 3 else Fraction(128, 130)
    packets = Fraction(timing.pcie_payload, timing.pcie_payload + PACKET_OVERHEAD)
    return TRANSFERS[timing.pcie_generation] * MEGA * timing.pcie_lanes * coding / 8 * packets


def memory_rate(memory: GlobalMemory, interleaved: bool, kernel_clock: int) -> Fraction:
    """Bytes per second between kernels and a memory: all of its banks if they are interleaved, else one.

    The lesser of what interfaces carry at the kernels' clock (MHz) and what the memory gives, less what bursts cost.
    """
    interface = _interface(memory)
    channels = memory.banks if interleaved else 1
    rate = Fraction(interface.width, 8) * kernel_clock * MEGA * channels
    if memory.max_bandwidth:
        rate = min(rate, Fraction(memory.max_bandwidth * MEGA * channels, memory.banks))
    return rate * interface.maxburst / (interface.maxburst + REQUEST_CYCLES)


def in_words(memory: GlobalMemory, size: int) -> int:
    """Bytes that an access of `size` bytes moves: whole words of the interface."""
    word = -(-_interface(memory).width // 8)
    return -(-size // word) * word


def _interface(memory: GlobalMemory) -> Interface:
    return memory.interfaces[0] if memory.interfaces else Interface("", memory.begin, memory.size)


@dataclass(frozen=True, slots=True, order=True)
class Bank:
    """What the accesses of one moment share: a bank (from 1) of a memory (index), or all of them (0)."""

    memory: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes from `address` on in a memory (by index) that something reads or writes, in `pieces` equal parts."""

    memory: int
    address: int
    size: int
    pieces: int = 1
    jumps: tuple[Jump, ...] = ()
    """How a kernel goes through it, where that is not from the first byte to the last."""


@dataclass(frozen=True, slots=True)
class Jump:
    """`count` accesses to `run` bytes in a row, each `stride` bytes from the one before; 0: anywhere."""

    run: int
    stride: int
    count: int


class Pace:
    """A board's formulas with its numbers; `interleaved`: by memory, how the loaded binary has the banks."""

    def __init__(self, board: BoardDescription, interleaved: Sequence[bool]) -> None:
        self.board = board
        self.interleaved = tuple(interleaved)
        timing = board.timing
        self.link_rate = Fraction(0) if board.unified_memory else pcie_rate(timing)
        """Bytes per second over PCIe; 0 where the memory is the host's own."""
        self._rates = [
            memory_rate(memory, spread, timing.kernel_clock)
            for memory, spread in zip(board.memories, self.interleaved, strict=True)
        ]
        if self.link_rate:  # what is the host's is behind the link
            for index, memory in enumerate(board.memories):
                if not memory.is_device_private:
                    self._rates[index] = min(self._rates[index], self.link_rate)

    def rate(self, bank: Bank) -> Fraction:
        """Bytes per second through a bank, or all banks of an interleaved memory."""
        return self._rates[bank.memory]

    def bank_time(self, accesses: Iterable[Access]) -> dict[Bank, int]:
        """Nanoseconds that each bank is busy with some accesses."""
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
            if self.interleaved[access.memory] or memory.banks == 1:
                bank = Bank(access.memory)
                moved[bank] = moved.get(bank, 0) + size
                continue
            for number, part in _spread(memory, access.address, size):
                bank = Bank(access.memory, number)
                moved[bank] = moved.get(bank, 0) + part
        return {
            bank: nanoseconds(moved.get(bank, 0), self.rate(bank)) + jumped.get(bank, 0)
            for bank in sorted(moved.keys() | jumped.keys())
        }

    def shares(self, access: Access) -> list[tuple[Bank, Fraction]]:
        """The banks that a range lies in, and how much of it."""
        memory = self.board.memories[access.memory]
        if self.interleaved[access.memory] or memory.banks == 1:
            return [(Bank(access.memory), Fraction(1))]
        size = max(1, access.size)
        parts = _spread(memory, access.address, size)
        return [(Bank(access.memory, number), Fraction(part, size)) for number, part in parts]

    def jump_time(self, index: int, jump: Jump) -> int:
        """Nanoseconds that a bank, or banks that are interleaved, are busy with accesses that are apart."""
        memory = self.board.memories[index]
        spread = self.interleaved[index]
        burst = Fraction(_interface(memory).maxburst, _interface(memory).maxburst + REQUEST_CYCLES)
        channels = _channels_hit(memory, jump.stride) if spread else 1
        rate = self._rates[index] / burst * channels / (memory.banks if spread else 1)
        word = -(-_interface(memory).width // 8)
        transfer = Fraction((in_words(memory, jump.run) + REQUEST_CYCLES * word) * SECOND) / rate
        row = Fraction(min(jump.stride, ROW), ROW) if jump.stride else Fraction(1)
        opening = max(Fraction(0), ROW_TIME / channels - transfer) * row if memory.has_rows else Fraction(0)
        total = (transfer + opening) * jump.count
        return -(-total.numerator // total.denominator)

    def run_time(self, index: int, size: int) -> int:
        """Nanoseconds for bytes one after the other, of one bank or of all that are interleaved."""
        return nanoseconds(size, self._rates[index])

    def call_latency(self, calls: int, blocks: int) -> int:
        """Nanoseconds that MMD calls cost before and between their data."""
        return calls * self.board.timing.mmd_latency + blocks * self.board.timing.dma_latency

    def link_time(self, size: int) -> int:
        """Nanoseconds that `size` bytes are on the PCIe link; 0 where there is none."""
        return nanoseconds(size, self.link_rate) if self.link_rate else 0

    def pipeline_time(self, work_items: int, width: int, cycles: int = 1, depth: int = 0) -> int:
        """Nanoseconds until `work_items` are through a pipeline of so many stages.

        `width` of them enter at once, each for `cycles`.
        """
        return -(-(-(-work_items // width) * cycles + depth) * 1000 // self.board.timing.kernel_clock)

    def cable_time(self, channel: str, packet: int, packets: int) -> int:
        """Nanoseconds that packets of `packet` bytes are on the cable in an I/O channel: whole words of the channel."""
        width = next((each.width for each in self.board.channels if each.name == channel), CABLE_WIDTH)
        words = -(-8 * packet // width) * packets
        return nanoseconds(words * width, Fraction(self.board.timing.cable_rate * MEGA))

    def memory_latency(self, accesses: Iterable[Access]) -> int:
        """Nanoseconds until the slowest of the memories answers for the first time."""
        return max((_interface(self.board.memories[access.memory]).latency for access in accesses), default=0)


def _channels_hit(memory: GlobalMemory, stride: int) -> int:
    """How many banks of an interleaved memory accesses come to that are so many bytes apart."""
    turns, rest = divmod(stride, memory.interleaved_bytes or 1)
    return memory.banks if rest or not stride else memory.banks // gcd(turns, memory.banks)


def _spread(memory: GlobalMemory, address: int, size: int) -> Iterable[tuple[int, int]]:
    """The banks that a range lies in, and how much of it; what would be behind the last one counts there."""
    while size > 0:
        bank = min(memory.bank_of(address), memory.banks)
        end = memory.begin + bank * memory.bank_size
        part = size if bank == memory.banks else min(size, end - address)
        yield bank, part
        address, size = address + part, size - part
