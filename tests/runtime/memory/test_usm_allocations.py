"""Unified shared memory: registry, addresses, sides, and who may touch what."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interleavings import Explored, schedules
from machine import Boards, Machine, SetOption, increment, listening
from processes import finished

from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidOperation, InvalidValue, OutOfHostMemory, OutOfResources
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.transfers import FILL_CHUNK, WriteBuffer
from fpgart.runtime.commands.usm import UsmCopy, UsmFill, UsmPointer
from fpgart.runtime.memory import usm
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.usm import Kind, UsmAllocation
from fpgart.runtime.memory.usm_use import Indirect, UsmUse
from fpgart.runtime.objects.blocking_free import blocking_free
from fpgart.runtime.objects.context import Context
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.occupancy import Direction

pytestmark = pytest.mark.machine("usm_s10")

PAGE = 4096


def allocate(machine: Machine, kind: Kind, size: int = PAGE, device: int = 0, flags: int = 0) -> UsmAllocation:
    if kind is Kind.HOST:
        return usm.allocate_host(machine.context, size, 0, flags)
    if kind is Kind.DEVICE:
        return usm.allocate_device(machine.context, machine.devices[device], size, flags)
    return usm.allocate_shared(machine.context, machine.devices[device], size, 0, flags)


def copy(machine: Machine, target: int, source: int, size: int, device: int = 0) -> None:
    places = UsmPointer(machine.context, target, size), UsmPointer(machine.context, source, size)
    operation = UsmCopy(machine.devices[device], *places, size)
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
            registry.add(UsmAllocation(Kind.HOST, None, size, 0, 0, begin * 10, ()))
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


def test_mapped_pointers_are_where_the_boards_memory_is_in_the_process(machine: Machine) -> None:
    allocation = allocate(machine, Kind.DEVICE)
    assert allocation.pointer == machine.device.mmd.aperture(0x1000000000000)


@pytest.fixture
def encoded(set_option: SetOption) -> None:
    set_option(config.USM_POINTERS, "encoded")


@pytest.mark.usefixtures("encoded")
def test_encoded_pointers_have_bit_61_device_and_board_address(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref")
    allocation = allocate(machine, Kind.DEVICE, device=1)
    assert allocation.pointer == 1 << 61 | 1 << 54 | 0x400


@pytest.mark.usefixtures("encoded")
def test_encoded_arguments_are_translated_also_inside_allocations(boards: Boards) -> None:
    machine = boards("a10_ref")
    allocation = allocate(machine, Kind.DEVICE)
    machine.run(machine.kernel(increment, "", given=[allocation.pointer + 100]))
    host = ctypes.create_string_buffer(200)
    copy(machine, ctypes.addressof(host), allocation.pointer, 200)
    assert host.raw[100] == 1


@pytest.mark.parametrize("pointers", ["mapped", "encoded"])
def test_the_invocation_image_has_the_pointers_that_a_board_would_be_given(
    boards: Boards, pointers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.USM_POINTERS, "_value", pointers)
    machine = boards("usm_s10", "usm_s10")
    device, host = allocate(machine, Kind.DEVICE, device=1), allocate(machine, Kind.HOST)
    kernel = machine.kernel(increment, "", "", "", given=[device.pointer + 8, host.pointer + 16, 0])
    image = machine.launch_of(kernel, 1).invocation_image()
    expected = 1 << 61 | 1 << 54 | (1 << 48) + 8, host.pointer + 16, 0
    assert image[72:] == b"".join(value.to_bytes(8, "little") for value in expected)


REACHES = {
    "any device allocation": lambda kernel, allocation: setattr(kernel, "indirect", Indirect.DEVICE),
    "one that is named": lambda kernel, allocation: kernel.usm_pointers.append(allocation.pointer),
}


@pytest.mark.usefixtures("encoded")
@pytest.mark.parametrize("reach", REACHES)
def test_a_kernel_that_may_find_encoded_pointers_in_memory_is_refused(reach: str, machine: Machine) -> None:
    kernel = machine.kernel(increment)
    host, device = allocate(machine, Kind.HOST), allocate(machine, Kind.DEVICE)
    REACHES[reach](kernel, host)
    if reach == "one that is named":
        machine.run(kernel)  # host allocations have the host's addresses
    REACHES[reach](kernel, device)
    with pytest.raises(InvalidOperation, match="through pointers in memory, such as 0x2001"):
        machine.enqueue(kernel)
    usm.free(machine.context, device.pointer)
    machine.run(kernel)


def test_a_kernel_may_follow_mapped_pointers_in_memory(machine: Machine) -> None:
    device = allocate(machine, Kind.DEVICE)
    kernel = machine.kernel(increment)
    kernel.indirect = Indirect.DEVICE
    kernel.usm_pointers = [device.pointer]
    machine.run(kernel)


def test_a_pointer_is_what_it_was_until_another_is_set(machine: Machine) -> None:
    allocation = allocate(machine, Kind.SHARED)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    for _ in range(3):
        machine.run(kernel)
    assert ctypes.c_ubyte.from_address(allocation.pointer).value == 3
    kernel.set_pointer(0, allocation.pointer + 7)
    machine.run(kernel)
    assert bytes((ctypes.c_ubyte * 8).from_address(allocation.pointer)) == bytes((3, 0, 0, 0, 0, 0, 0, 1))


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


def test_a_context_gives_back_what_was_never_freed(machine: Machine) -> None:
    for kind in Kind:
        allocate(machine, kind)
    device = machine.device
    machine.queues.clear()
    del machine.context
    machine.scheduler.reaper.reap()
    traffic = device.mmd.traffic
    assert [traffic[call].calls for call in ("host_alloc", "shared_alloc", "free")] == [1, 1, 2]
    assert [block.address for block in machine.watcher.freed] == [0x1000000000000]


# Who may touch what: a row per kind, a cell per side. None: refused; else the MMD calls of the access.


OF_ALL = {
    Kind.HOST: lambda machine, size: usm.allocate_host(machine.context, size, 0),
    Kind.SHARED: lambda machine, size: usm.allocate_shared(machine.context, None, size, 0),
}
CALLS = {Kind.HOST: "host_alloc", Kind.SHARED: "shared_alloc"}


@pytest.mark.parametrize("kind", OF_ALL)
def test_memory_for_all_devices_is_made_by_each_that_can(boards: Boards, kind: Kind) -> None:
    machine = boards("a10_ref", "usm_s10", "usm_s10")
    allocation = OF_ALL[kind](machine, PAGE)
    assert allocation.device is None
    assert [machine.calls(device) for device in range(3)] == [{}, *[{CALLS[kind]: (1, PAGE)}] * 2]
    usm.free(machine.context, allocation.pointer)
    assert [device.mmd.traffic["free"].calls for device in machine.devices] == [0, 1, 1]


@pytest.mark.parametrize("kind", OF_ALL)
def test_memory_for_all_devices_is_reached_by_those_that_can(boards: Boards, kind: Kind) -> None:
    machine = boards("a10_ref", "usm_s10", "usm_s10")
    allocation = OF_ALL[kind](machine, PAGE)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    for device in (1, 2):
        machine.run(kernel, device)
    assert ctypes.string_at(allocation.pointer, 1) == b"\2"
    with pytest.raises(
        InvalidOperation, match=r"allocation of devices 1, 2, which device 0 \('a10_ref'\) does not reach"
    ):
        machine.enqueue(kernel)


def test_devices_without_such_allocations_are_told(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = boards("a10_ref", "usm_s10")
    told: list[str] = []
    monkeypatch.setattr("fpgart.base.log.note", told.append)
    allocation = usm.allocate_host(machine.context, PAGE, 0)
    (words,) = told
    assert words.startswith("device 0 ('a10_ref') has no host allocations")
    usm.free(machine.context, allocation.pointer)


def test_every_allocation_has_a_number_of_its_own(machine: Machine) -> None:
    numbers = {allocate(machine, kind).number for kind in Kind}
    assert len(numbers - {0}) == len(Kind)


@pytest.mark.parametrize("kind", OF_ALL)
def test_memory_that_one_device_has_no_room_for_is_given_back_by_the_others(boards: Boards, kind: Kind) -> None:
    machine = boards("usm_s10", "usm_s10")
    machine.devices[1].mmd.host_alloc = machine.devices[1].mmd.shared_alloc = lambda size, alignment, given: 0
    with pytest.raises(OutOfHostMemory, match="for device 1"):
        OF_ALL[kind](machine, PAGE)
    assert machine.device.mmd.traffic["free"].calls == 1


@pytest.mark.parametrize("kind", list(Kind))
def test_the_owning_device_reaches_every_kind(kind: Kind, machine: Machine) -> None:
    allocation = allocate(machine, kind)
    machine.run(machine.kernel(increment, "", given=[allocation.pointer]))
    value = ctypes.create_string_buffer(1)
    copy(machine, ctypes.addressof(value), allocation.pointer, 1)
    assert value.raw == b"\1"


@pytest.mark.parametrize(("kind", "other"), [(Kind.DEVICE, "usm_s10"), (Kind.SHARED, "a10_ref")])
def test_memory_of_another_device_is_refused(boards: Boards, kind: Kind, other: str) -> None:
    """Device allocations by all others, shared ones by those whose boards have none."""
    machine = boards("usm_s10", other)
    allocation = allocate(machine, kind, device=0)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    words = rf"{kind.name.lower()} allocation of device 0, which device 1 \('{other}'\) does not reach"
    with pytest.raises(InvalidOperation, match=words):
        machine.enqueue(kernel, device=1)


@pytest.mark.parametrize("indirect", [False, True])
def test_shared_memory_crosses_to_another_device_through_the_host(boards: Boards, indirect: bool) -> None:
    """From one board's side to the other's: two moves, each told with its bytes; what is on the host's makes one."""
    machine = boards("usm_s10", "usm_s10")
    allocation = allocate(machine, Kind.SHARED, 2 * PAGE, device=0)
    told: list[tuple[int, int, int | None]] = []
    listener = SimpleNamespace(
        usm_migrated=lambda what, offset, size, side, begin, reason: told.append(
            (offset, size, side.id if side is not None else None)
        )
    )
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    machine.run(kernel)
    allocation.move(PAGE, PAGE, None, "test")
    other = machine.kernel(increment, "")
    if indirect:
        other.indirect = Indirect.SHARED
        other.set_pointer(0, allocate(machine, Kind.HOST).pointer)
    else:
        other.set_pointer(0, allocation.pointer)
    with listening(listener):
        machine.run(other, 1)
    assert told == [(0, PAGE, None), (0, 2 * PAGE, 1)]
    assert sides(allocation) == [(0, 2 * PAGE, 1)]
    assert ctypes.string_at(allocation.pointer, 1) == (b"\1" if indirect else b"\2")


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
    to: Kind, origin: Kind, calls: dict[str, tuple[int, int]], machine: Machine
) -> None:
    target, source = allocate(machine, to), allocate(machine, origin)
    copy(machine, target.pointer, source.pointer, PAGE)
    moved = {name: made for name, made in machine.calls().items() if not name.endswith("alloc")}
    assert moved == calls


WAYS = {
    (False, False): Direction.NONE,
    (False, True): Direction.OUT,
    (True, False): Direction.IN,
    (True, True): Direction.BOTH,
}


@pytest.mark.parametrize(("to_board", "from_board"), WAYS)
def test_a_copy_keeps_busy_the_way_between_host_and_board_that_it_takes(
    to_board: bool, from_board: bool, machine: Machine
) -> None:
    kinds = (Kind.DEVICE if is_device else Kind.SHARED for is_device in (to_board, from_board))
    places = [UsmPointer(machine.context, allocate(machine, kind).pointer, PAGE) for kind in kinds]
    operation = UsmCopy(machine.device, places[0], places[1], PAGE)
    assert operation.way == WAYS[to_board, from_board]
    assert operation.devices() == ((machine.device,) if to_board or from_board else ())


@pytest.mark.parametrize("size", [4 * PAGE, FILL_CHUNK + 4])
def test_a_fill_repeats_its_pattern_over_its_range_of_device_memory_and_no_further(size: int, machine: Machine) -> None:
    allocation = allocate(machine, Kind.DEVICE, size + 8)
    everything = (ctypes.c_char * (size + 8)).from_address(allocation.address)
    everything.raw = bytes(size + 8)
    operation = UsmFill(machine.device, UsmPointer(machine.context, allocation.pointer + 4, size), b"abcd", size)
    assert operation.devices() == (machine.device,)
    machine.queue.run(cl.CL_COMMAND_MEMFILL_INTEL, operation, blocking=True)
    assert everything.raw == bytes(4) + b"abcd" * (size // 4) + bytes(4)
    assert machine.calls()["write"] == (-(-size // FILL_CHUNK), size)


def test_a_launch_with_pointers_makes_no_copy(machine: Machine) -> None:
    machine.run(machine.kernel(increment, "", "", "", given=[allocate(machine, kind).pointer for kind in Kind]))
    assert not {"write", "read", "copy"} & machine.calls().keys()
    assert machine.watcher.migrations == []


def test_memory_of_two_devices_is_copied_through_the_host(boards: Boards) -> None:
    machine = boards("usm_s10", "a10_ref")
    target, source = allocate(machine, Kind.DEVICE, device=0), allocate(machine, Kind.DEVICE, device=1)
    copy(machine, target.pointer, source.pointer, PAGE)
    assert machine.calls(0)["write"] == machine.calls(1)["read"] == (1, PAGE)


@pytest.mark.parametrize("kind", [Kind.DEVICE, Kind.SHARED])
def test_fills_and_copies_are_commands_of_the_queues_device(boards: Boards, kind: Kind) -> None:
    """No other device of the context has a call, and a queue's device is the one whose transfers the command is of."""
    machine = boards("usm_s10", "usm_s10")
    allocation = allocate(machine, kind, device=1)
    given = machine.calls(1)
    pointer, own = UsmPointer(machine.context, allocation.pointer, PAGE), ctypes.create_string_buffer(b"b" * PAGE, PAGE)
    fill = UsmFill(machine.devices[1], pointer, b"x", PAGE)
    machine.queues[1].run(cl.CL_COMMAND_MEMFILL_INTEL, fill, blocking=True)
    assert ctypes.string_at(allocation.address, PAGE) == b"x" * PAGE
    copy(machine, allocation.pointer, ctypes.addressof(own), PAGE, device=1)
    assert ctypes.string_at(allocation.address, PAGE) == b"b" * PAGE
    assert machine.calls(0) == {}
    written = {"write": (2, 2 * PAGE)} if kind is Kind.DEVICE else {}
    assert machine.calls(1) == given | written
    assert fill.device is machine.devices[1]


def test_a_shared_allocation_is_for_one_device_of_several(boards: Boards) -> None:
    """Its MMD alone is asked, and the memory goes back to it alone; boards without shared memory do not reach it."""
    machine = boards("a10_ref", "usm_s10", "usm_s10")
    allocation = allocate(machine, Kind.SHARED, device=1)
    assert allocation.device is machine.devices[1]
    assert allocation.owners == (machine.devices[1],)
    assert [machine.calls(device) for device in range(3)] == [{}, {"shared_alloc": (1, PAGE)}, {}]
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    machine.run(kernel, 1)
    assert ctypes.string_at(allocation.pointer, 1) == b"\1"
    with pytest.raises(InvalidOperation, match="allocation of device 1, which device 0"):
        machine.enqueue(kernel)
    usm.free(machine.context, allocation.pointer)
    assert [device.mmd.traffic["free"].calls for device in machine.devices] == [0, 1, 0]


def test_a_range_that_leaves_its_allocation_is_refused(machine: Machine) -> None:
    allocation = allocate(machine, Kind.DEVICE)
    with pytest.raises(InvalidValue, match="leave the allocation"):
        UsmPointer(machine.context, allocation.pointer + 1, PAGE)


FOREIGN = {
    "of another context": lambda machine, other: allocate_in(other, machine.devices[0]),
    "of another context's device": lambda machine, other: allocate_in(other, machine.devices[1]),
    "that was freed": lambda machine, other: freed(machine.context, allocate(machine, Kind.DEVICE).pointer),
}


def allocate_in(context: Context, device: Device) -> int:
    return usm.allocate_device(context, device, PAGE).pointer


def freed(context: Context, pointer: int) -> int:
    usm.free(context, pointer)
    return pointer


@pytest.mark.parametrize("pointers", ["mapped", "encoded"])
@pytest.mark.parametrize("what", FOREIGN)
def test_device_memory_that_is_not_the_contexts_is_no_memory_of_the_host(
    boards: Boards, what: str, pointers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.USM_POINTERS, "_value", pointers)
    machine = boards("usm_s10", "usm_s10")
    own, other = Context(machine.platform, machine.devices[:1]), Context(machine.platform, machine.devices)
    pointer = FOREIGN[what](machine, other)
    with pytest.raises(InvalidValue, match=f"{pointer + 8:#x} is .* in no allocation of this context"):
        UsmPointer(own, pointer + 8, 8)


@pytest.mark.parametrize("kind", [Kind.DEVICE, Kind.SHARED])
def test_a_fill_is_for_memory_that_the_queues_device_reaches(boards: Boards, kind: Kind) -> None:
    machine = boards("usm_s10" if kind is Kind.DEVICE else "a10_ref", "usm_s10")
    pointer = UsmPointer(machine.context, allocate(machine, kind, device=1).pointer, PAGE)
    UsmFill(machine.devices[1], pointer, b"x", PAGE).run()
    with pytest.raises(InvalidValue, match=f"a {kind.name.lower()} allocation of device 1, which device 0"):
        UsmFill(machine.devices[0], pointer, b"x", PAGE)


SUPPORT = {"usm_s10": {Kind.HOST, Kind.DEVICE, Kind.SHARED}, "a10_ref": {Kind.DEVICE}, "hetero": set()}


@pytest.mark.parametrize("board", SUPPORT)
def test_the_kinds_are_those_of_the_boards_memories(boards: Boards, board: str) -> None:
    device = boards(board).device
    assert {kind for kind in Kind if usm.supports(device, kind)} == SUPPORT[board]


# Sides of shared allocations


def sides(allocation: UsmAllocation) -> list[tuple[int, int, int | None]]:
    return [(begin, end, side.id if side else None) for begin, end, side in allocation.sides]


def test_a_kernel_brings_shared_memory_to_its_device_and_hints_bring_it_back(machine: Machine) -> None:
    allocation = allocate(machine, Kind.SHARED, 4 * PAGE)
    assert sides(allocation) == [(0, 4 * PAGE, None)]
    machine.run(machine.kernel(increment, "", given=[allocation.pointer]))
    assert sides(allocation) == [(0, 4 * PAGE, 0)]
    allocation.move(PAGE, 10, None, "hint")
    assert sides(allocation) == [(0, PAGE, 0), (PAGE, 2 * PAGE, None), (2 * PAGE, 4 * PAGE, 0)]


KINDS = [Indirect.HOST, Indirect.DEVICE, Indirect.SHARED]


@pytest.mark.parametrize("reach", KINDS)
def test_a_kernel_brings_all_shared_memory_if_it_may_find_its_way_there(boards: Boards, reach: Indirect) -> None:
    machine = boards("usm_s10", "usm_s10", "a10_ref")
    mine, others = (allocate(machine, Kind.SHARED, device=device) for device in (0, 1))
    kernel = machine.kernel(increment)
    kernel.indirect = reach
    for device, side in ((2, None), (0, 0)):  # a10_ref reaches no shared memory
        machine.run(kernel, device)
        assert sides(mine) == sides(others) == [(0, PAGE, side if reach is Indirect.SHARED else None)]


@pytest.mark.parametrize("reach", KINDS)
def test_a_launch_may_touch_the_kinds_that_it_may_find_its_way_to(reach: Indirect, machine: Machine) -> None:
    use = UsmUse([], reach)
    assert {kind for kind in Kind if use.may_touch(allocate(machine, kind))} == {Kind[str(reach.name)]}
    given = allocate(machine, Kind.DEVICE)
    assert UsmUse([given], Indirect.NONE).may_touch(given)


def test_a_launch_may_touch_nothing_that_its_kernel_was_not_told_of(machine: Machine) -> None:
    allocations = [allocate(machine, kind) for kind in Kind]
    launch = machine.launch_of(machine.kernel(increment))
    assert launch.usm is not None
    assert [each.kind for each in allocations if launch.usm.may_touch(each)] == []
    launch.abandon()


def test_a_launch_is_told_with_the_kinds_that_it_may_find_its_way_to(machine: Machine) -> None:
    allocate(machine, Kind.HOST)
    kernel = machine.kernel(increment)
    kernel.indirect = Indirect.HOST | Indirect.SHARED
    launch = new_launch(kernel, machine.device, 2, (5, 6, 0, 8, 4, 1, 2, 4, 1), True)
    facts = launch.describe()
    assert facts["indirect"] == ["host", "shared"]
    assert (facts["offset"], facts["global"], facts["local"]) == ([5, 6], [8, 4], [2, 4])
    launch.abandon()


def test_a_blocking_free_waits_for_the_commands_that_may_touch_the_allocation_alone(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    allocation, other = allocate(machine, Kind.DEVICE), allocate(machine, Kind.DEVICE)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    launch = machine.launch_of(kernel)
    plain = machine.launch_of(machine.kernel(increment))
    follows = machine.kernel(increment)
    follows.indirect = Indirect.DEVICE
    reaching = machine.launch_of(follows)
    into, beside = (
        UsmFill(machine.device, UsmPointer(machine.context, each.pointer, 8), b"x", 8) for each in (allocation, other)
    )
    events = []
    for operation in (None, launch, plain, into, beside, reaching):
        events.append(Event(machine.context, machine.queue, cl.CL_COMMAND_MEMFILL_INTEL, None))
        events[-1].operation = operation
    waited: list[Event] = []
    seen: list[Event] = []
    monkeypatch.setattr(machine.scheduler, "unfinished", lambda queues: events)
    monkeypatch.setattr(machine.scheduler, "wait", waited.append)
    with listening(SimpleNamespace(end_observed=seen.append)):
        blocking_free(machine.context, allocation.pointer)
    assert waited == seen == [events[1], events[3], events[5]]
    assert machine.context.usm.find(allocation.pointer) is None
    assert machine.context.usm.find(other.pointer) is other
    for made in (launch, plain, reaching):
        made.abandon()


def test_a_blocking_free_waits_for_what_c_carries_as_a_thread_of_the_host_does(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    """So it runs what stands before that, and kernels that are stuck are given up."""
    allocation = allocate(machine, Kind.DEVICE)
    commands = [machine.scheduler.user_event() for _ in range(2)]
    carried: Any = SimpleNamespace(users=lambda begin, end, kind: iter(commands if begin == allocation.pointer else ()))
    machine.queue.carried = carried
    waited: list[object] = []
    monkeypatch.setattr(machine.scheduler, "wait_for", waited.append)
    blocking_free(machine.context, allocation.pointer)
    machine.queue.carried = None
    assert waited == commands


def test_who_frees_what_is_no_allocation_waits_for_nobody(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    buffer = machine.buffer(PAGE)
    machine.bind(buffer)
    event = Event(machine.context, machine.queue, cl.CL_COMMAND_WRITE_BUFFER, None)
    event.operation = WriteBuffer(machine.device, buffer, 0, PAGE, PAGE)
    waited: list[Event] = []
    monkeypatch.setattr(machine.scheduler, "unfinished", lambda queues: [event])
    monkeypatch.setattr(machine.scheduler, "wait", waited.append)
    with pytest.raises(InvalidValue, match="no allocation is there"):
        blocking_free(machine.context, PAGE)
    assert waited == []


def test_a_kernel_brings_shared_memory_without_a_device_to_its_own(boards: Boards) -> None:
    machine = boards("usm_s10", "usm_s10")
    allocation = OF_ALL[Kind.SHARED](machine, PAGE)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    for device in (1, 0):
        machine.run(kernel, device)
        assert sides(allocation) == [(0, PAGE, device)]


def test_threads_that_move_ranges_of_one_allocation_move_all_of_them(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    for chooser in schedules(preemptions=2, most=1000):
        threads = Explored(chooser, timers=False)
        monkeypatch.setattr(usm, "TOUCHING", threads.lock())
        allocation = OF_ALL[Kind.SHARED](machine, 2 * PAGE)
        listener = SimpleNamespace(usm_migrated=lambda *told, threads=threads: threads.pause())
        monkeypatch.setattr(usm, "monotonic_ns", threads.now)
        joined = usm._joined
        monkeypatch.setattr(usm, "_joined", lambda parts, threads=threads: (threads.pause(), joined(parts))[1])
        for page in range(2):
            threads.host(partial(allocation.move, PAGE * page, PAGE, machine.device, "test"))
        with listening(listener):
            threads.run()
            monkeypatch.undo()
        assert sides(allocation) == [(0, 2 * PAGE, 0)]


@pytest.mark.parametrize("kind", [Kind.HOST, Kind.DEVICE])
def test_host_and_device_allocations_stay_where_they_are(kind: Kind, machine: Machine) -> None:
    allocation = allocate(machine, kind)
    before = allocation.address, sides(allocation)
    machine.run(machine.kernel(increment, "", given=[allocation.pointer]))
    assert (allocation.address, sides(allocation)) == before


class Sides:
    """Changes of sides: pages, and why."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, str]] = []

    def usm_migrated(
        self, allocation: UsmAllocation, offset: int, moved: int, side: Device | None, begin: int, reason: str
    ) -> None:
        self.told.append((offset // PAGE, -(-moved // PAGE), reason))


@pytest.fixture
def touches(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sides]:
    """Yields a watcher of notices about sides, while the host's accesses are watched."""
    monkeypatch.setattr(config.USM_TOUCHES, "_value", "on")
    with listening(Sides()) as watcher:
        yield watcher


def used_by_a_kernel(machine: Machine, pages: int) -> tuple[UsmAllocation, Kernel]:
    """A shared allocation on the device's side; the kernel touches its first page."""
    allocation = allocate(machine, Kind.SHARED, pages * PAGE)
    kernel = machine.kernel(increment, "", given=[allocation.pointer])
    machine.run(kernel)
    return allocation, kernel


def test_what_the_host_writes_is_on_its_side_until_the_next_kernel(touches: Sides, machine: Machine) -> None:
    allocation, kernel = used_by_a_kernel(machine, 40)
    for page in (20, 21, 30):
        ctypes.memset(allocation.pointer + page * PAGE, 1, 1)
    machine.run(kernel)
    kernels = "kernel 'k'"
    assert touches.told == [
        (0, 40, kernels),
        (20, 2, "accessed by the host"),
        (30, 1, "accessed by the host"),
        (0, 3, kernels),
    ]


def test_what_the_host_reads_is_on_its_side_in_pieces_of_64_kib_at_most(touches: Sides, machine: Machine) -> None:
    allocation, _ = used_by_a_kernel(machine, 64)
    ctypes.memset(allocation.pointer, 1, 64 * PAGE)  # a page that was never written has no contents to be read
    allocation.take_touches()
    allocation.move(0, 64 * PAGE, machine.device, "test")
    touches.told.clear()
    ctypes.string_at(allocation.pointer + 32 * PAGE, 1)
    allocation.take_touches()
    ((first, count, _),) = touches.told
    assert first <= 32 < first + count
    assert count <= 16


def test_system_calls_work_on_shared_memory_whose_touches_are_watched(touches: Sides, machine: Machine) -> None:
    allocation, _ = used_by_a_kernel(machine, 4)
    data = (ctypes.c_char * PAGE).from_address(allocation.pointer + 2 * PAGE)
    with open("/dev/zero", "rb", buffering=0) as file:
        assert file.readinto(data) == PAGE
    allocation.take_touches()
    assert touches.told[-1] == (2, 1, "accessed by the host")


def test_nothing_moves_between_kernels_without_a_touch(touches: Sides, machine: Machine) -> None:
    _, kernel = used_by_a_kernel(machine, 4)
    machine.run(kernel)
    assert touches.told == [(0, 4, "kernel 'k'")]


def test_what_the_host_touches_on_its_own_side_is_forgotten_when_a_device_gets_it(
    touches: Sides, machine: Machine
) -> None:
    allocation, _ = used_by_a_kernel(machine, 4)
    allocation.move(0, 4 * PAGE, None, "test")
    ctypes.memset(allocation.pointer + PAGE, 1, 1)
    allocation.move(0, 4 * PAGE, machine.device, "test")
    touches.told.clear()
    allocation.take_touches()
    assert touches.told == []


def test_a_range_that_is_on_its_side_does_not_move_because_of_its_neighbours(touches: Sides, machine: Machine) -> None:
    allocation = allocate(machine, Kind.SHARED, 3 * PAGE)
    for page in (0, 2):
        allocation.move(page * PAGE, PAGE, machine.device, "test")
    allocation.move(PAGE, PAGE, None, "test")
    assert touches.told == [(0, 1, "test"), (2, 1, "test")]


def test_touches_are_watched_only_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    seen = {}
    for value in ("off", "auto", "on"):
        monkeypatch.setattr(config.USM_TOUCHES, "_value", value)
        seen[value] = allocate(machine, Kind.SHARED).watched
    assert seen == {"off": False, "auto": False, "on": True}
    monkeypatch.setattr(config.USM_TOUCHES, "_value", "auto")
    monkeypatch.setattr(config.TRACE, "_value", "file.json")
    assert allocate(machine, Kind.SHARED).watched
    assert not allocate(machine, Kind.HOST).watched


def test_copies_and_fills_bring_shared_memory_to_the_host(machine: Machine) -> None:
    allocation, _ = used_by_a_kernel(machine, 8)
    other, device = allocate(machine, Kind.HOST, PAGE), allocate(machine, Kind.DEVICE, PAGE)
    copy(machine, allocation.pointer + PAGE, other.pointer, PAGE)
    copy(machine, device.pointer, allocation.pointer + 3 * PAGE, PAGE)
    UsmFill(machine.device, UsmPointer(machine.context, allocation.pointer + 5 * PAGE, PAGE), b"x", PAGE).run()
    on_host = [begin // PAGE for begin, end, owner in sides(allocation) if owner is None]
    assert on_host == [1, 3, 5]


def test_initial_placement_on_the_device_is_kept(machine: Machine) -> None:
    flags = cl.CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL
    assert sides(allocate(machine, Kind.SHARED, PAGE, flags=flags)) == [(0, PAGE, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 99_999), st.integers(1, 50_000), st.sampled_from([None, "a", "b"])), max_size=20)
)
def test_sides_are_those_of_a_list_of_pages(moves: list[tuple[int, int, Device | None]]) -> None:
    size = 100_000
    allocation = UsmAllocation(Kind.SHARED, None, size, 0, 0, 0, ())
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


@pytest.mark.parametrize("kind", [Kind.HOST, Kind.SHARED])
def test_host_and_shared_memory_is_private_anonymous_and_locked(boards: Boards, kind: Kind) -> None:
    address = allocate(boards("usm_s10"), kind).address
    ((permissions, device, inode),) = (
        (words[1], words[3], words[4])
        for words in map(str.split, Path("/proc/self/maps").read_text().splitlines())
        if int(words[0].split("-")[0], 16) <= address < int(words[0].split("-")[1], 16)
    )
    assert (permissions, device, inode) == ("rw-p", "00:00", "0")
    assert "lo" in flags_of_mapping(address)


def flags_of_mapping(address: int) -> set[str]:
    """Returns the system's flags for the mapping at an address."""
    inside = False
    with open("/proc/self/smaps") as file:
        for line in file:
            if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                inside = int(found[1], 16) <= address < int(found[2], 16)
            elif inside and line.startswith("VmFlags:"):
                return set(line.split()[1:])
    return set()


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="the system makes no huge pages")
def test_large_host_allocations_are_where_the_system_can_make_huge_pages(boards: Boards) -> None:
    allocation = allocate(boards("usm_s10"), Kind.HOST, (4 << 20) + PAGE)
    assert allocation.address % (2 << 20) == 0
    assert flags_of_mapping(allocation.address) & {"hg", "ht"}


UNLOCKED = """
import os, resource
from fpgart.base import config
from fpgart.board import simulated_board
from fpgart.board.catalogue import describe
from fpgart.base.notices import NOTICES
class Listener:
    def lock_refused(self, size, limit): print(size, limit)
NOTICES.listen(Listener())
board = simulated_board.SimulatedBoard(describe("usm_s10"))
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
if os.getuid() == 0:
    os.setuid(65534)  # root may lock everything
board.host_alloc(4096, 64)
board.host_alloc(1 << 20, 64)
"""


def test_host_memory_that_the_system_does_not_lock_is_told() -> None:
    result = finished(sys.executable, "-c", UNLOCKED, FPGART_LOG="stderr")
    assert result.stdout.split() == [str(1 << 20), "65536"], result.stderr
    assert "1048576 bytes of host memory for a board are not locked: the system allows 65536 bytes" in result.stderr


FORKING = """
import ctypes, os
from fpgart._native import ffi, lib
PAGE = 4096
locked = ffi.new("int *")
first, second = (lib.map_watched(ffi.new("size_t *", 2 * PAGE), PAGE, locked) for _ in range(2))
opened = {int(name): os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
(file,) = [number for number, path in opened.items() if "fpgart-shared" in path]

def byte(address):
    return ctypes.c_ubyte.from_address(address)

def child(work):
    process = os.fork()
    if not process:
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def write():
    seen = byte(first).value, byte(second + PAGE).value
    byte(first).value = byte(second).value = 9
    return 1 if seen != (5, 6) else child(lambda: byte(first).value)

byte(first).value, byte(second + PAGE).value = 5, 6
print(child(write), byte(first).value, byte(second).value, byte(second + PAGE).value)
for address in (second, first):
    lib.unmap(address, 2 * PAGE)
    print(os.fstat(file).st_blocks * 512 // PAGE)
other = os.memfd_create("the host's own")
os.dup2(other, file)
os.write(other, bytes(PAGE))
third = lib.map_watched(ffi.new("size_t *", PAGE), PAGE, locked)
byte(third).value = 7
print(child(lambda: byte(third).value), os.fstat(other).st_size)
"""


def test_what_a_child_writes_to_memory_whose_touches_are_watched_is_its_own() -> None:
    """It has what was there when it was made, and so has a child of its own; what is freed takes no memory.

    A descriptor that the host has closed and uses for a file of its own is left alone.
    """
    made = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=False)
    assert made.stderr == ""
    assert made.stdout.split() == ["9", "5", "0", "6", "1", "0", "7", "4096"]
