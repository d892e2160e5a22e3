"""The resources of transfers and migrations, and the bytes that they move (runtime/commands/transfers.py)."""

from __future__ import annotations

import ctypes
import threading
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

from fpgart.base import opencl as cl
from fpgart.runtime.commands.boxes import Box, pieces
from fpgart.runtime.commands.migration import MigrateToHost, Migration, migrate_to_device
from fpgart.runtime.commands.transfers import CopyBuffer, ReadRect, WriteBuffer, WriteRect
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, SUBMITTED
from fpgart.runtime.scheduling.occupancy import Claim, Direction

pytestmark = pytest.mark.machine("a10_ref", "hetero")


def placed(machine: Machine, device: int = 0) -> Buffer:
    buffer = machine.keep(machine.buffer(64))
    machine.write(buffer, bytes(range(64)), device=device)
    return buffer


def migration(machine: Machine, buffer: Buffer, device: int) -> Migration:
    return Migration(machine.devices[device], [(buffer, buffer.reserve(machine.devices[device]))], "test")


# What they wait for


@pytest.mark.parametrize("at", ["home", "target"])
def test_a_migration_waits_while_a_kernel_runs_with_the_block_that_it_leaves_or_goes_to(
    machine: Machine, at: str
) -> None:
    buffer = placed(machine)
    moving = migration(machine, buffer, device=1)
    used = buffer.owner.home if at == "home" else moving.moves[0][1]
    assert used is not None
    used.running = 1
    assert moving.claim() is Claim.YIELDS
    assert machine.devices[1].occupancy.moving == Direction.NONE
    used.running = 0
    assert moving.claim() is Claim.TAKEN
    moving.release(None)


def test_a_migration_to_where_the_contents_are_waits_for_no_kernel(machine: Machine) -> None:
    buffer = placed(machine)
    staying = migration(machine, buffer, device=0)
    staying.moves[0][1].running = 1
    assert staying.claim() is Claim.TAKEN
    staying.release(None)


def test_a_migration_to_the_host_waits_while_a_kernel_runs_with_any_of_the_buffers(machine: Machine) -> None:
    buffers = [machine.keep(machine.buffer(64)), placed(machine)]
    moving = MigrateToHost(machine.device, buffers, keep=True)
    home = buffers[1].owner.home
    assert home is not None
    home.running = 1
    assert moving.claim() is Claim.YIELDS
    home.running = 0
    assert moving.claim() is Claim.TAKEN
    moving.release(None)


@pytest.mark.parametrize("to_host", [False, True])
def test_a_migration_of_what_a_kernel_works_on_begins_when_that_has_ended(machine: Machine, to_host: bool) -> None:
    """Else the kernel's results would stay behind."""
    begun, go_on = threading.Event(), threading.Event()
    buffer = placed(machine)

    def kernel(address: int) -> None:
        begun.set()
        go_on.wait()

    made = machine.kernel(kernel, "", given=[buffer])
    machine.enqueue(made)
    machine.queue.flush()
    begun.wait()
    device = machine.devices[1]
    moving = MigrateToHost(device, [buffer], True) if to_host else migrate_to_device(device, [buffer], True)
    event = machine.queues[1].enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, moving)
    machine.queues[1].flush()
    passes = migrate_to_device(device, [machine.keep(machine.buffer(64))], False)
    CommandQueue(machine.context, device).run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, passes, True)
    status = event.status
    go_on.set()
    machine.queues[1].finish()
    assert (status, event.status) == (SUBMITTED, COMPLETE)
    assert machine.read(buffer) == bytes(range(64))


def test_both_boards_of_a_copy_and_of_a_migration_are_busy(machine: Machine) -> None:
    here, there = placed(machine, 0), placed(machine, 1)
    copy = CopyBuffer(machine.device, here, there, [(0, 0, 64)])
    assert set(copy.devices()) == set(machine.devices)
    assert migration(machine, here, device=1).devices() == (machine.devices[1], machine.devices[0])
    assert CopyBuffer(machine.device, here, here, [(0, 8, 8)]).devices() == (machine.device,)


@pytest.mark.parametrize("busy", [0, 1])
def test_a_copy_between_boards_begins_when_both_are_free_and_takes_neither_before(machine: Machine, busy: int) -> None:
    copy = CopyBuffer(machine.device, placed(machine, 0), placed(machine, 1), [(0, 0, 64)])
    occupancies = [device.occupancy for device in machine.devices]
    occupancies[busy].begin_transfer(Direction.BOTH)
    assert copy.claim() is Claim.WAITS
    assert occupancies[1 - busy].moving == Direction.NONE
    occupancies[busy].end_transfer(Direction.BOTH)
    assert copy.claim() is Claim.TAKEN
    assert all(occupancy.moving for occupancy in occupancies)
    copy.release(None)
    assert not any(occupancy.moving for occupancy in occupancies)


def test_a_transfer_keeps_the_board_busy_that_has_the_contents(machine: Machine) -> None:
    assert WriteBuffer(machine.device, placed(machine, 1), 0, 4, 0).devices() == (machine.devices[1],)


# Which bytes


sizes = st.integers(1, 4)
regions = st.tuples(sizes, sizes, sizes)


@st.composite
def boxes(draw: st.DrawFn, region: tuple[int, int, int]) -> Box:
    row = region[0] + draw(st.integers(0, 2))
    plane = row * region[1] + draw(st.integers(0, 3))
    return Box((draw(sizes), draw(sizes), draw(sizes)), row, plane)


def bytes_of(box: Box, region: tuple[int, int, int]) -> list[int]:
    """The offset of each byte of a region, x first."""
    return [
        (box.origin[0] + x) + (box.origin[1] + y) * box.row_pitch + (box.origin[2] + z) * box.slice_pitch
        for z, y, x in product(range(region[2]), range(region[1]), range(region[0]))
    ]


@given(st.data(), regions)
def test_the_pieces_of_two_boxes_are_their_bytes_in_order(data: st.DataObject, region: tuple[int, int, int]) -> None:
    first, second = data.draw(boxes(region)), data.draw(boxes(region))
    moved = [(a + i, b + i) for a, b, size in pieces(region, first, second) for i in range(size)]
    assert moved == list(zip(bytes_of(first, region), bytes_of(second, region), strict=True))
    assert first.begin == min(bytes_of(first, region))
    assert first.end(region) == max(bytes_of(first, region)) + 1


@pytest.mark.parametrize(
    ("region", "rows", "planes", "count"),
    [
        ((8, 4, 2), (8, 8), (32, 32), 1),
        ((8, 4, 2), (8, 8), (32, 40), 2),
        ((8, 4, 2), (8, 9), (32, 36), 8),
        ((8, 1, 1), (20, 30), (40, 60), 1),
        ((8, 1, 2), (20, 30), (40, 60), 2),
        ((8, 4, 1), (8, 8), (99, 77), 1),
    ],
)
def test_what_lies_together_in_both_boxes_is_one_piece(
    region: tuple[int, int, int], rows: tuple[int, int], planes: tuple[int, int], count: int
) -> None:
    first, second = (Box((0, 0, 0), row, plane) for row, plane in zip(rows, planes, strict=True))
    assert len(list(pieces(region, first, second))) == count


BOX, BOX_ON_HOST, REGION = Box((1, 1, 1), 5, 16), Box((0, 1, 0), 4, 12), (3, 2, 2)


def test_a_box_comes_back_from_where_it_was_written(machine: Machine) -> None:
    buffer = placed(machine)
    given = ctypes.create_string_buffer(bytes(range(100, 148)), 48)
    taken = ctypes.create_string_buffer(48)
    for kind, host, command in (
        (WriteRect, given, cl.CL_COMMAND_WRITE_BUFFER_RECT),
        (ReadRect, taken, cl.CL_COMMAND_READ_BUFFER_RECT),
    ):
        transfer = kind(machine.device, buffer, BOX, ctypes.addressof(host), BOX_ON_HOST, REGION)
        machine.queue.run(command, transfer, blocking=True)
    places, host_places = (bytes_of(box, REGION) for box in (BOX, BOX_ON_HOST))
    contents, back = bytearray(range(64)), bytearray(48)
    for place, host_place in zip(places, host_places, strict=True):
        contents[place] = back[host_place] = 100 + host_place
    assert machine.read(buffer) == contents
    assert taken.raw == back


def test_a_box_is_as_large_as_its_region(machine: Machine) -> None:
    transfer = ReadRect(machine.device, placed(machine), BOX, 0, BOX_ON_HOST, (4, 3, 2))
    assert transfer.describe()["size"] == 24


# What traces say


def test_a_transfer_of_a_part_of_a_buffer_is_told_with_its_offset_in_the_whole(machine: Machine) -> None:
    whole = machine.keep(machine.buffer(4096))
    part = machine.sub_buffer(whole, 1024, 1024)
    told = WriteBuffer(machine.device, part, 16, 8, 0).describe()
    assert told == {"buffer": whole.number, "size": 8, "offset": 1040}


@pytest.mark.parametrize("on_host", [True, False])
def test_a_copy_is_told_with_its_bytes_and_whether_any_board_takes_part(machine: Machine, on_host: bool) -> None:
    memory = ctypes.create_string_buffer(64)
    flags = cl.CL_MEM_USE_HOST_PTR
    first = machine.keep(machine.buffer(64, flags, host_ptr=ctypes.addressof(memory)))
    second = machine.keep(machine.buffer(64, flags, host_ptr=ctypes.addressof(memory))) if on_host else placed(machine)
    told = CopyBuffer(machine.device, first, second, [(0, 0, 8), (16, 16, 8)]).describe()
    facts = {"source": first.number, "buffer": second.number, "size": 16}
    assert told == facts | ({"on_host": True} if on_host else {})
