"""The addresses that allocations get on an FPGA board (board/memory_system.py)."""

from __future__ import annotations

import pytest
from machine import free_bytes

from fpgart.board.catalogue import describe
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import AllocationType, GlobalMemory
from fpgart.board.memory_system import GlobalMemories, MemoryRange, MemorySystem, Showing

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DDR, HBM, QDR = 0, 1, 2


def board(*memories: GlobalMemory) -> GlobalMemories:
    return GlobalMemories(BoardDescription("b", "v", memories))


def lowest_first(*memories: GlobalMemory) -> GlobalMemories:
    return GlobalMemories(BoardDescription("b", "v", memories, lowest_first=True))


@pytest.fixture
def hetero() -> GlobalMemories:
    return GlobalMemories(describe("hetero"))


def test_the_runtime_can_use_the_memories_as_any_boards() -> None:
    system: MemorySystem = GlobalMemories(describe("hetero"))
    assert [system.name_of(index) for index in (DDR, HBM, QDR)] == ["DDR", "HBM", "QDR"]
    assert not system.keeps_programs
    assert not system.is_mapped(DDR)
    assert system.allocate_program(1) is None
    assert system.show([]) is None


def test_blocks_follow_each_other_from_the_begin_of_a_memory(hetero: GlobalMemories) -> None:
    assert hetero.allocate(1500, HBM) == MemoryRange(HBM, 4 * GIB, 1500)
    assert hetero.allocate(1, HBM) == MemoryRange(HBM, 4 * GIB + 2 * KIB, 1)
    assert hetero.allocate(1, QDR) == MemoryRange(QDR, 12 * GIB, 1)


def test_address_0_is_not_handed_out(hetero: GlobalMemories) -> None:
    assert hetero.allocate(1) == MemoryRange(DDR, KIB, 1)


def test_what_is_given_back_is_free_again(hetero: GlobalMemories) -> None:
    region = hetero.allocate(8 * GIB, HBM)
    assert region is not None
    assert hetero.allocate(1, HBM) is None
    hetero.free(region)
    assert free_bytes(hetero, HBM) == 8 * GIB
    assert hetero.allocate(8 * GIB, HBM) == region


def test_a_block_by_itself_goes_to_the_default_memory_and_then_to_the_lowest_that_could_hold_it() -> None:
    kinds = (
        GlobalMemory("default", GIB, GIB + MIB),
        GlobalMemory("big", 3 * GIB, 5 * GIB),
        GlobalMemory("small", MIB, 3 * MIB),
    )
    memories = board(*kinds)
    assert [memories.default_memory(size) for size in (1, MIB, MIB + 1, 2 * MIB + 1, 2 * GIB + 1)] == [0, 0, 2, 1, None]


def test_where_the_board_says_so_a_block_by_itself_goes_to_the_lowest_memory_that_could_hold_it() -> None:
    memories = lowest_first(GlobalMemory("big", 1 << 30, 3 << 30), GlobalMemory("small", MIB, 2 * MIB))
    assert [memories.default_memory(size) for size in (1, MIB, MIB + 1, 2 * GIB, 2 * GIB + 1)] == [1, 1, 0, 0, None]
    assert memories.allocate(MIB) == MemoryRange(1, MIB, MIB)
    assert memories.allocate(1) is None, "the lowest one is full, and no other is tried"
    assert memories.allocate(2 * GIB + 1) is None


def test_no_block_goes_by_itself_to_memory_that_is_not_the_boards_own() -> None:
    host = GlobalMemory("host", 0, MIB, allocation_types=AllocationType.HOST)
    memories = board(GlobalMemory("DDR", 4 * MIB, 5 * MIB), host)
    assert memories.default_memory(1) == 0
    assert memories.allocate(1, 1) == MemoryRange(1, KIB, 1)


def test_a_bank_is_where_to_look_first() -> None:
    memories = board(GlobalMemory("DDR", MIB, 3 * MIB, banks=2))
    second = memories.allocate(MIB, 0, 2)
    assert second == MemoryRange(0, 2 * MIB, MIB)
    assert memories.allocate(KIB, 0, 2) == MemoryRange(0, MIB, KIB), "it is full"
    assert memories.allocate(KIB, 0, 1) == MemoryRange(0, MIB + KIB, KIB)
    assert second is not None
    assert memories.banks_of(second) == (2, 2)
    assert memories.banks_of(MemoryRange(0, 2 * MIB - KIB, KIB)) == (1, 1)
    assert memories.banks_of(MemoryRange(0, 2 * MIB - KIB, 2 * KIB)) == (1, 2)


def test_a_bank_goes_with_the_memory_that_a_block_goes_to_by_itself() -> None:
    memories = board(GlobalMemory("DDR", MIB, 3 * MIB, banks=2))
    assert memories.allocate(KIB, bank=2) == MemoryRange(0, 2 * MIB, KIB)


def test_a_location_is_a_name_or_a_number_and_none_is_the_default(hetero: GlobalMemories) -> None:
    found = [hetero.memory_for(location) for location in ("", "DDR", "HBM", "QDR", "0", "1", "2")]
    assert found == [DDR, DDR, HBM, QDR, DDR, HBM, QDR]


@pytest.mark.parametrize("location", ["3", "-1", "hbm", "H"])
def test_a_location_that_the_board_does_not_have_is_named(hetero: GlobalMemories, location: str) -> None:
    with pytest.raises(KeyError) as caught:
        hetero.memory_for(location)
    assert caught.value.args == (location,)


def test_free_space_is_told_per_memory(hetero: GlobalMemories) -> None:
    assert (free_bytes(hetero, DDR), free_bytes(hetero, HBM)) == (4 * GIB - KIB, 8 * GIB)
    first, second = hetero.allocate(KIB, QDR), hetero.allocate(MIB, QDR)
    assert first is not None
    assert second is not None
    hetero.free(first)
    assert hetero.holes(QDR) == [(12 * GIB, KIB), (second.address + MIB, 3 * MIB - KIB)]
    assert hetero.largest_allocation(QDR) == 3 * MIB - KIB
    assert hetero.allocate(3 * MIB - KIB, QDR) is not None
    assert hetero.largest_allocation(QDR) == KIB
    assert hetero.allocate(1, QDR) is not None
    assert hetero.largest_allocation(QDR) == 0


def test_a_region_was_claimed_as_it_was_asked_for() -> None:
    assert MemoryRange(1, 4096, 100).whole() == (4096, 100)


def test_a_showing_without_regions_maps_nothing() -> None:
    assert Showing((1, 2)).regions == ()
