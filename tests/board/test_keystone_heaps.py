"""The choice of a heap of a 66AK2x for allocations (board/keystone/heaps.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import free_bytes
from test_keystone_partition import SPLIT, parsed, shipped

from fpgart.board.keystone.addresses import Extent, PhysicalAddress, power_of_two_from
from fpgart.board.keystone.heaps import KeystoneHeaps
from fpgart.board.keystone.mpax import Need, NoMapping, plan
from fpgart.board.keystone.partition import Partition
from fpgart.board.memory_system import MemoryRange, MemorySystem, Showing, ShownRegion, Window

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FIXED, MAPPED = 0, 1


def k2h() -> KeystoneHeaps:
    return KeystoneHeaps(shipped("k2h"))


@pytest.fixture
def heaps() -> KeystoneHeaps:
    return k2h()


def leave_fixed(heaps: KeystoneHeaps, size: int) -> None:
    """Fills the fixed heap with programs until `size` bytes are free."""
    assert heaps.allocate_program(free_bytes(heaps, FIXED) - size) is not None
    assert free_bytes(heaps, FIXED) == size


def heap_of(heaps: KeystoneHeaps, size: int) -> int | None:
    region = heaps.allocate(size)
    return None if region is None else region.memory


def test_the_runtime_can_use_the_heaps_as_any_boards_memory() -> None:
    system: MemorySystem = k2h()
    assert system.memory_for("") is None
    assert [system.name_of(index) for index in (FIXED, MAPPED)] == ["fixed", "mapped"]
    assert system.memory_for("mapped") == MAPPED
    with pytest.raises(KeyError):
        system.memory_for("DDR")
    assert system.default_memory(1) is None


def test_programs_go_to_the_fixed_heap_until_it_is_full(heaps: KeystoneHeaps) -> None:
    program = heaps.allocate_program(100 * MIB)
    assert program == MemoryRange(FIXED, 0x8_2500_0000, 100 * MIB)
    leave_fixed(heaps, 4 * KIB)
    assert heaps.allocate_program(4 * KIB + 1) is None
    assert heaps.allocate_program(4 * KIB) is not None
    assert heaps.allocate_program(1) is None


@pytest.mark.parametrize(
    ("size", "free", "heap"),
    [
        (16 * KIB, 432 * MIB, FIXED),
        (16 * KIB, 64 * MIB - KIB, FIXED),
        (16 * KIB, 16 * KIB, FIXED),
        (16 * KIB, 15 * KIB, MAPPED),
        (1, KIB, FIXED),
        (1, 0, MAPPED),
        (16 * KIB + 1, 64 * MIB, FIXED),
        (16 * KIB + 1, 64 * MIB - KIB, MAPPED),
        (16 * MIB, 432 * MIB, FIXED),
        (16 * MIB, 64 * MIB, FIXED),
        (16 * MIB, 64 * MIB - KIB, MAPPED),
        (16 * MIB + 1, 432 * MIB, MAPPED),
        (16 * MIB + 1, 64 * MIB, MAPPED),
    ],
)
def test_the_thresholds(heaps: KeystoneHeaps, size: int, free: int, heap: int) -> None:
    if free < 432 * MIB:
        leave_fixed(heaps, free)
    assert heap_of(heaps, size) == heap


def test_medium_buffers_stay_out_of_the_last_64_mib_of_the_fixed_heap(heaps: KeystoneHeaps) -> None:
    placed = [heap_of(heaps, 16 * MIB) for _ in range(30)]
    assert placed == [FIXED] * 24 + [MAPPED] * 6
    assert free_bytes(heaps, FIXED) == 48 * MIB


def test_large_buffers_never_go_to_the_fixed_heap(heaps: KeystoneHeaps) -> None:
    assert heap_of(heaps, 6 * GIB) == MAPPED
    assert heap_of(heaps, 17 * MIB) is None
    assert heap_of(heaps, 16 * MIB) == FIXED


def test_where_nothing_is_mapped_everything_is_fixed() -> None:
    heaps = KeystoneHeaps(shipped("k2h_low"))
    assert [*heaps.mapped] == []
    assert heap_of(heaps, 1487 * MIB) == FIXED
    assert heap_of(heaps, MIB) == FIXED
    assert heap_of(heaps, 1) is None


def test_restricted_to_the_low_memory_large_buffers_are_fixed() -> None:
    heaps = KeystoneHeaps(shipped("k2h").without_mapping())
    assert heap_of(heaps, 400 * MIB) == FIXED
    assert heap_of(heaps, 33 * MIB) is None


def test_no_buffer_spans_two_mapped_heaps() -> None:
    heaps = KeystoneHeaps(parsed(SPLIT))
    assert [*heaps.fixed] == [0]
    assert [*heaps.mapped] == [1, 2]
    assert heaps.allocate(5 * GIB + 1) is None
    assert heap_of(heaps, 3 * GIB) == 2
    assert heap_of(heaps, GIB) == 1
    assert heap_of(heaps, 2 * GIB + 1) is None
    assert heap_of(heaps, 2 * GIB) == 2


def test_buffers_in_mapped_heaps_are_aligned_to_their_size(heaps: KeystoneHeaps) -> None:
    placed = [heaps.allocate(size * MIB) for size in (17, 600, 20, 128, 100)]
    found = [(region.address - 0x8_8000_0000) // MIB for region in placed if region is not None]
    assert found == [0, 1024, 32, 128, 256]


def test_no_alignment_is_larger_than_the_largest_region(heaps: KeystoneHeaps) -> None:
    assert heaps.allocate(17 * MIB) == MemoryRange(MAPPED, 0x8_8000_0000, 17 * MIB)
    assert heaps.allocate(3 * GIB) == MemoryRange(MAPPED, 0x8_C000_0000, 3 * GIB)


def test_three_buffers_of_2_gib_fit_in_the_mapped_heap(heaps: KeystoneHeaps) -> None:
    assert [heap_of(heaps, 2 * GIB) for _ in range(4)] == [MAPPED, MAPPED, MAPPED, None]


@given(st.lists(st.integers(1, 16 << 10), min_size=1, max_size=6))
def test_every_buffer_of_a_mapped_heap_can_be_shown_by_one_region(sizes: list[int]) -> None:
    partition = shipped("k2h")
    heaps = KeystoneHeaps(partition)
    for size in sizes:
        region = heaps.allocate(size * 64 * KIB, MAPPED)
        assert region is not None
        assert region.address % min(GIB, power_of_two_from(region.size)) == 0
        need = Need(PhysicalAddress(region.address), region.size)
        assert len(plan([need], partition.destinations).regions) == 1


@given(st.lists(st.tuples(st.integers(1, 64 << 10), st.booleans()), max_size=12), st.sampled_from([0, 1, 2]))
def test_the_largest_allocation_is_what_fits_and_no_more(steps: list[tuple[int, bool]], memory: int) -> None:
    heaps = KeystoneHeaps(parsed(SPLIT))
    live: list[MemoryRange] = []
    for size, frees in steps:
        if frees and live:
            heaps.free(live.pop(0))
        elif (region := heaps.allocate(size * 32 * KIB, memory)) is not None:
            live.append(region)
    largest = heaps.largest_allocation(memory)
    assert heaps.allocate(largest + KIB, memory) is None
    if largest:
        assert heaps.allocate(largest, memory) is not None


def test_free_space_is_told_per_heap(heaps: KeystoneHeaps) -> None:
    assert (free_bytes(heaps, FIXED), free_bytes(heaps, MAPPED)) == (432 * MIB, 6 * GIB)
    assert [heaps.largest_allocation(index) for index in (FIXED, MAPPED)] == [432 * MIB, 6 * GIB]
    first = heaps.allocate(17 * MIB)
    assert first is not None
    assert free_bytes(heaps, MAPPED) == 6 * GIB - 17 * MIB
    assert heaps.holes(MAPPED) == [(0x8_8000_0000 + 17 * MIB, 6 * GIB - 17 * MIB)]
    assert heaps.largest_allocation(MAPPED) == 5 * GIB
    heaps.free(first)
    assert heaps.largest_allocation(MAPPED) == 6 * GIB


def test_programs_are_kept_in_memory_and_banks_are_not_told_apart(heaps: KeystoneHeaps) -> None:
    assert heaps.keeps_programs
    assert heaps.banks_of(MemoryRange(MAPPED, 0x9_0000_0000, 1)) == (1, 1)


def test_memory_on_the_chip_is_for_who_asks_for_it(heaps: KeystoneHeaps) -> None:
    assert heaps.memory_for("msmc") == 2
    assert heaps.allocate(4864 * KIB, 2) == MemoryRange(2, 0x0C00_0000, 4864 * KIB)
    assert heaps.allocate(1, 2) is None
    assert (free_bytes(heaps, 2), heaps.largest_allocation(2)) == (0, 0)


def test_a_heap_that_is_asked_for_takes_whatever_fits(heaps: KeystoneHeaps) -> None:
    assert heaps.allocate(432 * MIB, FIXED) == MemoryRange(FIXED, 0x8_2500_0000, 432 * MIB)
    assert heaps.allocate(1, FIXED) is None
    assert heaps.allocate(1, MAPPED) == MemoryRange(MAPPED, 0x8_8000_0000, 1)


def test_buffers_in_fixed_heaps_follow_each_other_whatever_their_size(heaps: KeystoneHeaps) -> None:
    placed = [heaps.allocate(size * KIB) for size in (1, 3, 16)]
    assert [region.address - 0x8_2500_0000 for region in placed if region is not None] == [0, KIB, 4 * KIB]


def test_small_buffers_in_mapped_heaps_begin_at_multiples_of_a_kibibyte(heaps: KeystoneHeaps) -> None:
    placed = [heaps.allocate(size, MAPPED) for size in (1, 100, 1024, 1025, 1)]
    assert [region.address - 0x8_8000_0000 for region in placed if region is not None] == [0, 1024, 2048, 4096, 3072]


def test_without_destinations_memory_above_is_mapped_by_nothing_and_begins_at_kibibytes() -> None:
    fixed = shipped("k2h").fixed
    cmem = (Extent(PhysicalAddress(0x8_2500_0000), MIB), Extent(PhysicalAddress(0x8_8000_0000), MIB))
    heaps = KeystoneHeaps(Partition("k", "v", (), (), cmem, fixed))
    assert [heaps.allocate(3 * KIB, MAPPED), heaps.allocate(KIB, MAPPED)] == [
        MemoryRange(MAPPED, 0x8_8000_0000, 3 * KIB),
        MemoryRange(MAPPED, 0x8_8000_0000 + 3 * KIB, KIB),
    ]


def test_medium_buffers_need_spare_room_in_all_fixed_heaps_together() -> None:
    """k2h with its fixed block cut in two."""
    partition = shipped("k2h")
    first, high = partition.cmem
    second = Extent(PhysicalAddress(first.begin + 48 * MIB), 48 * MIB)
    heaps = KeystoneHeaps(
        Partition(
            "k", "v", (), (), (Extent(first.begin, 40 * MIB), second, high), partition.fixed, partition.destinations
        )
    )
    assert [heap_of(heaps, 16 * MIB) for _ in range(4)] == [0, 0, 2, 2]


# What kernels see


def test_memory_that_is_always_seen_is_where_it_is_at_boot() -> None:
    windows = [Window(0x8_2500_0000, 4, "a"), Window(0x8_3FFF_FFFF, 1, "b")]
    assert k2h().show(windows) == Showing((0xA500_0000, 0xBFFF_FFFF), ())


def test_memory_on_the_chip_is_where_the_host_sees_it() -> None:
    windows = [Window(0x0C00_0000, 1, "a"), Window(0x0C00_0000 + 4864 * KIB - 1, 1, "b")]
    assert k2h().show(windows).addresses == (0x0C00_0000, 0x0C00_0000 + 4864 * KIB - 1)


def test_what_is_mapped_comes_among_the_rest_in_the_order_of_the_arguments() -> None:
    first, second = Window(0x8_8000_0000, MIB, "a"), Window(0x9_FFF0_0000, MIB, "c")
    found = k2h().show([first, Window(0x8_2500_0000, 4, "b"), second])
    assert found.addresses[1] == 0xA500_0000
    assert [region.physical for region in found.regions] == [first.address, second.address]
    assert [region.size for region in found.regions] == [MIB, MIB]
    assert [region.kernel for region in found.regions] == [found.addresses[0], found.addresses[2]]
    assert all(isinstance(region, ShownRegion) for region in found.regions)


def test_the_last_byte_of_a_mapped_heap_is_mapped() -> None:
    found = k2h().show([Window(0x9_FFFF_FFFF, 1, "a")])
    assert found.regions[0].physical == 0x9_FFFF_F000


def test_nothing_to_show_needs_no_region() -> None:
    assert k2h().show([]) == Showing((), ())


def test_what_cannot_be_mapped_is_told_with_the_names_of_arguments() -> None:
    with pytest.raises(NoMapping, match="argument 'x'"):
        k2h().show([Window(0x8_8000_0000, 2 * GIB, "argument 'x'")])
