"""The scheduler under every schedule of small hosts, and under random schedules of larger ones.

Two properties: what can run is run without further calls once it is flushed, and everything ends. Operations are
models with the board's real conflict matrix; queues, events, readiness, scheduler and workers are the real ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from effort import EFFORT, MOST_SCHEDULES
from hypothesis import given, settings
from hypothesis import strategies as st
from interleavings import Chooser, Explored, Randomly, Stuck, schedules

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, ComputeUnit, Event, ReadyList
from fpgart.runtime.scheduling.occupancy import Claim, Direction, Occupancy
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.scheduler import Scheduler

RANDOM_SCHEDULES = MOST_SCHEDULES // 10
FAILED = ExecStatusErrorForEventsInWaitList.status
OUT_OF_ORDER = cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE


class Board:
    """The resources of this test's operations."""

    def __init__(self, scheduler: Scheduler, *, full_duplex: bool = False) -> None:
        self.scheduler = scheduler
        self.occupancy = Occupancy(full_duplex=full_duplex, cores=0)
        self.transfers = scheduler.new_ready_list(ends_by_itself=True)
        self.kernels = scheduler.new_ready_list(ends_by_itself=False)
        self.loaded = "a"


@dataclass(eq=False)
class Work:
    """A transfer, or a kernel of program "a" or "b"; `until` it waits for while it runs."""

    world: World
    kind: str
    way: Direction = Direction.IN
    fails: bool = False
    until: Callable[[], bool] | None = None
    needs_thread: bool = False
    compute_unit: ComputeUnit | None = None
    ran: bool = False
    abandoned: int = 0
    programming: bool = False
    counted: bool = False

    @property
    def device(self) -> Any:
        return self.world.board

    @property
    def name(self) -> str:
        return "transfer" if self.kind == "transfer" else "kernel"

    @property
    def ready_list(self) -> ReadyList:
        board = self.world.board
        return board.transfers if self.kind == "transfer" else board.kernels

    @property
    def direction(self) -> Direction:
        if self.kind == "transfer":
            return self.world.board.occupancy.lanes(self.way)
        return Direction.NONE if self.counted else Direction.BOTH

    def claim(self) -> Claim:
        board = self.world.board
        if self.kind == "transfer":
            if not board.occupancy.admits(self.way):
                return Claim.WAITS
            board.occupancy.begin_transfer(self.way)
            return Claim.TAKEN
        if not self.counted:
            if board.loaded != self.kind:
                claim = board.occupancy.claim_programming()
                self.programming = claim is Claim.TAKEN
                return claim
            if board.occupancy.claim_launch(0) is not Claim.TAKEN:
                return Claim.WAITS
            self.counted = True
        return Claim.TAKEN

    def release(self, following: object) -> None:
        occupancy = self.world.board.occupancy
        if self.kind == "transfer":
            occupancy.end_transfer(self.way)
        elif self.programming:
            self.programming = False
            occupancy.end_programming()
            occupancy.begin_launch(0)
            self.counted = True
        else:
            occupancy.end_launch(0)

    def run(self) -> Work | None:
        threads = self.world.threads
        threads.pause()
        if self.programming:
            self.world.board.loaded = self.kind
            return self
        if self.until is not None:
            threads.block(self.until)
        self.world.log.append(self)
        self.ran = True
        if self.fails:
            raise OutOfResources("this one fails")
        return None

    def abandon(self) -> None:
        self.abandoned += 1


class World:
    """A scheduler on explored threads, with one board and queues as a host has them."""

    def __init__(self, chooser: Chooser, *, timers: bool = False, limit: int = 99, full_duplex: bool = False) -> None:
        self.threads = Explored(chooser, timers=timers, limit=limit)
        self.scheduler = Scheduler(self.threads)
        self.scheduler._workers._base = 8  # so that no timer has to add workers, unless a test is about that
        self.board = Board(self.scheduler, full_duplex=full_duplex)
        self.log: list[Work] = []
        self.events: list[Event] = []
        self.works: list[Work] = []
        self.told: list[CLError] = []
        self.context: Any = SimpleNamespace(
            scheduler=self.scheduler, placing=threading.Lock(), queues=set(), reaper=Reaper(), notify=self.told.append
        )
        self.context.reap = self.context.reaper.reap

    def queue(self, *, in_order: bool = True) -> CommandQueue:
        board: Any = self.board
        return CommandQueue(self.context, board, 0 if in_order else OUT_OF_ORDER)

    def work(self, kind: str = "transfer", **more: Any) -> Work:
        made = Work(self, kind, **more)
        self.works.append(made)
        return made

    def enqueue(
        self, queue: CommandQueue, work: Work | None, waits: Sequence[Event] = (), kind: int = cl.CL_COMMAND_MARKER
    ) -> Event:
        event = queue.enqueue(kind, work, tuple(waits))
        self.events.append(event)
        return event

    def blocking(self, queue: CommandQueue, work: Work, waits: Sequence[Event] = ()) -> None:
        try:
            self.events.append(queue.run(cl.CL_COMMAND_WRITE_BUFFER, work, True, tuple(waits)))
        except CLError:
            assert work.fails or waits

    def user_event(self) -> Event:
        return Event(self.context, None, cl.CL_COMMAND_USER, None, SUBMITTED)

    def fail(self, words: str) -> bool:
        """For conditions: raises AssertionError."""
        raise AssertionError(words)

    def explore(self) -> None:
        """Runs all threads, and checks that all commands have ended and no resource is busy. Raises Stuck."""
        self.threads.run()
        open_ = [event for event in self.events if event.status > COMPLETE]
        if open_:
            raise Stuck(f"{len(open_)} of {len(self.events)} commands never end")
        occupancy = self.board.occupancy
        assert (occupancy.moving, occupancy.programming, occupancy.launches) == (Direction.NONE, False, 0)
        assert not self.scheduler._ready.any_ready()
        assert self.scheduler._ready.running == 0
        for work in self.works:
            assert work.ran + work.abandoned == 1, "each operation is run, or given up once"
        assert not self.told or any(work.fails for work in self.works)


# Small hosts, every schedule


def blocking_write_beside_a_flush_and_polling(world: World) -> None:
    queue = world.queue()
    world.threads.host(lambda: world.blocking(queue, world.work()))

    @world.threads.host
    def other() -> None:
        event = world.enqueue(queue, world.work())
        queue.flush()
        world.threads.block(lambda: event.status <= COMPLETE)


def blocking_write_beside_a_launch_and_finish(world: World) -> None:
    queue = world.queue()
    world.threads.host(lambda: world.blocking(queue, world.work()))

    @world.threads.host
    def other() -> None:
        world.enqueue(queue, world.work("a"))
        queue.finish()


def persistent_kernel_and_its_flag(world: World) -> None:
    flag = world.work()
    first, second = world.queue(), world.queue()

    @world.threads.host
    def host() -> None:
        world.enqueue(first, world.work("a", until=lambda: flag.ran))
        first.flush()
        world.enqueue(second, flag)
        second.flush()
        first.finish()


def persistent_kernel_whose_flag_waits_for_its_programming(world: World) -> None:
    """The thread that ends the programming goes on with the kernel and looks at nothing else."""
    flag = world.work()
    first, second = world.queue(), world.queue()
    world.threads.host(lambda: world.blocking(first, world.work("b", until=lambda: flag.ran)))

    @world.threads.host
    def other() -> None:
        event = world.enqueue(second, flag)
        second.flush()
        world.threads.block(lambda: event.status <= COMPLETE)


def what_follows_a_command_with_a_thread_of_its_own(world: World) -> None:
    queue = world.queue()

    @world.threads.host
    def host() -> None:
        world.enqueue(queue, world.work("a", needs_thread=True))
        event = world.enqueue(queue, world.work())
        queue.flush()
        world.threads.block(lambda: event.status <= COMPLETE)


def launches_of_one_compute_unit(world: World) -> None:
    """The second one waits for the first, which waits for a launch of another kernel that the host enqueues later."""
    unit = ComputeUnit()
    needed = world.work("a")

    @world.threads.host
    def host() -> None:
        queues = [world.queue() for _ in range(3)]
        world.enqueue(queues[0], world.work("a", compute_unit=unit, needs_thread=True, until=lambda: needed.ran))
        world.enqueue(queues[1], world.work("a", compute_unit=unit, needs_thread=True))
        queues[0].flush()
        world.enqueue(queues[2], needed)
        queues[1].finish()


def finish_behind_another_queues_persistent_kernel(world: World) -> None:
    """The host ends the first kernel only after it has waited for the second."""
    flag = world.work()
    first, second, third = world.queue(), world.queue(), world.queue()

    @world.threads.host
    def host() -> None:
        world.enqueue(first, world.work("a", until=lambda: flag.ran))
        world.enqueue(second, world.work("a"))
        second.finish()
        world.enqueue(third, flag)
        third.flush()


def two_programs_in_turn_beside_transfers(world: World) -> None:
    first, second, third = world.queue(), world.queue(), world.queue()

    def launches(queue: CommandQueue, program: str) -> None:
        world.enqueue(queue, world.work(program))
        queue.finish()

    world.threads.host(lambda: launches(first, "b"))
    world.threads.host(lambda: launches(second, "a"))
    world.threads.host(lambda: world.blocking(third, world.work()))


def marker_of_an_out_of_order_queue(world: World) -> None:
    queue = world.queue(in_order=False)

    @world.threads.host
    def host() -> None:
        for kind in ("a", "transfer", "a"):
            world.enqueue(queue, world.work(kind))
        marker = world.enqueue(queue, None)
        world.scheduler.wait(marker)
        assert len(world.log) == 3, "a marker without a wait list waits for all before it"


def user_event_of_another_thread(world: World) -> None:
    queue, other = world.queue(in_order=False), world.queue()
    user = world.user_event()

    @world.threads.host
    def host() -> None:
        gate = world.enqueue(queue, world.work(), [user])
        world.enqueue(other, world.work("b"), [gate])
        other.flush()

    world.threads.host(lambda: user.set_status(COMPLETE))


def callback_that_makes_what_a_follower_reads(world: World) -> None:
    """A command that waits for a user event begins after the event's callbacks."""
    queue = world.queue()
    user = world.user_event()
    made: list[bool] = []
    user.when(COMPLETE, lambda *_: (world.threads.pause(), made.append(True)))

    @world.threads.host
    def host() -> None:
        world.enqueue(queue, world.work(until=lambda: made or world.fail("it began before the callback")), [user])
        queue.flush()

    @world.threads.host
    def other() -> None:
        world.threads.block(lambda: bool(world.events))
        user.set_status(COMPLETE)


def failed_wait_list(world: World) -> None:
    queue, other = world.queue(), world.queue(in_order=False)
    user, given_up = world.user_event(), [world.work("b"), world.work()]

    @world.threads.host
    def host() -> None:
        first = world.enqueue(queue, given_up[0], [user])
        world.enqueue(other, given_up[1], [first])
        world.enqueue(other, None, kind=cl.CL_COMMAND_BARRIER)
        world.enqueue(other, world.work())
        other.finish()
        queue.finish()
        world.context.reaper.free()  # as each allocation does
        assert all(work.abandoned for work in given_up), "what was reserved for them is free"

    world.threads.host(lambda: user.set_status(-5))


def commands_with_threads_of_their_own(world: World) -> None:
    """As kernels with channels: the first waits for the second."""
    queue, other = world.queue(), world.queue()
    second = world.work("a", needs_thread=True)

    @world.threads.host
    def host() -> None:
        world.enqueue(queue, world.work("a", needs_thread=True, until=lambda: second.ran))
        world.enqueue(other, second)
        queue.finish()


def callbacks_of_a_command_that_another_thread_begins(world: World) -> None:
    """Callbacks of one command come in the order of the statuses, also if threads reach these at once."""
    queue, told = world.queue(), list[int]()
    gate = world.user_event()

    def note(event: Event, status: int) -> None:
        world.threads.pause()
        told.append(status)

    @world.threads.host
    def host() -> None:
        event = world.enqueue(queue, world.work(), [gate])
        for status in (COMPLETE, RUNNING, SUBMITTED):
            event.when(status, note)
        queue.flush()
        gate.set_status(COMPLETE)
        world.threads.block(lambda: len(told) == 3)
        assert told == [SUBMITTED, RUNNING, COMPLETE]

    @world.threads.host
    def other() -> None:
        world.threads.block(lambda: bool(world.events))
        world.scheduler.wait(world.events[0])


def callback_instead_of_waiting(world: World) -> None:
    """While one thread writes, the other is called back; it makes no call after the flush."""
    queue = world.queue()
    called: list[int] = []
    world.threads.host(lambda: world.blocking(queue, world.work()))

    @world.threads.host
    def other() -> None:
        event = world.enqueue(queue, world.work("b"))
        event.when(COMPLETE, lambda _, status: called.append(status))
        queue.flush()
        world.threads.block(lambda: bool(called))


def launches_and_finish(world: World) -> None:
    queue = world.queue()

    @world.threads.host
    def host() -> None:
        for _ in range(4):
            world.enqueue(queue, world.work("a"))
        queue.finish()


def launch_in_front_of_one_that_waits_for_the_host(world: World) -> None:
    """The host waits for the first alone, and then makes what the second needs."""
    flag = world.work()
    queue, other = world.queue(), world.queue()

    @world.threads.host
    def host() -> None:
        first = world.enqueue(queue, world.work("a"))
        world.enqueue(queue, world.work("a", until=lambda: flag.ran))
        world.scheduler.wait(first)
        world.enqueue(other, flag)
        other.flush()
        queue.finish()


def poller_of_a_launch_in_front_of_one_that_waits_for_it(world: World) -> None:
    flag = world.work()
    queue, other = world.queue(), world.queue()

    @world.threads.host
    def host() -> None:
        first = world.enqueue(queue, world.work("a"))
        second = world.enqueue(queue, world.work("a", until=lambda: flag.ran))
        queue.flush()
        world.threads.block(lambda: first.status <= COMPLETE)
        world.enqueue(other, flag)
        other.flush()
        world.threads.block(lambda: second.status <= COMPLETE)


def callback_of_a_launch_waits_for_the_next(world: World) -> None:
    queue = world.queue()

    @world.threads.host
    def host() -> None:
        gate = world.user_event()
        first = world.enqueue(queue, world.work("a"), [gate])
        second = world.enqueue(queue, world.work("a"))
        world.enqueue(queue, world.work("a"))
        first.when(COMPLETE, lambda event, status: world.threads.block(lambda: second.status <= COMPLETE))
        queue.flush()
        gate.set_status(COMPLETE)
        queue.finish()


def launches_that_fail(world: World) -> None:
    queue, other = world.queue(), world.queue()

    @world.threads.host
    def host() -> None:
        refused = world.enqueue(queue, world.work("a", fails=True))
        waits = world.enqueue(queue, world.work("a"), [refused])
        fine = world.enqueue(queue, world.work("a", fails=True))
        last = world.enqueue(queue, world.work("a"), [fine])
        world.enqueue(other, world.work(), [last])
        queue.finish()
        other.finish()
        codes = [event.status for event in (refused, waits, fine, last)]
        assert codes == [OutOfResources.status, FAILED, OutOfResources.status, FAILED]


def launches_that_come_while_others_run(world: World) -> None:
    queue = world.queue()

    @world.threads.host
    def host() -> None:
        gate = world.user_event()
        first = world.enqueue(queue, world.work("a"), [gate])
        world.enqueue(queue, world.work("a"))
        gate.set_status(COMPLETE)
        queue.flush()
        for _ in range(2):
            last = world.enqueue(queue, world.work("a"))
            queue.flush()
        world.scheduler.wait(first)
        world.threads.block(lambda: last.status <= COMPLETE)


def launches_of_two_programs_in_turn(world: World) -> None:
    for kind in "ab":
        queue = world.queue()

        @world.threads.host
        def host(kind: str = kind, queue: CommandQueue = queue) -> None:
            for _ in range(3):
                world.enqueue(queue, world.work(kind))
            world.enqueue(queue, world.work())
            queue.finish()


def closing_behind_commands_that_other_threads_run(world: World) -> None:
    queue = world.queue()
    world.threads.pauses_after_locks = True  # between the end of a command and the begin of its followers

    @world.threads.host
    def host() -> None:
        for kind in ("a", "transfer"):
            world.enqueue(queue, world.work(kind))
        assert world.scheduler.close(60)
        assert not queue.open, "what was enqueued has ended"


WITH_SHORT_LAUNCHES = [
    launches_and_finish,
    launch_in_front_of_one_that_waits_for_the_host,
    poller_of_a_launch_in_front_of_one_that_waits_for_it,
    callback_of_a_launch_waits_for_the_next,
    launches_that_fail,
    launches_of_two_programs_in_turn,
    launches_that_come_while_others_run,
]
HOSTS = [
    *WITH_SHORT_LAUNCHES,
    blocking_write_beside_a_flush_and_polling,
    blocking_write_beside_a_launch_and_finish,
    persistent_kernel_and_its_flag,
    persistent_kernel_whose_flag_waits_for_its_programming,
    what_follows_a_command_with_a_thread_of_its_own,
    launches_of_one_compute_unit,
    finish_behind_another_queues_persistent_kernel,
    two_programs_in_turn_beside_transfers,
    marker_of_an_out_of_order_queue,
    user_event_of_another_thread,
    callback_that_makes_what_a_follower_reads,
    failed_wait_list,
    commands_with_threads_of_their_own,
    callbacks_of_a_command_that_another_thread_begins,
    callback_instead_of_waiting,
    closing_behind_commands_that_other_threads_run,
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_every_schedule_of_a_small_host_ends(host: Callable[[World], None]) -> None:
    for chooser in schedules(preemptions=2, most=MOST_SCHEDULES):
        world = World(chooser)
        host(world)
        world.explore()


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_random_schedules_of_a_small_host_end(host: Callable[[World], None]) -> None:
    for seed in range(RANDOM_SCHEDULES):
        world = World(Randomly(Random(seed)), full_duplex=bool(seed % 2))
        host(world)
        world.explore()


# Time: what is not flushed, and workers that are all busy


def test_what_nobody_flushes_runs_after_a_while() -> None:
    for seed in range(50):
        world = World(Randomly(Random(seed)), timers=True)
        queue = world.queue()

        @world.threads.host
        def host(world: World = world, queue: CommandQueue = queue) -> None:
            event = world.enqueue(queue, world.work("b"))
            world.threads.block(lambda: event.status <= COMPLETE)

        world.explore()


@pytest.mark.parametrize("kernels", [1, 3, 6])
def test_kernels_that_keep_all_workers_busy_do_not_keep_a_flushed_transfer_from_running(kernels: int) -> None:
    for seed in range(50):
        world = World(Randomly(Random(seed)), timers=True)
        world.scheduler._workers._base = 1
        flag = world.work()

        @world.threads.host
        def host(world: World = world, flag: Work = flag) -> None:
            for _ in range(kernels):
                queue = world.queue()
                world.enqueue(queue, world.work("a", until=lambda: flag.ran))
                queue.flush()
            last = world.queue()
            event = world.enqueue(last, flag)
            last.flush()
            world.threads.block(lambda: event.status <= COMPLETE)

        world.explore()


def test_short_commands_need_no_more_workers_than_there_are_from_the_start() -> None:
    for seed in range(50):
        world = World(Randomly(Random(seed)), timers=True)
        world.scheduler._workers._base = 2

        @world.threads.host
        def host(world: World = world) -> None:
            for _ in range(20):
                queue = world.queue()
                world.enqueue(queue, world.work("a"))
                queue.flush()

        world.explore()
        assert world.threads.most_of_driver <= 3, "two workers and the keeper"


@pytest.mark.parametrize("limit", [0, 1])
def test_without_threads_to_be_had_a_flush_runs_the_commands_itself(limit: int) -> None:
    for seed in range(50):
        world = World(Randomly(Random(seed)), limit=limit)
        queue = world.queue()

        @world.threads.host
        def host(world: World = world, queue: CommandQueue = queue) -> None:
            for kind in ("transfer", "b", "transfer"):
                event = world.enqueue(queue, world.work(kind))
            queue.flush()
            world.threads.block(lambda: event.status <= COMPLETE)

        world.explore()


def test_without_threads_to_be_had_the_thread_that_hands_a_command_over_runs_it() -> None:
    world = World(Randomly(Random(1)), limit=0)
    event = Event(world.context, world.queue(), cl.CL_COMMAND_WRITE_BUFFER, world.work())
    steps: list[str] = []

    @world.threads.host
    def host() -> None:
        world.scheduler.run_handed_over(event, lambda *_: steps.append("began"), lambda *_: steps.append("ended"))

    world.explore()
    assert steps == ["began", "ended"]


def test_a_command_for_which_no_thread_can_be_made_ends_with_an_error() -> None:
    world = World(Randomly(Random(1)), limit=0)
    queue = world.queue()
    work = world.work("a", needs_thread=True)

    @world.threads.host
    def host() -> None:
        event = world.enqueue(queue, work)
        world.scheduler.wait(event)
        assert event.status == OutOfResources.status

    world.threads.run()
    (told,) = world.told
    assert "cannot create a thread" in str(told)
    assert (work.ran, world.board.occupancy.launches) == (False, 0)


def test_finish_waits_for_what_was_there_and_not_for_what_comes_after() -> None:
    """A second thread enqueues for as long as the first has not come back."""
    for seed in range(100):
        world = World(Randomly(Random(seed)), timers=True)
        queue = world.queue(in_order=bool(seed % 2))
        back: list[bool] = []

        @world.threads.host
        def waiting(world: World = world, queue: CommandQueue = queue, back: list[bool] = back) -> None:
            world.enqueue(queue, world.work())
            queue.finish()
            back.append(True)

        @world.threads.host
        def busy(world: World = world, queue: CommandQueue = queue, back: list[bool] = back) -> None:
            for _ in range(500):
                if back:
                    return
                world.enqueue(queue, world.work("a", until=lambda: True))
            raise AssertionError("clFinish has not come back after 500 later commands")

        world.explore()


# Larger hosts, random programs and schedules


@dataclass(frozen=True)
class Step:
    """One thing that a thread of the host does; `number` chooses a queue, and an earlier event of the thread."""

    action: str
    number: int
    kind: str = "transfer"


ACTIONS = ("enqueue", "after", "blocking", "marker", "barrier", "flush", "finish", "wait", "fail", "gated")
KINDS = ("transfer", "a", "b", "out")
steps = st.builds(Step, st.sampled_from(ACTIONS), st.integers(0, 5), st.sampled_from(KINDS))


@dataclass
class Host:
    """A thread of the host and the events that it knows."""

    world: World
    queues: list[CommandQueue]
    gates: list[Event]
    known: list[Event] = field(default_factory=list)

    def do(self, step: Step) -> None:
        world, queue = self.world, self.queues[step.number % len(self.queues)]
        earlier = [self.known[step.number % len(self.known)]] if self.known else []
        kind, way = ("transfer", Direction.OUT) if step.kind == "out" else (step.kind, Direction.IN)
        if step.action == "blocking":
            world.blocking(queue, world.work(kind, way=way), earlier)
        elif step.action == "flush":
            queue.flush()
        elif step.action == "finish":
            queue.finish()
        elif step.action == "wait" and earlier:
            world.scheduler.wait(earlier[0])
        elif step.action in ("marker", "barrier"):
            barrier = step.action == "barrier"
            waits = earlier if step.number % 2 else []
            command = cl.CL_COMMAND_BARRIER if barrier else cl.CL_COMMAND_MARKER
            self.known.append(world.enqueue(queue, None, waits, command))
        elif step.action in ("enqueue", "after", "fail", "gated"):
            waits = earlier if step.action == "after" else []
            if step.action == "gated":
                waits = [self.gates[step.number % len(self.gates)]]
            work = world.work(kind, way=way, fails=step.action == "fail")
            self.known.append(world.enqueue(queue, work, waits))

    def script(self, steps: list[Step]) -> None:
        for step in steps:
            self.do(step)
        for queue in self.queues:
            queue.flush()


@settings(max_examples=150 * EFFORT, deadline=None)
@given(
    st.lists(st.lists(steps, max_size=8), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=2, max_size=3),
    st.lists(st.sampled_from([0, 0, -5]), min_size=2, max_size=2),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_everything_ends_without_timers_once_it_is_flushed(
    scripts: list[list[Step]], orders: list[bool], statuses: list[int], full_duplex: bool, seed: int
) -> None:
    world = World(Randomly(Random(seed)), full_duplex=full_duplex)
    queues = [world.queue(in_order=order) for order in orders]
    gates = [world.user_event() for _ in statuses]
    for script in scripts:
        host = Host(world, queues, gates)
        world.threads.host(lambda host=host, script=script: host.script(script))  # type: ignore[misc]

    @world.threads.host
    def opens_gates() -> None:
        for gate, status in zip(gates, statuses, strict=True):
            world.threads.pause()
            gate.set_status(status)

    world.explore()


# The order of queues


@settings(max_examples=100 * EFFORT, deadline=None)
@given(st.lists(steps, max_size=10), st.booleans(), st.integers(0, 1 << 30))
def test_commands_run_in_the_order_that_their_queue_gives_them(script: list[Step], in_order: bool, seed: int) -> None:
    """Of one thread and one queue: nothing begins before what it has to follow has ended."""
    world = World(Randomly(Random(seed)))
    queue = world.queue(in_order=in_order)
    follows: list[tuple[Work, list[Work]]] = []
    since_barrier: list[Work] = []
    before_barrier: list[Work] = []

    @world.threads.host
    def host() -> None:
        nonlocal since_barrier, before_barrier
        for step in script:
            if step.action == "flush":  # some begin before others are there
                queue.flush()
            elif step.action == "barrier":
                world.enqueue(queue, None, kind=cl.CL_COMMAND_BARRIER)
                before_barrier = before_barrier + since_barrier
                since_barrier = []
            else:
                work = world.work(step.kind.replace("b", "a").replace("out", "transfer"))
                follows.append((work, before_barrier + (since_barrier if in_order else [])))
                since_barrier = [*since_barrier, work]
                world.enqueue(queue, work)
        queue.flush()

    world.explore()
    for work, before in follows:
        at = world.log.index(work)
        assert all(world.log.index(other) < at for other in before)
