"""Commands that may begin, and those that an end makes ready, without threads and boards."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from commands import Commands, Work, nobody

from fpgart.base import opencl as cl
from fpgart.base.errors import ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.runtime.scheduling.event import (
    COMPLETE,
    QUEUED,
    RUNNING,
    SUBMITTED,
    ComputeUnit,
    Event,
    EventCallbacks,
    ReadyList,
)
from fpgart.runtime.scheduling.occupancy import Claim, Direction
from fpgart.runtime.scheduling.readiness import Aftermath, tell

IN, OUT, BOTH, NONE = Direction.IN, Direction.OUT, Direction.BOTH, Direction.NONE
FAILED = ExecStatusErrorForEventsInWaitList.status


@pytest.fixture
def commands() -> Iterator[Commands]:
    made = Commands()
    yield made
    made.close()


@pytest.fixture
def gate(commands: Commands) -> Event:
    return commands.user_event()


def work_of(event: Event) -> Work:
    work = event.operation
    assert isinstance(work, Work)
    return work


# What a command waits for


def test_a_command_that_follows_nothing_is_ready_at_once(commands: Commands) -> None:
    event = commands.transfer()
    assert (event.status, event.submit_ns) == (SUBMITTED, event.queued_ns)
    assert event.ready is commands.transfers
    assert list(commands.transfers) == [event]


def test_a_command_is_ready_when_the_last_that_it_waits_for_has_ended(commands: Commands) -> None:
    first, second = commands.user_event(), commands.user_event()
    event = commands.transfer(first, second)
    commands.end(first)
    assert (event.status, event.ready) == (QUEUED, None)
    commands.end(second)
    assert (event.status, event.submit_ns) == (SUBMITTED, commands.now)
    assert list(commands.transfers) == [event]


def test_a_command_waits_for_the_one_before_it_and_for_its_wait_list(gate: Event, commands: Commands) -> None:
    first = commands.transfer(queue=commands.in_order)
    second = commands.transfer(gate, queue=commands.in_order)
    commands.end(gate)
    assert second.status == QUEUED
    commands.take(first)
    commands.stage_ends(first, None)
    assert second.status == SUBMITTED


def test_what_has_ended_is_not_waited_for(gate: Event, commands: Commands) -> None:
    commands.end(gate)
    assert commands.transfer(gate).status == SUBMITTED


def test_a_ready_command_keeps_none_of_those_alive_that_it_has_waited_for(commands: Commands) -> None:
    gate = commands.user_event()
    event = commands.transfer(gate)
    commands.end(gate)
    known = weakref.ref(gate)
    del gate
    assert (event.command is not None, known()) == (True, None)


def test_commands_die_that_wait_for_a_user_event_that_nobody_can_set(commands: Commands) -> None:
    gate = commands.user_event()
    made = [commands.transfer(gate)]
    for _ in range(100):
        made.append(commands.transfer(made[-1], queue=commands.in_order))
    known = [weakref.ref(event) for event in made]
    commands.in_order.open.clear()  # as if the queue died with them
    del made, gate
    gc.collect()
    assert [event() for event in known] == [None] * 101
    assert not commands.core.commands


def test_a_marker_ends_when_what_it_follows_has_ended_with_one_time_for_all(gate: Event, commands: Commands) -> None:
    marker = commands.enter(None, gate)
    assert marker.status == QUEUED
    commands.end(gate)
    assert marker.status == COMPLETE
    assert marker.submit_ns == marker.start_ns == marker.end_ns == commands.now
    assert not commands.after, "there is nothing to give up"


def test_a_marker_that_follows_nothing_ends_at_once(commands: Commands) -> None:
    assert commands.enter(None).status == COMPLETE


def test_a_long_chain_of_markers_ends_with_its_first(gate: Event, commands: Commands) -> None:
    chain = [gate]
    for _ in range(5000):
        chain.append(commands.enter(None, chain[-1]))
    commands.end(gate)
    assert all(event.status == COMPLETE for event in chain)


def test_only_a_barrier_holds_back_an_out_of_order_queue(commands: Commands) -> None:
    gate, queue = commands.user_event(), commands.out_of_order
    commands.enter(None, gate, queue=queue, kind=cl.CL_COMMAND_MARKER)
    assert commands.transfer(queue=queue).status == SUBMITTED
    commands.enter(None, gate, queue=queue, kind=cl.CL_COMMAND_BARRIER)
    assert commands.transfer(queue=queue).status == QUEUED


def test_a_barrier_command_with_work_of_its_own_is_no_barrier(commands: Commands) -> None:
    gate, queue = commands.user_event(), commands.out_of_order
    commands.enter(Work(commands.transfers), gate, queue=queue, kind=cl.CL_COMMAND_BARRIER)
    assert commands.transfer(queue=queue).status == SUBMITTED


# Failures


@pytest.mark.parametrize("late", [False, True])
def test_a_command_whose_wait_list_failed_ends_with_that_and_is_given_up(commands: Commands, late: bool) -> None:
    gate, fine = commands.user_event(), commands.user_event()
    commands.end(fine)
    work = Work(commands.transfers)
    if late:
        event = commands.enter(work, gate, fine)
        commands.end(gate, -5)
    else:
        commands.end(gate, -5)
        event = commands.enter(work, gate, fine)
    assert event.status == FAILED
    assert event.operation is None
    assert work.abandoned == 0, "not under the lock"
    assert commands.after
    commands.after.settle()
    assert work.abandoned == 1
    commands.after.settle()
    assert work.abandoned == 1
    assert not commands.transfers


def test_a_failure_does_not_fail_what_comes_next_in_the_queue(commands: Commands) -> None:
    first, second = (commands.transfer(queue=commands.in_order) for _ in range(2))
    commands.take(first)
    commands.stage_ends(first, None, -5)
    assert (first.status, second.status) == (-5, SUBMITTED)


# Times of the end


def test_an_end_is_noted_and_frees_the_queue(commands: Commands) -> None:
    event = commands.transfer(queue=commands.in_order)
    commands.take(event)
    commands.stage_ends(event, None)
    assert (event.status, event.end_ns) == (COMPLETE, commands.now)
    assert event.operation is None
    assert not commands.in_order.open


# Whose turn it is


def test_the_oldest_command_that_is_due_is_taken(commands: Commands) -> None:
    first, second = commands.transfer(), commands.transfer()
    assert commands.due() is first
    assert first.ready is None
    assert list(commands.transfers) == [second]
    assert commands.due() is second
    assert commands.due() is None
    assert commands.readiness.running == 2


def test_a_command_that_is_not_due_is_left(commands: Commands) -> None:
    event = commands.transfer()
    commands.readiness.make_due(event.queued_ns - 1)
    assert not commands.readiness.any_due()
    assert commands.readiness.claim_any() is None
    commands.readiness.make_due(event.queued_ns)
    assert commands.readiness.any_due()
    assert commands.readiness.claim_any() is event


def test_what_is_due_stays_due(commands: Commands) -> None:
    commands.readiness.make_due(50)
    commands.readiness.make_due(20)
    assert commands.readiness.horizon == 50


def test_commands_of_the_next_kind_are_taken_when_those_of_the_first_cannot_begin(commands: Commands) -> None:
    commands.transfer(answer=Claim.WAITS)
    kernel = commands.kernel()
    assert commands.due() is kernel


@pytest.mark.parametrize(("older", "younger", "passes"), [(IN, OUT, True), (IN, IN, False), (IN, BOTH, False)])
def test_a_command_overtakes_those_that_wait_and_go_other_ways(
    commands: Commands, older: Direction, younger: Direction, passes: bool
) -> None:
    commands.transfer(direction=older, answer=Claim.WAITS)
    event = commands.transfer(direction=younger)
    assert commands.due() is (event if passes else None)


@pytest.mark.parametrize(("older", "younger", "passes"), [(IN, OUT, True), (IN, IN, False), (IN, BOTH, False)])
def test_a_command_is_claimed_out_of_its_turn_if_it_goes_another_way(
    commands: Commands, older: Direction, younger: Direction, passes: bool
) -> None:
    commands.transfer(direction=older)
    event = commands.transfer(direction=younger)
    commands.transfer(direction=younger)
    assert commands.readiness.claim(event) is passes


def test_two_that_wait_and_go_both_ways_together_let_nobody_pass(commands: Commands) -> None:
    for way in (IN, OUT):
        commands.transfer(direction=way, answer=Claim.WAITS)
    event = commands.transfer(direction=IN)
    last = work_of(event)
    assert commands.due() is None
    assert last.claims == 0


def test_one_that_yields_lets_others_of_its_way_pass(commands: Commands) -> None:
    commands.transfer(direction=BOTH, answer=Claim.YIELDS)
    event = commands.transfer(direction=BOTH)
    assert commands.due() is event


def test_one_that_conflicts_with_none_passes_all(commands: Commands) -> None:
    commands.kernel(direction=BOTH, answer=Claim.WAITS)
    stage = commands.kernel(direction=NONE)
    assert commands.readiness.claim(stage)


def test_a_compute_unit_runs_one_launch_after_another(commands: Commands) -> None:
    unit = ComputeUnit()
    launches = [commands.kernel(compute_unit=unit) for _ in range(3)]
    for launch in launches:
        assert list(commands.kernels) == [launch]
        commands.take(launch)
        assert commands.due() is None
        commands.stage_ends(launch, None)
    assert not commands.readiness.any_ready()


def test_a_launch_that_waits_for_its_compute_unit_delays_no_other(commands: Commands) -> None:
    unit = ComputeUnit()
    commands.take(commands.kernel(compute_unit=unit))
    waiting = commands.kernel(compute_unit=unit)
    other = commands.kernel(compute_unit=ComputeUnit())
    assert commands.due() is other
    assert waiting.status == SUBMITTED
    assert not commands.readiness.any_ready()


def test_a_launch_keeps_its_compute_unit_between_its_stages(commands: Commands) -> None:
    unit = ComputeUnit()
    first = commands.kernel(compute_unit=unit)
    second = commands.kernel(compute_unit=unit)
    commands.take(first)
    assert commands.stage_ends(first, Work(commands.kernels, compute_unit=unit)) is first.operation
    assert commands.due() is None
    commands.stage_ends(first, None, OutOfResources.status)
    assert list(commands.kernels) == [second]


def test_a_launch_whose_claim_fails_gives_its_compute_unit_to_the_next(commands: Commands) -> None:
    unit = ComputeUnit()
    first = commands.kernel(compute_unit=unit)
    second = commands.kernel(compute_unit=unit)
    work_of(first).claim = raising  # type: ignore[method-assign]
    assert commands.due() is first
    commands.stage_ends(first, None, OutOfResources.status)
    assert commands.due() is second


def test_a_command_that_may_not_begin_stays_where_it_is(commands: Commands) -> None:
    event = commands.transfer(answer=Claim.WAITS)
    assert not commands.readiness.claim(event)
    assert (event.ready, commands.readiness.running) == (commands.transfers, 0)


# What is due


def test_a_due_command_makes_due_what_stands_before_it(gate: Event, commands: Commands) -> None:
    late = commands.transfer(gate)
    commands.readiness.make_due(late.queued_ns)
    first = commands.transfer()
    assert not commands.readiness.any_due()
    commands.end(gate)
    assert commands.readiness.any_due()
    assert commands.readiness.claim_any() is first
    assert commands.readiness.claim_any() is late


def test_a_due_command_alone_makes_nothing_else_due(commands: Commands) -> None:
    commands.take(commands.transfer())
    gate = commands.user_event()
    late = commands.transfer(gate)
    commands.readiness.make_due(late.queued_ns)
    commands.take(commands.transfer())
    commands.end(gate)
    assert commands.readiness.horizon == late.queued_ns


def test_a_command_that_is_not_due_makes_nothing_due(commands: Commands) -> None:
    horizon = commands.readiness.horizon
    commands.transfer()
    commands.transfer()
    assert commands.readiness.horizon == horizon


def test_what_is_ready_later_than_a_time_is_known_by_the_youngest(commands: Commands) -> None:
    readiness = commands.readiness
    assert not readiness.any_ready()
    assert not readiness.any_later_than(0)
    gate = commands.user_event()
    old = commands.transfer(gate)
    young = commands.transfer()
    commands.end(gate)
    assert readiness.any_ready()
    assert readiness.any_later_than(young.queued_ns - 1)
    assert not readiness.any_later_than(young.queued_ns)
    commands.take(young)
    commands.take(old)
    assert not readiness.any_later_than(0)


def test_an_empty_list_forgets_how_young_its_commands_were(gate: Event, commands: Commands) -> None:
    old = commands.transfer(gate)
    commands.take(commands.transfer())
    commands.end(gate)
    assert not commands.readiness.any_later_than(old.queued_ns)


# What a thread that waits runs

WALK = 64
"""The number of commands among which C looks for one that a thread can run."""


def needed(commands: Commands, event: Event) -> Event | None:
    found, carried = commands.readiness.claim_needed(event.command, event)
    assert carried is None
    return found


def test_who_waits_for_a_transfer_runs_the_one_before_it(commands: Commands) -> None:
    first, second = commands.transfer(), commands.transfer()
    assert needed(commands, second) is first


def test_who_waits_for_a_transfer_runs_none_behind_it(commands: Commands) -> None:
    event = commands.transfer(direction=IN, answer=Claim.WAITS)
    commands.transfer(direction=OUT)
    assert needed(commands, event) is None


def test_who_waits_for_a_kernel_does_not_run_the_one_before_it(commands: Commands) -> None:
    """The kernel before it may wait for the host's next call."""
    _, second = commands.kernel(), commands.kernel()
    assert needed(commands, second) is None


@pytest.mark.parametrize("length", [1, 3, WALK + 10])
def test_who_waits_for_the_end_of_a_queue_runs_its_first_command(commands: Commands, length: int) -> None:
    chain = [commands.transfer(queue=commands.in_order) for _ in range(length)]
    assert needed(commands, chain[-1]) is chain[0]


def test_who_waits_runs_what_is_in_the_wait_list(commands: Commands) -> None:
    ended, awaited = commands.user_event(), commands.transfer()
    event = commands.kernel(ended, awaited)
    commands.end(ended)
    assert needed(commands, event) is awaited


def test_who_waits_for_the_first_of_a_queue_runs_what_is_in_its_wait_list(commands: Commands) -> None:
    awaited = commands.transfer()
    event = commands.transfer(awaited, queue=commands.in_order)
    assert needed(commands, event) is awaited


def test_who_waits_for_what_runs_or_for_the_host_has_nothing_to_run(commands: Commands) -> None:
    gate, running = commands.user_event(), commands.transfer()
    commands.take(running)
    assert needed(commands, running) is None
    assert needed(commands, gate) is None
    assert needed(commands, commands.transfer(running)) is None
    assert needed(commands, commands.transfer(gate, queue=commands.in_order)) is None


def test_who_waits_runs_none_of_an_out_of_order_queue_that_it_does_not_wait_for(commands: Commands) -> None:
    commands.transfer(queue=commands.out_of_order)
    awaited = commands.transfer(queue=commands.out_of_order)
    event = commands.kernel(awaited, queue=commands.out_of_order)
    commands.take(next(iter(commands.transfers)))
    assert needed(commands, event) is awaited


def test_who_waits_for_two_of_which_one_runs_runs_the_other(commands: Commands) -> None:
    running, awaited = commands.transfer(), commands.kernel()
    commands.take(running)
    assert needed(commands, commands.kernel(running, awaited)) is awaited


def test_who_waits_runs_nothing_out_of_its_turn(gate: Event, commands: Commands) -> None:
    """Not even what was enqueued before the one whose turn it is, but became ready after it."""
    event = commands.transfer(gate)
    commands.transfer()
    commands.end(gate)
    assert needed(commands, event) is None


def test_a_walk_along_wait_lists_has_an_end(commands: Commands) -> None:
    chain = [commands.transfer()]
    for _ in range(WALK - 1):
        chain.append(commands.transfer(chain[-1]))
    beyond = commands.transfer(chain[-1])
    assert needed(commands, beyond) is None
    assert needed(commands, chain[-1]) is chain[0]


# Stages


def test_a_stage_that_may_begin_goes_on_at_once(commands: Commands) -> None:
    event = commands.kernel()
    first, following = work_of(event), Work(commands.transfers)
    commands.take(event)
    assert commands.stage_ends(event, following) is following
    assert first.released == [following]
    assert event.operation is following  # type: ignore[comparison-overlap]
    assert (event.status, commands.readiness.running) == (RUNNING, 1)


def test_a_stage_that_may_not_begin_waits_for_its_turn(commands: Commands) -> None:
    event = commands.kernel()
    commands.take(event)
    following = Work(commands.transfers, answer=Claim.WAITS)
    assert commands.stage_ends(event, following) is None
    assert (event.ready, commands.readiness.running) == (commands.transfers, 0)
    following.answer = Claim.TAKEN
    assert commands.due() is event


@pytest.mark.parametrize(("direction", "goes_on"), [(BOTH, False), (NONE, True)])
def test_a_stage_stands_behind_others_unless_it_conflicts_with_none(
    commands: Commands, direction: Direction, goes_on: bool
) -> None:
    event = commands.kernel()
    commands.take(event)
    commands.transfer(answer=Claim.WAITS)
    following = Work(commands.transfers, direction=direction)
    assert commands.stage_ends(event, following) is (following if goes_on else None)


def raising(*_: object) -> Any:
    raise MemoryError("of a test")


def test_a_stage_that_cannot_be_released_ends_its_command_with_an_error(
    commands: Commands, capfd: pytest.CaptureFixture[str]
) -> None:
    event = commands.kernel()
    work_of(event).release = raising  # type: ignore[method-assign]
    commands.take(event)
    assert commands.stage_ends(event, Work(commands.transfers)) is None
    assert event.status == OutOfResources.status
    assert commands.readiness.running == 0
    assert "what an operation kept busy could not be freed" in capfd.readouterr().err


def test_an_operation_that_cannot_be_asked_is_taken_given_up_and_fails_with_its_error(commands: Commands) -> None:
    event = commands.kernel()
    work = work_of(event)
    work.claim = raising  # type: ignore[method-assign]
    work.device = object()
    commands.take(event)
    stand_in: Any = event.operation
    assert stand_in.device is work.device
    with pytest.raises(MemoryError, match="of a test"):
        stand_in.run()
    assert work.abandoned == 1
    assert stand_in.ready_list is commands.kernels
    assert stand_in.direction == NONE
    assert not stand_in.needs_thread
    stand_in.abandon()
    assert work.abandoned == 2
    assert commands.readiness.running == 1


# Callbacks


def statuses(event: Event) -> list[int]:
    """Returns what the callbacks that are due are told, in the order in which they are called."""
    assert event.callbacks is not None
    return [call.args[1] for call in event.callbacks.due]


def nothing(event: Event, status: int) -> None:
    """A callback."""


ALL_THREE = [(COMPLETE, nothing), (SUBMITTED, nothing), (RUNNING, nothing)]


def test_a_marker_passes_all_statuses_in_their_order(commands: Commands) -> None:
    assert statuses(commands.enter(None, told=ALL_THREE)) == [SUBMITTED, RUNNING, COMPLETE]


def test_a_ready_command_tells_that_it_is_submitted_and_no_more(commands: Commands) -> None:
    event = commands.enter(Work(commands.transfers), told=ALL_THREE)
    assert statuses(event) == [SUBMITTED]
    assert event.callbacks is not None
    assert sorted(status for status, _ in event.callbacks.registered) == [COMPLETE, RUNNING]


def test_an_abnormal_end_counts_as_every_status_but_is_told_as_it_is(commands: Commands) -> None:
    event = commands.enter(Work(commands.transfers), told=ALL_THREE)
    commands.take(event)
    commands.stage_ends(event, None, -1)
    assert statuses(event) == [SUBMITTED, -1, -1]


def test_a_user_event_passes_the_statuses_in_their_order_at_its_end(gate: Event, commands: Commands) -> None:
    gate.callbacks = EventCallbacks(nobody, [(COMPLETE, nothing), (RUNNING, nothing)])
    commands.end(gate)
    assert statuses(gate) == [RUNNING, COMPLETE]


def test_a_command_whose_wait_list_failed_is_never_told_to_run(gate: Event, commands: Commands) -> None:
    event = commands.enter(Work(commands.transfers), gate, told=ALL_THREE)
    commands.end(gate, -5)
    assert statuses(event) == [SUBMITTED, FAILED, FAILED]


def test_callbacks_that_have_been_told_are_not_told_again(commands: Commands) -> None:
    event = Event(commands.context, None, 0, None)
    event.callbacks = EventCallbacks(nobody, ALL_THREE)
    tell(event, RUNNING, commands.after)
    tell(event, RUNNING, commands.after)
    assert len(commands.after) == 1
    assert statuses(event) == [SUBMITTED, RUNNING]


def test_a_callback_that_raises_keeps_no_other_from_being_called() -> None:
    called: list[int] = []
    after = Aftermath([partial(raising, None, 0), partial(called.append, 7)])
    assert after
    after.settle()
    assert called == [7]


def test_an_operation_that_cannot_be_given_up_keeps_no_other_from_it(capfd: pytest.CaptureFixture[str]) -> None:
    broken: Any = Work(ReadyList(ends_by_itself=True))
    broken.abandon = raising
    fine: Any = Work(ReadyList(ends_by_itself=True))
    after = Aftermath([broken.abandon, fine.abandon])
    assert after
    after.settle()
    assert fine.abandoned == 1
    assert "could not be given up" in capfd.readouterr().err
