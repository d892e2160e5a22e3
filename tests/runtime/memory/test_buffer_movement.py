"""Movements of a buffer's contents: their MMD calls, and the cases that need none."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from machine import Boards, Machine, increment, listening

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidKernelArgs, OutOfHostMemory
from fpgart.board.in_flight import SHORT
from fpgart.board.mmd import BoardError, Info, OfflineInfo
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.runtime.commands.boxes import Box
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, Migration, MoveFromHost, migrate_to_device
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer, ReadBuffer, WriteBuffer, WriteRect
from fpgart.runtime.memory import block_copy
from fpgart.runtime.memory.block_copy import CHUNK
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.host_store import HostStore
from fpgart.runtime.scheduling.event import Operation
from fpgart.runtime.scheduling.occupancy import Claim, Direction

pytestmark = pytest.mark.machine("usm_s10")

MIB = 1 << 20
DATA = bytes(range(256)) * 16


@pytest.fixture
def hetero(boards: Boards) -> Machine:
    return boards("hetero")


def first_byte(machine: Machine, buffer: object) -> int:
    return machine.read(buffer, 1)[0]  # type: ignore[arg-type]


# Transfers


def test_a_write_is_one_mmd_call_of_its_size(machine: Machine) -> None:
    machine.write(machine.buffer(4096), DATA)
    assert machine.calls() == {"write": (1, 4096)}


def test_a_read_is_one_mmd_call_of_its_size(machine: Machine) -> None:
    machine.read(machine.buffer(4096), 100, 50)
    assert machine.calls() == {"read": (1, 100)}


def test_a_copy_within_a_board_is_the_boards_own(hetero: Machine) -> None:
    source, target = hetero.buffer(4096), hetero.buffer(4096, location=1)
    hetero.write(source, DATA)
    hetero.bind(target)
    hetero.queue.run(
        cl.CL_COMMAND_COPY_BUFFER, CopyBuffer(hetero.device, source, target, [(0, 0, 4096)]), blocking=True
    )
    assert hetero.calls() == {"write": (1, 4096), "copy": (1, 4096)}
    assert hetero.read(target) == DATA


@pytest.mark.parametrize(("size", "pieces"), [(4096, 1), (8 * MIB, 1), (8 * MIB + 1, 2), (16 * MIB + 5, 3)])
def test_a_copy_between_boards_goes_through_the_host_in_pieces(boards: Boards, size: int, pieces: int) -> None:
    machine = boards("a10_ref", "usm_s10")
    source, target = machine.buffer(size), machine.buffer(size)
    data = bytes(range(251)) * (size // 251 + 1)
    machine.write(source, data[:size])
    machine.bind(target, 1)
    machine.queue.run(
        cl.CL_COMMAND_COPY_BUFFER, CopyBuffer(machine.device, source, target, [(0, 0, size)]), blocking=True
    )
    assert machine.calls(0) == {"write": (1, size), "read": (pieces, size)}
    assert machine.calls(1) == {"write": (pieces, size)}
    assert machine.read(target, device=1) == data[:size]


RECTS = [
    # region, pitches in the buffer, calls
    ((16, 4, 2), (16, 64), 1),
    ((16, 4, 2), (32, 128), 8),
    ((16, 4, 2), (16, 128), 2),
    ((16, 1, 1), (32, 64), 1),
]


@pytest.mark.parametrize(("region", "pitches", "calls"), RECTS)
def test_a_strided_write_is_one_call_per_contiguous_piece(
    region: tuple[int, int, int], pitches: tuple[int, int], calls: int, machine: Machine
) -> None:
    buffer = machine.buffer(4096)
    machine.bind(buffer)
    host = ctypes.create_string_buffer(4096)
    packed = Box((0, 0, 0), region[0], region[0] * region[1])
    operation = WriteRect(machine.device, buffer, Box((0, 0, 0), *pitches), ctypes.addressof(host), packed, region)
    machine.queue.run(cl.CL_COMMAND_WRITE_BUFFER_RECT, operation, blocking=True)
    assert machine.calls() == {"write": (calls, region[0] * region[1] * region[2])}


def test_a_fill_writes_its_size(machine: Machine) -> None:
    buffer = machine.buffer(3 * MIB)
    machine.bind(buffer)
    operation = FillBuffer(machine.device, buffer, 0, 3 * MIB, b"ab")
    machine.queue.run(cl.CL_COMMAND_FILL_BUFFER, operation, blocking=True)
    assert machine.calls() == {"write": (3, 3 * MIB)}
    assert machine.read(buffer) == b"ab" * (3 * MIB // 2)


MAPS = [
    (cl.CL_MAP_READ, {"read": (1, 512)}),
    (cl.CL_MAP_WRITE, {"read": (1, 512), "write": (1, 512)}),
    (cl.CL_MAP_READ | cl.CL_MAP_WRITE, {"read": (1, 512), "write": (1, 512)}),
    (cl.CL_MAP_WRITE_INVALIDATE_REGION, {"write": (1, 512)}),
]


@pytest.mark.parametrize(("flags", "calls"), MAPS)
def test_mapping_moves_the_window_as_its_flags_say(
    flags: int, calls: dict[str, tuple[int, int]], machine: Machine
) -> None:
    buffer = machine.buffer(4096)
    machine.bind(buffer)
    region = (1024, 512, flags)
    pointer = buffer.map(*region)
    machine.queue.run(cl.CL_COMMAND_MAP_BUFFER, MapBuffer(machine.device, buffer, pointer, region), blocking=True)
    region = buffer.unmap(pointer)
    unmap = UnmapBuffer(machine.device, buffer, pointer, region)
    machine.queue.run(cl.CL_COMMAND_UNMAP_MEM_OBJECT, unmap, blocking=True)
    assert machine.calls() == calls


# Launches


def test_both_call_orders_give_the_same_result_and_only_one_costs_a_copy(boards: Boards) -> None:
    """Writing first puts the buffer into the default memory; the kernel wants another one."""
    results = []
    for set_first in (True, False):
        machine = boards("hetero")
        buffer = machine.buffer(4096)
        kernel = machine.kernel(increment, "HBM")
        if set_first:
            kernel.set_buffer(0, buffer)
        machine.write(buffer, DATA)
        kernel.set_buffer(0, buffer)
        machine.run(kernel)
        results.append((machine.calls(), first_byte(machine, buffer)))
    assert results == [({"write": (1, 4096)}, 1), ({"write": (1, 4096), "copy": (1, 4096)}, 1)]


def test_a_buffer_that_was_never_written_is_not_copied_for_a_launch(hetero: Machine) -> None:
    kernel, buffer = hetero.kernel(increment, "QDR"), hetero.buffer(4096)
    kernel.set_buffer(0, buffer)
    hetero.run(kernel)
    assert hetero.calls() == {}


def test_the_block_that_was_left_is_freed(hetero: Machine) -> None:
    buffer = hetero.written(DATA)
    hetero.run(hetero.kernel(increment, "HBM", given=[buffer]))
    assert [block.address for block in hetero.watcher.freed] == [0x400]
    assert buffer.memory == 1


def test_the_room_for_a_launch_is_reserved_when_it_is_enqueued(hetero: Machine) -> None:
    buffer = hetero.written(DATA)
    kernel = hetero.kernel(increment, "HBM", given=[buffer])
    event = hetero.enqueue(kernel)
    assert [block.memory for block in hetero.watcher.reserved] == [0, 1]
    hetero.queue.finish()
    assert event.status == 0


def test_a_launch_on_another_device_moves_the_buffer_there(boards: Boards) -> None:
    machine = boards("a10_ref", "usm_s10")
    buffer = machine.written(DATA)
    machine.run(machine.kernel(increment, "", given=[buffer]), device=1)
    assert machine.calls(0) == {"write": (1, 4096), "read": (1, 4096)}
    assert machine.calls(1) == {"write": (1, 4096)}
    assert first_byte(machine, buffer) == 1


def test_a_copy_between_devices_yields_to_the_boards_until_it_has_ended(boards: Boards) -> None:
    machine = boards("a10_ref", "usm_s10")
    buffer = machine.buffer(2 * CHUNK + 5)
    machine.write(buffer, DATA)
    yields: list[int] = []
    for number, device in enumerate(machine.devices):
        yield_now = device.mmd.yield_now

        def watched(number: int = number, yield_now: Callable[[], bool] = yield_now) -> bool:
            yields.append(number)
            return yield_now()

        device.mmd.yield_now = watched  # type: ignore[method-assign]
    started: list[int] = []
    for number, device in enumerate(machine.devices):
        start = device.mmd.start

        def watched_start(
            operation: int,
            transfer: Callable[[], None],
            size: int,
            number: int = number,
            start: Callable[[int, Callable[[], None], int], None] = start,
        ) -> None:
            started.append(number)
            start(operation, transfer, size)

        device.mmd.start = watched_start  # type: ignore[method-assign]
    operation = migrate_to_device(machine.devices[1], [buffer], keep=True)
    machine.queues[1].run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert started == [0, 1, 0, 1, 0, 1], "three reads and three writes, each begun and not waited for in its call"
    assert [yields.count(number) >= 3 for number in (0, 1)] == [True, True], "for each at least once"
    assert machine.read(buffer, 4096) == DATA


def test_a_copy_between_devices_maps_no_memory(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = boards("a10_ref", "a10_ref")
    buffer = machine.buffer(4096)
    machine.write(buffer, DATA)
    made: list[int] = []
    monkeypatch.setattr(HostStore, "__init__", lambda store, size: made.append(size))
    operation = migrate_to_device(machine.devices[1], [buffer], keep=True)
    machine.queues[1].run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert made == []


def test_a_copy_between_devices_without_host_memory_fails(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = boards("a10_ref", "a10_ref")
    buffer = machine.written(DATA)

    def allocate(name: str, size: int) -> object:
        raise MemoryError

    monkeypatch.setattr(block_copy, "allocate", allocate)
    with pytest.raises(OutOfHostMemory, match="between boards"):
        buffer.migrate(buffer.reserve(machine.devices[1]), "test")


def test_a_copy_between_devices_that_fails_ends_when_nothing_is_under_way_any_more(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref")
    buffer = machine.buffer(2 * CHUNK)
    machine.write(buffer, DATA)
    source, target = (device.mmd for device in machine.devices)
    ended: list[str] = []
    failed = threading.Event()

    def failing_read(board: int, host: int, size: int) -> None:
        if board > 0x400:
            failed.set()
            raise BoardError("no second piece")
        SimulatedBoard.read(source, board, host, size)  # type: ignore[arg-type]

    def slow_write(host: int, board: int, size: int) -> None:
        failed.wait()
        ended.append("write")

    source.read, target.write = failing_read, slow_write  # type: ignore[method-assign]
    operation = migrate_to_device(machine.devices[1], [buffer], keep=True)
    event = machine.queues[1].enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation)
    machine.queues[1].finish()
    assert event.status == cl.CL_OUT_OF_RESOURCES
    assert ended == ["write"]


def test_the_end_of_a_kernel_is_an_interrupt_of_its_board(machine: Machine) -> None:
    kernel = machine.kernel(increment)
    machine.run(kernel)
    machine.device.mmd.set_interrupt_handler(lambda: None)
    machine.run(kernel)
    assert machine.device.kernels_run == 1


def test_a_transfer_that_was_started_ends_with_its_status(machine: Machine) -> None:
    machine.device.open()
    told: list[tuple[int, str]] = []
    mmd = machine.device.mmd
    mmd.set_status_handler(lambda operation, error: told.append((operation, str(error))))

    def fail() -> None:
        raise BoardError("it failed")

    mmd.start(7, lambda: None, 0)
    mmd.start(8, fail, SHORT + 1)
    while len(told) < 2:
        mmd.yield_now()
    assert sorted(told) == [(7, "None"), (8, "it failed")]


@pytest.mark.parametrize(("board", "ways", "host"), [("usm_s10", 1, 7), ("hetero", 2, 0)])
def test_the_mmd_says_what_the_board_is(boards: Boards, board: str, ways: int, host: int) -> None:
    mmd = boards(board).device.mmd
    assert mmd.get_info(Info.BOARD_NAME) == mmd.get_offline_info(OfflineInfo.BOARD_NAMES) == board
    assert mmd.get_info(Info.CONCURRENT_READS_OR_WRITES) == ways
    assert mmd.get_info(Info.HOST_MEM_CAPABILITIES) == host
    for query in Info:
        assert mmd.get_info(query) is not None
    for offline in OfflineInfo:
        assert mmd.get_offline_info(offline) is not None


def test_a_buffer_given_twice_is_in_one_place(hetero: Machine) -> None:
    buffer = hetero.buffer(4096)
    kernel = hetero.kernel(increment, "HBM", "DDR", given=[buffer, buffer])
    hetero.write(buffer, bytes(4096))
    hetero.run(kernel)
    assert first_byte(hetero, buffer) == 2
    assert len(hetero.watcher.reserved) == 1


def test_a_skipped_migration_is_told_and_costs_nothing(machine: Machine) -> None:
    buffer = machine.written(DATA)
    kernel = machine.kernel(increment, "", given=[buffer])
    machine.run(kernel)
    reason, source, target = machine.watcher.migrations[-1]
    assert source is target
    assert reason == "argument 0 ('a0') of kernel 'k'"
    assert machine.calls() == {"write": (1, 4096)}


def test_each_buffer_argument_of_a_launch_is_told_once_as_moved_or_as_in_its_place(hetero: Machine) -> None:
    elsewhere, in_place = hetero.written(DATA), hetero.written(DATA)
    hetero.run(hetero.kernel(increment, "HBM", "", "HBM", given=[elsewhere, in_place, elsewhere]))
    told = [(reason.split()[1], source is target) for reason, source, target in hetero.watcher.migrations]
    assert sorted(told) == [("0", False), ("1", True), ("2", True)]


def test_each_memory_argument_of_a_launch_is_migrated_to_its_memory(boards: Boards) -> None:
    machine = boards("hetero", "hetero")
    buffers = [machine.written(DATA) for _ in range(3)]
    machine.run(machine.kernel(increment, "QDR", "DDR", "HBM", given=buffers), device=1)
    places = [(reason.split()[1], target.device.id, target.memory) for reason, _, target in machine.watcher.migrations]
    assert places == [("0", 1, 2), ("1", 1, 0), ("2", 1, 1)]


def test_one_launch_is_programming_migrations_and_the_kernel_in_that_order(hetero: Machine) -> None:
    buffer = hetero.written(DATA)
    kernel = hetero.kernel(increment, "HBM", given=[buffer])
    hetero.watcher.operations.clear()
    hetero.run(kernel)
    hetero.run(kernel)
    stages = hetero.watcher.operations
    assert stages[0] == "program"
    assert stages[-1] == "kernel"
    assert [stage for stage in stages if stage == "migration"] != []
    assert stages.count("program") == 1


def test_alternating_programs_are_programmed_each_time(machine: Machine) -> None:
    first, second = (machine.kernel(increment, source=source) for source in ("one", "two"))
    for kernel in (first, second, first, first):
        machine.run(kernel)
    assert machine.device.mmd.traffic["program"].calls == 3


def test_the_same_source_built_twice_is_programmed_once(machine: Machine) -> None:
    for _ in range(2):
        machine.run(machine.kernel(increment, source="same"))
    assert machine.device.mmd.traffic["program"].calls == 1


# The host's memory


def test_use_host_ptr_is_written_to_the_board_when_a_kernel_needs_it(machine: Machine) -> None:
    host = ctypes.create_string_buffer(DATA, len(DATA))
    buffer = machine.buffer(4096, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(host))
    machine.run(machine.kernel(increment, "", given=[buffer]))
    assert machine.calls() == {"write": (1, 4096)}
    assert first_byte(machine, buffer) == 1


def test_use_host_ptr_stays_on_the_host_for_transfers(machine: Machine) -> None:
    host = ctypes.create_string_buffer(DATA, len(DATA))
    buffer = machine.buffer(4096, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(host))
    machine.write(buffer, b"xyz")
    assert machine.read(buffer, 4) == b"xyz\3"
    assert host.raw[:3] == b"xyz"
    assert machine.calls() == {}


def test_memory_that_is_only_copied_from_stays_the_hosts_own(machine: Machine) -> None:
    host = ctypes.create_string_buffer(DATA, len(DATA))
    buffer = machine.buffer(4096, cl.CL_MEM_COPY_HOST_PTR, host_ptr=ctypes.addressof(host))
    machine.write(buffer, b"xyz")
    assert machine.read(buffer, 3) == b"xyz"
    assert host.raw == DATA


def test_a_mapping_whose_contents_did_not_come_keeps_its_region_and_writes_nothing_back(machine: Machine) -> None:
    buffer = machine.buffer(4096)
    region = (16, 64, cl.CL_MAP_WRITE)
    pointer = buffer.map(*region)
    buffer.void_mapping(pointer, region)
    assert buffer.unmap(pointer) == (16, 64, 0)


def test_watchers_hear_of_each_buffer_once(machine: Machine) -> None:
    heard: list[Buffer] = []
    with listening(SimpleNamespace(buffer_created=heard.append)):
        buffer = machine.buffer(4096)
        part = machine.sub_buffer(buffer, 1024, 1024)
    assert heard == [buffer, part]


def test_mapping_use_host_ptr_after_a_kernel_brings_its_results_to_the_hosts_memory(machine: Machine) -> None:
    host = ctypes.create_string_buffer(DATA, len(DATA))
    address = ctypes.addressof(host)
    buffer = machine.buffer(4096, cl.CL_MEM_USE_HOST_PTR, host_ptr=address)
    machine.run(machine.kernel(increment, "", given=[buffer]))
    region = (0, 4096, cl.CL_MAP_READ)
    assert buffer.map(*region) == address
    machine.queue.run(cl.CL_COMMAND_MAP_BUFFER, MapBuffer(machine.device, buffer, address, region), blocking=True)
    assert host.raw[0] == 1


# Migration that the host asks for


def test_migrating_to_a_device_brings_contents_once(boards: Boards) -> None:
    machine = boards("a10_ref", "usm_s10")
    buffer = machine.written(DATA)
    for _ in range(2):
        operation = migrate_to_device(machine.devices[1], [buffer], keep=True)
        machine.queues[1].run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert machine.calls(1) == {"write": (1, 4096)}
    assert machine.read(buffer) == DATA
    assert machine.watcher.freed[0].device is machine.devices[0]


def test_migrating_undefined_contents_moves_no_byte(boards: Boards) -> None:
    machine = boards("a10_ref", "usm_s10")
    buffer = machine.written(DATA)
    operation = migrate_to_device(machine.devices[1], [buffer], keep=False)
    machine.queues[1].run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert machine.calls(1) == {}
    assert buffer.device_of_contents(machine.device) is machine.devices[1]


def test_migrating_to_the_host_reads_the_buffer_and_frees_its_block(machine: Machine) -> None:
    buffer = machine.written(DATA)
    operation = MigrateToHost(machine.device, [buffer], keep=True)
    machine.queue.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert machine.calls() == {"write": (1, 4096), "read": (1, 4096)}
    assert len(machine.watcher.freed) == 1
    assert machine.read(buffer) == DATA
    machine.run(machine.kernel(increment, "", given=[buffer]))
    assert first_byte(machine, buffer) == 1


@pytest.mark.parametrize("keep", [True, False])
def test_watchers_hear_of_a_migration_to_the_host_and_of_where_the_contents_came_from(
    keep: bool, machine: Machine
) -> None:
    buffer = machine.written(DATA)
    home = buffer.home
    machine.watcher.migrations.clear()
    buffer.migrate_to_host("test", keep=keep)
    assert machine.watcher.migrations == [("test", home if keep else None, None)]


# Simulators


def test_a_simulator_keeps_what_is_written_until_a_binary_is_loaded(boards: Boards) -> None:
    machine = boards("hetero", simulator=True)
    buffer = machine.written(DATA)
    assert machine.calls() == {}
    assert machine.watcher.reserved == []
    machine.run(machine.kernel(increment, "HBM", given=[buffer]))
    assert machine.calls() == {"write": (1, 4096)}
    assert [block.address for block in machine.watcher.reserved] == [0x100000000]
    assert machine.read(buffer) == b"\1" + DATA[1:]


def test_a_simulator_with_a_binary_places_what_is_written(boards: Boards) -> None:
    machine = boards("hetero", simulator=True)
    machine.run(machine.kernel(increment))
    machine.written(DATA)
    assert [block.address for block in machine.watcher.reserved] == [0x400]


# The conflict matrix: what may be under way beside what


class Busy:
    """Claims on a device, taken and given back by hand."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.buffer = machine.buffer(4096)
        machine.bind(self.buffer)

    def operation(self, kind: str) -> Operation:
        device = self.machine.device
        if kind == "write":
            return WriteBuffer(device, self.buffer, 0, 1, 0)
        if kind == "read":
            return ReadBuffer(device, self.buffer, 0, 1, 0)
        if kind == "migration":
            return Migration(device, [], "test")
        source = {"kernel": "loaded", "program": "other"}[kind]
        return self.machine.launch_of(self.machine.kernel(increment, source=source))


CONFLICTS = {
    # kind: kinds that may not be under way beside it, on a half-duplex board; on a full-duplex one
    "write": ({"write", "read", "migration", "program"}, {"write", "migration", "program"}),
    "read": ({"write", "read", "migration", "program"}, {"read", "migration", "program"}),
    "migration": ({"write", "read", "migration", "program"}, {"write", "read", "migration", "program"}),
    "kernel": ({"program"}, {"program"}),
    "program": ({"write", "read", "migration", "kernel", "program"},) * 2,
}


@pytest.mark.parametrize("board", ["usm_s10", "hetero"])
@pytest.mark.parametrize("running", CONFLICTS)
@pytest.mark.parametrize("wanted", CONFLICTS)
def test_operations_exclude_each_other_as_the_conflict_matrix_says(
    boards: Boards, board: str, running: str, wanted: str
) -> None:
    machine = boards(board)
    machine.run(machine.kernel(increment, source="loaded"))
    busy = Busy(machine)
    first, second = busy.operation(running), busy.operation(wanted)
    assert first.claim() is Claim.TAKEN
    conflicts = wanted in CONFLICTS[running][machine.device.occupancy.full_duplex]
    assert (second.claim() is Claim.TAKEN) is not conflicts
    first.release(None)
    if conflicts:
        assert second.claim() is Claim.TAKEN
    second.release(None)
    assert machine.device.occupancy.moving == Direction.NONE


def test_a_migration_yields_to_transfers_while_a_kernel_uses_its_block(hetero: Machine) -> None:
    buffer = hetero.written(DATA)
    kernel = hetero.kernel(increment, "", given=[buffer])
    hetero.run(kernel)
    running = hetero.launch_of(kernel)
    moving = Migration(hetero.device, [(buffer, buffer.reserve(hetero.device, 1))], "test")
    assert running.claim() is Claim.TAKEN
    assert moving.claim() is Claim.YIELDS
    running.release(None)
    assert moving.claim() is Claim.TAKEN


def test_contents_that_are_no_longer_in_the_hosts_memory_are_not_moved_from_there(hetero: Machine) -> None:
    buffer = hetero.written(DATA)
    home = buffer.home
    MoveFromHost(hetero.device, buffer, buffer.reserve(hetero.device, 1)).run()
    assert buffer.home is home


@pytest.mark.parametrize("where", ["the host", "another memory"])
def test_a_kernel_does_not_begin_while_its_buffer_moves(hetero: Machine, where: str) -> None:
    buffer = hetero.written(DATA)
    kernel = hetero.kernel(increment, "", given=[buffer])
    hetero.run(kernel)
    moving: Operation = MigrateToHost(hetero.device, [buffer], keep=True)
    if where != "the host":
        moving = Migration(hetero.device, [(buffer, buffer.reserve(hetero.device, 1))], "test")
    launch = hetero.launch_of(kernel)
    assert moving.claim() is Claim.TAKEN
    assert launch.claim() is Claim.TAKEN
    migration = launch.run()
    assert migration is not None
    launch.release(migration)
    assert migration.claim() is Claim.WAITS
    moving.run()
    moving.release(None)
    assert migration.claim() is Claim.TAKEN
    assert migration.run() is launch
    migration.release(launch)
    assert launch.claim() is Claim.TAKEN
    assert launch.run() is None
    launch.release(None)
    assert first_byte(hetero, buffer) == 2


# The invocation image


def launch_of(machine: Machine, kernel: object) -> LaunchKernel:
    sizes = (5, 0, 0, 64, 6, 1, 16, 2, 1)
    return new_launch(kernel, machine.device, 2, sizes, True)  # type: ignore[attr-defined, no-any-return]


def test_the_invocation_image_begins_with_72_bytes_of_sizes(boards: Boards) -> None:
    from struct import unpack

    machine = boards("usm_s10")
    image = launch_of(machine, machine.kernel(increment)).invocation_image()
    assert unpack("<11I4x3Q", image) == (2, 32, 64, 6, 1, 4, 3, 1, 16, 2, 1, 5, 0, 0)


def test_global_pointers_are_device_addresses_of_8_bytes(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref")
    parent = machine.buffer(8192)
    machine.bind(parent, 1)
    window = machine.sub_buffer(parent, 4096, 1024)
    kernel = machine.kernel(increment, "", "", None, given=[window, None])
    kernel.set_value(2, b"abcd")
    launch = machine.launch_of(kernel, 1)
    expected = (1 << 54 | 0x400 + 4096).to_bytes(8, "little") + bytes(8) + b"abcd"
    assert launch.invocation_image()[72:] == expected


@pytest.mark.parametrize("size", [128, 512, 1024])
def test_local_pointers_are_offsets_of_4_bytes_that_differ_by_1024(size: int, machine: Machine) -> None:
    kernel = machine.kernel(increment, "", "")
    for index in range(2):
        kernel.set_local(index, size)
    image = launch_of(machine, kernel).invocation_image()
    assert image[72:] == (0).to_bytes(4, "little") + (1024).to_bytes(4, "little")


def test_a_kernel_for_a_memory_that_the_board_lacks_is_refused(boards: Boards) -> None:
    from fpgart.base.errors import OutOfResources

    machine = boards("usm_s10")
    kernel, buffer = machine.kernel(increment, "HBM"), machine.buffer(4096)
    kernel.set_buffer(0, buffer)
    with pytest.raises(OutOfResources, match="memory 'HBM', which board 'usm_s10' does not have"):
        machine.enqueue(kernel)


def test_a_kernel_does_not_keep_its_buffers_but_a_launch_does(machine: Machine) -> None:
    kernel, buffer = machine.kernel(increment, ""), machine.buffer(4096)
    kernel.set_buffer(0, buffer)
    machine.write(buffer, DATA)
    event = machine.enqueue(kernel)
    del buffer
    machine.queue.finish()
    assert event.status == 0
    machine.context.reap()
    assert len(machine.watcher.freed) == 1
    with pytest.raises(InvalidKernelArgs, match="has been released"):
        machine.enqueue(kernel)
