"""First-fit allocation (board/first_fit.c) against a naive model."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from fpgart.board.first_fit import GRANULARITY, FirstFit, round_up

BEGIN, END = 1024, 64 * 1024


def naive(live: dict[int, int], size: int, first: int, alignment: int = 1) -> int | None:
    """Walks the live ranges in address order, and returns the first gap."""
    candidate = round_up(max(first, BEGIN), alignment)
    for begin in sorted(live):
        if begin >= candidate + size:
            break
        candidate = round_up(max(candidate, begin + live[begin]), alignment)
    return candidate if candidate + size <= END else None


class FirstFitMachine(RuleBasedStateMachine):
    """Random allocations and frees."""

    blocks: Bundle[int] = Bundle("blocks")

    def __init__(self) -> None:
        super().__init__()
        self.allocator = FirstFit(BEGIN, END)
        self.live: dict[int, int] = {}

    @rule(target=blocks, size=st.integers(1, 9000))
    def allocate(self, size: int) -> int:
        return self._allocate(size, None)

    @rule(target=blocks, size=st.integers(1, 9000), first=st.integers(0, 255).map(lambda k: k * 256))
    def allocate_from(self, size: int, first: int) -> int:
        return self._allocate(size, first)

    @rule(target=blocks, size=st.integers(1, 9000), alignment=st.sampled_from([1, 2, 4, 16]).map(lambda k: k * 1024))
    def allocate_aligned(self, size: int, alignment: int) -> int:
        expected = naive(self.live, round_up(size), 0, alignment)
        return self._check(size, expected, self.allocator.allocate_aligned(size, alignment))

    def _allocate(self, size: int, first: int | None) -> int:
        expected = naive(self.live, round_up(size), first or 0)
        return self._check(size, expected, self.allocator.allocate(size, first))

    def _check(self, size: int, expected: int | None, got: int | None) -> int:
        assert got == expected
        if got is None:
            return 0
        self.live[got] = round_up(size)
        return got

    @rule(block=consumes(blocks))
    def free(self, block: int) -> None:
        if block:
            self.allocator.free(block, self.live.pop(block))

    @invariant()
    def free_bytes_are_what_is_left(self) -> None:
        assert self.allocator.free_bytes == END - BEGIN - sum(self.live.values())

    @invariant()
    def holes_are_the_gaps(self) -> None:
        ends = [BEGIN, *(begin + self.live[begin] for begin in sorted(self.live))]
        gaps = [(end, begin - end) for end, begin in zip(ends, [*sorted(self.live), END], strict=True)]
        assert self.allocator.holes() == [(begin, size) for begin, size in gaps if size]


TestFirstFit = FirstFitMachine.TestCase


@pytest.mark.parametrize("size", [0, GRANULARITY - 1])
def test_a_range_of_less_than_a_granule_has_no_holes(size: int) -> None:
    allocator = FirstFit(BEGIN, BEGIN + size)
    assert (allocator.free_bytes, allocator.holes(), allocator.allocate(1)) == (0, [], None)
    assert (allocator.begin, allocator.end) == (BEGIN, BEGIN + size)


def test_addresses_are_multiples_of_the_granularity() -> None:
    allocator = FirstFit(BEGIN, END)
    assert [allocator.allocate(size) for size in (1, 1025, 5)] == [1024, 2048, 4096]
    assert GRANULARITY == 1024


@pytest.mark.parametrize("size", [2**64 - GRANULARITY, 2**64 - GRANULARITY + 1, 2**64 - 1])
def test_no_room_is_found_for_the_largest_sizes(size: int) -> None:
    allocator = FirstFit(BEGIN, END)
    assert allocator.allocate(size) is None
    assert allocator.holes() == [(BEGIN, END - BEGIN)]


@pytest.mark.parametrize("granules", [1, 2, 15, 16, 17, 18, 255, 256, 257, 258])
def test_every_granule_of_a_range_of_any_size_is_handed_out_once(granules: int) -> None:
    allocator = FirstFit(BEGIN, BEGIN + granules * GRANULARITY)
    addresses = [BEGIN + number * GRANULARITY for number in range(granules)]
    assert [allocator.allocate(1) for _ in addresses] == addresses
    assert allocator.allocate(1) is None
    allocator.free(addresses[-1], 1)
    assert allocator.allocate(1, addresses[-1]) == addresses[-1]


def test_a_range_that_is_no_multiple_of_the_granularity_is_used_up_to_the_last_multiple() -> None:
    allocator = FirstFit(BEGIN, BEGIN + 3 * GRANULARITY - 1)
    assert (allocator.free_bytes, allocator.holes()) == (2 * GRANULARITY, [(BEGIN, 2 * GRANULARITY)])
