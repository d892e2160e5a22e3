"""Board descriptions (board/description.py): banks, the used part of a memory, and answers to hosts."""

from __future__ import annotations

import os

import pytest
from machine import SetOption, free_bytes

from fpgart.base import config
from fpgart.board.description import BoardDescription, Timing
from fpgart.board.global_memory import AllocationType, GlobalMemory, Interface, host_memory
from fpgart.board.memory_system import GlobalMemories

MIB, GIB = 1 << 20, 1 << 30
DDR = GlobalMemory("DDR", GIB, GIB + 3 * MIB, banks=3)
HOST = GlobalMemory("host", 0, 1 << 60, allocation_types=AllocationType.HOST | AllocationType.SHARED)


def board(*memories: GlobalMemory) -> BoardDescription:
    return BoardDescription("b", "v", memories)


def test_a_memory_is_cut_into_equal_banks() -> None:
    assert (DDR.size, DDR.bank_size) == (3 * MIB, MIB)
    assert [DDR.bank_of(GIB + offset) for offset in (0, MIB - 1, MIB, 2 * MIB, 3 * MIB - 1)] == [1, 1, 2, 3, 3]


def test_banks_are_counted_from_1_and_beyond_the_last_from_the_first_again() -> None:
    assert [DDR.bank_begin(bank) - GIB for bank in (1, 2, 3, 4, 5)] == [0, MIB, 2 * MIB, 0, MIB]


@pytest.mark.parametrize(
    ("banks", "spread", "interleaved"), [(2, 1024, True), (2, 1, True), (2, 0, False), (1, 1024, False)]
)
def test_a_memory_is_interleaved_when_addresses_are_spread_over_several_banks(
    banks: int, spread: int, interleaved: bool
) -> None:
    assert DDR._replace(banks=banks, interleaved_bytes=spread).interleaved is interleaved


def test_a_memory_that_begins_at_0_is_used_from_its_second_kibibyte() -> None:
    memory = GlobalMemory("m", 0, MIB)
    assert (memory.usable_begin, memory.usable_size) == (1024, MIB - 1024)
    assert (DDR.usable_begin, DDR.usable_size) == (GIB, 3 * MIB)


def test_a_memory_that_begins_at_0_is_used_from_there_when_0_may_be_an_address(set_option: SetOption) -> None:
    set_option(config.NULL_ADDRESS, "1")
    memory = GlobalMemory("m", 0, MIB)
    assert (memory.usable_begin, memory.usable_size) == (0, MIB)


@pytest.mark.parametrize(
    ("kinds", "private"),
    [
        (AllocationType.NONE, True),
        (AllocationType.DEVICE, True),
        (AllocationType.DEVICE | AllocationType.HOST, True),
        (AllocationType.HOST, False),
        (AllocationType.HOST | AllocationType.SHARED, False),
    ],
)
def test_a_memory_is_the_boards_own_unless_it_is_for_host_and_shared_allocations_alone(
    kinds: AllocationType, private: bool
) -> None:
    assert DDR._replace(allocation_types=kinds).is_device_private is private


def test_of_the_hosts_memory_a_board_has_as_much_as_this_machine() -> None:
    assert host_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert HOST.room == host_memory()
    assert HOST._replace(end=MIB).room == MIB
    assert HOST._replace(allocation_types=AllocationType.NONE).room == 1 << 60


def test_the_numbers_of_allocation_types_are_those_of_containers() -> None:
    assert [int(kind) for kind in AllocationType] == [1, 2, 4]
    assert AllocationType.NONE == 0


def test_the_memory_of_a_board_is_what_buffers_go_to_by_themselves() -> None:
    described = board(DDR, DDR._replace(name="chip", begin=0, end=MIB, banks=1, on_chip=True), HOST)
    assert [memory.name for memory in described.device_private] == ["DDR", "chip"]
    assert described.global_size == 3 * MIB


def test_the_largest_buffer_is_that_of_the_largest_memory_less_what_is_not_used() -> None:
    assert board(GlobalMemory("small", MIB, 2 * MIB), DDR, HOST).largest_allocation == 3 * MIB
    assert board(GlobalMemory("zero", 0, MIB)).largest_allocation == MIB - 1024


def test_a_board_can_hold_the_kinds_that_one_of_its_memories_takes() -> None:
    described = board(DDR, HOST)
    assert described.can_hold(AllocationType.SHARED)
    assert not described.can_hold(AllocationType.DEVICE)


def test_programs_are_built_with_the_boards_macros_in_front() -> None:
    assert board(DDR).build_options("-cl-std=CL1.2") == "-DINTELFPGA_CL -DALTERA_CL -cl-std=CL1.2"
    assert board(DDR).build_options("") == "-DINTELFPGA_CL -DALTERA_CL"


def test_a_board_has_first_fit_memories() -> None:
    system = board(DDR).memory_system()
    assert isinstance(system, GlobalMemories)
    assert free_bytes(system, 0) == 3 * MIB


def test_what_is_not_said_of_a_board_is_the_simplest_one() -> None:
    assert board(DDR) == BoardDescription("b", "v", (DDR,), False, False, False, False, 0, 0, 0, 0, 0, "", Timing())
    assert GlobalMemory("m", 1, 2) == GlobalMemory("m", 1, 2, 1, 0, AllocationType.NONE, 0, 0, (), False, 0)
    assert Interface("p", 4096, 8192) == Interface("p", 4096, 8192, width=512, latency=0, maxburst=16)
    assert Interface("p", 4096, 8192).end == 12288


def test_boards_are_the_same_whatever_file_they_were_read_from() -> None:
    assert board(DDR)._replace(text="<board/>") == board(DDR)
    assert "<board/>" not in repr(board(DDR)._replace(text="<board/>"))


def test_a_board_that_tells_no_times_is_a_gen3_x8_card_with_kernels_at_300_mhz() -> None:
    """The defaults of docs/time.md."""
    assert Timing() == Timing(
        pcie_generation=3,
        pcie_lanes=8,
        pcie_payload=256,
        mmd_latency=10_000,
        dma_latency=13_000,
        dma_block=1 << 20,
        kernel_clock=300,
        launch_latency=10_000,
        program_time=2_000,
    )
