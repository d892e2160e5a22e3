# SPDX-License-Identifier: Apache-2.0
"""Transfers that C carries out beside the scheduler, under every schedule of small hosts.

Two properties: whatever excludes each other never runs at once, and everything ends. The scheduler, the loan and what C
does with it (board/loan.c) are the real ones; copies are models that take time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import pytest
from effort import EFFORT
from fpgart._native import ffi, lib
from hypothesis import given, settings
from hypothesis import strategies as st
from interleavings import Chooser, Randomly, schedules
from test_scheduler_interleavings import MOST_SCHEDULES, RANDOM_SCHEDULES, Work, World

from fpgart import opencl as cl
from fpgart.errors import CLError
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, Event
from fpgart.runtime.scheduling.occupancy import Direction

BUFFERS, SIZE = (0x1000, 0x2000), 64
IN, OUT = Direction.IN, Direction.OUT


@dataclass(eq=False)
class Watched(Work):
    """An operation that tells when it begins to run and when it has, and may move the first buffer (`moves`)."""

    queue: CommandQueue | None = None
    moves: bool = False

    def run(self) -> Work | None:
        world = self.world
        assert isinstance(world, LendingWorld)
        with world.running(self.queue, None if self.kind != "transfer" else self.way, programs=self.programming):
            following = super().run()
            if self.moves:
                world.places[0] += 0x100
                world.loan.forget()
        return following


class LendingWorld(World):
    """A world whose board lends its transfers. There are two buffers, at `places` in the board's memory."""

    def __init__(self, chooser: Chooser, *, full_duplex: bool = False) -> None:
        super().__init__(chooser, full_duplex=full_duplex)
        board: Any = self.board
        board.loan, board.ready_transfers = None, self.board.transfers
        self.context.reap = lambda: None
        self.loan = self.scheduler.loan_of(board)
        self.native = ffi.cast("struct loan *", self.loan.address)
        self.traffic = ffi.new("struct board_traffic[2]")
        self.places = [0x100, 0x10100]
        self.under_way: list[tuple[CommandQueue | None, Direction | None, bool]] = []
        self.queues = 0
        self.copied = 0
        """How many copies were C's."""

    def queue(self, *, in_order: bool = True) -> CommandQueue:
        queue = super().queue(in_order=in_order)
        self.queues += 1
        queue.handle = self.queues
        return queue

    def watched(self, queue: CommandQueue, kind: str = "transfer", **more: Any) -> Watched:
        made = Watched(self, kind, queue=queue, **more)
        self.works.append(made)
        return made

    @contextmanager
    def running(self, queue: CommandQueue | None, way: Direction | None, *, programs: bool = False) -> Iterator[None]:
        """Something runs; `way` None: nothing is moved. Raises AssertionError if it must not, beside what runs."""
        mine = (queue, way, programs)
        for other_queue, other_way, other_programs in self.under_way:
            moving = way is not None and other_way is not None
            lanes = self.board.occupancy.lanes
            assert not (moving and lanes(way or IN) & lanes(other_way or IN)), "two transfers"
            assert not (programs and other_way is not None), "programmed beside a transfer"
            assert not (other_programs and way is not None), "a transfer beside programming"
            assert not (queue is other_queue and queue is not None and queue.in_order), "two commands of a queue"
        self.under_way.append(mine)
        yield
        self.under_way.remove(mine)

    def put(self, queue: CommandQueue, kind: str = "transfer", **more: Any) -> Event:
        """Enqueue something."""
        return self.enqueue(queue, self.watched(queue, kind, **more))

    def copy(self, queue: CommandQueue, way: Direction = IN, buffer: int = 0) -> None:
        """A blocking transfer, as icd/copies.c has it: C's, or else Python's."""
        self.threads.pause()
        if self.copies(queue, way, buffer):
            self.copied += 1
            return
        self.blocking(queue, self.watched(queue, way=way))
        self.scheduler.lend(queue, queue.number, self.loan, lambda: self.enter(way, buffer))

    def host_copies(self, queue: CommandQueue, way: Direction = IN, buffers: Sequence[int] = (0, 0, 0)) -> None:
        """Add a thread of the host that makes one blocking transfer after another, of these buffers."""

        def copies() -> None:
            for buffer in buffers:
                self.copy(queue, way, buffer)

        self.threads.host(copies)

    def copies(self, queue: CommandQueue, way: Direction, buffer: int = 0) -> bool:
        if not lib.loan_borrow(self.native, int(way)):
            return False
        self.threads.pause()
        place = lib.loan_find(self.native, queue.handle, queue.number, BUFFERS[buffer], 1, int(way), 0, SIZE)
        if place:
            with self.running(queue, way):
                assert place == self.places[buffer]
                self.threads.pause()
                assert place == self.places[buffer], "it was moved"
            lib.loan_count(self.native, BUFFERS[buffer], SIZE)
        self.threads.pause()
        if lib.loan_return(self.native):
            self.threads.pause()
            self.scheduler.copy_ended(self.loan.address)
        return bool(place)

    def enter(self, way: Direction, buffer: int, context: int = 1) -> bool:
        place = self.places[buffer], SIZE
        self.loan.enter(BUFFERS[buffer], 1, way, place, int(ffi.cast("uintptr_t", self.traffic)), context)
        return True

    def explore(self) -> None:
        super().explore()
        assert not self.under_way
        assert self.traffic[0].calls + self.traffic[1].calls == self.copied
        assert not self.loan.is_out
        assert self.loan.copy is None


def copies_beside_commands_of_the_same_queue(world: LendingWorld) -> None:
    queue = world.queue()

    def others() -> None:
        world.put(queue, "a")
        queue.finish()

    world.host_copies(queue)
    world.threads.host(others)


def copies_beside_polled_transfers_of_another_queue(world: LendingWorld) -> None:
    first, second = world.queue(), world.queue()

    def others() -> None:
        event = world.put(second)
        second.flush()
        world.threads.block(lambda: event.status <= COMPLETE)

    world.host_copies(first)
    world.threads.host(others)


def copies_beside_a_blocking_transfer(world: LendingWorld) -> None:
    first, second = world.queue(), world.queue()
    world.host_copies(first, OUT)
    world.threads.host(lambda: world.blocking(second, world.watched(second, way=IN)))


def copies_beside_programming(world: LendingWorld) -> None:
    first, second = world.queue(), world.queue()

    def others() -> None:
        for program in "ba":
            world.put(second, program)
        second.finish()

    world.host_copies(first)
    world.threads.host(others)


def copies_beside_a_move_of_the_buffer(world: LendingWorld) -> None:
    first, second = world.queue(), world.queue()

    def others() -> None:
        world.put(second, way=Direction.BOTH, moves=True)
        second.finish()

    world.host_copies(first, buffers=(0, 0, 1, 0))
    world.threads.host(others)


def copies_of_two_threads_in_one_queue(world: LendingWorld) -> None:
    queue = world.queue()
    for way in (IN, OUT):
        world.host_copies(queue, way)


def copies_of_two_threads_with_a_queue_each(world: LendingWorld) -> None:
    for way in (IN, OUT):
        queue = world.queue()
        world.host_copies(queue, way)


def copies_of_one_thread_behind_a_kernel_beside_those_of_another(world: LendingWorld) -> None:
    first, second = world.queue(), world.queue()

    def others() -> None:
        kernel = world.put(second, "a")
        second.flush()
        world.copy(second)
        assert kernel.status <= COMPLETE

    world.host_copies(first, buffers=(0, 0))
    world.threads.host(others)


def copies_in_a_queue_without_order_beside_a_barrier(world: LendingWorld) -> None:
    queue = world.queue(in_order=False)

    def others() -> None:
        world.put(queue, "a")
        world.scheduler.wait(world.enqueue(queue, None))

    world.host_copies(queue)
    world.threads.host(others)


def copies_beside_a_command_that_waits_for_its_queue_and_a_user_event(world: LendingWorld) -> None:
    queue, user = world.queue(), world.user_event()

    def others() -> None:
        world.enqueue(queue, world.watched(queue, "a"), [user])
        user.set_status(COMPLETE)
        queue.flush()

    world.host_copies(queue, buffers=(0, 0))
    world.threads.host(others)


def copies_while_what_is_lent_is_called_in(world: LendingWorld) -> None:
    queue = world.queue()

    def others() -> None:
        for _ in range(2):
            world.threads.pause()
            world.scheduler.call_in()

    world.host_copies(queue)
    world.threads.host(others)


HOSTS = [
    copies_beside_commands_of_the_same_queue,
    copies_beside_polled_transfers_of_another_queue,
    copies_beside_a_blocking_transfer,
    copies_beside_programming,
    copies_beside_a_move_of_the_buffer,
    copies_of_two_threads_in_one_queue,
    copies_of_two_threads_with_a_queue_each,
    copies_of_one_thread_behind_a_kernel_beside_those_of_another,
    copies_in_a_queue_without_order_beside_a_barrier,
    copies_beside_a_command_that_waits_for_its_queue_and_a_user_event,
    copies_while_what_is_lent_is_called_in,
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_every_schedule_keeps_apart_what_excludes_each_other_and_ends(host: Callable[[LendingWorld], None]) -> None:
    in_c = 0
    for chooser in schedules(preemptions=2, most=MOST_SCHEDULES // 3):
        world = LendingWorld(chooser)
        host(world)
        world.explore()
        in_c += world.copied
    assert in_c, "no copy was C's"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_random_schedules_keep_apart_what_excludes_each_other_and_end(host: Callable[[LendingWorld], None]) -> None:
    for seed in range(RANDOM_SCHEDULES):
        world = LendingWorld(Randomly(Random(seed)), full_duplex=bool(seed % 2))
        host(world)
        world.explore()


STEPS = (
    "copy",
    "copy",
    "copy",
    "other buffer",
    "read",
    "transfer",
    "kernel",
    "other",
    "move",
    "finish",
    "flush",
    "call in",
)


def do(world: LendingWorld, queue: CommandQueue, step: str) -> None:
    if step in ("copy", "read", "other buffer"):
        world.copy(queue, OUT if step == "read" else IN, int(step == "other buffer"))
    elif step == "finish":
        queue.finish()
    elif step == "flush":
        queue.flush()
    elif step == "call in":
        world.scheduler.call_in()
    elif step == "move":
        world.put(queue, way=Direction.BOTH, moves=True)
    else:
        world.put(queue, {"transfer": "transfer", "kernel": "a", "other": "b"}[step])


@settings(max_examples=150 * EFFORT, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(STEPS), max_size=8), min_size=2, max_size=3),
    st.lists(st.booleans(), min_size=1, max_size=2),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_copies_beside_all_kinds_of_commands_are_kept_apart_and_end(
    scripts: list[list[str]], orders: list[bool], full_duplex: bool, seed: int
) -> None:
    world = LendingWorld(Randomly(Random(seed)), full_duplex=full_duplex)
    queues = [world.queue(in_order=order) for order in orders]

    def host(number: int) -> None:
        for step in scripts[number]:
            do(world, queues[number % len(queues)], step)
        for queue in queues:
            queue.flush()

    for number in range(len(scripts)):
        world.threads.host(partial(host, number))
    world.explore()


def test_who_waits_until_nothing_runs_waits_for_copies() -> None:
    """Boards are made new then, so nothing may be copied."""
    busy = 0
    for seed in range(RANDOM_SCHEDULES):
        world = LendingWorld(Randomly(Random(seed)))
        queue = world.queue()

        def copies(world: LendingWorld = world, queue: CommandQueue = queue) -> None:
            world.copy(queue)
            world.copy(queue)

        def settles(world: LendingWorld = world) -> None:
            nonlocal busy
            world.threads.block(lambda: world.loan.is_out or world.copied)
            busy += world.loan.is_out
            assert world.scheduler.settle(1)
            assert not world.loan.is_out
            assert not world.under_way

        world.threads.host(copies)
        world.threads.host(settles)
        world.explore()
    assert busy, "no copy was under way"


def test_finish_waits_for_a_copy_that_has_begun() -> None:
    for seed in range(RANDOM_SCHEDULES):
        world = LendingWorld(Randomly(Random(seed)))
        queue = world.queue()

        def copies(world: LendingWorld = world, queue: CommandQueue = queue) -> None:
            world.copy(queue)
            world.copy(queue)

        def finishes(world: LendingWorld = world, queue: CommandQueue = queue) -> None:
            world.threads.block(lambda: (world.loan.is_out and world.under_way) or world.copied)
            queue.finish()
            assert not world.under_way

        world.threads.host(copies)
        world.threads.host(finishes)
        world.explore()


def test_nothing_is_at_rest_while_c_copies() -> None:
    world = LendingWorld(Randomly(Random(1)))
    queue = world.queue()
    world.copy(queue)
    assert world.scheduler.at_rest()
    assert lib.loan_borrow(world.native, int(IN))
    assert not world.scheduler.at_rest()
    assert not lib.loan_return(world.native), "nobody waits for it"
    assert world.scheduler.at_rest()


def test_what_was_lent_to_a_queue_that_is_gone_is_taken_back_while_c_looks_at_it() -> None:
    world = LendingWorld(Randomly(Random(1)))
    gone, queue = world.queue(), world.queue()
    assert world.scheduler.lend(gone, gone.number, world.loan, lambda: world.enter(IN, 0))
    world.context.queues.discard(gone)
    del gone
    gc.collect()
    assert world.loan.queue is None, "something keeps the queue"
    assert lib.loan_borrow(world.native, int(IN)), "a thread with another queue looks"
    world.scheduler.call_in()
    assert not world.scheduler.lend(queue, queue.number, world.loan, lambda: world.enter(IN, 0)), "that still looks"
    assert lib.loan_return(world.native), "it tells"
    world.scheduler.copy_ended(world.loan.address)
    assert world.scheduler.lend(queue, queue.number, world.loan, lambda: world.enter(IN, 0))


def test_what_was_never_lent_is_of_no_queue_and_may_be_called_in() -> None:
    world = LendingWorld(Randomly(Random(1)))
    assert world.loan.queue is None
    assert world.loan.call_in() == 0
    assert world.loan.queue is None


@pytest.mark.parametrize(("way", "kind"), [(IN, cl.CL_COMMAND_WRITE_BUFFER), (OUT, cl.CL_COMMAND_READ_BUFFER)])
def test_a_copy_that_has_begun_becomes_a_command_of_its_kind(way: Direction, kind: int) -> None:
    world = LendingWorld(Randomly(Random(1)))
    queue = world.queue()
    event = world.loan.become_command(queue, int(way))
    assert (event.queue, event.command_type) == (queue, kind)
    assert world.loan.copy is event


def test_buffers_of_another_context_are_forgotten_when_a_loan_changes_contexts() -> None:
    world = LendingWorld(Randomly(Random(1)))
    for context, kept in ((1, [True, False]), (2, [False, True]), (2, [False, True])):
        world.enter(IN, context - 1, context)
        world.loan.lend(queue := world.queue(), queue.number)
        found = [
            lib.loan_find(world.native, queue.handle, queue.number, buffer, 1, int(IN), 0, SIZE) for buffer in BUFFERS
        ]
        assert list(map(bool, found)) == kept
        world.loan.call_in()


def test_nothing_is_lent_once_the_scheduler_is_closed() -> None:
    world = LendingWorld(Randomly(Random(1)))
    queue = world.queue()
    closed: list[bool] = []

    def host() -> None:
        world.copy(queue)
        closed.append(world.scheduler.close(1))
        with pytest.raises(CLError, match="exiting"):
            queue.run(0, world.watched(queue), True)
        world.works.pop()
        assert not world.scheduler.lend(queue, queue.number, world.loan, lambda: world.fail("it is asked"))
        assert not world.copies(queue, IN)

    world.threads.host(host)
    world.explore()
    assert closed == [True]


def test_what_was_lent_for_nothing_is_lent_less_often_until_it_is_of_use() -> None:
    world = LendingWorld(Randomly(Random(1)))
    queue = world.queue()
    tried: list[int] = []

    def lends() -> None:
        """The transfers that it takes until they are lent."""
        tried.append(next(count for count in range(1, 100) if world.loan.is_worth_while()))
        world.scheduler.lend(queue, queue.number, world.loan, lambda: world.enter(IN, 0))

    def host() -> None:
        for _ in range(9):
            lends()
            world.scheduler.call_in()
        lends()
        assert world.copies(queue, IN)
        world.copied += 1
        world.scheduler.call_in()
        lends()

    world.threads.host(host)
    world.explore()
    assert tried == [1, 3, 7, 15, 31, 61, 61, 61, 61, 61, 1]


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_transfers_that_take_turns_are_all_lent_soon(turns: int) -> None:
    world = LendingWorld(Randomly(Random(1)))
    queue = world.queue()

    def turn(way: Direction, buffer: int) -> bool:
        """Whether C has carried it out."""
        if world.copies(queue, way, buffer):
            world.copied += 1
            return True
        world.blocking(queue, world.watched(queue, way=way))
        if world.loan.is_worth_while():
            world.scheduler.lend(queue, queue.number, world.loan, lambda: world.enter(way, buffer))
        return False

    def host() -> None:
        for _ in range(20):
            done = [turn(*each) for each in ((IN, 0), (OUT, 0), (IN, 1), (OUT, 1))[:turns]]
        assert all(done)

    world.threads.host(host)
    world.explore()
