# SPDX-License-Identifier: Apache-2.0
"""Launches that C has the engine run beside the scheduler, under every schedule of small hosts.

As for transfers (test_lent_transfers.py): whatever excludes each other never runs at once, and everything ends. The
scheduler, the loan and what C asks of it (board/loan.c) are the real ones; the launches are models that take time.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from c_hosts import ROOT, build, plain_environment
from fpgart._native import ffi, lib
from interleavings import Chooser, Randomly, schedules
from test_lent_transfers import BUFFERS, IN, OUT, LendingWorld
from test_scheduler_interleavings import MOST_SCHEDULES, RANDOM_SCHEDULES

from fpgart.engine.choice import choose_engine
from fpgart.errors import OutOfResources
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, Event
from fpgart.runtime.scheduling.loan import LAUNCHES
from fpgart.runtime.scheduling.occupancy import Claim, Direction

KERNEL, ENGINE_KERNEL, ENGINE_QUEUE = 0x3000, 0x4000, 0x5000
SERIAL = 1
MOST, MOST_NS = 8, 1_000_000


class EngineQueues:
    """The queues of an engine that has one."""

    def __init__(self) -> None:
        self.taken = 0

    def acquire(self) -> int:
        self.taken += 1
        return ENGINE_QUEUE

    def release(self, handle: int) -> None:
        assert handle == ENGINE_QUEUE
        self.taken -= 1


class RunningWorld(LendingWorld):
    """A world whose board also lends launches of program "a" with the first buffer."""

    def __init__(self, chooser: Chooser, *, full_duplex: bool = False) -> None:
        super().__init__(chooser, full_duplex=full_duplex)
        board: Any = self.board
        board.ready_kernels = self.board.kernels
        board.ran_in_c = self.ran_in_c
        self.blocks = [SimpleNamespace(running=0)]
        self.engine_queues = EngineQueues()
        self.runs_under_way = 0
        self.run_in_c = self.counted = 0
        """Launches that C had run, and those that the board knows of."""

    def ran_in_c(self, launches: int, nanoseconds: int) -> None:
        assert nanoseconds == 10 * launches
        self.counted += launches

    def launch(self, queue: CommandQueue, count: int = 1) -> None:
        """Recorded launches that are waited for, as icd/runs.c has it: C's, or else Python's."""
        self.threads.pause()
        if self.has_run(queue, count):
            return
        event = self.put(queue, "a")
        self.scheduler.wait(event)
        self.scheduler.lend(queue, queue.number, self.loan, self.enter_run, runs=True)

    def has_run(self, queue: CommandQueue, count: int = 1) -> bool:
        if not lib.loan_borrow(self.native, LAUNCHES):
            return False
        self.threads.pause()
        found = (
            lib.loan_runs(self.native, queue.handle, queue.number, count)
            and lib.loan_find_kernel(self.native, KERNEL, SERIAL) == ENGINE_KERNEL
            and lib.loan_find_use(self.native, BUFFERS[0], SERIAL, 0)
        )
        if found:
            self._run(queue, int(found))
            lib.loan_count_run(self.native, count, 10 * count)
            self.run_in_c += count
        self.threads.pause()
        if lib.loan_return(self.native):
            self.threads.pause()
            self.scheduler.copy_ended(self.loan.address)
        return bool(found)

    def _run(self, queue: CommandQueue, place: int) -> None:
        assert lib.loan_engine_queue(self.native) == ENGINE_QUEUE
        with self.running(queue, None):
            self.runs_under_way += 1
            for _ in range(2):
                assert place == self.places[0], "the buffer was moved"
                assert self.board.loaded == "a", "another program was loaded"
                self.threads.pause()
            assert place == self.places[0], "the buffer was moved"
            assert self.board.loaded == "a", "another program was loaded"
            self.runs_under_way -= 1

    def enter_run(self) -> bool:
        if self.board.loaded != "a":
            return False
        self.loan.begin_to_enter(1)
        self.loan.enter_use(BUFFERS[0], SERIAL, 0, self.places[0])
        assert self.loan.enter_kernel(KERNEL, SERIAL, ENGINE_KERNEL)
        self.loan.enter_engine(self.engine_queues, MOST, MOST_NS, self.blocks)
        return True

    def move(self, queue: CommandQueue) -> None:
        """Move the first buffer, as a migration does: not while kernels use it."""
        work = self.watched(queue, way=Direction.BOTH, moves=True)
        claim = work.claim

        def claim_when_free() -> Claim:
            self.board.occupancy.call_in()
            return Claim.YIELDS if self.blocks[0].running else claim()

        work.claim = claim_when_free  # type: ignore[method-assign]
        self.enqueue(queue, work)

    def explore(self) -> None:
        super().explore()
        self.scheduler.call_in()
        assert self.counted == self.run_in_c
        assert not self.runs_under_way
        assert self.blocks[0].running == 0


def launches_beside_commands_of_the_same_queue(world: RunningWorld) -> None:
    queue = world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(queue)

    def others() -> None:
        world.put(queue)
        queue.finish()

    world.threads.host(launches)
    world.threads.host(others)


def launches_beside_copies_in_the_same_queue(world: RunningWorld) -> None:
    queue = world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(queue)

    def copies() -> None:
        for way in (IN, OUT, IN):
            world.copy(queue, way)

    world.threads.host(launches)
    world.threads.host(copies)


def launches_beside_programming(world: RunningWorld) -> None:
    first, second = world.queue(), world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(first)

    def others() -> None:
        for program in "ba":
            world.put(second, program)
        second.finish()

    world.threads.host(launches)
    world.threads.host(others)


def launches_beside_a_move_of_the_buffer(world: RunningWorld) -> None:
    first, second = world.queue(), world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(first)

    def others() -> None:
        world.move(second)
        second.finish()

    world.threads.host(launches)
    world.threads.host(others)


def launches_beside_a_polled_transfer_of_another_queue(world: RunningWorld) -> None:
    first, second = world.queue(), world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(first)

    def others() -> None:
        event = world.put(second)
        second.flush()
        world.threads.block(lambda: event.status <= COMPLETE)

    world.threads.host(launches)
    world.threads.host(others)


def launches_of_two_threads_with_a_queue_each(world: RunningWorld) -> None:
    for _ in range(2):
        queue = world.queue()

        def launches(queue: CommandQueue = queue) -> None:
            for _ in range(3):
                world.launch(queue)

        world.threads.host(launches)


def launches_while_what_is_lent_is_called_in(world: RunningWorld) -> None:
    queue = world.queue()

    def launches() -> None:
        for _ in range(3):
            world.launch(queue)

    def others() -> None:
        for _ in range(2):
            world.threads.pause()
            world.scheduler.call_in()

    world.threads.host(launches)
    world.threads.host(others)


HOSTS = [
    launches_beside_commands_of_the_same_queue,
    launches_beside_copies_in_the_same_queue,
    launches_beside_programming,
    launches_beside_a_move_of_the_buffer,
    launches_beside_a_polled_transfer_of_another_queue,
    launches_of_two_threads_with_a_queue_each,
    launches_while_what_is_lent_is_called_in,
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_every_schedule_keeps_apart_what_excludes_each_other_and_ends(host: Callable[[RunningWorld], None]) -> None:
    in_c = 0
    for chooser in schedules(preemptions=2, most=MOST_SCHEDULES // 3):
        world = RunningWorld(chooser)
        host(world)
        world.explore()
        in_c += world.run_in_c
    assert in_c, "no launch was C's"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_random_schedules_keep_apart_what_excludes_each_other_and_end(host: Callable[[RunningWorld], None]) -> None:
    for seed in range(RANDOM_SCHEDULES):
        world = RunningWorld(Randomly(Random(seed)), full_duplex=bool(seed % 2))
        host(world)
        world.explore()


def lent() -> tuple[RunningWorld, CommandQueue]:
    """A world whose board is lent to a queue for launches."""
    world = RunningWorld(Randomly(Random(1)))
    queue = world.queue()
    world.board.loaded = "a"
    assert world.scheduler.lend(queue, queue.number, world.loan, world.enter_run, runs=True)
    return world, queue


def test_c_runs_no_more_launches_at_once_than_it_was_told() -> None:
    world, queue = lent()
    assert world.has_run(queue, MOST)
    assert not world.has_run(queue, MOST + 1)


def test_kernels_that_run_longer_than_python_was_told_are_for_python_again() -> None:
    world, queue = lent()
    assert lib.loan_borrow(world.native, LAUNCHES)
    lib.loan_count_run(world.native, 1, MOST_NS + 1)
    lib.loan_return(world.native)
    assert not world.has_run(queue)


def test_a_queue_that_is_lent_to_for_transfers_alone_runs_no_launches() -> None:
    world, queue = lent()
    world.scheduler.call_in()
    assert world.scheduler.lend(queue, queue.number, world.loan, lambda: world.enter(IN, 0))
    assert not world.has_run(queue)
    assert world.copies(queue, IN)


def test_kernels_are_not_lent_while_others_run() -> None:
    world, queue = lent()
    world.scheduler.call_in()
    world.board.occupancy.begin_launch(0)
    assert not world.scheduler.lend(queue, queue.number, world.loan, world.enter_run, runs=True)


def test_kernels_are_not_lent_while_another_one_waits_for_its_turn() -> None:
    world, queue = lent()
    world.scheduler.call_in()
    waiting = Event(world.context, world.queue(), 0, world.watched(queue, "b"))
    world.works.clear()
    world.board.kernels.add(waiting)
    assert not world.scheduler.lend(queue, queue.number, world.loan, world.enter_run, runs=True)


def test_a_use_in_another_memory_is_for_python() -> None:
    world, _ = lent()
    assert lib.loan_find_use(world.native, BUFFERS[0], SERIAL, 0) == world.places[0]
    assert not lib.loan_find_use(world.native, BUFFERS[0], SERIAL, 1)
    assert not lib.loan_find_use(world.native, BUFFERS[0], SERIAL + 1, 0)
    assert not lib.loan_find_use(world.native, BUFFERS[1], SERIAL, 0)


def test_what_is_recorded_after_the_loan_was_called_in_is_for_python() -> None:
    world, queue = lent()
    assert lib.loan_borrow(world.native, LAUNCHES)
    assert lib.loan_runs(world.native, queue.handle, queue.number, 1)
    world.scheduler.call_in()
    assert not lib.loan_runs(world.native, queue.handle, queue.number, 1)


def test_launches_use_only_what_they_were_lent_last() -> None:
    world, _ = lent()
    world.scheduler.call_in()
    world.loan.forget_kernels()
    world.loan.enter_use(BUFFERS[1], SERIAL, 0, world.places[1])
    assert not lib.loan_find_use(world.native, BUFFERS[0], SERIAL, 0)
    assert lib.loan_find_use(world.native, BUFFERS[1], SERIAL, 0) == world.places[1]


def test_a_kernel_that_was_released_is_for_python() -> None:
    world, _ = lent()
    assert lib.loan_find_kernel(world.native, KERNEL, SERIAL) == ENGINE_KERNEL
    assert not lib.loan_find_kernel(world.native, KERNEL, SERIAL + 1)


def test_a_run_that_was_called_in_is_a_kernel_of_its_queue_that_keeps_its_buffers_in_place() -> None:
    world, queue = lent()
    assert lib.loan_borrow(world.native, LAUNCHES)
    world.scheduler.call_in()
    assert world.board.occupancy.launches == 1
    assert world.blocks[0].running == 1
    (event,) = queue.order.open
    assert lib.loan_return(world.native)
    world.scheduler.copy_ended(world.loan.address)
    assert event.status == COMPLETE
    assert world.board.occupancy.launches == world.blocks[0].running == 0


def test_the_engine_has_its_queue_back_when_the_loan_is_gone() -> None:
    world, _ = lent()
    assert world.engine_queues.taken == 1
    loan: Any = world.loan
    loan._give_queue_back()
    assert world.engine_queues.taken == 0
    assert ffi.cast("uintptr_t", world.native)


def test_nothing_is_lent_before_the_end_of_a_run_that_was_called_in_is_told() -> None:
    world, _queue = lent()
    other = world.queue()
    assert lib.loan_borrow(world.native, LAUNCHES)
    world.scheduler.call_in()
    assert lib.loan_return(world.native)
    assert not world.scheduler.lend(other, other.number, world.loan, lambda: world.enter(IN, 0))
    world.scheduler.copy_ended(world.loan.address)
    assert world.scheduler.lend(other, other.number, world.loan, lambda: world.enter(IN, 0))


def test_a_run_that_is_asked_for_is_a_command_until_its_end_is_told() -> None:
    world, _queue = lent()
    assert world.scheduler.command_of(world.loan) is None
    assert lib.loan_borrow(world.native, LAUNCHES)
    command = world.scheduler.command_of(world.loan)
    assert command is not None
    assert command is world.scheduler.command_of(world.loan)
    assert [command.status, world.scheduler.end_with(command).status] == [RUNNING, RUNNING]
    assert lib.loan_return(world.native)
    world.scheduler.copy_ended(world.loan.address)
    assert world.scheduler.command_of(world.loan) is None
    assert command.status == COMPLETE


def run_refused(tmp_path: Path, name: str, each: int) -> str:
    """What a host prints whose engine refuses one of `each` kernels, once the host says so."""
    engine, begun = tmp_path / "libpocl-refusing.so", tmp_path / "begun"
    source = ROOT / "tests" / "programs" / "refusing_engine.c"
    subprocess.run(["gcc", "-Wall", "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, "-o", engine], check=True)
    host = build(name, tmp_path, f"-I{ROOT / 'conformance' / 'c'}", "-lpthread")
    refusing = {
        "FPGART_ENGINE": str(engine),
        "REFUSING_ENGINE": choose_engine().path,
        "REFUSING_WHILE": str(begun),
        "REFUSING_EACH": str(each),
    }
    result = subprocess.run([host, begun], capture_output=True, text=True, env=plain_environment() | refusing)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_launches_that_the_engine_refuses_fail_and_no_others(tmp_path: Path) -> None:
    assert int(run_refused(tmp_path, "refused_launches", 7)) > 5, "none was refused"


def test_a_launch_whose_event_was_asked_for_while_c_had_it_run_fails_by_itself(tmp_path: Path) -> None:
    statuses = run_refused(tmp_path, "refused_while_running", 2)
    assert [int(status) for status in statuses.split()] == [COMPLETE, OutOfResources.status]
