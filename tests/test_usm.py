"""Unified shared memory: registry, addresses, sides, and who may touch what."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

from fpgart import config
from fpgart import opencl as cl
from fpgart.board.device_address import DeviceAddress
from fpgart.errors import InvalidOperation, InvalidValue, OutOfResources
from fpgart.runtime import usm
from fpgart.runtime.device import Device
from fpgart.runtime.registry import AddressRegistry
from fpgart.runtime.usm import Kind, Place, UsmAllocation, UsmCopy

Boards = Callable[..., Machine]
PAGE = 4096


def increment(*addresses: int) -> None:
    for address in addresses:
        ctypes.c_ubyte.from_address(address).value += 1


def allocate(machine: Machine, kind: Kind, size: int = PAGE, device: int = 0, flags: int = 0) -> UsmAllocation:
    if kind is Kind.HOST:
        return usm.allocate_host(machine.context, size, 0, flags)
    if kind is Kind.DEVICE:
        return usm.allocate_device(machine.context, machine.devices[device], size, flags)
    return usm.allocate_shared(machine.context, machine.devices[device], size, 0, flags)


def copy(machine: Machine, target: int, source: int, size: int, device: int = 0) -> None:
    places = Place(machine.context, target, size), Place(machine.context, source, size)
    operation = UsmCopy(machine.devices[device], places, size)
    machine.queues[device].run(cl.CL_COMMAND_MEMCPY_INTEL, operation, blocking=True)


# Registry


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), max_size=30),
    st.lists(st.integers(0, 2100), min_size=1, max_size=30),
)
def test_any_pointer_is_found_in_its_allocation(blocks: list[tuple[int, int]], pointers: list[int]) -> None:
    registry, made = AddressRegistry[UsmAllocation](), {}
    for begin, size in blocks:
        if all(begin * 10 + size <= b or b + s <= begin * 10 for b, s in made.items()):
            made[begin * 10] = size
            registry.add(UsmAllocation(Kind.HOST, None, size, 0, 0, begin * 10, None))  # type: ignore[arg-type]
    for pointer in pointers:
        found = registry.find(pointer)
        expected = next((b for b, s in made.items() if b <= pointer < b + s), None)
        assert (found.pointer if found else None) == expected
    for begin in list(made):
        assert registry.remove(begin) is not None
        assert registry.remove(begin) is None
        assert registry.find(begin) is None


# Addresses


def test_device_allocations_share_the_space_of_buffers(boards: Boards) -> None:
    machine = boards("a10_ref")
    first = machine.buffer(4096)
    assert machine.bind(first) == 0x400
    allocation = allocate(machine, Kind.DEVICE, 4096)
    assert allocation.block is not None
    assert allocation.block.address == 0x1400
    assert machine.bind(machine.buffer(4096)) == 0x2400
    usm.free(machine.context, allocation.pointer)
    assert machine.bind(machine.buffer(4096)) == 0x1400


def test_mapped_pointers_are_where_the_boards_memory_is_in_the_process(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocation = allocate(machine, Kind.DEVICE)
    assert allocation.pointer == machine.device.mmd.aperture(0x1000000000000)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("FPGART_USM_POINTERS", "encoded")
    config.USM_POINTERS.forget()
    yield
    monkeypatch.undo()
    config.USM_POINTERS.forget()


@pytest.mark.usefixtures("encoded")
def test_encoded_pointers_have_bit_61_device_and_board_address(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref")
    allocation = allocate(machine, Kind.DEVICE, device=1)
    assert allocation.pointer == 1 << 61 | 1 << 54 | 0x400
    assert DeviceAddress(allocation.pointer).is_usm_device


@pytest.mark.usefixtures("encoded")
def test_encoded_arguments_are_translated_also_inside_allocations(boards: Boards) -> None:
    machine = boards("a10_ref")
    allocation = allocate(machine, Kind.DEVICE)
    kernel = machine.kernel(increment, "")
    kernel.set_pointer(0, allocation.pointer + 100)
    machine.run(kernel)
    host = ctypes.create_string_buffer(200)
    copy(machine, ctypes.addressof(host), allocation.pointer, 200)
    assert host.raw[100] == 1


def test_a_pointer_is_what_it_was_until_another_is_set(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocation = allocate(machine, Kind.SHARED)
    kernel = machine.kernel(increment, "")
    kernel.set_pointer(0, allocation.pointer)
    for _ in range(3):
        machine.run(kernel)
    assert ctypes.c_ubyte.from_address(allocation.pointer).value == 3


def test_a_full_device_refuses_and_then_takes_what_fits(boards: Boards) -> None:
    machine = boards("a10_small")
    kept = allocate(machine, Kind.DEVICE, 100 << 20)
    with pytest.raises(OutOfResources, match="memory 'DDR'"):
        allocate(machine, Kind.DEVICE, 100 << 20)
    usm.free(machine.context, kept.pointer)
    assert allocate(machine, Kind.DEVICE, 100 << 20).block is not None


# Freeing


@pytest.mark.parametrize("kind", list(Kind))
def test_what_was_not_allocated_here_is_not_freed(boards: Boards, kind: Kind) -> None:
    machine, other = boards("usm_s10"), boards("usm_s10")
    allocation = allocate(machine, kind)
    for context, pointer in ((machine.context, allocation.pointer + 1), (other.context, allocation.pointer)):
        with pytest.raises(InvalidValue):
            usm.free(context, pointer)
    usm.free(machine.context, allocation.pointer)
    with pytest.raises(InvalidValue):
        usm.free(machine.context, allocation.pointer)


def test_a_context_gives_back_what_was_never_freed(boards: Boards) -> None:
    machine = boards("usm_s10")
    for kind in Kind:
        allocate(machine, kind)
    device = machine.device
    machine.queues.clear()
    del machine.context
    machine.scheduler.reaper.reap()
    traffic = device.mmd.traffic
    assert traffic["free"].calls == traffic["host_alloc"].calls + traffic["shared_alloc"].calls == 2
    assert [block.address for block in machine.watcher.freed] == [0x1000000000000]


# Who may touch what: a row per kind, a cell per side. None: refused; else the MMD calls of the access.


@pytest.mark.parametrize("kind", list(Kind))
def test_the_owning_device_reaches_every_kind(boards: Boards, kind: Kind) -> None:
    machine = boards("usm_s10")
    allocation = allocate(machine, kind)
    kernel = machine.kernel(increment, "")
    kernel.set_pointer(0, allocation.pointer)
    machine.run(kernel)
    value = ctypes.create_string_buffer(1)
    copy(machine, ctypes.addressof(value), allocation.pointer, 1)
    assert value.raw == b"\1"


@pytest.mark.parametrize(("kind", "reached"), [(Kind.HOST, True), (Kind.DEVICE, False), (Kind.SHARED, True)])
def test_another_device_reaches_host_and_shared_memory_only(boards: Boards, kind: Kind, reached: bool) -> None:
    machine = boards("usm_s10", "usm_s10")
    allocation = allocate(machine, kind, device=0)
    kernel = machine.kernel(increment, "")
    kernel.set_pointer(0, allocation.pointer)
    if reached:
        machine.run(kernel, device=1)
    else:
        with pytest.raises(InvalidOperation, match="memory of device 0, which device 1 does not reach"):
            machine.enqueue(kernel, device=1)


COPIES = [
    # to, from, MMD calls
    (Kind.HOST, Kind.HOST, {}),
    (Kind.HOST, Kind.SHARED, {}),
    (Kind.SHARED, Kind.HOST, {}),
    (Kind.DEVICE, Kind.HOST, {"write": (1, PAGE)}),
    (Kind.DEVICE, Kind.SHARED, {"write": (1, PAGE)}),
    (Kind.HOST, Kind.DEVICE, {"read": (1, PAGE)}),
    (Kind.SHARED, Kind.DEVICE, {"read": (1, PAGE)}),
    (Kind.DEVICE, Kind.DEVICE, {"copy": (1, PAGE)}),
]


@pytest.mark.parametrize(("to", "origin", "calls"), COPIES)
def test_device_memory_is_copied_through_the_mmd_and_the_hosts_is_not(
    boards: Boards, to: Kind, origin: Kind, calls: dict[str, tuple[int, int]]
) -> None:
    machine = boards("usm_s10")
    target, source = allocate(machine, to), allocate(machine, origin)
    copy(machine, target.pointer, source.pointer, PAGE)
    moved = {name: made for name, made in machine.calls().items() if not name.endswith("alloc")}
    assert moved == calls


def test_memory_of_two_devices_is_copied_through_the_host(boards: Boards) -> None:
    machine = boards("usm_s10", "a10_ref")
    target, source = allocate(machine, Kind.DEVICE, device=0), allocate(machine, Kind.DEVICE, device=1)
    copy(machine, target.pointer, source.pointer, PAGE)
    assert machine.calls(0)["write"] == machine.calls(1)["read"] == (1, PAGE)


def test_a_range_that_leaves_its_allocation_is_refused(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocation = allocate(machine, Kind.DEVICE)
    with pytest.raises(InvalidValue, match="leave the allocation"):
        Place(machine.context, allocation.pointer + 1, PAGE)


SUPPORT = {"usm_s10": {Kind.HOST, Kind.DEVICE, Kind.SHARED}, "a10_ref": {Kind.DEVICE}, "hetero": set()}


@pytest.mark.parametrize("board", SUPPORT)
def test_the_kinds_are_those_of_the_boards_memories(boards: Boards, board: str) -> None:
    device = boards(board).device
    assert {kind for kind in Kind if usm.supports(device, kind)} == SUPPORT[board]


# Sides of shared allocations


def sides(allocation: UsmAllocation) -> list[tuple[int, int, int | None]]:
    return [(begin, end, side.id if side else None) for begin, end, side in allocation.sides]


def test_a_kernel_brings_shared_memory_to_its_device_and_hints_bring_it_back(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocation = allocate(machine, Kind.SHARED, 4 * PAGE)
    assert sides(allocation) == [(0, 4 * PAGE, None)]
    kernel = machine.kernel(increment, "")
    kernel.set_pointer(0, allocation.pointer)
    machine.run(kernel)
    assert sides(allocation) == [(0, 4 * PAGE, 0)]
    allocation.move(PAGE, 10, None, "hint")
    assert sides(allocation) == [(0, PAGE, 0), (PAGE, 2 * PAGE, None), (2 * PAGE, 4 * PAGE, 0)]


def test_initial_placement_on_the_device_is_kept(boards: Boards) -> None:
    machine = boards("usm_s10")
    flags = cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL
    assert sides(allocate(machine, Kind.SHARED, PAGE, flags=flags)) == [(0, PAGE, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 99_999), st.integers(1, 50_000), st.sampled_from([None, "a", "b"])), max_size=20)
)
def test_sides_are_those_of_a_list_of_pages(moves: list[tuple[int, int, Device | None]]) -> None:
    size = 100_000
    allocation = UsmAllocation(Kind.SHARED, None, size, 0, 0, 0, None)  # type: ignore[arg-type]
    pages: list[Device | None] = [None] * -(-size // PAGE)
    for offset, length, side in moves:
        length = min(length, size - offset)
        allocation.move(offset, length, side, "")
        for page in range(offset // PAGE, -(-(offset + length) // PAGE)):
            pages[page] = side
        assert allocation.sides[0][0] == 0
        assert allocation.sides[-1][1] == size
        for begin, end, owner in allocation.sides:
            assert all(pages[page] == owner for page in range(begin // PAGE, -(-end // PAGE)))


@pytest.mark.parametrize("kind", [Kind.HOST, Kind.SHARED])
@pytest.mark.parametrize("size", [2 << 20, (2 << 20) - PAGE, 6 << 20])
def test_memory_of_the_size_of_huge_pages_can_be_touched_whether_or_not_there_are_any(
    boards: Boards, kind: Kind, size: int
) -> None:
    allocation = allocate(boards("usm_s10"), kind, size)
    ctypes.memset(allocation.address, 7, size)
    assert ctypes.string_at(allocation.address + size - 2, 2) == b"\7\7"
