"""The driver's own threads (runtime/scheduling/workers.py), called by hand: when one is made, and ends."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from commands import Commands

from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.occupancy import Claim
from fpgart.runtime.scheduling.workers import MOST_PATIENCE_NS, PATIENCE_NS, QUIET_NS, SLOW_TICK_S, TICK_S, Workers


class Sleeps(Exception):
    """A thread waits for its bell; how long at most."""


class Bell:
    def __init__(self) -> None:
        self.rings = 0

    def ring(self) -> None:
        self.rings += 1

    def wait(self, timeout_s: float | None = None) -> bool:
        raise Sleeps(timeout_s)


class Driver:
    """Workers whose threads run only when a test lets them; what they run ends at once."""

    def __init__(self, *, base: int = 2) -> None:
        self.commands = Commands()
        self.bells: list[Bell] = []
        self.started: list[Callable[[], None]] = []
        self.has_threads = True
        self.ran: list[Event] = []
        lock: Any = nullcontext()
        threads: Any = self
        self.workers = Workers(lock, threads, self.commands.readiness, self.run, lambda: None)
        self.workers._base = base
        (self.keeper_bell,) = self.bells

    # What the workers need of the system

    def now(self) -> int:
        return self.commands.now

    def bell(self) -> Bell:
        self.bells.append(Bell())
        return self.bells[-1]

    def start(self, work: Callable[[], None]) -> bool:
        if self.has_threads:
            self.started.append(work)
        return self.has_threads

    def run(self, event: Event) -> None:
        self.ran.append(event)
        self.commands.stage_ends(event, None)

    # What a test asks

    @property
    def made(self) -> tuple[int, int]:
        """Returns the number of workers and keepers so far."""
        keepers = sum(work == self.workers._keep for work in self.started)
        return len(self.started) - keepers, keepers

    def due(self, **more: Any) -> Event:
        event = self.commands.transfer(**more)
        self.commands.readiness.make_due(self.commands.now)
        return event

    def work(self) -> None:
        """A worker runs commands until it ends."""
        self.workers._work()

    def keep(self) -> Any:
        """One look of the keeper; for how long it then sleeps, False when it ends."""
        try:
            self.workers._keep()
        except Sleeps as sleeps:
            return sleeps.args[0]
        return False


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_no_thread_is_made_before_there_is_something_to_do(driver: Driver) -> None:
    driver.workers.leave()
    assert driver.started == []


def test_who_leaves_something_due_calls_a_worker_which_runs_it(driver: Driver) -> None:
    event = driver.due()
    driver.workers.leave()
    assert driver.made == (1, 0)
    driver.work()
    assert driver.ran == [event]


def test_a_worker_that_takes_a_command_calls_another_for_the_next(driver: Driver) -> None:
    driver.due()
    driver.due()
    assert driver.workers.claim() is not None
    assert driver.made == (1, 0)


def test_a_worker_that_takes_the_last_command_calls_nobody(driver: Driver) -> None:
    driver.due()
    assert driver.workers.claim() is not None
    assert driver.started == []


def test_beyond_those_that_there_always_are_the_keeper_decides(driver: Driver) -> None:
    for _ in range(4):
        driver.workers.call()
    assert driver.made == (2, 1)
    assert driver.keeper_bell.rings == 0, "it is awake"


def test_workers_that_are_all_busy_for_a_whole_tick_become_one_more(driver: Driver) -> None:
    for _ in range(3):
        driver.workers.call()
    assert driver.keep() == TICK_S
    assert driver.made == (2, 1)
    driver.keep()
    assert driver.made == (3, 1)
    driver.keep()
    driver.keep()
    assert driver.made == (3, 1)


def test_workers_of_which_one_looks_meanwhile_stay_as_many(driver: Driver) -> None:
    for _ in range(3):
        driver.workers.call()
    driver.keep()
    driver.work()
    driver.keep()
    driver.keep()
    assert driver.made == (2, 1)


def test_a_look_between_two_shortages_is_no_tick_of_shortage(driver: Driver) -> None:
    for _ in range(3):
        driver.workers.call()
    driver.keep()
    driver.work()
    driver.workers.call()
    driver.workers.call()
    driver.keep()
    assert driver.made == (3, 1)
    driver.keep()
    assert driver.made == (4, 1)


def test_a_worker_that_has_nothing_to_do_makes_room_for_another(driver: Driver) -> None:
    for _ in range(2):
        driver.workers.call()
    driver.work()
    driver.workers.call()
    assert driver.made == (3, 0)


class Held:
    """A lock that tells whether it is held."""

    def __init__(self) -> None:
        self.held = False

    def __enter__(self) -> bool:
        self.held = True
        return True

    def __exit__(self, *_: object) -> None:
        self.held = False


def test_a_worker_destroys_what_it_has_run_without_the_lock(driver: Driver) -> None:
    workers: Any = driver.workers
    workers._lock = lock = Held()
    workers._run = lambda event: driver.commands.stage_ends(event, None)
    destroyed: list[bool] = []
    weakref.finalize(driver.due(), lambda: destroyed.append(lock.held))
    driver.work()
    assert destroyed == [False]


# The keeper


def test_a_keeper_that_sleeps_is_rung_by_the_next_command(driver: Driver) -> None:
    driver.workers.command_enqueued(0, ready=True)
    driver.commands.now = QUIET_NS
    assert driver.keep() is None
    driver.workers.command_enqueued(driver.commands.now, ready=True)
    driver.workers.command_enqueued(driver.commands.now, ready=True)
    assert (driver.made, driver.keeper_bell.rings) == ((0, 1), 1)


def test_the_keeper_has_a_command_run_that_nobody_flushes_when_its_time_has_come(driver: Driver) -> None:
    event = driver.commands.transfer()
    driver.workers.command_enqueued(event.queued_ns, ready=True)
    driver.commands.now = event.queued_ns + PATIENCE_NS - 1
    assert driver.keep() == TICK_S
    assert driver.made == (0, 1)
    driver.commands.now += 1
    driver.keep()
    assert driver.made == (1, 1)


@pytest.mark.parametrize("ready", [True, False])
def test_while_the_host_goes_on_enqueueing_the_keeper_waits_longer_but_not_for_ever(
    driver: Driver, ready: bool
) -> None:
    event = driver.commands.transfer()
    driver.workers.command_enqueued(event.queued_ns, ready=True)
    for age in (PATIENCE_NS, MOST_PATIENCE_NS - 1):
        driver.commands.now = event.queued_ns + age
        driver.workers.command_enqueued(driver.commands.now, ready=ready)
        assert driver.keep() == TICK_S
    assert driver.made == (0, 1)
    driver.commands.now += 1
    driver.workers.command_enqueued(driver.commands.now, ready=ready)
    driver.keep()
    assert driver.made == (1, 1)


def test_only_a_command_that_is_ready_wakes_the_keeper(driver: Driver) -> None:
    driver.workers.command_enqueued(1, ready=False)
    assert driver.made == (0, 0)
    driver.workers.command_enqueued(1, ready=True)
    assert driver.made == (0, 1)


def test_the_keeper_looks_on_while_something_is_not_due(driver: Driver) -> None:
    driver.workers.command_enqueued(0, ready=True)
    driver.commands.now = QUIET_NS * 2
    driver.commands.transfer()
    assert driver.keep() == TICK_S


def test_the_keeper_looks_on_while_all_workers_are_busy_and_one_more_was_called(driver: Driver) -> None:
    driver.commands.now = 5 * QUIET_NS
    for _ in range(3):
        driver.workers.call()
    assert driver.keep() == TICK_S


def test_the_keeper_calls_nobody_for_what_was_due_before(driver: Driver) -> None:
    driver.due(answer=Claim.WAITS)
    driver.commands.now += 10 * PATIENCE_NS
    driver.keep()
    assert driver.made == (0, 0)


def test_who_leaves_something_that_is_not_due_reminds_the_keeper(driver: Driver) -> None:
    driver.commands.transfer()
    driver.workers.leave()
    assert driver.made == (0, 1)
    driver.workers.leave()
    assert (driver.made, driver.keeper_bell.rings) == ((0, 1), 0), "it is awake"


def test_a_worker_that_ends_reminds_the_keeper_of_what_is_not_due(driver: Driver) -> None:
    driver.commands.transfer()
    driver.work()
    assert driver.made == (0, 1)


def test_a_keeper_that_sleeps_is_reminded_by_its_bell(driver: Driver) -> None:
    driver.workers.command_enqueued(0, ready=True)
    driver.commands.now = QUIET_NS
    driver.keep()
    driver.commands.transfer()
    driver.workers.leave()
    assert driver.keeper_bell.rings == 1


def test_what_nobody_flushes_begins_within_a_millisecond_and_threads_are_asked_for_ten_times_a_second(
    driver: Driver,
) -> None:
    assert driver.keep() in (TICK_S, None)
    assert 0 < PATIENCE_NS / 1e9 + TICK_S <= 0.001
    assert 0 < TICK_S < SLOW_TICK_S <= 0.1


# No threads to be had


def test_commands_are_stranded_when_no_worker_can_be_made(driver: Driver) -> None:
    assert not driver.workers.stranded
    driver.has_threads = False
    driver.due()
    driver.workers.leave()
    assert driver.workers.stranded


def test_commands_are_not_stranded_while_a_worker_is_only_busy(driver: Driver) -> None:
    for _ in range(4):
        driver.workers.call()
    assert not driver.workers.stranded


def test_a_keeper_that_finds_no_thread_tries_again_and_not_too_often(driver: Driver) -> None:
    for _ in range(3):
        driver.workers.call()
    driver.has_threads = False
    driver.keep()
    assert driver.keep() == SLOW_TICK_S
    driver.has_threads = True
    driver.keep()
    assert driver.made == (3, 1)


def test_a_keeper_that_could_not_be_made_is_made_later(driver: Driver) -> None:
    driver.has_threads = False
    driver.workers.command_enqueued(0, ready=True)
    driver.has_threads = True
    driver.workers.command_enqueued(0, ready=True)
    assert driver.made == (0, 1)


# The end


def test_closing_rings_the_keeper_which_ends(driver: Driver) -> None:
    driver.workers.command_enqueued(0, ready=True)
    driver.workers.close()
    assert driver.keeper_bell.rings == 1
    assert driver.keep() is False


def test_closing_without_a_keeper_rings_none(driver: Driver) -> None:
    driver.workers.close()
    assert driver.keeper_bell.rings == 0


def test_nothing_is_begun_and_no_thread_made_when_closed(driver: Driver) -> None:
    driver.workers.close()
    driver.due()
    driver.workers.leave()
    driver.workers.command_enqueued(0, ready=True)
    assert driver.workers.claim() is None
    assert driver.started == []
    assert not driver.workers.stranded


def test_threads_are_made_anew_when_reopened(driver: Driver) -> None:
    for _ in range(2):
        driver.workers.call()
    driver.workers.command_enqueued(0, ready=True)
    driver.workers.close()
    driver.work()
    driver.work()
    driver.keep()
    driver.workers.reopen()
    driver.due()
    for _ in range(2):
        driver.workers.call()
    driver.workers.command_enqueued(0, ready=True)
    assert driver.made == (4, 2)


@pytest.mark.parametrize(("processors", "base"), [(None, 2), (1, 2), (2, 2), (8, 8)])
def test_there_is_always_a_worker_for_each_processor_and_two_at_least(
    monkeypatch: pytest.MonkeyPatch, processors: int | None, base: int
) -> None:
    """One alone would be kept by a command that waits for another."""
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    threads: Any = Driver()
    lock: Any = nullcontext()
    assert Workers(lock, threads, Commands().readiness, lambda event: None, lambda: None)._base == base
