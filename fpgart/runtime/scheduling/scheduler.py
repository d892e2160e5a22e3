# SPDX-License-Identifier: Apache-2.0
"""The scheduler: it decides the time and the thread of each command that C does not carry.

C keeps the order of commands (core.py); what may begin is decided in readiness.py. A thread that waits for an event
runs what that event needs by itself: handing work to another thread costs more than everything else in a small call.
Workers (workers.py) take what nobody waits for, at once after a flush and otherwise after a short delay.

One lock guards the state of all events. It is never held while a command runs, while bytes move, while the
host is called back, or while objects of the host are destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from fpgart.base.errors import OutOfResources, error_of
from fpgart.base.notices import NOTICES
from fpgart.channels.network import host_waits
from fpgart.runtime.scheduling.attempt import attempt, tell_failure
from fpgart.runtime.scheduling.batch import LaunchBatch
from fpgart.runtime.scheduling.callbacks import Callbacks
from fpgart.runtime.scheduling.core import Command, Core, CoreQueue
from fpgart.runtime.scheduling.event import (
    COMPLETE,
    RUNNING,
    Callback,
    Event,
    EventContext,
    EventQueue,
    Operation,
    ReadyList,
)
from fpgart.runtime.scheduling.readiness import Aftermath, Readiness, collect
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.threads import SystemThreads, Threads
from fpgart.runtime.scheduling.workers import Workers

T = TypeVar("T")


class CarriedBoard(Protocol):
    """The commands that C gives to the engine by itself, on one board."""

    is_awaited: bool
    """Whether some were under way when it was held, and idle() has not been called since."""

    def hold(self) -> None:
        """Have none begin until resume() has been called as often. The scheduler's lock is held."""

    def resume(self) -> None: ...

    def is_open(self) -> bool:
        """Whether some are under way. No lock held."""

    def idle(self) -> None:
        """None is under way. The scheduler's lock is held."""


class Scheduler:
    """Runs the commands of all queues of a process."""

    ends_are_news = False
    """Whether it matters which thread learns of an end, each time that one does."""
    carries = True
    """Whether C may give commands to the engine by itself."""

    def __init__(self, threads: Threads | None = None, core: Core[Event] | None = None) -> None:
        self._threads = threads or SystemThreads()
        self._now = self._threads.now
        self._lock = self._threads.lock()
        self.core: Core[Event] = core or Core()
        self._ready = Readiness(self.core)
        self.host_ready = self.new_ready_list(ends_by_itself=True)
        """Ready commands that touch host memory only."""
        self.reaper = Reaper()
        """What dead contexts have left; every thread that forgets a command sees to it."""
        self._workers = Workers(self._lock, self._threads, self._ready, self._run_where_it_may, self.reaper.reap)
        self._still = self._threads.bell()
        self._waits_for_still = 0
        self._callbacks = Callbacks(self._threads.ident)
        self._closed = False
        self.boards: list[CarriedBoard] = []
        """Those on which C carries commands."""
        self._held_at_end: list[CarriedBoard] = []
        """Those on which it carries none any more."""

    # What the runtime asks for

    def new_ready_list(self, *, ends_by_itself: bool) -> ReadyList:
        """Where the ready commands of one kind on one device wait for their turn."""
        return self._ready.new_list(ends_by_itself=ends_by_itself)

    def core_queue(self, *, in_order: bool) -> CoreQueue:
        """What C knows of a new queue."""
        return self.core.queue(in_order=in_order)

    def user_event(self) -> Command:
        """What C knows of a new user event."""
        return self.core.user_event()

    def enqueue(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Put a command at the end of its queue."""
        self._enqueue(event, wait_list, runs_here=False)

    def run_blocking(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Put a command at the end of its queue and return when it has ended.

        Raises the error that it ended with.
        """
        if self._enqueue(event, wait_list, runs_here=True):
            self._run_where_it_may(event)
            self._stop_looking()
        self.wait(event)
        if event.status < COMPLETE:
            raise error_of(event.status, "the command did not complete")

    def _enqueue(self, event: Event, wait_list: tuple[Event, ...], *, runs_here: bool) -> bool:
        """Put a command at the end of its queue; whether the calling thread has claimed it, which may run it."""
        queue = event.queue
        assert queue is not None
        after = Aftermath()
        with self._lock:
            self._refuse_when_closed()
            now = event.queued_ns = self._now()  # not before the ends of what it follows
            self._entering(event, queue, wait_list)
            ended = self._ready.enter(event, queue, wait_list, now, after)
            calls_back = ended or after  # a callback may wait for a claimed command
            is_mine = runs_here and not calls_back and event.ready is not None and self._ready.claim(event)
            self._workers.command_enqueued(now, ready=event.ready is not None)
        if calls_back:
            self._let_follow(ended, after)
            after.settle()
            self._stop_looking()
            reap(event)
        return is_mine

    def wait(self, event: Event) -> None:
        """Return when `event` has ended, however it ended; until then run what it needs.

        What the host has released and the command alone kept is gone then, and the host's destructor callbacks of it
        have been made.
        """
        self.call_due()
        if event.status > COMPLETE:
            assert event.command is not None
            self.wait_for(event.command, None if event.is_view else event)
            event.look()
        reap(event)

    def wait_for(self, command: Command, event: Event | None = None) -> None:
        """As wait(), but for what the host has released. `event`: the command's, if C does not carry it."""
        helped = False
        while not command.has_ended():
            mine = carried = None
            with self._lock:
                if not self._closed:
                    mine, carried = self._ready.claim_needed(command, event)
                if mine is None and carried is None:
                    self._ready.make_due(self._now())
                if mine is None or helped:  # what this thread has made ready must not wait until it looks again
                    self._workers.leave()
                if mine is None and self._workers.stranded:
                    mine = self._workers.claim()
                idle = mine is None and carried is None
                sleeps = idle and not (self._callbacks.any_due() or self.core.has_ready())
                if sleeps and event is not None:
                    event.is_awaited = True
            if mine is not None:
                helped = True
                self._run_where_it_may(mine, event)
                mine = None  # destroyed here, not under the lock
            elif carried is not None:
                carried.wait()
                helped = True
                self._take()
            elif sleeps:
                self._sleep_until_ended(command)
                helped = event is None
                if helped:
                    self._take()
            else:
                self._take()
                self.call_due()
        if helped:
            self._stop_looking()

    def _sleep_until_ended(self, command: Command) -> None:
        host_waits(True)
        try:
            self._threads.sleep_until_ended(command)
        finally:
            host_waits(False)

    def _take(self) -> None:
        """Take what is ready since the calling thread waited in C. Without the lock."""
        ended, after = self._take_ready()
        settle_and_reap(after, ended)

    def _take_ready(self) -> tuple[list[Event], Aftermath]:
        """Give each command its turn that is ready: those that have ended without being run, and what comes behind."""
        after = Aftermath()
        with self._lock:
            ended = self._ready.take(self._now(), after)
        ended += self._let_follow(ended, after)
        return ended, after

    def flush(self) -> None:
        """Have everything that was enqueued until now begin as soon as it may, without further calls."""
        with self._lock:
            self._ready.make_due(self._now())
        self._leave()

    def _leave(self) -> None:
        """Have the driver's threads run what is due; where none can be made, run it here. Without the lock."""
        with self._lock:
            self._workers.leave()
            stranded = self._workers.stranded
        while stranded:
            with self._lock:
                event = self._workers.claim()
            if event is None:
                return
            self._run_where_it_may(event)

    def finish(self, queue: EventQueue) -> None:
        """Return when every command that is in `queue` now has ended."""
        self.call_due()
        if queue.carried is not None:
            self.flush()
        last = queue.core.enqueued()
        while (found := self.core.unfinished(queue.core, last)) is not None:
            self.wait_for(*found)
        reap(queue)

    def unfinished(self, queues: Sequence[EventQueue]) -> list[Event]:
        """The commands in some queues that have not ended."""
        with self._lock:
            return [event for queue in queues for event in queue.open]

    def awaited(self, event: Event) -> list[Event]:
        """The commands that one waits for, but for those that C carries; some of them, if they are many."""
        with self._lock:
            return self.core.awaited(event.command) if event.command is not None else []

    def add_callback(self, event: Event, status: int, callback: Callback) -> None:
        """Call back when `status` is reached, or at once; in a callback, when that has returned."""
        call = partial(self._callbacks.call, callback)
        with self._lock:
            pending = event.status > status
            if pending:
                if event.callbacks is None:
                    event.callbacks = []
                event.callbacks.append((status, call))
        if not pending:
            call(event, min(event.status, status) if event.status < 0 else status)

    def claim_user_event(self, event: Event) -> bool:
        """Whether the caller is the first to set the status of a user event, which it has to end then."""
        assert event.command is not None
        return event.command.claim()

    def end_user_event(self, event: Event, status: int) -> None:
        """End a user event. Its callbacks return before what waits for it begins: hosts of boards rely on that.

        In a callback they come when that has returned, and what waits for the event does not wait for them.
        """
        after, then = Aftermath(), Aftermath()
        with self._lock:
            if event.status <= COMPLETE:
                return
            self._ready.end(event, status, self._now(), after)
        after.settle()
        self._let_follow([event], then)
        then.settle()
        reap(event)
        self._stop_looking()

    def host_polls(self) -> None:
        """The host asks for the status of a command that has not ended, and may do nothing else from now on."""
        if self._workers.stranded:
            self.flush()

    def settle(self, patience_s: float) -> bool:
        """Wait until nothing runs and nothing is ready to run; False when that takes longer."""
        self.flush()
        return self._wait_until_still(patience_s, self._ready.at_rest)

    def at_rest(self) -> bool:
        """Whether nothing runs and nothing is ready to run."""
        if any(board.is_open() for board in self.boards):
            return False
        with self._lock:
            return self._ready.at_rest()

    # Commands that C carries

    def run_handed_over(self, event: Event, began: Callback, ended: Callback) -> None:
        """Run a command of C's queues, which has kept its order: it waits for its turn on the board only."""
        after = Aftermath()
        event.callbacks = [(RUNNING, began), (COMPLETE, ended)]
        event.queued_ns = self._now()
        with self._lock:
            self._refuse_when_closed()
            self._ready.make_ready(event, event.queued_ns, after)
            self._ready.make_due(event.queued_ns)
            self._workers.leave()
        after.settle()

    def run_apart(self, work: Callable[[], None]) -> None:
        """Do something on a thread that has nothing else to do, here if the system cannot create one."""
        if not self._threads.start(work):
            work()

    def call_due(self) -> None:
        """Make the callbacks that are due behind the one that the calling thread is in, as it is about to wait."""
        if self._callbacks.any_due():
            self._callbacks.call_due()

    def commands_ready(self) -> None:
        """A thread in C has made commands ready. The host is called back on another thread."""
        ended, after = self._take_ready()
        self._leave()
        if after:
            self.run_apart(partial(settle_and_reap, after, ended))

    def board_idle(self, board: CarriedBoard) -> None:
        """What C carried on a board has ended, and more may not begin."""
        with self._lock:
            board.idle()
            self._tell_still()
            self._workers.leave()

    def look_at_view(self, event: Event) -> None:
        """Have a view say that its command has ended, if that has."""
        assert event.command is not None
        status = event.command.status()
        if status <= COMPLETE < event.status:
            times = self.core.times(event.command)
            event.queued_ns, event.submit_ns, event.start_ns, event.end_ns = times
            event.status = status

    def user_event_ended(self, event: Event, status: int) -> None:
        """C has ended a user event while somebody made the view `event` of it. Reaps nothing."""
        after = Aftermath()
        with self._lock:
            event.status = status
            collect(event, status, after)
        after.settle()

    # Time, for those who ask; a scheduler with a clock of its own answers otherwise

    def host_time(self) -> int:
        """Nanoseconds of the clock that stage_time() is in, now."""
        return self._now()

    def stage_time(self, event: Event, stage: str) -> int:
        """Nanoseconds at which a command reached a stage: queued, submit, start or end."""
        return int(getattr(event, f"{stage}_ns"))

    def saw_end(self, event: Event) -> None:
        """The host has seen by itself that a command has ended."""

    def queue_made(self, queue: EventQueue) -> None:
        """The host has made a queue."""

    def boards_renewed(self) -> None:
        """The boards are as new, and nothing runs."""

    def close(self, patience_s: float) -> bool:
        """Start nothing more, and wait for what runs; True when everything stands still."""
        with self._lock:
            self._closed = True
            self._held_at_end = list(self.boards)
            for board in self._held_at_end:
                board.hold()
            self._workers.close()
        return self._wait_until_still(patience_s, lambda: not self._ready.running)

    def reopen(self) -> None:
        """Take commands again after close()."""
        with self._lock:
            self._closed = False
            for board in self._held_at_end:
                board.resume()
            self._held_at_end = []
            self._workers.reopen()

    def while_none_begins(self, decide: Callable[[], T]) -> T:
        """What a short look at, or change of, the boards' state gives while no command begins or ends.

        It must destroy nothing of the host's.
        """
        with self._lock:
            return decide()

    # With the lock held

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise OutOfResources("the process is exiting")

    def _entering(self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...]) -> None:
        """A command is about to enter its queue; for schedulers with a clock of their own."""

    # Without the lock

    def _let_follow(self, ended: Sequence[Event], after: Aftermath) -> list[Event]:
        """What follows commands that have ended may go on; the same for those that end without being run.

        Returns the latter.
        """
        passed: list[Event] = []
        while ended:
            is_ready = False
            for event in ended:
                if event.command is not None:
                    is_ready |= event.command.let_follow()
            if not is_ready:
                break
            with self._lock:
                ended = self._ready.take(self._now(), after)
            passed.extend(ended)
        return passed

    def _stop_looking(self) -> None:
        """The calling thread runs nothing more: whoever is needed for what is ready takes over."""
        if self._ready.any_ready():
            with self._lock:
                self._workers.leave()

    def _wait_until_still(self, patience_s: float, still: Callable[[], bool]) -> bool:
        deadline = self._now() + int(patience_s * 1e9)
        with self._lock:
            boards = list(self.boards)
            for board in boards:
                board.hold()
        try:
            while True:
                with self._lock:
                    if still() and not any(board.is_awaited for board in boards):
                        return True
                    self._waits_for_still += 1
                left = deadline - self._now()
                if left <= 0 or not self._still.wait(left / 1e9):
                    with self._lock:
                        return still() and not any(board.is_awaited for board in boards)
        finally:
            for board in boards:
                board.resume()

    def _run_where_it_may(self, event: Event, awaited: Event | None = None) -> None:
        """Run a claimed command here; one that may wait for later commands on a thread of its own.

        `awaited`: what the calling thread waits for, if it is one of the host's.
        """
        if event.operation is None or not event.operation.needs_thread:  # no local variable: it would keep it
            self._run(event, awaited)
        elif not self._threads.start(partial(self._run_apart, [event])):
            self._ended_stage(event, OutOfResources.status, None)
            tell_failure(
                event, OutOfResources("the system cannot create a thread for a command that may wait for others")
            )

    def _run_apart(self, only: list[Event]) -> None:
        """Run a command on a thread that has nothing else to do, and forget it."""
        self._run(only.pop())
        self.reaper.reap()
        self._stop_looking()

    def _run(self, event: Event, awaited: Event | None = None) -> None:
        """Run a claimed command as far as its stages may follow each other, and short launches behind it.

        Only the event refers to its operation, so that _ended_stage() destroys it before the command has ended.
        """
        if event.status != RUNNING:
            self._begin(event)
        while event.operation is not None:
            if self._run_batch(event, awaited):
                break
            if not self._ended_stage(event, *self._run_stage(event)):
                break

    def _begin(self, event: Event) -> None:
        """Take note that a claimed command runs."""
        after = Aftermath()
        with self._lock:
            self._ready.begins(event, self._now(), after)
        after.settle()

    def _ended_stage(self, event: Event, status: int, following: Operation | None) -> bool:
        """Take note of the end of a stage; whether this thread has to run the next one of the command."""
        operation = event.operation  # destroyed without the lock
        goes_on = False
        with self._lock:
            status, following = self._ready.release(event, status, following)
            if following is not None:
                goes_on = self._ready.go_on(event, following) is not None
                if goes_on:  # this thread will not look at what the ended stage was in the way of
                    self._workers.leave()
                self._tell_still()
            else:
                event.operation = None
        del operation
        if following is None:
            self._end_claimed(event, status)
        return goes_on

    def _end_claimed(self, event: Event, status: int) -> None:
        """End a command whose operation is destroyed. A thread that waits for it makes the destructor callbacks."""
        after = Aftermath()
        with self._lock:
            waited_for = event.is_awaited
            self._ready.end_claimed(event, status, self._now(), after)
            self._tell_still()
        self._let_follow([event], after)
        if after:
            after.settle()
        if not waited_for:
            reap(event)

    def _run_batch(self, event: Event, awaited: Event | None) -> bool:
        """Run a claimed launch together with those behind it; False if there are none, and nothing was done.

        Watchers of operations get each by itself.
        """
        if NOTICES.operation_began or NOTICES.operation_ended:
            return False
        last = awaited
        if awaited is not None and (
            awaited.queue is not event.queue or event.queue is None or not event.queue.in_order
        ):
            last = event
        batch = self._batch_from(event, last)
        if batch is None:
            return False
        self._end_batch(batch, last)
        return True

    def _batch_from(self, event: Event, last: Event | None) -> LaunchBatch | None:
        """A claimed launch and those behind it, claimed now, but not beyond `last`; None if that is only one."""
        launch = event.operation.short_launch if event.operation is not None else None
        if launch is None:
            return None
        first = [(event, launch)]
        with self._lock:
            behind = self._ready.claim_followers(first, last, self._now())
        return LaunchBatch(first + behind, self._now, attempt) if behind else None

    def _end_batch(self, batch: LaunchBatch, last: Event | None) -> None:
        """Take note of the ends of launches, and hand over what comes behind them meanwhile, but not beyond `last`.

        What is called back may wait for the rest: another thread sees to that, and destructor callbacks come last.
        """
        waited_for = False
        while batch.left:
            after = Aftermath()
            ended = batch.ended()
            operations = [event.operation for event, _ in ended]  # destroyed without the lock
            with self._lock:
                ended = [(event, self._ready.release(event, status, None)[0]) for event, status in ended]
                for event, _ in ended:
                    event.operation = None
            del operations
            with self._lock:
                now = self._now()
                for event, status in ended:
                    waited_for = event.is_awaited
                    self._ready.end_launch(event, status, now, after)
                if batch.left:
                    batch.follow(self._ready.claim_followers(batch.left, last, now))
                self._tell_still()
            self._let_follow([event for event, _ in ended], after)
            if batch.left:
                with self._lock:
                    self._workers.leave()
            if after:
                apart = bool(batch.left) and self._threads.start(lambda: self._end_batch_apart(batch, last))
                after.settle()
                if apart:
                    return
        if not waited_for:
            reap(event)

    def _end_batch_apart(self, batch: LaunchBatch, last: Event | None) -> None:
        self._end_batch(batch, last)
        self.reaper.reap()
        self._stop_looking()

    def _tell_still(self) -> None:
        """Have those look again who wait until nothing runs. With the lock held."""
        for _ in range(self._waits_for_still):
            self._still.ring()
        self._waits_for_still = 0

    def _run_stage(self, event: Event) -> tuple[int, Operation | None]:
        operation = event.operation
        assert operation is not None
        begin = 0
        if NOTICES.operation_began:
            begin = self._now()
            for listener in NOTICES.operation_began:
                listener(event, operation)
        status, following = attempt(event, operation.run)
        for listener in NOTICES.operation_ended:
            listener(event, operation, begin, status)
        return status, following


class OfContext(Protocol):
    """An object that belongs to a context: an event or a queue."""

    @property
    def context(self) -> EventContext: ...


def settle_and_reap(after: Aftermath, ended: Sequence[Event]) -> None:
    """Do what comes behind the ends of commands, and dispose of what that leaves. Without the lock."""
    after.settle()
    for event in ended:
        reap(event)


def reap(item: OfContext) -> None:
    """Dispose of what dead objects of the item's context have left. Without the lock."""
    context = item.context
    if context.reaper:
        context.reap()
