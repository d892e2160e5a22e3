"""Planning of MPAX regions (board/keystone/mpax/): the document's statements, and brute force on small instances."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from effort import EFFORT
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fpgart.board.keystone.addresses import PAGE, Block, DspAddress, PhysicalAddress
from fpgart.board.keystone.mpax import REGIONS, Need, NoMapping, Plan, Region, fits, plan
from fpgart.board.keystone.mpax.model import Piece

MIB = 1 << 20
UPPER = 0x8_8000_0000
DESTINATIONS = (Block(DspAddress(0x8000_0000), 512 * MIB), Block(DspAddress(0xC000_0000), 1024 * MIB))


def needs(*places: tuple[int, int]) -> list[Need]:
    """(offset in the upper memory, size), both in MiB."""
    return [
        Need(PhysicalAddress(UPPER + offset * MIB), size * MIB, f"argument {index}")
        for index, (offset, size) in enumerate(places)
    ]


def in_a_row(*sizes: int) -> list[Need]:
    """Buffers of these sizes in MiB, each aligned to its size, one behind the other."""
    places: list[tuple[int, int]] = []
    at = 0
    for size in sizes:
        at = -(-at // size) * size
        places.append((at, size))
        at += size
    return needs(*places)


def check(wanted: Sequence[Need], destinations: Sequence[Block], regions: int, found: Plan) -> None:
    """Every promise of a plan, for each need by looking up its bytes region by region."""
    assert len(found.regions) <= regions
    taken: list[tuple[int, int]] = []
    for region in found.regions:
        assert region.size & region.size - 1 == 0
        assert region.size >= PAGE
        assert region.physical % region.size == 0
        assert region.dsp % region.size == 0
        assert any(block.begin <= region.dsp and region.dsp + region.size <= block.end for block in destinations)
        taken.append((region.dsp, region.dsp + region.size))
    taken.sort()
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))
    for need, dsp in zip(wanted, found.addresses, strict=True):
        at = int(dsp)
        while at < dsp + need.size:
            (region,) = (r for r in found.regions if r.dsp <= at < r.dsp + r.size)
            assert region.physical + at - region.dsp == need.address + at - dsp
            at = region.dsp + region.size


def planned(wanted: Sequence[Need], destinations: Sequence[Block] = DESTINATIONS, regions: int = REGIONS) -> Plan:
    found = plan(wanted, destinations, regions)
    check(wanted, destinations, regions, found)
    return found


# What the document says


BESIDE = Piece(begin=64, size=64, step=16, regions=2)


@pytest.mark.parametrize(
    ("other", "yields"),
    [
        (BESIDE, True),
        (Piece(80, 32, 8, 1), True),
        (Piece(48, 64, 16, 2), False),
        (Piece(80, 64, 16, 2), False),
        (Piece(64, 64, 32, 2), False),
        (Piece(64, 64, 16, 3), False),
    ],
    ids=["the same", "less everywhere", "begins before", "ends behind", "coarser", "more regions"],
)
def test_a_piece_is_of_no_use_beside_one_that_shows_less_and_fits_wherever_it_does(other: Piece, yields: bool) -> None:
    assert BESIDE.yields_to(other) is yields


@pytest.mark.parametrize(
    "sizes",
    [(1024, 512), (512, 512, 512), (512, 512, 128, 128, 128, 128)],
    ids=["1 GiB and 512 MiB", "three of 512 MiB", "two of 512 and four of 128 MiB"],
)
def test_the_documents_examples_fit_in_any_order(sizes: tuple[int, ...]) -> None:
    planned(in_a_row(*sizes))
    planned(in_a_row(*sizes)[::-1])
    far_apart = [Need(PhysicalAddress(UPPER + index * 1024 * MIB), size * MIB) for index, size in enumerate(sizes)]
    planned(far_apart)


def test_seven_buffers_fit_wherever_they_are_if_their_regions_have_room() -> None:
    scattered = needs(*((index * 768 // 256 * 256, 128) for index in range(7)))
    assert len(planned(scattered).regions) == 7


def test_nine_scattered_buffers_do_not_fit() -> None:
    scattered = needs(*((index * 640, 16) for index in range(9)))
    assert not fits(scattered, DESTINATIONS)


def test_four_consecutive_buffers_share_one_region() -> None:
    found = planned(in_a_row(128, 128, 128, 128))
    assert found.regions == (Region(PhysicalAddress(UPPER), DspAddress(0x8000_0000), 512 * MIB),)
    assert [address - 0x8000_0000 for address in found.addresses] == [0, 128 * MIB, 256 * MIB, 384 * MIB]


def test_four_consecutive_buffers_that_are_not_aligned_together_take_more_regions() -> None:
    assert len(planned(needs((128, 128), (256, 128), (384, 128), (512, 128))).regions) > 1


def test_twenty_neighbours_fit_because_they_share() -> None:
    assert len(planned(in_a_row(*[64] * 20)).regions) <= REGIONS


@pytest.mark.parametrize("sizes", [(1024, 512, 16), (512, 512, 512, 16), (1024, 1024)])
def test_more_than_a_gibibyte_and_a_half_does_not_fit(sizes: tuple[int, ...]) -> None:
    with pytest.raises(NoMapping):
        plan(in_a_row(*sizes), DESTINATIONS)


def test_two_gibibytes_fit_as_four_sub_buffers_only() -> None:
    with pytest.raises(NoMapping, match=r"argument 0 \(2 GiB at 8:8000:0000\).*sub-buffers of up to 1 GiB"):
        plan(needs((0, 2048)), DESTINATIONS)
    for quarter in range(4):
        planned(needs((quarter * 512, 512)))


def test_three_quarters_of_each_of_three_large_buffers() -> None:
    """The document's use case: a 512 MiB sub-buffer of each of three buffers of 2 GiB, four times."""
    for quarter in range(4):
        planned(needs(*((buffer * 2048 + quarter * 512, 512) for buffer in range(3))))


# Beyond one region per buffer


def test_a_buffer_may_take_several_regions() -> None:
    found = planned(needs((0, 768), (1024, 256), (1536, 512)))
    assert sorted(region.size // MIB for region in found.regions) == [256, 256, 512, 512]


def test_a_buffer_across_a_coarse_boundary_takes_two_small_regions() -> None:
    across = planned(needs((1023, 2), (2048, 1024), (4096, 256)))
    assert sorted(region.size // MIB for region in across.regions) == [1, 1, 256, 1024]


def test_what_two_arguments_share_is_shown_once() -> None:
    found = planned(needs((0, 512), (256, 512), (0, 16)))
    first, second, third = found.addresses
    assert (second - first, third - first) == (256 * MIB, 0)


def test_buffers_in_one_page_share_its_region() -> None:
    base = PhysicalAddress(UPPER)
    halves = [Need(base, 2048), Need(PhysicalAddress(base + 2048), 2048)]
    page = [Block(DspAddress(0x8000_0000), PAGE)]
    assert planned(halves, page, 1).addresses == (0x8000_0000, 0x8000_0800)
    across = [Need(PhysicalAddress(base + 1024), 4096), Need(PhysicalAddress(base + 5120), 3072)]
    assert planned(across, [Block(DspAddress(0x8000_0000), 2 * PAGE)], 2).addresses == (0x8000_0400, 0x8000_1400)


def test_no_needs_take_no_regions() -> None:
    assert plan([], DESTINATIONS) == Plan((), ())
    assert plan([], ()) == Plan((), ())


def test_plans_do_not_depend_on_the_order_of_arguments() -> None:
    wanted = needs((0, 128), (512, 64), (640, 17), (2048, 512))
    assert set(planned(wanted).regions) == set(planned(wanted[::-1]).regions)


# Words

REFUSED = [
    (
        in_a_row(1024, 512, 64),
        DESTINATIONS,
        r"argument 0 \(1 GiB at 8:8000:0000\) takes a region of 1 GiB; .*; there are 7 regions, and destinations of "
        r"512 MiB and 1 GiB: in 7 regions they take 1\.562 GiB at least\. Without argument 2, the rest would fit$",
    ),
    (
        needs(*((index * 640, 16) for index in range(9))),
        DESTINATIONS[:1],
        r"where buffers share a region, more than 7 are needed\. Without argument 7, argument 8, the rest would fit$",
    ),
    (
        in_a_row(768, 768),
        DESTINATIONS,
        r"argument 0 \(768 MiB at 8:8000:0000\) takes a region of 1 GiB.*: they cannot be placed beside each other",
    ),
    (needs((48, 1024 - 16)), DESTINATIONS, r"cannot be shown by 7 regions .* begin at multiples of their size"),
    (needs((0, 16)), (), r"argument 0 would have to be mapped, and this board has no destinations"),
]


@pytest.mark.parametrize(("wanted", "destinations", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_says_what_is_needed_and_what_would_fit(
    wanted: list[Need], destinations: tuple[Block, ...], words: str
) -> None:
    with pytest.raises(NoMapping, match=words):
        plan(wanted, destinations)


# Brute force

Span = tuple[int, int]
"""Begin and size, in pages."""


def exists(wanted: Sequence[Span], destinations: Sequence[Span], regions: int) -> bool:
    """True if regions can show the spans; tries each distance between the spaces for each of them, page by page."""
    ranges = [(begin, begin + size) for begin, size in destinations]
    distances = range(-64, 65)

    def map_from(index: int, shown: tuple[tuple[int, int, int], ...], chosen: tuple[int, ...]) -> bool:
        """`shown`: place, size and distance of the regions so far."""
        if index == len(wanted):
            return True
        begin, size = wanted[index]
        for distance in distances:
            shares = any(
                begin < other + length and other < begin + size and distance != taken
                for (other, length), taken in zip(wanted, chosen, strict=False)
            )
            in_range = any(low <= begin + distance and begin + size + distance <= high for low, high in ranges)
            if in_range and not shares and show_page(index, begin, distance, shown, chosen):
                return True
        return False

    def show_page(
        index: int, page: int, distance: int, shown: tuple[tuple[int, int, int], ...], chosen: tuple[int, ...]
    ) -> bool:
        begin, size = wanted[index]
        if page == begin + size:
            return map_from(index + 1, shown, (*chosen, distance))
        place = page + distance
        for low, length, other in shown:
            if low <= place < low + length:
                return other == distance and show_page(index, page + 1, distance, shown, chosen)
        if len(shown) == regions:
            return False
        for length in (1, 2, 4, 8, 16):
            low = place // length * length
            if (
                distance % length == 0
                and any(first <= low and low + length <= last for first, last in ranges)
                and all(low + length <= start or start + extent <= low for start, extent, _ in shown)
                and show_page(index, page + 1, distance, (*shown, (low, length, distance)), chosen)
            ):
                return True
        return False

    return map_from(0, (), ())


def in_pages(wanted: Sequence[Span], destinations: Sequence[Span]) -> tuple[list[Need], list[Block]]:
    return (
        [Need(PhysicalAddress(UPPER + begin * PAGE), size * PAGE, f"{begin}") for begin, size in wanted],
        [Block(DspAddress(0x8000_0000 + begin * PAGE), size * PAGE) for begin, size in destinations],
    )


spans = st.lists(st.tuples(st.integers(0, 31), st.integers(1, 8)), min_size=1, max_size=5)
apart = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 8)), min_size=1, max_size=3)


def laid_out(gaps: Sequence[Span]) -> list[Span]:
    """Destinations that do not touch, from gaps before them and sizes."""
    found: list[Span] = []
    at = 0
    for gap, size in gaps:
        at += gap + bool(found)
        found.append((at, size))
        at += size
    return found


@settings(max_examples=600 * EFFORT, deadline=None)
@given(spans, apart, st.integers(1, 4))
@example([(0, 6), (8, 2), (12, 4)], [(0, 4), (0, 8)], 4)
@example([(3, 2), (6, 3)], [(1, 3), (2, 6)], 4)
@example([(0, 5), (6, 4)], [(0, 8), (0, 4)], 3)
def test_a_plan_is_found_exactly_when_there_is_one(wanted: list[Span], gaps: list[Span], regions: int) -> None:
    destinations = laid_out(gaps)
    needed, blocks = in_pages(wanted, destinations)
    try:
        found = plan(needed, blocks, regions)
    except NoMapping:
        assert not exists(wanted, destinations, regions)
    else:
        check(needed, blocks, regions, found)
        assert exists(wanted, destinations, regions)


byte_spans = st.lists(
    st.tuples(st.integers(0, 6144 * MIB - 1), st.one_of(st.integers(1, 64 * MIB), st.integers(1, 16 * 1024))),
    max_size=20,
)


@settings(max_examples=200 * EFFORT, deadline=None)
@given(byte_spans)
def test_buffers_may_begin_and_end_anywhere(wanted: list[Span]) -> None:
    needed = [Need(PhysicalAddress(UPPER + begin), size) for begin, size in wanted]
    shown: list[Need] = []
    for need in needed:  # as many as can be shown together
        if fits([*shown, need], DESTINATIONS):
            shown.append(need)
    assert len(shown) >= min(len(needed), 3)
    planned(shown)


# Size and time


def twenty(seed: int) -> list[Need]:
    """Twenty buffers as the mapped heap places them, aligned to their size rounded up to a power of two."""
    chance = random.Random(seed)
    places: list[tuple[int, int]] = []
    at = 0
    for _ in range(20):
        size = chance.randint(17, 64)
        unit = 1 << (size - 1).bit_length()
        at = -(-at // unit) * unit
        places.append((at, size))
        at += size
    wanted = needs(*places)
    chance.shuffle(wanted)
    return wanted


def test_twenty_buffers_of_a_mapped_heap_are_planned() -> None:
    for seed in range(20):
        planned(twenty(seed))
