#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model's times for benchmarks whose results on real boards are published, beside these results.

python scripts/compare_published.py          the table of docs/time.md
python scripts/compare_published.py --write  put it there

The figures are those of the Paderborn Center for Parallel Computing: STREAM for FPGA (2019) and HPCC FPGA (2020,
2021), with the clocks at which the kernels closed timing. The kernels below are ours, with the loops of those.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from fpgart.board.board_spec import parse
from fpgart.board.timing import Access, Jump, Pace
from fpgart.kernels.loops.access_patterns import patterns
from fpgart.kernels.loops.kernel_loops import kernel_loops
from fpgart.kernels.loops.kernel_streams import kernel_streams
from fpgart.runtime.model.streaming import Group, OpenLaunch

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "time.md"
BEGIN, END = "<!-- begin: scripts/compare_published.py -->\n", "<!-- end -->\n"
BANK = 4 << 30
STREAM = """
kernel void copy(global const float *restrict a, global float *restrict b, uint n)
{
    #pragma unroll 16
    for (uint i = 0; i < n; i++) b[i] = a[i];
}
"""
GEMM = """
kernel void gemm(global const float *restrict a, global const float *restrict b, global float *restrict c,
                 uint products, uint results)
{
    for (uint k = 0; k < products; k++) {
        #pragma unroll 16
        for (uint i = 0; i < 512 * 512; i++) load(a, b, i);
        for (uint i = 0; i < 64 * 64 * 64; i++) multiply_8_by_8_by_8(i);
    }
    for (uint k = 0; k < results; k++) {
        #pragma unroll 16
        for (uint i = 0; i < 512 * 512; i++) store(c, i);
    }
}
"""


FFT = """
channel float2 points[8] __attribute__((depth(8)));
kernel void fetch(global const float2 *restrict from, uint steps)
{
    for (uint i = 0; i < steps; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) write_channel_intel(points[j], from[8 * i + j]);
    }
}
kernel void transform(global float2 *restrict to, uint steps)
{
    for (uint i = 0; i < steps; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) to[8 * i + j] = read_channel_intel(points[j]);
    }
}
"""
RANDOM_ACCESS = """
kernel void update(global ulong *restrict data, global const ulong *restrict where, uint n)
{
    #pragma ii 2
    for (uint i = 0; i < n; i++) data[where[i]] ^= i;
}
"""


@dataclass(frozen=True)
class Card:
    """A real card: banks of so many MB/s each."""

    name: str
    banks: int
    rate: int

    def pace(self, clock: float, *, interleaved: bool) -> Pace:
        """Returns the model's formulas for it, with kernels at a clock in MHz."""
        ports = "".join(
            f'<interface port="p{n}" address="{n * BANK:#x}" size="{BANK:#x}" width="512" maxburst="16" latency="240"/>'
            for n in range(self.banks)
        )
        spread = 'interleaved_bytes="1024"' if interleaved else ""
        text = (
            f'<board name="card"><global_mem name="DDR" max_bandwidth="{self.banks * self.rate}" {spread}>{ports}'
            f'</global_mem><fpgart kernel_clock="{round(clock)}"/></board>'
        )
        board = parse(text.encode(), "card")
        return Pace(board, [interleaved])


S10 = Card("BittWare 520N, Stratix 10", 4, 19_200)
A10 = Card("BittWare 385A, Arria 10", 2, 17_066)


@dataclass(frozen=True)
class Row:
    """A published result, and the model's; GB/s, GFLOPS, or microseconds."""

    card: Card
    what: str
    published: float
    modelled: float
    unit: str
    bound: str

    @property
    def error(self) -> float:
        return self.modelled / self.published - 1


def stream(card: Card, what: str, published: float, clock: float, banks: tuple[int, ...], copies: int = 1) -> Row:
    """Models STREAM on arrays of 400 MB. `banks`: of each array, or of each part if `copies` of the kernel have parts.

    Bank 0 stands for all of an interleaved memory.
    """
    count = 100_000_000 // copies
    pace = card.pace(clock, interleaved=not banks[0])
    cycles = kernel_loops(STREAM)["copy"].cycles({"n": count})
    assert cycles is not None
    pipeline = pace.pipeline_time(1, 1, cycles)
    accesses = [Access(0, max(bank - 1, 0) * BANK, 4 * count) for bank in banks]
    memory = max(pace.bank_time(accesses).values())
    moved = 4 * count * len(banks) / max(pipeline, memory)
    return Row(card, what, published, moved, "GB/s", "pipeline" if pipeline > memory else "memory")


def gemm(card: Card, what: str, published: float, clock: float, size: int, copies: int) -> Row:
    """Blocks of 512 x 512 in local memory, of 8 x 8 x 8 per cycle."""
    blocks = size // 512
    arguments = {"products": blocks**3 // copies, "results": blocks**2 // copies}
    cycles = kernel_loops(GEMM)["gemm"].cycles(arguments)
    assert cycles is not None
    nanoseconds = card.pace(clock, interleaved=False).pipeline_time(1, 1, cycles)
    rate = 2 * 512**3 * arguments["products"] * copies / nanoseconds
    return Row(card, what, published, rate, "GFLOPS", "pipeline")


def random_access(card: Card, what: str, published: float, clock: float) -> Row:
    """Updates of words of 8 bytes anywhere, by a kernel for each bank, which reads and writes by turns."""
    count = 1 << 20
    loops = kernel_loops(RANDOM_ACCESS)["update"]
    cycles = loops.cycles({"n": count})
    (pattern,) = patterns(loops, {"n": count}, 1)
    assert cycles is not None
    pace = card.pace(clock, interleaved=False)
    pipeline = pace.pipeline_time(1, 1, cycles)
    memory = pace.jump_time(0, Jump(pattern.run, pattern.stride, pattern.count))
    rate = 1000 * card.banks * count / max(pipeline, memory)
    return Row(card, what, published, rate, "MUPS", "pipeline" if pipeline > memory else "memory")


def fft(card: Card, what: str, published: float, clock: float, log_size: int, copies: int) -> Row:
    """Pairs of kernels with channels between them, for 8 points per cycle; each kernel has a bank to itself."""
    steps = 100_000
    pace = card.pace(clock, interleaved=False)
    pipeline = pace.pipeline_time(1, 1, steps)
    memory = max(pace.bank_time([Access(0, 0, 64 * steps)]).values())
    streams, names = kernel_streams(FFT), ("fetch", "transform")
    depths = {name: streams.kernels[name].depth for name in names}
    group = Group(streams, frozenset(names), depths, pace.board.timing.kernel_clock)
    scale = max(Fraction(1), Fraction(memory, pipeline))
    ended: list[OpenLaunch] = []
    for name in names:
        code = streams.process(name, {"steps": steps}, 1, depths[name], scale)
        ended += group.begin(OpenLaunch(name, name, None, 0, 0, code))
    rate = 5 * log_size * 8 * steps * copies / max(launch.length for launch in ended)
    return Row(card, what, published, rate, "GFLOPS", "pipeline" if pipeline > memory else "memory")


def transfer(card: Card, what: str, published: float, size: int, calls: int) -> Row:
    """Models the GB/s of `calls` transfers of `size` bytes."""
    return Row(card, what, published, size * calls / _transfer_time(card, size, calls), "GB/s", "PCIe")


def exchange(what: str, published: float, size: int) -> Row:
    """Models b_eff through the host: two reads and two writes of a message, in microseconds."""
    return Row(
        S10, what, published, _transfer_time(S10, size, 4) / 1000, "µs", "MMD calls" if size < 1 << 17 else "PCIe"
    )


def _transfer_time(card: Card, size: int, calls: int) -> int:
    pace = card.pace(300, interleaved=True)
    blocks = calls * -(-size // pace.board.timing.dma_block)
    return pace.call_latency(calls, blocks) + calls * pace.link_time(size)


def rows() -> list[Row]:
    return [
        stream(S10, "STREAM copy, interleaved, 276.77 MHz", 35.131, 276.77, (0, 0)),
        stream(S10, "STREAM add, interleaved, 276.77 MHz", 52.706, 276.77, (0, 0, 0)),
        stream(S10, "STREAM triad, interleaved, 276.77 MHz", 48.802, 276.77, (0, 0, 0)),
        stream(S10, "STREAM copy, interleaved, 242.18 MHz", 30.876, 242.18, (0, 0)),
        stream(S10, "STREAM copy, 4 kernels with a bank each, 316.67 MHz", 67.013, 316.67, (1, 1, 2, 2, 3, 3, 4, 4), 4),
        stream(A10, "STREAM copy, interleaved, 341.06 MHz", 26.768, 341.06, (0, 0)),
        stream(A10, "STREAM add, interleaved, 341.06 MHz", 28.840, 341.06, (0, 0, 0)),
        stream(A10, "STREAM copy, both arrays in one bank, 342.93 MHz", 15.554, 342.93, (1, 1)),
        stream(A10, "STREAM scale, an array in each bank, 342.93 MHz", 32.581, 342.93, (1, 2)),
        stream(A10, "STREAM add, two arrays in one bank, 342.93 MHz", 23.445, 342.93, (1, 1, 2)),
        gemm(S10, "GEMM, 5 kernels, 160.42 MHz, n = 4096", 708.95, 160.42, 4096, 5),
        gemm(S10, "GEMM, 5 kernels, 272.5 MHz, n = 23040", 1232.41, 272.5, 23040, 5),
        fft(S10, "FFT, 2 pairs of kernels with channels, 413.34 MHz, n = 2^17", 349.45, 413.34, 17, 2),
        fft(S10, "FFT, 2 pairs of kernels with channels, 402.41 MHz, n = 2^12", 239.598, 402.41, 12, 2),
        random_access(A10, "RandomAccess, 2 kernels, 217.67 MHz (17.1)", 92.28, 217.67),
        random_access(S10, "RandomAccess, 4 kernels, 264.13 MHz (19.2)", 247.54, 264.13),
        random_access(S10, "RandomAccess, 4 kernels, 329.17 MHz (19.4)", 245.0, 329.17),
        random_access(S10, "RandomAccess, 4 kernels, 326.05 MHz (21.2)", 185.633, 326.05),
        transfer(S10, "writing 3 arrays of 400 MB", 6.330, 400_000_000, 3),
        transfer(S10, "reading 3 arrays of 400 MB", 6.316, 400_000_000, 3),
        transfer(A10, "writing 3 arrays of 400 MB", 6.419, 400_000_000, 3),
        transfer(A10, "reading 3 arrays of 400 MB", 6.357, 400_000_000, 3),
        exchange("b_eff through the host, 1 byte", 119.9, 1),
        exchange("b_eff through the host, 64 KiB", 364.7, 1 << 16),
        exchange("b_eff through the host, 1 MiB", 1343.6, 1 << 20),
    ]


def table() -> str:
    lines = ["| card | what | published (measured) | modelled | error | bound by |", "|---|---|---|---|---|---|"]
    for row in rows():
        published, modelled = (f"{value:.4g} {row.unit}" for value in (row.published, row.modelled))
        lines.append(
            f"| {row.card.name} | {row.what} | {published} | {modelled} | {100 * row.error:+.1f} % | {row.bound} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    if "--write" not in sys.argv[1:]:
        print(table(), end="")
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(before + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
