# SPDX-License-Identifier: Apache-2.0
"""A 66AK2x as a device: heaps behind buffers, regions mapped for launches, programs in memory, tasks on cores."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from machine import Boards, Machine, free_bytes, increment, listening, nothing

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidOperation, MemObjectAllocationFailure, OutOfResources
from fpgart.board.description import BoardDescription
from fpgart.board.keystone.partition import parse
from fpgart.board.memory_system import Showing
from fpgart.engine.interface import SIZES
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.memory import svm
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.watch import report
from fpgart.watch.page import as_html
from fpgart.watch.trace.recorder import Trace

pytestmark = pytest.mark.machine("k2h")

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FIXED, MAPPED, ON_CHIP = range(3)
SMALL_BOARD = """<keystone name="small">
  <cmem from="8:2000:0000" to="8:22FF:FFFF"/>
  <cmem from="8:8000:0000" to="8:83FF:FFFF"/>
  <fixed from="A000:0000" to="A7FF:FFFF"/>
  <destination from="8000:0000" to="803F:FFFF"/>
</keystone>"""


def small_board() -> BoardDescription:
    """48 MiB fixed, 64 MiB mapped, one destination of 4 MiB."""
    return parse(SMALL_BOARD.encode(), "small.xml").description()


def launch_with(machine: Machine, *buffers: Buffer, items: int = 1) -> LaunchKernel:
    return new_launch(kernel_of(machine, *buffers), machine.device, 1, (0, 0, 0, items, 1, 1, 1, 1, 1), False)


def wait_until(fact: Callable[[], bool]) -> None:
    while not fact():
        threading.Event().wait(0.001)


def kernel_of(machine: Machine, *given: Buffer | int, function: Callable[..., None] = nothing) -> Kernel:
    return machine.kernel(function, *("",) * len(given), given=given)


@pytest.mark.parametrize(
    "sizes",
    [
        (GIB, 512 * MIB),
        (512 * MIB,) * 3,
        (512 * MIB, 512 * MIB, *(128 * MIB,) * 4),
        (128 * MIB,) * 7,
        (16 * MIB,) * 20,
    ],
)
def test_buffers_that_fit_together_are_launched(sizes: tuple[int, ...], machine: Machine) -> None:
    buffers = [machine.buffer(size) for size in sizes]
    made = launch_with(machine, *buffers)
    assert made.showing is not None
    assert len(made.showing.regions) <= 7
    assert all(address < 1 << 32 for address in made.showing.addresses)


@pytest.mark.parametrize("sizes", [(GIB, GIB), (512 * MIB,) * 4, (2 * GIB,), (GIB, 512 * MIB, 64 * MIB)])
def test_a_launch_that_cannot_be_mapped_fails_with_words(sizes: tuple[int, ...], machine: Machine) -> None:
    buffers = [machine.buffer(size) for size in sizes]
    with pytest.raises(OutOfResources, match=r"kernel 'k' cannot be launched: argument \d"):
        launch_with(machine, *buffers)
    assert launch_with(machine, machine.buffer(512 * MIB)).showing is not None


def test_sub_buffers_map_only_their_window(machine: Machine) -> None:
    parents = [machine.buffer(2 * GIB) for _ in range(3)]
    for part in range(4):
        windows = [machine.sub_buffer(parent, part * 512 * MIB, 512 * MIB) for parent in parents]
        made = launch_with(machine, *windows)
        assert made.showing is not None
        assert sum(region.size for region in made.showing.regions) == 3 * 512 * MIB


def test_four_consecutive_buffers_share_a_region(machine: Machine) -> None:
    machine.bind(machine.keep(machine.buffer(512 * MIB)))
    buffers = [machine.buffer(128 * MIB) for _ in range(4)]
    for buffer in buffers:
        machine.bind(buffer)
    made = launch_with(machine, *buffers)
    assert made.showing is not None
    assert [region.size for region in made.showing.regions] == [512 * MIB]


def test_a_launch_keeps_its_regions_while_others_are_planned(machine: Machine) -> None:
    buffers = [machine.keep(machine.buffer(GIB)) for _ in range(2)]
    first = launch_with(machine, buffers[0])
    before = first.showing, first.invocation_image()
    second = launch_with(machine, buffers[1])
    assert second.showing is not None
    assert first.showing is not None
    assert [region.kernel for region in second.showing.regions] == [region.kernel for region in first.showing.regions]
    assert (first.showing, first.invocation_image()) == before


@pytest.mark.parametrize(("sets", "size"), [(8, 256 * MIB), (16, 128 * MIB)])
def test_sets_of_three_buffers_fill_the_mapped_heap_and_each_is_launched(
    sets: int, size: int, machine: Machine
) -> None:
    placed = [[machine.keep(machine.buffer(size)) for _ in range(3)] for _ in range(sets)]
    for buffers in placed:
        for buffer in buffers:
            machine.bind(buffer)
        assert launch_with(machine, *buffers).showing is not None
    with pytest.raises(MemObjectAllocationFailure):
        machine.bind(machine.buffer(size))


def test_fixed_buffers_are_seen_where_they_always_are(machine: Machine) -> None:
    buffer = machine.buffer(KIB)
    address = machine.bind(buffer)
    made = launch_with(machine, buffer)
    assert made.showing is not None
    assert made.showing.addresses == (address - 0x8_0000_0000 + 0x8000_0000,)
    assert made.showing.regions == ()


def test_the_invocation_image_has_the_addresses_of_the_dsp(machine: Machine) -> None:
    buffer = machine.buffer(64 * MIB)
    made = launch_with(machine, buffer)
    assert made.showing is not None
    assert made.invocation_image().endswith(made.showing.addresses[0].to_bytes(8, "little"))


def test_kernels_change_mapped_buffers_and_windows(boards: Boards) -> None:
    machine = boards(small_board())
    parent = machine.buffer(32 * MIB)
    machine.write(parent, b"\5" * KIB)
    window = machine.sub_buffer(parent, 16 * MIB, 4 * MIB)
    machine.write(parent, b"\7", 16 * MIB)
    machine.run(kernel_of(machine, window, function=increment))
    assert machine.read(parent, 2) == b"\5\5"
    assert machine.read(parent, 1, 16 * MIB) == b"\x08"


def test_contents_move_between_boards_of_both_kinds(boards: Boards) -> None:
    machine = boards("k2h", "a10_small")
    buffer = machine.buffer(20 * MIB)
    machine.write(buffer, b"\1" * KIB)
    for device in (0, 1, 0):
        machine.run(kernel_of(machine, buffer, function=increment), device=device)
    assert machine.read(buffer, 2) == b"\4\1"


def test_on_chip_buffers_are_there_by_name(machine: Machine) -> None:
    buffer = machine.buffer(MIB)
    buffer.hint = "msmc"
    address = machine.bind(buffer)
    made = launch_with(machine, buffer)
    assert (buffer.memory, address) == (ON_CHIP, 0x0C00_0000)
    assert made.showing is not None
    assert made.showing.addresses == (0x0C00_0000,)


def test_on_chip_memory_is_never_taken_by_itself(boards: Boards) -> None:
    machine = boards(small_board())
    for _ in range(4):
        machine.bind(machine.keep(machine.buffer(16 * MIB)))
    with pytest.raises(MemObjectAllocationFailure):
        machine.bind(machine.buffer(MIB))


def test_programs_lie_in_the_fixed_heap_while_somebody_has_them(machine: Machine) -> None:
    device = machine.device
    free = free_bytes(device.memories, FIXED)
    first, second = machine.kernel(nothing, source="a" * KIB), machine.kernel(nothing, source="b" * KIB)
    for kernel in (first, second, first):
        machine.run(kernel)
    assert len(device.loaded) == 2
    assert machine.device.mmd.traffic["program"].calls == 2
    assert free_bytes(device.memories, FIXED) == free - 2 * KIB
    del first, second, kernel

    def forgotten() -> bool:
        machine.context.reap()
        return device.loaded == {}

    wait_until(forgotten)  # the thread that ran the last launch may still hold it
    assert free_bytes(device.memories, FIXED) == free


def test_a_program_is_a_reserved_block_until_nobody_has_it(machine: Machine) -> None:
    kernel = machine.kernel(nothing, source="a" * KIB)
    identity = kernel.program.identity
    machine.run(kernel)
    assert [(block.program, block.memory, block.range.size) for block in machine.watcher.reserved] == [
        (identity, FIXED, KIB)
    ]
    del kernel

    def freed() -> bool:
        machine.context.reap()
        return [block.program for block in machine.watcher.freed] == [identity]

    wait_until(freed)


def test_the_regions_show_what_they_show_at_boot_when_the_kernel_has_ended(machine: Machine) -> None:
    told: list[object] = []

    def teller(what: str) -> Callable[[LaunchKernel, Showing], None]:
        return lambda launch, showing: told.append((what, [region.size for region in showing.regions]))

    with listening(SimpleNamespace(regions_set=teller("set"), regions_restored=teller("restored"))):
        mapped = machine.keep(machine.buffer(32 * MIB))
        for buffer in (mapped, machine.keep(machine.buffer(KIB))):
            machine.run(kernel_of(machine, buffer, function=lambda address: told.append("kernel")))
    assert told == [("set", [32 * MIB]), "kernel", ("restored", [32 * MIB]), "kernel"]


def test_shared_virtual_memory_is_out_of_the_dsps_reach(boards: Boards) -> None:
    machine = boards("usm_s10", "k2h")
    address = svm.allocate(machine.context, 4096, 0)
    kernel = kernel_of(machine, address + 8)
    machine.run(kernel)
    with pytest.raises(InvalidOperation, match=r"is shared virtual memory, which device 1 \('k2h'\) does not reach"):
        machine.enqueue(kernel, 1)
    svm.free(machine.context, address)


def test_shared_virtual_memory_is_given_by_a_board_that_reaches_it(boards: Boards) -> None:
    machine = boards("k2h", "usm_s10")
    address = svm.allocate(machine.context, 4096, 0)
    assert [machine.calls(device) for device in range(2)] == [{}, {"host_alloc": (1, 4096)}]
    svm.free(machine.context, address)
    assert machine.devices[1].mmd.traffic["free"].calls == 1


def test_a_program_stays_loaded_while_one_that_is_the_same_lives(machine: Machine) -> None:
    device = machine.device
    free = free_bytes(device.memories, FIXED)
    kernels = [machine.kernel(nothing, source="a" * KIB) for _ in range(3)]
    for kernel in kernels:
        machine.run(kernel)
    identities = {kernel.program.identity for kernel in kernels}
    deaths = [weakref.ref(kernel.program) for kernel in kernels]
    del kernel
    for death in deaths:
        assert set(device.loaded) == identities
        assert free_bytes(device.memories, FIXED) == free - KIB
        del kernels[0]
        wait_until(lambda death=death: death() is None)  # type: ignore[misc]
        machine.context.reap()
    assert (device.loaded, free_bytes(device.memories, FIXED)) == ({}, free)
    assert device.mmd.traffic["program"].calls == 1


def test_eight_tasks_run_at_once_and_no_more(machine: Machine) -> None:
    together, most = threading.Barrier(8), []
    running = 0
    lock = threading.Lock()

    def task(*_: int) -> None:
        nonlocal running
        with lock:
            running += 1
            most.append(running)
        together.wait()
        with lock:
            running -= 1

    kernel = machine.kernel(task)
    queue = CommandQueue(machine.context, machine.device, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    for _ in range(16):
        queue.enqueue(cl.CL_COMMAND_TASK, machine.launch_of(kernel))
    queue.finish()
    assert max(most) == 8
    assert machine.device.occupancy.busy_cores == 0


def test_an_nd_range_has_all_cores(machine: Machine) -> None:
    made = launch_with(machine, items=64)
    assert SIZES.unpack(made.sizes)[3] == 64
    assert made.cores == machine.device.board.cores == 8


@pytest.mark.parametrize(("items", "waits"), [(1, True), (64, False)])
def test_a_launch_may_wait_for_others_if_these_may_have_cores_at_the_same_time(
    boards: Boards, items: int, waits: bool
) -> None:
    assert launch_with(boards("k2h"), items=items).needs_thread is waits


def test_a_kernel_that_waits_for_others_takes_no_core_from_them(machine: Machine) -> None:
    kernel = kernel_of(machine)
    kernel.engine_kernel.waits_for_others = True
    assert machine.launch_of(kernel).cores == 0


def test_a_launch_on_a_board_without_cores_counts_none(boards: Boards) -> None:
    machine = boards("a10_small")
    assert launch_with(machine).cores == 0


def test_the_largest_buffer_is_that_of_the_largest_heap(machine: Machine) -> None:
    assert machine.context.max_mem_alloc_size == 6 * GIB


# What traces and the report say


def traced(
    boards: Boards, tmp_path: Path, board: BoardDescription | str, work: Callable[[Machine], None]
) -> report.Report:
    machine = boards(board)
    trace = Trace(str(tmp_path / "trace.json"))
    trace.timeline.introduce(0, machine.device.board)
    trace.listen()
    try:
        work(machine)
    finally:
        trace.silence()
        trace.close()
    return report.read(tmp_path / "trace.json")


def test_a_trace_has_addresses_and_regions(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        kernel = kernel_of(machine, 1)
        window = machine.sub_buffer(machine.buffer(32 * MIB), 0, 4 * MIB)
        kernel.set_buffer(0, window)
        machine.run(kernel)

    traced(boards, tmp_path, small_board(), work)
    kernels = [e["args"] for e in report.events(tmp_path / "trace.json") if e.get("name") == "kernel"]
    assert [(shown["size"], shown["at"]) for shown in kernels[-1]["shown"]] == [(4 * MIB, "0x80000000")]
    assert kernels[-1]["regions"] == [{"physical": "0x880000000", "kernel": "0x80000000", "size": 4 * MIB}]


def test_a_buffer_that_wastes_its_region_is_named(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        machine.bind(machine.buffer(17 * MIB))

    found = traced(boards, tmp_path, "k2h", work)
    assert [finding.bytes for finding in found.heap_advice] == [15 * MIB]
    assert "a power of two: its 17 MiB take up a region of 32 MiB" in report.as_text(found)


def test_a_hole_in_front_of_a_larger_buffer_is_named(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        for size in (32 * MIB, 512 * MIB):
            machine.bind(machine.keep(machine.buffer(size)))

    found = traced(boards, tmp_path, "k2h", work)
    assert [finding.bytes for finding in found.heap_advice] == [480 * MIB]
    assert "before the smaller buffer" in found.heap_advice[0].words


def test_powers_of_two_in_decreasing_order_need_no_advice(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        for size in (512 * MIB, 512 * MIB, 64 * MIB, 32 * MIB, KIB, 3 * KIB):
            machine.bind(machine.keep(machine.buffer(size)))

    assert traced(boards, tmp_path, "k2h", work).heap_advice == []


def test_the_order_that_would_have_fitted_is_told(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        for size in (32 * MIB, 3 * GIB, 2 * GIB):
            machine.bind(machine.keep(machine.buffer(size)))
        with pytest.raises(MemObjectAllocationFailure):
            machine.bind(machine.buffer(992 * MIB))

    found = traced(boards, tmp_path, "k2h", work)
    words = [finding.words for finding in found.heap_advice if "did not fit" in finding.words]
    assert len(words) == 1
    assert [part.split(")")[0] for part in words[0].split("(")[1:]] == ["3 GiB", "2 GiB", "992 MiB", "32 MiB"]


def test_no_order_is_told_where_none_would_have_fitted(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        machine.bind(machine.keep(machine.buffer(4 * GIB)))
        with pytest.raises(MemObjectAllocationFailure):
            machine.bind(machine.buffer(4 * GIB))

    assert traced(boards, tmp_path, "k2h", work).heap_advice == []


def test_the_page_draws_the_last_mapping_and_has_the_advice(boards: Boards, tmp_path: Path) -> None:
    def work(machine: Machine) -> None:
        machine.run(kernel_of(machine, machine.keep(machine.buffer(17 * MIB))))

    found = traced(boards, tmp_path, "k2h", work)
    text = as_html(found, report.ordered(tmp_path / "trace.json"), "test")
    assert "kernel &#x27;k&#x27; on device 0, 1 region" in text
    assert "32 MiB of 0x880000000" in text
    assert "its 17 MiB take up a region of 32 MiB" in text
