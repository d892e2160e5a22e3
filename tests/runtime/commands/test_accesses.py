"""The declared accesses of operations to memory (commands/access.py)."""

from __future__ import annotations

import pytest
from machine import Boards, Machine, nothing

from fpgart.base import opencl as cl
from fpgart.runtime.commands.access import Accesses, AccessMode, whole
from fpgart.runtime.commands.access import MemoryAccess as Access
from fpgart.runtime.commands.boxes import Box
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.launch import LaunchKernel, MigrateForLaunch
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, Migration, migrate_to_device
from fpgart.runtime.commands.operation import operation_of, running_kernel
from fpgart.runtime.commands.packets import MovePacket, MoveVariable
from fpgart.runtime.commands.programming import ProgramDevice
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, ReadRect, WriteBuffer, WriteRect
from fpgart.runtime.commands.usm import UsmCopy, UsmFill, UsmPointer, by_host
from fpgart.runtime.memory.usm import allocate_device, allocate_host
from fpgart.runtime.objects.blocking_free import uses
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.occupancy import Claim
from fpgart.runtime.scheduling.unclaimable import Unclaimable

pytestmark = pytest.mark.machine("a10_ref")

SIZE = 4096
HOST = 1 << 40
READ, WRITE, MOVE, REACH = AccessMode
BOX = Box((8, 1, 0), 64, 64 * 4)
HOST_BOX = Box((0, 0, 0), 16, 32)
ROWS = ((72, 88), (136, 152))


def to_host(mode: AccessMode, end: int = HOST + 8) -> Access:
    return Access(mode, ((HOST, end),))


def test_a_write_reads_the_hosts_memory_and_a_read_writes_it(machine: Machine) -> None:
    buffer = machine.buffer(SIZE)
    written, read = (kind(machine.device, buffer, 16, 8, HOST) for kind in (WriteBuffer, ReadBuffer))
    assert written.accesses() == (Access(WRITE, ((16, 24),), buffer), to_host(READ))
    assert read.accesses() == (Access(READ, ((16, 24),), buffer), to_host(WRITE))


def test_transfers_of_boxes_touch_their_rows_alone(machine: Machine) -> None:
    buffer, region = machine.buffer(SIZE), (16, 2, 1)
    written, read = (kind(machine.device, buffer, BOX, HOST, HOST_BOX, region) for kind in (WriteRect, ReadRect))
    assert written.accesses() == (Access(WRITE, ROWS, buffer), to_host(READ, end=HOST + 32))
    assert read.accesses() == (Access(READ, ROWS, buffer), to_host(WRITE, end=HOST + 32))


def test_a_copy_reads_one_buffer_and_writes_the_other_piece_by_piece(machine: Machine) -> None:
    source, target = machine.buffer(SIZE), machine.buffer(SIZE)
    copy = CopyBuffer(machine.device, source, target, [(0, 32, 8), (8, 64, 8)])
    assert copy.accesses() == (
        Access(READ, ((0, 16),), source),
        Access(WRITE, ((32, 40), (64, 72)), target),
    )


def test_a_fill_touches_no_memory_that_the_host_gave(machine: Machine) -> None:
    buffer = machine.buffer(SIZE)
    assert FillBuffer(machine.device, buffer, 8, 16, b"x").accesses() == (Access(WRITE, ((8, 24),), buffer),)


@pytest.mark.parametrize(
    ("flags", "map_modes", "unmap_modes"),
    [
        (cl.CL_MAP_READ, (READ, WRITE), ()),
        (cl.CL_MAP_WRITE, (READ, WRITE), (WRITE, READ)),
        (cl.CL_MAP_WRITE_INVALIDATE_REGION, (), (WRITE, READ)),
    ],
)
def test_mappings_touch_what_they_move(
    flags: int, map_modes: tuple[AccessMode, ...], unmap_modes: tuple[AccessMode, ...], machine: Machine
) -> None:
    buffer = machine.buffer(SIZE)
    mapped, unmapped = (kind(machine.device, buffer, HOST, (8, 16, flags)) for kind in (MapBuffer, UnmapBuffer))

    def both(modes: tuple[AccessMode, ...]) -> Accesses:
        sides = Access(READ, ((8, 24),), buffer), Access(READ, ((HOST, HOST + 16),), mapped=True)
        return tuple(
            Access(mode, side.ranges, side.buffer, mapped=side.mapped) for mode, side in zip(modes, sides, strict=False)
        )

    assert mapped.accesses() == both(map_modes)
    assert unmapped.accesses() == both(unmap_modes)
    assert not any(access.is_given for access in (*mapped.accesses(), *unmapped.accesses()))


MAP_WORDS = {
    cl.CL_MAP_READ: "READ",
    cl.CL_MAP_WRITE: "WRITE",
    cl.CL_MAP_READ | cl.CL_MAP_WRITE: "READ|WRITE",
    cl.CL_MAP_WRITE_INVALIDATE_REGION: "INVALIDATE",
}


@pytest.mark.parametrize("flags", MAP_WORDS)
def test_a_mapping_is_told_with_its_buffer_and_its_flags(flags: int, machine: Machine) -> None:
    buffer = machine.buffer(SIZE)
    for kind in (MapBuffer, UnmapBuffer):
        facts = kind(machine.device, buffer, HOST, (8, 16, flags)).describe()
        assert (facts["flags"], facts["size"], facts["offset"]) == (MAP_WORDS[flags], 16, 8)
        assert facts["buffer"] == buffer.number


def test_migrations_change_no_contents(machine: Machine) -> None:
    buffers = [machine.buffer(SIZE), machine.buffer(SIZE)]
    expected = tuple(whole(MOVE, buffer) for buffer in buffers)
    assert migrate_to_device(machine.device, buffers, keep=True).accesses() == expected
    assert MigrateToHost(machine.device, buffers, keep=True).accesses() == expected


def test_a_launch_reads_and_writes_its_arguments_where_they_have_to_be(boards: Boards) -> None:
    machine = boards("usm_s10")
    buffer, allocation = machine.buffer(SIZE), allocate_device(machine.context, machine.device, SIZE)
    launch = machine.launch_of(machine.kernel(nothing, "", "", "", given=[buffer, allocation.pointer + 8, HOST]))
    (block,) = launch.places
    of_buffer, of_allocation, elsewhere = launch.accesses()
    assert of_buffer == Access(READ | WRITE, ((0, SIZE),), buffer, None, 0, block)
    assert of_buffer.in_process() == (block.pointer, block.pointer + SIZE)
    assert of_allocation == Access(READ | WRITE, ((0, SIZE),), None, allocation, 1, allocation.block)
    assert of_allocation.in_process() == (allocation.address, allocation.address + SIZE)
    assert elsewhere == Access(READ | WRITE, ((HOST, HOST + 1),), argument=2)
    launch.abandon()


def test_a_launch_reaches_the_allocations_that_it_was_told_of(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocation = allocate_device(machine.context, machine.device, SIZE)
    kernel = machine.kernel(nothing)
    kernel.usm_pointers = [allocation.pointer]
    launch = machine.launch_of(kernel)
    assert launch.accesses() == (Access(REACH, ((0, SIZE),), None, allocation, -1, allocation.block),)
    assert uses(launch, allocation)
    launch.abandon()


def test_usm_commands_touch_allocations_from_where_the_pointer_is(boards: Boards) -> None:
    machine = boards("usm_s10")
    context, device = machine.context, machine.device
    allocation = allocate_device(context, device, SIZE)
    inside, outside = UsmPointer(context, allocation.pointer + 8, 8), UsmPointer(context, HOST, 8)
    written = Access(WRITE, ((8, 16),), None, allocation, -1, allocation.block)
    copy = UsmCopy(device, inside, outside, 8)
    assert copy.accesses() == (written, to_host(READ))
    assert UsmFill(device, inside, b"x", 8).accesses() == (written,)
    assert uses(copy, allocation)
    assert not uses(copy, allocate_device(context, device, SIZE))


def test_a_usm_command_is_told_with_the_allocations_that_its_pointers_are_in(boards: Boards) -> None:
    machine = boards("usm_s10")
    context, device = machine.context, machine.device
    allocation = allocate_device(context, device, SIZE)
    inside, outside = UsmPointer(context, allocation.pointer + 8, 8), UsmPointer(context, HOST, 8)
    number = allocation.number
    assert UsmCopy(device, inside, outside, 8).describe() == {"size": 8, "allocation": number, "offset": 8}
    assert UsmCopy(device, outside, inside, 8).describe() == {"size": 8, "source": number, "source_offset": 8}
    assert UsmFill(device, inside, b"x", 8).describe() == {"size": 8, "allocation": number, "offset": 8}


def test_what_the_host_does_for_a_usm_command_touches_the_same_as_the_board_would(boards: Boards) -> None:
    machine = boards("usm_s10")
    context, device = machine.context, machine.device
    allocation = allocate_host(context, SIZE, 0)
    pointer = UsmPointer(context, allocation.pointer, 8)
    copy = UsmCopy(device, pointer, UsmPointer(context, HOST, 8), 8)
    work = by_host(copy)
    assert isinstance(work, HostWork)
    assert work.accesses() == copy.accesses()
    assert uses(work, allocation)


@pytest.mark.parametrize("kind", AccessMode)
def test_what_is_done_with_memory_is_told_in_bits_of_their_own(kind: AccessMode) -> None:
    assert not any(kind & other for other in AccessMode if other is not kind)


@pytest.mark.parametrize("mapped", [False, True])
def test_memory_of_the_host_is_given_with_the_command_unless_a_buffer_is_mapped_there(
    boards: Boards, mapped: bool
) -> None:
    buffer = boards("a10_ref").buffer(SIZE)
    assert Access(READ, ((HOST, HOST + 8),), mapped=mapped).is_given == (not mapped)
    assert not Access(READ, ((0, 8),), buffer).is_given


def test_an_access_is_of_no_argument_unless_it_says_so() -> None:
    assert to_host(READ).argument == -1


def test_the_kernel_that_runs_is_that_of_a_launch_in_its_last_stage_alone(machine: Machine) -> None:
    kernel = machine.kernel(nothing)
    launch = machine.launch_of(kernel)
    assert launch.claim() is Claim.TAKEN
    assert launch.name == "program"
    assert running_kernel(launch) is None
    machine.device.loaded = {kernel.program.identity: None}
    again = machine.launch_of(kernel)
    assert again.name == "kernel"
    assert running_kernel(again) is again
    assert running_kernel(ReadBuffer(machine.device, machine.buffer(SIZE), 0, 8, HOST)) is None


def test_the_work_behind_a_command_is_its_operation(machine: Machine) -> None:
    event = Event(machine.context, machine.queue, cl.CL_COMMAND_NATIVE_KERNEL, None)
    assert operation_of(event) is None
    event.operation = work = HostWork(machine.device, nothing)
    assert operation_of(event) is work


def test_work_of_the_host_runs_on_any_thread_and_keeps_nothing_busy(boards: Boards) -> None:
    device = boards("a10_ref").device
    work = HostWork(device, nothing)
    for operation in (work, Unclaimable(work, ValueError("words"))):
        assert not operation.needs_thread
        assert operation.claim() is Claim.TAKEN
        assert (operation.accesses(), operation.describe()) == ((), {})
        assert operation.device is device
        assert operation.ready_list is device.scheduler.host_ready


def test_work_of_the_host_that_is_not_done_is_replaced_and_what_cannot_begin_ends_with_its_error(
    boards: Boards,
) -> None:
    done: list[str] = []
    work = HostWork(boards("a10_ref").device, lambda: done.append("work"), lambda: done.append("instead"))
    work.abandon()
    with pytest.raises(ValueError, match="words"):
        Unclaimable(work, ValueError("words")).run()
    assert done == ["instead"] * 2
    work.run()
    assert done[-1] == "work"


@pytest.mark.parametrize(
    "kind",
    [
        *(WriteBuffer, ReadBuffer, WriteRect, ReadRect, CopyBuffer, FillBuffer, MapBuffer, UnmapBuffer),
        *(Migration, MigrateToHost, MigrateForLaunch, LaunchKernel, ProgramDevice),
        *(UsmCopy, UsmFill, HostWork, MovePacket, MoveVariable, Unclaimable),
    ],
)
def test_every_operation_answers_those_who_watch(kind: type[object]) -> None:
    assert {name for name in ("name", "launch", "accesses", "describe") if not hasattr(kind, name)} == set()
