"""The formulas of a board's times (board/timing.py), with numbers that can be followed by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fpgart.board.description import BoardDescription, Timing
from fpgart.board.global_memory import AllocationType, GlobalMemory, Interface
from fpgart.board.timing import Access, Bank, Jump, Pace, in_words, memory_rate, nanoseconds, pcie_rate

MEGA = 1_000_000
KIB = 1024
WIDE = Interface("wide", 0, 64 * KIB, width=64, latency=70, maxburst=3)
"""8 bytes per cycle, 3 of 4 cycles: 6 bytes per cycle."""
ONE = GlobalMemory("one", 0, 64 * KIB, interfaces=(WIDE,))
FOUR = GlobalMemory("four", 64 * KIB, 128 * KIB, banks=4, interfaces=(WIDE._replace(latency=90), WIDE, WIDE, WIDE))
SIMPLE = Timing(pcie_generation=1, pcie_lanes=8, pcie_payload=128, mmd_latency=100, dma_latency=7, kernel_clock=100)


def pace(*memories: GlobalMemory, interleaved: tuple[bool, ...] = (), unified: bool = False) -> Pace:
    board = BoardDescription("b", "v", memories, unified_memory=unified, timing=SIMPLE)
    return Pace(board, interleaved or (False,) * len(memories))


@pytest.mark.parametrize(("size", "rate", "took"), [(0, 5, 0), (1, 5, 200_000_000), (1, 3, 333_333_334), (3, 3, 10**9)])
def test_what_takes_part_of_a_nanosecond_takes_a_whole_one(size: int, rate: int, took: int) -> None:
    assert nanoseconds(size, Fraction(rate)) == took


def test_a_rate_may_be_any_fraction_of_a_byte() -> None:
    assert nanoseconds(1, Fraction(3, 2)) == 666_666_667
    assert nanoseconds(3, Fraction(3, 2)) == 2 * 10**9


@pytest.mark.parametrize(
    ("generation", "megabytes"),
    [
        (1, 250),
        (2, 500),
        (3, Fraction(8000 * 128, 130 * 8)),
        (4, Fraction(2000 * 128, 130)),
        (5, Fraction(4000 * 128, 130)),
    ],
)
def test_a_lane_carries_transfers_less_coding(generation: int, megabytes: Fraction) -> None:
    """8 of 10 bits up to the second generation, then 128 of 130; packets of 128 bytes have 24 more around them."""
    timing = Timing(pcie_generation=generation, pcie_lanes=1, pcie_payload=128)
    assert pcie_rate(timing) == megabytes * MEGA * Fraction(128, 152)
    assert pcie_rate(timing._replace(pcie_lanes=16)) == 16 * pcie_rate(timing)


def test_a_memory_carries_words_at_the_kernels_clock_less_a_cycle_per_burst() -> None:
    assert memory_rate(ONE, False, 100) == 600 * MEGA
    assert memory_rate(ONE, False, 300) == 1800 * MEGA


def test_interleaved_banks_carry_together_and_separate_ones_each_for_itself() -> None:
    assert memory_rate(FOUR, False, 100) == 600 * MEGA
    assert memory_rate(FOUR, True, 100) == 2400 * MEGA


def test_the_bandwidth_of_a_memory_is_that_of_all_of_its_banks() -> None:
    slow = FOUR._replace(max_bandwidth=1600)
    assert memory_rate(slow, True, 100) == 1200 * MEGA
    assert memory_rate(slow, False, 100) == 300 * MEGA
    assert memory_rate(FOUR._replace(max_bandwidth=10**6), True, 100) == 2400 * MEGA


def test_a_memory_that_tells_of_no_port_has_one_of_512_bits() -> None:
    assert memory_rate(GlobalMemory("m", 0, KIB), False, 17) == 64 * 16 * MEGA


@pytest.mark.parametrize(
    ("width", "size", "moved"), [(64, 1, 8), (64, 8, 8), (64, 9, 16), (64, 0, 0), (60, 1, 8), (65, 1, 9)]
)
def test_an_access_moves_whole_words(width: int, size: int, moved: int) -> None:
    assert in_words(ONE._replace(interfaces=(WIDE._replace(width=width),)), size) == moved


def test_accesses_of_a_bank_follow_each_other() -> None:
    """600 bytes per microsecond."""
    assert pace(ONE).bank_time([Access(0, 0, 600), Access(0, 4096, 1200)]) == {Bank(0): 3000}


def test_banks_of_different_memories_work_at_once() -> None:
    found = pace(ONE, ONE).bank_time([Access(1, 0, 600), Access(0, 0, 1200)])
    assert list(found.items()) == [(Bank(0), 2000), (Bank(1), 1000)]


def test_an_interleaved_memory_is_as_one_bank() -> None:
    assert pace(FOUR, interleaved=(True,)).bank_time([Access(0, 64 * KIB, 2400), Access(0, 96 * KIB, 2400)]) == {
        Bank(0): 2000
    }


def test_what_lies_in_several_separate_banks_is_moved_by_each_of_them() -> None:
    begin = 64 * KIB + 16 * KIB - 600
    found = pace(FOUR).bank_time([Access(0, begin, 600 + 16 * KIB + 1200), Access(0, begin, 600)])
    assert list(found.items()) == [
        (Bank(0, 1), 2000),
        (Bank(0, 2), nanoseconds(16 * KIB, Fraction(600 * MEGA))),
        (Bank(0, 3), 2000),
    ]


def test_what_is_behind_the_last_bank_counts_there() -> None:
    """Reads of whole words may end behind a memory."""
    assert pace(FOUR).bank_time([Access(0, 128 * KIB - 600, 1200)]) == {Bank(0, 4): 2000}
    assert pace(FOUR).bank_time([Access(0, 128 * KIB + 16 * KIB, 600)]) == {Bank(0, 4): 1000}


def test_nothing_keeps_no_separate_bank_busy() -> None:
    assert pace(FOUR).bank_time([Access(0, 64 * KIB, 0)]) == {}


def test_each_piece_of_an_access_takes_whole_words() -> None:
    assert pace(ONE).bank_time([Access(0, 0, 75)]) == {Bank(0): nanoseconds(80, Fraction(600 * MEGA))}
    assert pace(ONE).bank_time([Access(0, 0, 75, 75)]) == {Bank(0): 1000}
    assert pace(ONE).bank_time([Access(0, 0, 100, 3)]) == {Bank(0): 200}, (
        "pieces of 34 bytes at most, 40 with their words"
    )


def test_what_is_the_hosts_is_behind_the_link() -> None:
    """1684 MB/s of the link are less than 2400 of the memory, and more than 600."""
    host = FOUR._replace(allocation_types=AllocationType.HOST)
    assert pace(host, FOUR, interleaved=(True, True)).rates[0] == pcie_rate(SIMPLE)
    assert pace(host, FOUR, interleaved=(True, True)).rates[1] == 2400 * MEGA
    assert pace(host).rates[0] == 600 * MEGA
    assert pace(host, interleaved=(True,), unified=True).rates[0] == 2400 * MEGA


def test_a_transfer_is_on_the_link_unless_the_memory_is_the_hosts() -> None:
    rate = Fraction(2000 * MEGA * 128, 152)
    assert pace(ONE).link_rate == rate
    assert pace(ONE).link_time(10**6) == nanoseconds(10**6, rate)
    assert (pace(ONE, unified=True).link_rate, pace(ONE, unified=True).link_time(10**6)) == (0, 0)


def test_calls_and_blocks_have_latencies() -> None:
    assert [pace(ONE).call_latency(*counts) for counts in ((0, 0), (1, 0), (0, 1), (3, 5))] == [0, 100, 7, 335]


@pytest.mark.parametrize(
    ("items", "width", "took"), [(1, 1, 10), (100, 1, 1000), (100, 8, 130), (8, 8, 10), (9, 8, 20), (0, 1, 0)]
)
def test_a_pipeline_takes_its_width_each_cycle(items: int, width: int, took: int) -> None:
    """A cycle is 10 ns."""
    assert pace(ONE).pipeline_time(items, width) == took


def test_cycles_are_rounded_up_together() -> None:
    board = BoardDescription("b", "v", (ONE,), timing=SIMPLE._replace(kernel_clock=300))
    assert [Pace(board, [False]).pipeline_time(items, 1) for items in (1, 2, 3)] == [4, 7, 10]


def test_a_kernel_waits_for_the_slowest_memory_once() -> None:
    memories = pace(ONE, FOUR)
    assert memories.memory_latency([Access(0, 0, 1), Access(1, 0, 1), Access(0, 0, 1)]) == 90
    assert memories.memory_latency([Access(0, 0, 1)]) == 70
    assert memories.memory_latency([]) == 0


def test_a_bank_without_a_number_is_all_of_them() -> None:
    assert Bank(3) == Bank(3, 0)


def test_each_memory_is_told_whether_it_is_interleaved() -> None:
    board = BoardDescription("b", "v", (ONE, FOUR), timing=SIMPLE)
    with pytest.raises(ValueError, match="zip"):
        Pace(board, [False])


@pytest.mark.parametrize(("stride", "banks"), [(96, 1), (98, 2), (99, 4), (0, 4)])
def test_banks_that_only_a_binary_interleaves_take_turns_byte_by_byte(stride: int, banks: int) -> None:
    """The board's description keeps them apart. 9 bytes take two words and a request, so 30 ns of a bank."""
    assert pace(FOUR, interleaved=(True,)).jump_time(0, Jump(9, stride, 1000)) == 30_000 // banks


def test_a_single_byte_in_the_next_bank_is_moved_by_that_bank() -> None:
    bytes_wide = FOUR._replace(interfaces=(WIDE._replace(width=8),))
    found = pace(bytes_wide).bank_time([Access(0, 64 * KIB + 16 * KIB - 1, 2)])
    assert [*found] == [Bank(0, 1), Bank(0, 2)]
