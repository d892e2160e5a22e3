"""The simulated clock (FPGART_TIME=model): exact times, what bounds them, and the same ones in every run."""

from __future__ import annotations

import ctypes
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from effort import EFFORT
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import Boards, Machine, SetOption, at_once, listening, machine_of, nothing
from processes import fpgart, output

from fpgart.aocx import container, system
from fpgart.aocx.autodiscovery import format as written
from fpgart.aocx.compiler import memories_of
from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import ExecStatusErrorForEventsInWaitList, ProfilingInfoNotAvailable
from fpgart.board.catalogue import describe
from fpgart.board.description import Timing
from fpgart.board.timing import Access, Pace, pcie_rate
from fpgart.runtime.commands.boxes import Box
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.commands.migration import MigrateToHost, map_in_place, migrate_to_device
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.commands.packets import MoveVariable
from fpgart.runtime.commands.transfers import (
    CopyBuffer,
    FillBuffer,
    ReadBuffer,
    ReadRect,
    RectTransfer,
    WriteBuffer,
    WriteRect,
)
from fpgart.runtime.commands.usm import UsmCopy, UsmPointer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm import UsmAllocation, allocate_device, allocate_host, allocate_shared
from fpgart.runtime.model import kernel_planning
from fpgart.runtime.model.board_clock import BoardClocks
from fpgart.runtime.model.kernel_planning import widths
from fpgart.runtime.model.planning import Planner
from fpgart.runtime.model.simulated_clock import HOST_NS, SimulatedClock
from fpgart.runtime.model.steps import Movement, Run, Spot
from fpgart.runtime.model.timeline import MOST, Timeline
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.loading import from_binary
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import COMPLETE, SUBMITTED, Event

pytestmark = pytest.mark.machine("usm_s10", modelled=True)

MIB = 1 << 20
MS = 1_000_000
OUT_OF_ORDER = cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
PROFILING = cl.CL_QUEUE_PROFILING_ENABLE
SINK = ctypes.create_string_buffer(16 * MIB)
HOST = ctypes.addressof(SINK)


@pytest.fixture
def a10_ref(boards: Boards) -> Machine:
    return boards("a10_ref", modelled=True)


@dataclass
class Listener:
    """The steps of each command that the clock reports."""

    steps: list[Any] = field(default_factory=list)

    def modelled(self, event: Event, command: object, steps: list[Any]) -> None:
        self.steps += steps


def times(event: Event) -> tuple[int, int, int, int]:
    """Queued, submit, start, end."""
    stage = event.context.scheduler.stage_time
    return stage(event, "queued"), stage(event, "submit"), stage(event, "start"), stage(event, "end")


def duration(event: Event) -> int:
    _, _, start, end = times(event)
    return end - start


def write(queue: CommandQueue, buffer: Buffer, size: int, offset: int = 0, wait: tuple[Event, ...] = ()) -> Event:
    buffer.bind(queue.device)
    return queue.enqueue(cl.CL_COMMAND_WRITE_BUFFER, WriteBuffer(queue.device, buffer, offset, size, HOST), wait)


def read(queue: CommandQueue, buffer: Buffer, size: int, wait: tuple[Event, ...] = ()) -> Event:
    buffer.bind(queue.device)
    return queue.enqueue(cl.CL_COMMAND_READ_BUFFER, ReadBuffer(queue.device, buffer, 0, size, HOST), wait)


def copy(queue: CommandQueue, source: Buffer, target: Buffer, size: int, wait: tuple[Event, ...] = ()) -> Event:
    source.bind(queue.device)
    target.bind(queue.device)
    operation = CopyBuffer(queue.device, source, target, [(0, 0, size)])
    return queue.enqueue(cl.CL_COMMAND_COPY_BUFFER, operation, wait)


def launch(queue: CommandQueue, kernel: Kernel, work_items: int, wait: tuple[Event, ...] = ()) -> Event:
    operation = new_launch(kernel, queue.device, 1, (0, 0, 0, work_items, 1, 1, 1, 1, 1), True)
    return queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation, wait)


def machine_pace(machine: Machine) -> Pace:
    """The formulas of its first board."""
    board = machine.device.board
    return Pace(board, [memory.interleaved for memory in board.memories])


def kernel_on(machine: Machine, buffer: Buffer, location: str = "", source: str = "source") -> Kernel:
    """A kernel of one argument that also keeps its buffer alive."""

    def work(address: int, kept: Buffer = buffer) -> None:
        nothing(address)

    return machine.kernel(work, location, source=source, given=[buffer])


# Formulas


def test_the_link_and_its_latencies_are_as_measured_on_gen3_x8(boards: Boards) -> None:
    """AN 690: at most 7.1 GB/s in packets of 256 bytes, 6.4 GB/s for 2 MB transfers with their descriptors."""
    assert float(pcie_rate(Timing())) == pytest.approx(7.1e9, rel=0.02)
    machine = boards("a10_ref", modelled=True)
    took = duration(write(machine.queue, machine.buffer(2 * MIB), 2 * MIB))
    assert 2 * MIB / took == pytest.approx(6.4, rel=0.01)


# Exact durations

TRANSFERS = [  # nanoseconds for 1 MiB: latencies of 23000, then the link or the memory
    ("usm_s10", 23_000 + 72_800, 23_000 + 29_014),
    ("a10_ref", 23_000 + 145_600, 23_000 + 130_562),
    ("a10_small", 23_000 + 145_600, 23_000 + 130_558),
    ("hetero", 23_000 + 72_800, 23_000 + 65_281),
    ("soc_a10", 23_000 + 65_279, 23_000 + 130_558),
]


@pytest.mark.parametrize(("board", "transfer", "copied"), TRANSFERS, ids=[row[0] for row in TRANSFERS])
def test_a_transfer_takes_latency_and_link_a_copy_reads_and_writes_the_memory(
    boards: Boards, board: str, transfer: int, copied: int
) -> None:
    machine = boards(board, modelled=True)
    source, target = machine.buffer(MIB), machine.buffer(MIB)
    assert duration(write(machine.queue, source, MIB)) == transfer
    assert duration(read(machine.queue, source, MIB)) == transfer
    assert duration(copy(machine.queue, source, target, MIB)) == copied


KERNELS = [  # nanoseconds for 1 Mi work-items: 1 per cycle of 1/300 us behind the memory's first answer
    ("usm_s10", 1_500 + 3_495_254),
    ("a10_ref", 240 + 3_495_254),
    ("hetero", 240 + 3_495_254),
    ("soc_a10", 240 + 3_495_254),
]


@pytest.mark.parametrize(("board", "took"), KERNELS, ids=[row[0] for row in KERNELS])
def test_an_ndrange_takes_a_cycle_per_work_item(boards: Boards, board: str, took: int) -> None:
    machine = boards(board, modelled=True)
    kernel = kernel_on(machine, machine.buffer(MIB))
    assert duration(launch(machine.queue, kernel, MIB)) == took


ATTRIBUTES = """
__kernel __attribute__((num_simd_work_items(8))) __attribute__((num_compute_units(2)))
__attribute__((reqd_work_group_size(64, 1, 1))) void k(__global int *x) {}
"""


def test_simd_and_compute_units_take_more_work_items_per_cycle(a10_ref: Machine) -> None:
    kernel = kernel_on(a10_ref, a10_ref.buffer(1024), source=ATTRIBUTES)
    assert duration(launch(a10_ref.queue, kernel, MIB)) == 240 + 218_454


LOOP = """
__kernel void k(__global int *x, int a1)
{
    #pragma unroll 4
    for (int i = 0; i < a1; i++) x[i] = 0;
}
"""


def looping(machine: Machine, source: str, count: int) -> Kernel:
    """A kernel with a buffer and an integer as arguments."""
    buffer = machine.buffer(1024)

    def work(address: int, value: int, kept: Buffer = buffer) -> None:
        nothing(address)

    kernel = machine.kernel(work, "", None, source=source)
    kernel.set_buffer(0, buffer)
    kernel.set_value(1, count.to_bytes(4, "little"))
    return kernel


def test_a_task_takes_a_cycle_per_iteration_of_its_loops(a10_ref: Machine) -> None:
    """A million by fours are 262,144 cycles of 1/300 us."""
    assert duration(launch(a10_ref.queue, looping(a10_ref, LOOP, MIB), 1)) == 240 + 873_814


def test_the_depth_of_a_pipeline_counts_once_however_many_iterations_there_are(a10_ref: Machine) -> None:
    """Four multiplications one after the other: 8 cycles behind 20, or 1000."""
    deep = "__kernel void k(__global int *x, int a1) { for (int i = 0; i < a1; i++) x[i] = i * i * i * i * i; }"
    assert duration(launch(a10_ref.queue, looping(a10_ref, deep, 20), 1)) == 240 + 94
    assert duration(launch(a10_ref.queue, looping(a10_ref, deep, 1000), 1)) == 240 + 3360


def test_work_items_of_an_ndrange_enter_its_loops_one_after_the_other(a10_ref: Machine) -> None:
    assert duration(launch(a10_ref.queue, looping(a10_ref, LOOP, 1000), 3000)) == 240 + 2_500_000


def test_a_kernel_whose_loops_cannot_be_counted_says_so(a10_ref: Machine) -> None:
    with listening(Listener()) as told:
        launch(a10_ref.queue, looping(a10_ref, LOOP.replace("i < a1", "i < x[0]"), 1000), 1)
        launch(a10_ref.queue, looping(a10_ref, LOOP, 1000), 1)
        launch(a10_ref.queue, looping(a10_ref, f'#include "missing.h"\n{LOOP}', 1000), 1)
        launch(a10_ref.queue, kernel_on(a10_ref, a10_ref.buffer(1024), source="KERNEL(k)"), 1)
        launch(a10_ref.queue, kernel_on(a10_ref, a10_ref.buffer(1024), source="KERNEL(k) for"), 1)
    assert [step.uncounted for step in told.steps if step.kernel] == [True, False, True, False, True]


def test_a_kernel_does_not_end_before_its_buffers_went_through_memory_once(a10_ref: Machine) -> None:
    kernel = kernel_on(a10_ref, a10_ref.buffer(16 * MIB))
    assert duration(launch(a10_ref.queue, kernel, 1)) == 240 + 1_044_491


def test_separate_banks_are_as_fast_as_one_and_share_the_work_if_the_host_spreads_it(boards: Boards) -> None:
    took = []
    for banks in ((1, 1), (1, 2)):
        machine = boards("a10_ref", modelled=True)
        kernel = machine.kernel(nothing, "", "")
        buffers = [machine.buffer(8 * MIB, bank=bank) for bank in banks]
        for index, buffer in enumerate(buffers):
            kernel.set_buffer(index, buffer)
        took.append(duration(launch(machine.queue, kernel, 1)))
    assert took == [240 + 1_044_491, 240 + 522_246]


@pytest.mark.parametrize(
    ("kind", "command"),
    [(WriteRect, cl.CL_COMMAND_WRITE_BUFFER_RECT), (ReadRect, cl.CL_COMMAND_READ_BUFFER_RECT)],
)
def test_a_box_takes_what_its_pieces_take(a10_ref: Machine, kind: type[RectTransfer], command: int) -> None:
    buffer = a10_ref.buffer(MIB)
    a10_ref.write(buffer, bytes(MIB))
    rows, whole = Box((0, 0, 0), 1024, MIB), Box((0, 0, 0), 512, MIB)
    took = [
        duration(
            a10_ref.queue.enqueue(command, kind(a10_ref.device, buffer, box, HOST, Box((0, 0, 0), 512, MIB), region))
        )
        for box, region in ((rows, (512, 100, 1)), (whole, (512, 100, 1)))
    ]
    link = machine_pace(a10_ref).link_time(51_200)
    assert took == [pytest.approx(100 * 23_000 + link, abs=100), 23_000 + link]


@pytest.mark.parametrize("sizes", [(MIB, 1, 1), (1, MIB, 1), (1, 1, MIB), (64, 32, 512)])
def test_the_work_items_of_all_dimensions_go_through_the_pipeline(
    sizes: tuple[int, int, int], machine: Machine
) -> None:
    operation = new_launch(
        kernel_on(machine, machine.buffer(1024)), machine.device, 3, (0, 0, 0, *sizes, 1, 1, 1), True
    )
    event = machine.queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation)
    assert duration(event) == pytest.approx(machine_pace(machine).pipeline_time(MIB, 1), rel=0.001)


@pytest.mark.parametrize(
    ("allocate", "memory"),
    [
        (lambda machine: allocate_device(machine.context, machine.device, MIB), "device"),
        (lambda machine: allocate_shared(machine.context, machine.device, MIB, 0), "host"),
        (lambda machine: allocate_host(machine.context, MIB, 0), "host"),
    ],
    ids=["device", "shared", "host"],
)
def test_a_kernel_reaches_an_allocation_in_the_memory_of_its_kind(
    allocate: Callable[[Machine], UsmAllocation], memory: str, machine: Machine
) -> None:
    kernel = machine.kernel(nothing, "", given=[allocate(machine).pointer])
    with listening(Listener()) as listener:
        launch(machine.queue, kernel, 1)
    step = listener.steps[-1]
    assert (step.size, step.bound) == (MIB, f"memory '{memory}'")


def test_a_kernel_reaches_an_allocation_of_a_device_where_that_is(boards: Boards) -> None:
    machine = boards("usm_s10")
    allocations = [allocate_device(machine.context, machine.device, size) for size in (MIB, 1024)]
    kernel = machine.kernel(nothing, "", "", given=[each.pointer for each in allocations])
    run = Planner().steps(machine.launch_of(kernel))[-1]
    assert isinstance(run, Run)
    blocks = [each.block for each in allocations if each.block is not None]
    assert run.accesses == tuple(Access(block.memory, block.address, block.range.size) for block in blocks)


def test_a_transfer_reaches_the_part_of_the_buffer_that_it_is_for(boards: Boards) -> None:
    machine = boards("a10_ref")
    buffer = machine.buffer(MIB)
    address = machine.bind(buffer)
    (step,) = Planner().steps(WriteBuffer(machine.device, buffer, 1024, 64, HOST))
    assert step == Movement(None, Spot(machine.device, 0, address + 1024), 64)


def test_the_source_of_a_program_is_read_once_for_all_its_launches(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def reading(name: str) -> Callable[[Program], Any]:
        work = getattr(kernel_planning, name)
        return lambda program: (read.append(name), work(program))[1]

    for name in ("loops", "streams"):
        monkeypatch.setattr(kernel_planning, name, reading(name))
    machine = boards("a10_ref", modelled=True)
    kernel = looping(machine, LOOP, 1000)
    for _ in range(2):
        launch(machine.queue, kernel, 1)
    assert sorted(read) == ["loops", "streams"]


def test_channels_are_those_of_the_spirv_where_a_program_has_any(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = object(), list[object]()
    monkeypatch.setattr(kernel_planning, "spirv_streams", lambda *given: (asked.append(given), found)[1])
    program: Any = SimpleNamespace(modules=(b"il",), specialized={1: b"x"})
    assert kernel_planning.streams(program) is found
    assert asked == [((b"il",), {1: b"x"})]


def test_first_launch_programs_the_board_before_its_start(a10_ref: Machine) -> None:
    kernel = kernel_on(a10_ref, a10_ref.buffer(1024))
    first, second = launch(a10_ref.queue, kernel, 1), launch(a10_ref.queue, kernel, 1)
    latency = 10_000
    assert times(first)[2] - times(first)[1] == 2_000 * MS + latency
    assert times(second)[2] - times(first)[3] == latency


def test_the_option_for_programming_is_its_time_in_the_model_too(boards: Boards, set_option: SetOption) -> None:
    set_option(config.PROGRAM_SECONDS, "0.001")
    machine = boards("a10_ref", modelled=True)
    event = launch(machine.queue, kernel_on(machine, machine.buffer(1024)), 1)
    machine.queue.finish()
    assert times(event)[2] - times(event)[1] == MS + 10_000


def test_a_migration_lies_between_submit_and_start(boards: Boards) -> None:
    machine = boards("hetero", modelled=True)
    buffer = machine.buffer(MIB)
    machine.write(buffer, bytes(MIB))
    kernel = kernel_on(machine, buffer, "HBM")
    with listening(Listener()) as listener:
        launch(machine.queue, kernel, 1)
        launch(machine.queue, kernel, 1)
    assert [step.name for step in listener.steps] == ["program", "migration", "kernel", "kernel"]
    # from two banks of DDR to one of HBM, which is the slower side
    assert listener.steps[1].end - listener.steps[1].begin == 23_000 + 116_054


def test_where_contents_are_is_looked_up_once_boards_are_as_new(boards: Boards) -> None:
    machine = boards("hetero", modelled=True)
    buffer = machine.buffer(MIB)
    machine.write(buffer, bytes(MIB))
    machine.scheduler.boards_renewed()
    with listening(Listener()) as listener:
        launch(machine.queue, kernel_on(machine, buffer, "HBM"), 1)
        machine.queue.finish()
    assert [step.name for step in listener.steps] == ["program", "migration", "kernel"]


def test_a_board_to_board_copy_reads_and_writes_at_once_in_pieces(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref", modelled=True)
    source, target = machine.buffer(16 * MIB), machine.buffer(16 * MIB)
    write(machine.queue, source, MIB)
    write(machine.queues[1], target, MIB)
    piece = 10_000 + 8 * 13_000 + 1_164_800  # 8 MiB
    assert duration(copy(machine.queue, source, target, 16 * MIB)) == pytest.approx(3 * piece, abs=3)


def test_a_copy_between_boards_is_bound_by_the_slower_direction_and_of_equal_ones_by_the_first(boards: Boards) -> None:
    board = describe("a10_ref")
    slow = board._replace(timing=board.timing._replace(pcie_lanes=board.timing.pcie_lanes // 2))
    for names, bound in (
        (("a10_ref", "a10_ref"), "PCIe read"),
        (("a10_ref", slow), "PCIe write"),
        ((slow, "a10_ref"), "PCIe read"),
    ):
        machine = boards(*names, modelled=True)
        source, target = machine.buffer(16 * MIB), machine.buffer(16 * MIB)
        write(machine.queue, source, MIB)
        write(machine.queues[1], target, MIB)
        with listening(Listener()) as listener:
            copy(machine.queue, source, target, 16 * MIB)
        assert [step.bound for step in listener.steps] == [bound, bound]


def test_a_simulator_without_a_binary_has_nothing_to_write_to(boards: Boards) -> None:
    machine = boards("hetero", simulator=True, modelled=True)
    buffer = machine.buffer(MIB)
    assert duration(write(machine.queue, buffer, MIB)) == 0
    with listening(Listener()) as listener:
        launch(machine.queue, kernel_on(machine, buffer, "HBM"), 1)
    machine.queue.finish()
    assert [step.name for step in listener.steps] == ["program", "migration", "kernel"]
    assert machine.calls() == {"write": (1, MIB)}


def test_mapping_in_place_moves_nothing(boards: Boards) -> None:
    took = []
    for board in ("soc_a10", "a10_ref"):
        machine = boards(board, modelled=True)
        buffer, device = machine.buffer(MIB), machine.device
        buffer.bind(device)
        block = buffer.reserve_for_mapping(device)
        region = (0, MIB, cl.CL_MAP_READ)
        pointer = buffer.map(*region, block)
        operation = (
            map_in_place(device, buffer, block, keep=True) if block else MapBuffer(device, buffer, pointer, region)
        )
        took.append(duration(machine.queue.enqueue(cl.CL_COMMAND_MAP_BUFFER, operation)))
    assert took == [0, 23_000 + 145_600]


def test_a_container_without_source_tells_its_vector_lanes(a10_ref: Machine) -> None:
    kernel = system.DescribedKernel("vadd", vector_lanes=4)
    text = written(system.Autodiscovery("b" * 40, "a10_ref", memories_of(a10_ref.device.board), (kernel,)))
    made = {
        container.BOARD: b"a10_ref",
        container.AUTODISCOVERY: text.encode(),
        container.RANDOM_HASH: b"b" * 40,
        container.BOARD_IMAGE: b"bits of a real board",
    }
    program = from_binary(a10_ref.context, a10_ref.devices, container.Container(made).encode())
    assert widths(program) == {"vadd": 4}


def test_usm_copies_take_what_transfers_take(machine: Machine) -> None:
    context, queue = machine.context, machine.queue
    device = allocate_device(context, machine.device, MIB)
    host = allocate_host(context, MIB, 64)
    places = UsmPointer(context, device.pointer, MIB), UsmPointer(context, host.pointer, MIB)
    event = queue.enqueue(cl.CL_COMMAND_MEMCPY_INTEL, UsmCopy(machine.device, *places, MIB))
    assert duration(event) == TRANSFERS[0][1]


# What runs beside what


def test_reads_and_writes_meet_only_on_full_duplex_boards(boards: Boards) -> None:
    overlap = []
    for board in ("usm_s10", "hetero"):
        machine = boards(board, modelled=True)
        queues = [CommandQueue(machine.context, machine.device) for _ in range(2)]
        one, other = machine.buffer(MIB), machine.buffer(MIB)
        first, second = write(queues[0], one, MIB), read(queues[1], other, MIB)
        overlap.append(times(second)[2] < times(first)[3])
    assert overlap == [False, True]


def test_transfers_run_beside_kernels(machine: Machine) -> None:
    other = CommandQueue(machine.context, machine.device)
    kernel = kernel_on(machine, machine.buffer(1024))
    runs = launch(machine.queue, kernel, MIB)
    moves = write(other, machine.buffer(MIB), MIB, wait=())
    assert times(moves)[2] < times(runs)[2]
    later = write(machine.queue, machine.buffer(MIB), MIB)
    assert times(later)[2] == times(runs)[3]


def test_one_kernels_hardware_runs_one_launch_at_a_time_other_kernels_beside_it(machine: Machine) -> None:
    queues = [CommandQueue(machine.context, machine.device) for _ in range(2)]
    kernel = kernel_on(machine, machine.buffer(1024))
    first, second = (launch(queue, kernel, MIB) for queue in queues)
    assert times(second)[2] == times(first)[3]


def test_a_66ak2x_runs_a_task_on_each_core_and_other_ndranges_on_all(boards: Boards) -> None:
    machine = boards("k2h", modelled=True)
    queue = CommandQueue(machine.context, machine.device, OUT_OF_ORDER)
    first, second = (looping(machine, LOOP, MIB) for _ in range(2))
    machine.scheduler.wait(launch(queue, first, 1))  # the board is programmed
    kernels = [first, second] * 5
    events = [launch(queue, kernels[number], 1) for number in range(9)]
    everywhere, behind = launch(queue, second, 2), launch(queue, first, 1)
    begins = [times(event)[2] for event in events]
    assert begins[:8] == [begins[0] + number * HOST_NS for number in range(8)]
    assert begins[8] == times(events[0])[3]
    assert times(everywhere)[2] == times(events[8])[3]
    assert times(behind)[2] == times(everywhere)[3]


def test_kernels_that_share_a_bank_have_it_in_turn(boards: Boards) -> None:
    """Their hardware is apart; together they take as long as all their bytes, and each tells when it has the bank."""
    machine = boards("a10_ref")
    clocks = BoardClocks()
    accesses = (Access(0, 1024, 16 * MIB),)
    runs = [Run(machine.device, "p", name, 1, 1, accesses) for name in ("one", "two")]
    (first,), (second,) = (clocks.place(run, 0) for run in runs)
    assert second.begin == first.begin
    assert second.end - first.begin == 240 + 2 * 1_044_491
    assert second.bound == "memory 'DDR' bank 1"
    assert first.banks == {"memory 'DDR' bank 1": [(first.begin + 240, first.end)]}
    assert second.banks == {"memory 'DDR' bank 1": [(first.end, second.end)]}


def test_a_later_command_uses_the_gap_that_an_earlier_one_left(machine: Machine) -> None:
    """Double buffering: the next write runs beside the kernel although the read behind that was enqueued before."""
    transfers, kernels = machine.queue, CommandQueue(machine.context, machine.device)
    kernel = kernel_on(machine, machine.buffer(MIB))
    machine.scheduler.wait(launch(kernels, kernel, 1))  # the board is programmed
    first = write(transfers, machine.buffer(MIB), MIB)
    runs = launch(kernels, kernel, MIB, wait=(first,))
    back = read(CommandQueue(machine.context, machine.device), machine.buffer(MIB), MIB, wait=(runs,))
    following = write(transfers, machine.buffer(MIB), MIB)
    assert times(following)[2] == times(first)[3]
    assert times(back)[2] == times(runs)[3]


def test_programming_waits_for_silence_and_delays_all(machine: Machine) -> None:
    other = CommandQueue(machine.context, machine.device)
    one = kernel_on(machine, machine.buffer(1024), source="one")
    two = kernel_on(machine, machine.buffer(1024), source="two")
    first = launch(machine.queue, one, MIB)
    second = launch(other, two, 1)
    moved = write(CommandQueue(machine.context, machine.device), machine.buffer(16 * MIB), 16 * MIB)
    assert times(second)[2] == times(first)[3] + 2_000 * MS + 10_000
    assert times(moved)[3] < times(first)[3] or times(moved)[2] >= times(second)[2] - 10_000


def test_a_variable_behind_a_launch_of_another_program_takes_a_programming(machine: Machine) -> None:
    one, two = (kernel_on(machine, machine.buffer(1024), source=source) for source in ("one", "two"))
    variable = SimpleNamespace(size=1, read=lambda *_: None)
    network: Any = SimpleNamespace(links=None, stop=lambda: None, variable=lambda name: variable)
    one.program.made.network = lambda plugs: network
    for kernel in (one, two):
        launch(machine.queue, kernel, 1)
    reading = MoveVariable(machine.device, one.program, "v", 0, 1, 0, writing=False)
    event = machine.queue.enqueue(cl.CL_COMMAND_READ_GLOBAL_VARIABLE_INTEL, reading)
    machine.queue.finish()
    assert times(event)[3] - times(event)[2] >= 2_000 * MS


@pytest.mark.parametrize("move", [write, read])
def test_a_transfer_that_does_not_end_before_programming_begins_behind_it(
    move: Callable[[CommandQueue, Buffer, int], Event], machine: Machine
) -> None:
    kernels, transfers = (CommandQueue(machine.context, machine.device) for _ in range(2))
    buffer = machine.buffer(16 * MIB)
    write(machine.queue, buffer, MIB)
    machine.queue.finish()
    programmed = launch(kernels, kernel_on(machine, machine.buffer(1024)), 1)
    moved = move(transfers, buffer, 16 * MIB)
    assert times(moved)[2] == times(programmed)[2] - 10_000


# The host's time


def test_a_command_is_queued_a_microsecond_after_the_one_before(machine: Machine) -> None:
    buffer = machine.buffer(MIB)
    events = [write(machine.queue, buffer, MIB) for _ in range(3)]
    assert [times(event)[0] for event in events] == [1_000, 2_000, 3_000]
    assert [times(event)[1] for event in events[1:]] == [times(event)[3] for event in events[:2]]


def test_who_waits_is_as_late_as_what_it_waited_for(machine: Machine) -> None:
    buffer, scheduler = machine.buffer(MIB), machine.scheduler
    event = write(machine.queue, buffer, MIB)
    assert scheduler.host_time() == times(event)[0] + 1_000
    scheduler.wait(event)
    assert scheduler.host_time() == times(event)[3]
    machine.write(buffer, bytes(1024))
    blocked = scheduler.host_time()
    assert blocked > times(event)[3]
    last = write(machine.queue, buffer, MIB)
    machine.queue.finish()
    assert scheduler.host_time() == times(last)[3] > blocked


def test_finishing_counts_what_has_really_ended_before(machine: Machine) -> None:
    event = write(machine.queue, machine.buffer(MIB), MIB)
    ended = threading.Event()
    event.when(COMPLETE, lambda *_: ended.set())
    ended.wait()
    before = machine.scheduler.host_time()
    machine.queue.finish()
    assert before < machine.scheduler.host_time() == times(event)[3]


def test_who_asks_what_is_unfinished_is_as_late_as_all_that_is_in_the_queues(boards: Boards) -> None:
    machine = boards("a10_ref", "a10_ref", modelled=True)
    gate = machine.user_event()
    events = [write(queue, machine.buffer(MIB), MIB) for queue in machine.queues]
    waiting = write(machine.queue, machine.buffer(MIB), MIB, wait=(gate,))
    assert waiting in machine.scheduler.unfinished(machine.queues)
    assert machine.scheduler.host_time() == max(times(event)[3] for event in events)
    gate.set_status(COMPLETE)


def test_of_many_threads_the_clock_keeps_the_times_of_those_last_used(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimulatedClock()
    monkeypatch.setattr("fpgart.runtime.model.simulated_clock.MOST_THREADS", 2)

    def on_thread(number: int) -> SimulatedClock:
        monkeypatch.setattr("threading.get_native_id", lambda: number)
        return clock

    for thread, at in ((1, 5_000), (2, 6_000), (1, 7_000), (3, 8_000)):
        on_thread(thread).turn(at)
    assert [on_thread(thread).now() for thread in (1, 2, 3)] == [7_000, HOST_NS, 8_000]


def test_a_host_that_asks_for_the_status_is_as_late_as_the_end_once_it_sees_it(machine: Machine) -> None:
    event = write(machine.queue, machine.buffer(MIB), MIB)
    while event.seen_status() != COMPLETE:
        time.sleep(0.001)
    assert machine.scheduler.host_time() == times(event)[3]


def test_a_callback_begins_when_its_event_reached_the_status(machine: Machine) -> None:
    called: list[int] = []
    done = threading.Event()
    event = write(machine.queue, machine.buffer(MIB), MIB)
    event.when(SUBMITTED, lambda *_: called.append(machine.scheduler.host_time()))
    event.when(COMPLETE, lambda *_: (called.append(machine.scheduler.host_time()), done.set()))
    machine.scheduler.wait(event)
    done.wait()
    assert sorted(called) == [times(event)[1], times(event)[3]]
    assert machine.scheduler.host_time() == times(event)[3]


def test_what_waits_for_a_user_event_has_its_turn_when_that_is_set(machine: Machine) -> None:
    queue, other = machine.queue, CommandQueue(machine.context, machine.device)
    gate = machine.user_event()
    held = write(queue, machine.buffer(MIB), MIB, wait=(gate, gate))
    behind = write(queue, machine.buffer(MIB), MIB)
    free = write(other, machine.buffer(MIB), MIB)
    machine.scheduler.wait(free)
    assert times(free)[2] == times(free)[0]
    gate.set_status(COMPLETE)
    queue.finish()
    assert times(gate)[3] == times(free)[3]
    assert times(held)[1] == times(free)[3]
    assert times(behind)[2] == times(held)[3]


def test_what_a_failed_user_event_keeps_from_running_takes_no_time(machine: Machine) -> None:
    queue = CommandQueue(machine.context, machine.device, PROFILING)
    gate = machine.user_event()
    held = write(queue, machine.buffer(MIB), MIB, wait=(gate,))
    free = write(queue, machine.buffer(MIB), MIB)
    gate.set_status(-5)
    queue.finish()
    assert held.status == ExecStatusErrorForEventsInWaitList.status
    assert duration(held) == 0
    assert times(free)[2] == times(held)[3] == times(gate)[3]
    with pytest.raises(ProfilingInfoNotAvailable):
        held.profiling_time("end")
    assert free.profiling_time("end") == times(free)[3]


def test_what_is_behind_a_command_that_failed_begins_when_those_before_that_have_ended(machine: Machine) -> None:
    gate = machine.user_event()
    gate.set_status(-5)
    first = write(machine.queue, machine.buffer(MIB), MIB)
    failed = write(machine.queue, machine.buffer(MIB), MIB, wait=(gate,))
    last = write(machine.queue, machine.buffer(MIB), MIB)
    machine.queue.finish()
    assert times(last)[2] == times(failed)[3] == times(first)[3]


def test_a_barrier_in_an_out_of_order_queue_divides_its_times(boards: Boards) -> None:
    machine = boards("hetero", modelled=True)
    queue = CommandQueue(machine.context, machine.device, OUT_OF_ORDER)
    buffers = [machine.buffer(MIB) for _ in range(3)]
    first, second = write(queue, buffers[0], MIB), read(queue, buffers[1], MIB)
    barrier = queue.enqueue(cl.CL_COMMAND_BARRIER, None)
    after = write(queue, buffers[2], MIB)
    assert times(second)[2] < times(first)[3]
    assert times(barrier)[3] == max(times(first)[3], times(second)[3]) == times(after)[2]


def test_a_queue_keeps_the_time_of_the_thread_that_made_it(machine: Machine) -> None:
    machine.write(machine.buffer(MIB), bytes(MIB))
    made = machine.scheduler.host_time()
    queue, buffer = CommandQueue(machine.context, machine.device), machine.buffer(MIB)
    events: list[Event] = []
    thread = threading.Thread(target=lambda: events.append(write(queue, buffer, MIB)))
    thread.start()
    thread.join()
    assert times(events[0])[0] == made


def test_without_the_model_the_times_are_those_of_the_simulation(boards: Boards) -> None:
    machine = boards("usm_s10")
    before = time.monotonic_ns()
    event = write(machine.queue, machine.buffer(MIB), MIB)
    machine.queue.finish()
    queued, submit, start, end = times(event)
    assert before <= queued <= submit <= start <= end <= time.monotonic_ns()
    assert before <= machine.scheduler.host_time() <= time.monotonic_ns()


# What bounds


def bound(machine: Machine, act: Callable[[], object]) -> str:
    with listening(Listener()) as listener:
        act()
    return str(listener.steps[-1].bound)


def test_the_bound_of_a_step_is_named(boards: Boards) -> None:
    machine, shared = boards("a10_ref", modelled=True), boards("soc_a10", modelled=True)
    queue, big, small = machine.queue, machine.buffer(16 * MIB), machine.buffer(1024)
    kernel, light = kernel_on(machine, big), kernel_on(machine, small)
    assert bound(machine, lambda: write(queue, big, 16 * MIB)) == "PCIe write"
    assert bound(machine, lambda: read(queue, big, 16 * MIB)) == "PCIe read"
    assert bound(machine, lambda: write(queue, big, 1024)) == "MMD calls"
    assert bound(machine, lambda: copy(queue, big, machine.buffer(16 * MIB), 16 * MIB)) == "memory 'DDR' bank 1"
    assert bound(machine, lambda: launch(queue, light, MIB)) == "pipeline"
    assert bound(machine, lambda: launch(queue, light, 1)) == "memory latency"
    assert bound(machine, lambda: launch(queue, kernel, 1)) == "memory 'DDR' bank 1"
    assert bound(shared, lambda: write(shared.queue, shared.buffer(MIB), MIB)) == "memory 'DDR'"


# What is charged is what moves


@dataclass(frozen=True)
class Act:
    """One command: its kind, two numbers that choose queue and buffers, and what it waits for."""

    kind: str
    queue: int
    first: int
    second: int
    waits: tuple[int, ...] = ()


KINDS = (
    "write",
    "blocking",
    "read",
    "copy",
    "fill",
    "map",
    "unmap",
    "kernel",
    "other",
    "migrate",
    "home",
    "marker",
    "barrier",
)


def acts(queues: int, most: int = 25) -> st.SearchStrategy[list[Act]]:
    number = st.integers(0, 1 << 16)
    waits = st.lists(number, max_size=2).map(tuple)
    return st.lists(
        st.builds(Act, st.sampled_from(KINDS), st.integers(0, queues - 1), number, number, waits), max_size=most
    )


class Player:
    """Plays acts on a machine; the same acts, the same calls."""

    def __init__(
        self, machine: Machine, queues: list[CommandQueue], *, pause: Callable[[], None] = lambda: None
    ) -> None:
        def work(*addresses: int) -> None:
            pause()

        self.machine, self.queues = machine, queues
        self.buffers = [machine.buffer(size) for size in (1024, 5000, MIB, 3 * MIB)]
        locations = {device.board.name: device.board.memories[-1].name for device in machine.devices}
        self.kernels = [
            machine.kernel(work, "", "", source="one"),
            machine.kernel(work, "" if len(locations) > 1 else locations[machine.device.board.name], source="two"),
        ]
        self.mapped: list[tuple[Buffer, int]] = []
        self.events: list[Event] = []

    def play(self, acts: list[Act]) -> None:
        for act in acts:
            wait = tuple(self.events[n % len(self.events)] for n in act.waits) if self.events else ()
            self.events.append(self._event(act, self.queues[act.queue], wait))

    def _event(self, act: Act, queue: CommandQueue, wait: tuple[Event, ...]) -> Event:
        buffers, device = self.buffers, queue.device
        one, two = buffers[act.first % len(buffers)], buffers[act.second % len(buffers)]
        size = act.second % one.size + 1
        if act.kind == "write":
            return write(queue, one, size, wait=wait)
        if act.kind == "blocking":  # may run at once or by way of a place: the clock must not care
            one.bind(device)
            operation = WriteBuffer(device, one, 0, size, HOST)
            return queue.run(cl.CL_COMMAND_WRITE_BUFFER, operation, True, wait)
        if act.kind == "read":
            return read(queue, one, size, wait=wait)
        if act.kind == "copy" and one is not two:
            return copy(queue, one, two, min(size, two.size), wait=wait)
        if act.kind == "fill":
            one.bind(device)
            return queue.enqueue(cl.CL_COMMAND_FILL_BUFFER, FillBuffer(device, one, 0, one.size, b"x"), wait)
        if act.kind == "map":
            one.bind(device)
            region = (0, size, (cl.CL_MAP_READ, cl.CL_MAP_WRITE, cl.CL_MAP_WRITE_INVALIDATE_REGION)[act.first % 3])
            pointer = one.map(*region)
            self.mapped.append((one, pointer))
            return queue.enqueue(cl.CL_COMMAND_MAP_BUFFER, MapBuffer(device, one, pointer, region), wait)
        if act.kind == "unmap" and self.mapped:
            buffer, pointer = self.mapped.pop()
            operation = UnmapBuffer(device, buffer, pointer, buffer.unmap(pointer))
            return queue.enqueue(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, wait)
        if act.kind in ("kernel", "other"):
            kernel = self.kernels[act.kind == "other"]
            for index, buffer in enumerate((one, two)[: len(kernel.arguments)]):
                kernel.set_buffer(index, buffer)
            return launch(queue, kernel, act.second + 1, wait)
        if act.kind == "migrate":
            operation = migrate_to_device(device, [one], keep=True)
            return queue.enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, wait)
        if act.kind == "home":
            one.bind(device)
            operation = MigrateToHost(device, [one], keep=True)
            return queue.enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, wait)
        return queue.enqueue(cl.CL_COMMAND_MARKER if act.kind == "marker" else cl.CL_COMMAND_BARRIER, None, wait)


@given(acts(1))
@settings(deadline=None, max_examples=60 * EFFORT)
def test_the_clock_charges_the_bytes_that_move(chosen: list[Act]) -> None:
    with contextmanager(machine_of)("hetero", "usm_s10", modelled=True) as machine, listening(Listener()) as listener:
        player = Player(machine, [machine.queue])
        player.play(chosen)
        machine.queue.finish()
        assert all(event.status == COMPLETE for event in player.events)
        charged = {"write": 0, "read": 0, "copy": 0, "program": 0}
        for step in listener.steps:
            what = {"PCIe write": "write", "PCIe read": "read", "copy engine": "copy", "programming": "program"}
            resource = what.get(next(iter(step.busy)))
            if resource is not None:
                charged[resource] += step.size
        assert charged == {call: machine.device.mmd.traffic[call].bytes for call in charged}


# The same times in every run


def run_of(chosen: list[Act], boards: tuple[str, ...], seed: int, helpers: int) -> list[tuple[int, int, int, int]]:
    """All times, while real execution is disturbed: kernels take random time, helpers run what they find."""
    chance = random.Random(seed)
    with contextmanager(machine_of)(*boards, modelled=True) as machine:
        queues = [
            CommandQueue(machine.context, device, properties)
            for device in machine.devices
            for properties in (0, OUT_OF_ORDER)
        ]
        player = Player(machine, queues, pause=lambda: time.sleep(chance.choice((0.0, 0.0, 0.001))))
        player.play(chosen)
        order = list(player.events)
        chance.shuffle(order)
        at_once(*(lambda mine=order[n::helpers]: [machine.scheduler.wait(e) for e in mine] for n in range(helpers)))
        for queue in queues:
            queue.finish()
        return [times(event) for event in player.events]


@given(acts(4), st.integers(0, 1 << 16))
@settings(deadline=None, max_examples=40 * EFFORT)
def test_the_same_calls_have_the_same_times_whoever_runs_the_commands(chosen: list[Act], seed: int) -> None:
    boards = ("usm_s10", "a10_small")
    assert run_of(chosen, boards, seed, helpers=8) == run_of(chosen, boards, seed + 1, helpers=1)


@given(st.lists(acts(1, most=8), min_size=8, max_size=8))
@settings(deadline=None, max_examples=15 * EFFORT)
def test_threads_with_a_board_each_have_the_times_that_they_have_alone(plays: list[list[Act]]) -> None:
    def times_of(player: Player) -> list[tuple[int, int, int, int]]:
        return [times(event) for event in player.events]

    def together() -> list[list[tuple[int, int, int, int]]]:
        with contextmanager(machine_of)(*["a10_small"] * 8, modelled=True) as machine:
            players = [Player(machine, [queue]) for queue in machine.queues]
            at_once(*map(partial, (player.play for player in players), plays))
            for queue in machine.queues:
                queue.finish()
            return [times_of(player) for player in players]

    def alone(index: int) -> list[tuple[int, int, int, int]]:
        with contextmanager(machine_of)("a10_small", modelled=True) as machine:
            player = Player(machine, [machine.queue])
            player.play(plays[index])
            machine.queue.finish()
            return times_of(player)

    assert together() == [alone(index) for index in range(8)]


# Timelines


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30), st.booleans()), max_size=60))
def test_a_timeline_serves_one_thing_at_a_time(wishes: list[tuple[int, int, bool]]) -> None:
    line, busy = Timeline(), [False] * 4000
    for at, length, together in wishes:
        parts = [(begin := line.free_from(at, length), begin + length)] if together else line.parts(at, length)
        assert sum(end - begin for begin, end in parts) == length
        for begin, end in parts:
            assert begin >= at
            assert not any(busy[begin:end])
            busy[begin:end] = [True] * (end - begin)
            line.take(begin, end)
        if together and length:  # nothing earlier would have done
            assert all(any(busy[b : b + length]) for b in range(at, parts[0][0]))


def test_a_timeline_forgets_what_is_long_ago_and_fits_nothing_in_there() -> None:
    line = Timeline()
    for index in range(MOST + 10):
        line.take(10 * index, 10 * index + 1)
    assert line.free_from(0, 5) == 91
    assert line.end == 10 * (MOST + 9) + 1


# Through the API, with a trace

PROFILED = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
program = cl.Program(context, "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }").build(cache_dir=False)
data = np.arange(1 << 20, dtype=np.int32)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
kernel = cl.Kernel(program, "twice")
kernel.set_arg(0, buffer)
events = [cl.enqueue_copy(queue, buffer, data, is_blocking=False)]
events += [cl.enqueue_nd_range_kernel(queue, kernel, data.shape, None) for _ in range(3)]
events += [cl.enqueue_copy(queue, data, buffer, is_blocking=False)]
queue.finish()
assert data[3] == 24
for event in events:
    profile = event.profile
    assert profile.queued <= profile.submit <= profile.start < profile.end == profile.complete
    print(profile.queued, profile.submit, profile.start, profile.end)
"""


def run(*words: object) -> str:
    return output(fpgart(*words))


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    """Output and trace of two runs of the same host."""
    pytest.importorskip("pyopencl")
    folder = tmp_path_factory.mktemp("traces")
    found = []
    for name in ("one.json", "two.json"):
        options = ("--board", "a10_ref", "--time", "model", "--trace", folder / name)
        found.append((run("run", *options, "--", sys.executable, "-W", "ignore", "-c", PROFILED), folder / name))
    return found


def modelled_events(file: Path) -> list[dict[str, Any]]:
    return [event for event in json.loads(file.read_text()) if event.get("cat") == "time"]


def test_a_host_gets_the_same_profile_in_every_run(profiled: list[tuple[str, Path]]) -> None:
    (first, one), (second, two) = profiled
    assert first == second
    assert [e["args"] for e in modelled_events(one)] == [e["args"] for e in modelled_events(two)]


def test_the_profile_is_the_boards_time(profiled: list[tuple[str, Path]]) -> None:
    rows = [[int(number) for number in line.split()] for line in profiled[0][0].splitlines()]
    assert [end - start for _, _, start, end in rows] == [644_400, *[240 + 3_495_260] * 3, 644_400]  # 2 cycles of depth
    assert rows[1][2] - rows[1][1] == 2_000 * MS + 10_000


def test_the_trace_has_each_step_on_a_track_of_the_simulated_clock(profiled: list[tuple[str, Path]]) -> None:
    events = modelled_events(profiled[0][1])
    assert [event["name"] for event in events] == ["write", "program", "kernel", "kernel", "kernel", "read"]
    for event in events:
        args = event["args"]
        assert event["pid"] == 1000
        assert (event["ts"], event["dur"]) == (args["begin"] / 1000, (args["end"] - args["begin"]) / 1000)
        assert args["queued"] <= args["submit"] <= args["begin"] < args["end"]


def test_the_report_says_what_bounds_each_kernel_and_the_whole(profiled: list[tuple[str, Path]]) -> None:
    text = run("report", profiled[0][1])
    assert "device 0: kernel twice: 3 times, 12 MiB, 10.486 ms, bound by pipeline" in text
    assert "device 0: write: 1 time, 4 MiB, 0.644 ms, bound by PCIe write" in text
    assert "ms; programming apart: 2000.000 ms" in text
    busiest = next(line for line in text.splitlines() if "busiest first" in line)
    assert busiest.startswith("  device 0: busiest first: pipeline of twice 10.486 ms (")
    assert "programming" not in busiest
    facts = json.loads(run("report", "--json", profiled[0][1]))
    assert facts["microseconds"] < 60e6
    kernel = next(found for found in facts["modelled"] if found["what"] == "kernel twice")
    assert kernel["bounds"] == {"pipeline": 3}
    assert {"device": 0, "resource": "PCIe read", "nanoseconds": 644_400} in facts["busy"]


def test_a_trace_without_the_model_has_none_of_its_words(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    file = tmp_path / "trace.json"
    run("run", "--trace", file, "--", sys.executable, "-W", "ignore", "-c", PROFILED)
    assert modelled_events(file) == []
    assert "simulated time" not in run("report", file)


BINARIES = """
import sys, pyopencl as cl
SOURCE = '''__kernel __attribute__((num_simd_work_items(W))) __attribute__((num_compute_units(2)))
__attribute__((reqd_work_group_size(64, 1, 1))) void k(__global int *x) { x[get_global_id(0)] += 1; }'''
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 22)

def loaded(program):
    return cl.Program(context, context.devices, program.get_info(cl.program_info.BINARIES))

def took(program):
    event = program.k(queue, (1 << 20,), (64,), buffer)
    event.wait()
    return event.profile.end - event.profile.start

built = cl.Program(context, SOURCE).build("-DW=8", cache_dir=False)
again = loaded(built).build()
part = cl.Program(context, SOURCE)
part.compile("-DW=8")
linked = cl.link_program(context, [part])
programs = [built, again, loaded(again).build()]
programs += [linked, loaded(linked).build(), cl.link_program(context, [loaded(part)])]
cached = [cl.Program(context, SOURCE).build("-DW=8", cache_dir=sys.argv[1]) for _ in range(2)]
print(*(took(program) for program in programs + cached))
"""


def test_attributes_for_hardware_survive_binaries_linking_and_the_cache_of_pyopencl(tmp_path: Path) -> None:
    pytest.importorskip("pyopencl")
    host = [sys.executable, "-W", "ignore", "-c", BINARIES, tmp_path]
    took = run("run", "--board", "a10_ref", "--time", "model", "--", *host).split()
    assert took == ["261363"] * 8
