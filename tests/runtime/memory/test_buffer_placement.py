"""The places of buffers: exact board addresses, board by board and rule by rule."""

from __future__ import annotations

import ctypes

import pytest
from machine import Boards, Machine, SetOption, nothing

from fpgart.base import config
from fpgart.base.errors import MemObjectAllocationFailure
from fpgart.board import board_spec
from fpgart.board.description import BoardDescription
from fpgart.runtime.memory.buffer import Buffer

pytestmark = pytest.mark.machine("a10_ref")

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.fixture
def hetero(boards: Boards) -> Machine:
    return boards("hetero")


@pytest.fixture
def usm_s10(boards: Boards) -> Machine:
    return boards("usm_s10")


def two_banks(bank: int = 16 * MIB, begin: int = 32 * MIB) -> BoardDescription:
    """One memory of two separate banks, away from address 0."""
    text = f"""<board name="two_banks"><global_mem name="DDR" interleaved_bytes="0" allocation_type="device">
    <interface port="a" address="{begin:#x}" size="{bank:#x}"/>
    <interface port="b" address="{begin + bank:#x}" size="{bank:#x}"/></global_mem></board>"""
    return board_spec.parse(text.encode(), "two_banks.xml")


def default_above(words: str = "") -> BoardDescription:
    """The default memory, `fast`, lies above another one, `low`; `words` are for the element fpgart."""
    text = f"""<board name="default_above"><fpgart {words}/>
    <global_mem name="low"><interface port="a" address="0x0" size="{64 * MIB:#x}"/></global_mem>
    <global_mem name="fast" default="1"><interface port="b" address="{64 * MIB:#x}" size="{16 * MIB:#x}"/></global_mem>
    </board>"""
    return board_spec.parse(text.encode(), "default_above.xml")


FIRST_ADDRESS = [
    ("usm_s10", 0x1000000000000),
    ("a10_ref", 0x400),
    ("a10_small", 0x400),
    ("soc_a10", 0x400),
    ("hetero", 0x400),
]


@pytest.mark.parametrize(("board", "address"), FIRST_ADDRESS)
def test_the_first_buffer_is_at_the_first_usable_address(boards: Boards, board: str, address: int) -> None:
    machine = boards(board)
    assert machine.bind(machine.buffer(1)) == address


def test_a_place_that_is_reserved_for_nobody_has_no_user(machine: Machine) -> None:
    assert not machine.buffer(1).reserve(machine.device).users
    assert list(machine.buffer(1).reserve(machine.device, user=7).users) == [7]


def test_a_buffer_keeps_the_properties_that_it_was_created_with(machine: Machine) -> None:
    assert [machine.buffer(1, property_list=given).property_list for given in (None, (0,))] == [None, (0,)]


def test_a_buffer_written_before_any_kernel_is_in_the_default_memory(boards: Boards) -> None:
    machine = boards(default_above())
    buffer = machine.buffer(4096)
    machine.write(buffer, bytes(4096))
    machine.run(machine.kernel(nothing, "", given=[buffer]))
    assert [block.address for block in machine.watcher.reserved] == [64 * MIB]
    assert machine.calls() == {"write": (1, 4096)}


def test_a_board_may_place_what_is_written_at_the_lowest_address(boards: Boards) -> None:
    machine = boards(default_above('lowest_first="1"'))
    buffer = machine.buffer(4096)
    machine.write(buffer, bytes(4096))
    machine.run(machine.kernel(nothing, "", given=[buffer]))
    assert [block.address for block in machine.watcher.reserved] == [KIB, 64 * MIB]
    assert machine.calls() == {"write": (1, 4096), "copy": (1, 4096)}


def test_an_argument_without_a_location_says_nothing_of_where_a_buffer_goes(boards: Boards) -> None:
    machine = boards(default_above('lowest_first="1"'))
    buffer = machine.buffer(4096)
    machine.kernel(nothing, "").set_buffer(0, buffer)
    assert machine.bind(buffer) == KIB


def test_address_0_is_usable_when_the_environment_allows_it(boards: Boards, set_option: SetOption) -> None:
    set_option(config.NULL_ADDRESS, "1")
    machine = boards("a10_ref")
    assert machine.bind(machine.buffer(1)) == 0
    assert machine.device.max_mem_alloc_size == 2 * GIB


def test_consecutive_buffers_are_adjacent(usm_s10: Machine) -> None:
    sizes = [5, 1024, 1025, 4 * MIB]
    buffers = [usm_s10.buffer(size) for size in sizes]
    begin = 0x1000000000000
    assert [usm_s10.bind(buffer) - begin for buffer in buffers] == [0, 0x400, 0x800, 0x1000]


def test_creating_a_buffer_reserves_nothing(machine: Machine) -> None:
    buffers = [machine.buffer(MIB) for _ in range(10)]
    assert machine.watcher.reserved == []
    assert machine.bind(buffers[-1]) == 0x400


def test_the_first_gap_that_is_large_enough_is_taken(machine: Machine) -> None:
    buffers = [machine.buffer(size * KIB) for size in (4, 2, 4, 8, 4)]
    for buffer in buffers:
        machine.bind(buffer)
    del buffer
    buffers[1] = buffers[3] = machine.buffer(1)
    machine.context.reap()
    placed = [machine.buffer(size * KIB) for size in (3, 2, 5, 1)]
    assert [machine.bind(buffer) for buffer in placed] == [0x400 + k * KIB for k in (10, 4, 13, 22)]


BANKS = [(0, 0x400), (1, 0x400), (2, 0x40000000), (3, 0x400), (4, 0x40000000), (7, 0x400)]


@pytest.mark.parametrize(("bank", "address"), BANKS)
def test_a_preferred_bank_is_where_the_search_begins(bank: int, address: int, machine: Machine) -> None:
    """((bank - 1) mod banks) * bank size from the memory's begin; higher numbers wrap around."""
    assert machine.bind(machine.buffer(4096, bank=bank)) == address


@pytest.mark.parametrize("bank", range(1, 8))
def test_each_hbm_bank_has_its_own_begin(hetero: Machine, bank: int) -> None:
    buffer = hetero.buffer(4096, bank=bank, location=1)
    assert hetero.bind(buffer) == 0x100000000 + (bank - 1) * 0x10000000


@pytest.mark.parametrize("bank", [1, 3, 7])
def test_a_bank_is_no_place_in_an_interleaved_memory(usm_s10: Machine, bank: int) -> None:
    assert usm_s10.bind(usm_s10.buffer(4096, bank=bank)) == 0x1000000000000


def test_a_bank_is_a_place_once_the_binary_keeps_the_banks_apart(usm_s10: Machine) -> None:
    usm_s10.device.interleaving = (False,) * len(usm_s10.device.interleaving)
    assert usm_s10.bind(usm_s10.buffer(4096, bank=3)) == 0x1000200000000


def test_a_bank_that_has_no_effect_is_told(usm_s10: Machine) -> None:
    usm_s10.bind(usm_s10.buffer(4096, bank=2))
    usm_s10.bind(usm_s10.buffer(4096))
    assert usm_s10.watcher.ignored == [2]


def test_the_memory_that_a_buffer_goes_to_says_whether_a_bank_is_a_place(hetero: Machine) -> None:
    in_default, in_hbm = hetero.buffer(4096, bank=2), hetero.buffer(4096, bank=2)
    hetero.kernel(nothing, "HBM").set_buffer(0, in_hbm)
    assert hetero.bind(in_default) == 0x400
    assert hetero.bind(in_hbm) == 0x110000000
    assert hetero.watcher.ignored == [2]


def test_the_binary_of_a_launch_says_whether_a_bank_is_a_place(usm_s10: Machine) -> None:
    """It is not loaded yet when its buffers are placed."""
    buffer = usm_s10.buffer(4096, bank=3)
    kernel = usm_s10.kernel(nothing, "")
    kernel.program.origin.interleaving = (False, False)
    kernel.set_buffer(0, buffer)
    usm_s10.run(kernel)
    assert usm_s10.bind(buffer) == 0x1000200000000
    assert usm_s10.watcher.ignored == []


def test_a_block_that_straddles_banks_says_so(machine: Machine) -> None:
    for size in (GIB - 2 * KIB, 4 * KIB):
        machine.bind(machine.keep(machine.buffer(size, bank=1)))
    assert [(block.address, block.banks) for block in machine.watcher.reserved] == [(KIB, (1, 1)), (GIB - KIB, (1, 2))]
    assert [block.banks for block in machine.watcher.missed] == [(1, 2)]


def test_banks_that_are_interleaved_are_not_straddled(usm_s10: Machine) -> None:
    usm_s10.bind(usm_s10.keep(usm_s10.buffer(5 * GIB)))
    assert [block.banks for block in usm_s10.watcher.reserved] == [(1, 1)]


def test_a_full_bank_makes_the_search_begin_again_at_the_memory(machine: Machine) -> None:
    upper = machine.buffer(GIB, bank=2)
    assert machine.bind(upper) == 0x40000000
    fallback = machine.buffer(1, bank=2)
    assert machine.bind(fallback) == 0x400
    assert [block.address for block in machine.watcher.missed] == [0x400]


def test_banks_split_by_large_buffers_are_exhausted_as_described(boards: Boards) -> None:
    machine = boards(two_banks())
    begin, most = 32 * MIB, 32 * MIB
    kept: list[Buffer] = []

    def bind(size: int, bank: int = 0) -> int:
        buffer = machine.buffer(size, bank=bank)
        address = machine.bind(buffer)
        kept.append(buffer)
        return address - begin

    assert bind(most // 4, bank=2) == 16 * MIB
    assert bind(most // 4, bank=1) == 0
    with pytest.raises(MemObjectAllocationFailure):
        bind(most // 2)
    assert bind(most // 4, bank=2) == 24 * MIB
    assert bind(most // 4, bank=2) == 8 * MIB
    with pytest.raises(MemObjectAllocationFailure):
        bind(128, bank=2)


def test_a_second_buffer_of_a_banks_size_does_not_overlap_a_small_first_one(boards: Boards) -> None:
    for bank in (0, 2):
        machine = boards(two_banks())
        small, large, larger = machine.buffer(16 * KIB), machine.buffer(16 * MIB), machine.buffer(16 * MIB, bank=bank)
        assert machine.bind(small) == 32 * MIB
        assert machine.bind(large) == 32 * MIB + 16 * KIB
        with pytest.raises(MemObjectAllocationFailure):
            machine.bind(larger)


HETERO_LOCATIONS = [("DDR", 0x400), ("HBM", 0x100000000), ("QDR", 0x300000000), ("", 0x400)]


@pytest.mark.parametrize(("location", "address"), HETERO_LOCATIONS)
def test_buffer_location_of_a_kernel_argument_chooses_the_memory(hetero: Machine, location: str, address: int) -> None:
    buffer = hetero.buffer(4096)
    hetero.kernel(nothing, location, given=[buffer])
    assert hetero.bind(buffer) == address


def test_a_buffer_can_be_where_a_kernel_reaches_the_hosts_memory(usm_s10: Machine) -> None:

    def invert(address: int) -> None:
        data = (ctypes.c_ubyte * 4096).from_address(address)
        data[:] = [byte ^ 255 for byte in data]

    buffer = usm_s10.buffer(4096)
    kernel = usm_s10.kernel(invert, "host", given=[buffer])
    usm_s10.write(buffer, b"\x0f" * 4096)
    usm_s10.run(kernel)
    assert usm_s10.read(buffer) == b"\xf0" * 4096
    assert usm_s10.bind(buffer) < 0x1000000000000


def test_a_buffer_moves_to_where_a_kernel_reaches_the_hosts_memory(usm_s10: Machine) -> None:
    seen: list[bytes] = []
    buffer = usm_s10.buffer(4096)
    usm_s10.write(buffer, b"\x55" * 4096)
    usm_s10.run(usm_s10.kernel(lambda address: seen.append(ctypes.string_at(address, 4096)), "host", given=[buffer]))
    assert seen == [b"\x55" * 4096]


@pytest.mark.parametrize(("index", "address"), [(0, 0x400), (1, 0x100000000), (2, 0x300000000)])
def test_the_buffer_location_property_chooses_the_memory(hetero: Machine, index: int, address: int) -> None:
    assert hetero.bind(hetero.buffer(4096, location=index)) == address


def test_a_buffer_too_large_for_the_first_memory_goes_to_the_first_that_holds_it(hetero: Machine) -> None:
    assert hetero.bind(hetero.buffer(5 * GIB)) == 0x100000000


def test_a_placed_buffer_keeps_its_place_when_it_is_set_as_an_argument(hetero: Machine) -> None:
    buffer = hetero.buffer(4096)
    hetero.write(buffer, bytes(4096))
    hetero.kernel(nothing, "HBM", given=[buffer])
    assert hetero.bind(buffer) == 0x400
    assert len(hetero.watcher.reserved) == 1


def test_the_first_argument_with_a_location_decides(hetero: Machine) -> None:
    buffer = hetero.buffer(4096)
    for location in ("", "QDR", "HBM"):
        hetero.kernel(nothing, location).set_buffer(0, buffer)
    assert hetero.bind(buffer) == 0x300000000


def test_a_buffer_tells_its_memory_before_it_has_a_place(hetero: Machine) -> None:
    buffer = hetero.buffer(4096)
    assert buffer.memory == 0
    hetero.kernel(nothing, "QDR").set_buffer(0, buffer)
    assert buffer.memory == 2
    hetero.bind(buffer)
    assert buffer.memory == 2


def test_sub_buffers_are_windows_of_their_parents_block(machine: Machine) -> None:
    parent = machine.buffer(8 * KIB)
    windows = [machine.sub_buffer(parent, origin, 2 * KIB) for origin in (0, 2 * KIB, 6 * KIB)]
    for mark, window in enumerate(windows, 1):
        machine.write(window, bytes([mark]) * 2 * KIB)
    assert machine.read(parent) == b"\1" * 2048 + b"\2" * 2048 + bytes(2048) + b"\3" * 2048
    assert [block.address for block in machine.watcher.reserved] == [0x400]


def test_devices_have_their_own_addresses(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref")
    buffers = [machine.buffer(4096), machine.buffer(4096)]
    assert [machine.bind(buffer, device) for device, buffer in enumerate(buffers)] == [0x400, 0x400]
    assert [block.device_address for block in machine.watcher.reserved] == [0x400, 1 << 54 | 0x400]


# Exhaustion


def test_a_full_board_refuses_and_then_takes_what_fits(boards: Boards) -> None:
    machine = boards("a10_small")
    kept = machine.buffer(100 * MIB)
    machine.bind(kept)
    with pytest.raises(MemObjectAllocationFailure):
        machine.bind(machine.buffer(100 * MIB))
    assert machine.bind(machine.buffer(20 * MIB)) == 0x400 + 100 * MIB


def test_a_launch_that_finds_no_room_leaves_nothing_reserved(boards: Boards) -> None:
    machine = boards("a10_small")
    buffers = [machine.buffer(50 * MIB) for _ in range(3)]
    kernel = machine.kernel(nothing, "", "", "")
    for index, buffer in enumerate(buffers):
        kernel.set_buffer(index, buffer)
    with pytest.raises(MemObjectAllocationFailure):
        machine.enqueue(kernel)
    for buffer in buffers:
        assert not buffer.placed
    large = machine.buffer(127 * MIB)
    assert machine.bind(large) == 0x400


def test_everything_is_free_again_when_the_buffers_are_gone(boards: Boards) -> None:
    machine = boards("hetero", "a10_ref")
    buffers = [machine.buffer(30 * KIB + index, location=index % 3 or None) for index in range(30)]
    for index, buffer in enumerate(buffers):
        machine.bind(buffer, index % 2)
    del buffer
    buffers.clear()
    machine.context.reap()
    for device in machine.devices:
        holes = [device.memories.holes(index) for index in range(len(device.board.memories))]  # type: ignore[attr-defined]
        assert [len(found) for found in holes] == [1] * len(holes)
