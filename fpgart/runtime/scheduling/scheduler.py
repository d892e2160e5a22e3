# SPDX-License-Identifier: Apache-2.0
"""The scheduler: it decides the time and the thread of each command that C does not carry.

C keeps the order of commands (core.py); readiness.py decides which may begin. A thread that waits for an event runs
what that event needs, because giving work to another thread takes longer than everything else in a small call. Workers
(workers.py) run the rest, at once after a flush and otherwise after a short delay.

One lock guards the state of all events. It is never held while a command runs, bytes move, the host is called back, or
objects of the host are destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from fpgart.base.errors import OutOfResources, error_of
from fpgart.base.notices import NOTICES
from fpgart.channels.network import host_waits
from fpgart.runtime.scheduling.attempt import attempt, tell_failure
from fpgart.runtime.scheduling.callbacks import Callbacks
from fpgart.runtime.scheduling.core import Command, Core
from fpgart.runtime.scheduling.event import (
    COMPLETE,
    RUNNING,
    Callback,
    Event,
    EventCallbacks,
    EventContext,
    EventQueue,
    Operation,
    ReadyList,
)
from fpgart.runtime.scheduling.occupancy import TAKEN
from fpgart.runtime.scheduling.readiness import Aftermath, Readiness
from fpgart.runtime.scheduling.reaper import Reaper
from fpgart.runtime.scheduling.threads import SystemThreads, Threads
from fpgart.runtime.scheduling.workers import Workers

T = TypeVar("T")


class CarriedBoard(Protocol):
    """The commands that C gives to the engine, on one board."""

    is_awaited: bool
    """True if some were running when hold() was called, and idle() has not been called since."""

    def hold(self) -> None:
        """Lets none begin until resume() has been called as often as hold(). The scheduler's lock is held."""

    def resume(self) -> None: ...

    def is_open(self) -> bool:
        """True if some are running. No lock is held."""

    def idle(self) -> None:
        """Records that none is running. The scheduler's lock is held."""


class Scheduler:
    """Runs the commands of all queues of a process."""

    ends_are_news = False
    """True if the thread that observes an end matters, each time that one does."""
    carries = True
    """True if C may give commands to the engine."""

    def __init__(self, threads: Threads | None = None, core: Core[Event] | None = None) -> None:
        self._threads = threads or SystemThreads()
        self._now = self._threads.now
        self._lock = self._threads.lock()
        self.core: Core[Event] = core or Core()
        self._ready = Readiness(self.core)
        self.host_ready = self.new_ready_list(ends_by_itself=True)
        """Ready commands that use host memory only."""
        self.reaper = Reaper()
        """The deferred work of destroyed contexts. Each thread that drops a command runs it."""
        self._workers = Workers(self._lock, self._threads, self._ready, self._run_where_it_may, self.reaper.reap)
        self._still = self._threads.bell()
        self._waits_for_still = 0
        self._callbacks = Callbacks(self._lock, self._threads, self.core.in_callback)
        self._closed = False
        self.boards: list[CarriedBoard] = []
        """The boards on which C carries commands."""
        self._held_at_end: list[CarriedBoard] = []
        """The boards that close() has held."""

    # Called by the runtime

    def new_ready_list(self, *, ends_by_itself: bool) -> ReadyList:
        """Returns a new list for the ready commands of one kind on one device."""
        return self._ready.new_list(ends_by_itself=ends_by_itself)

    def user_event(self) -> Command:
        """Returns the core's part of a new user event."""
        return self.core.user_event()

    def enqueue(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Puts a command at the end of its queue."""
        self._enqueue(event, wait_list, runs_here=False)

    def run_blocking(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Puts a command at the end of its queue, returns when it has ended, and raises its error."""
        if self._enqueue(event, wait_list, runs_here=True):
            self._run_where_it_may(event)
            self._stop_looking()
        self.wait(event)
        if event.status < COMPLETE:
            raise error_of(event.status, "the command did not complete")

    def _enqueue(self, event: Event, wait_list: tuple[Event, ...], *, runs_here: bool) -> bool:
        """Puts a command at the end of its queue. Returns True if this thread has claimed it and has to run it."""
        queue = event.queue
        assert queue is not None
        after = Aftermath()
        with self._lock:
            self._refuse_when_closed()
            now = event.queued_ns = self._now()  # under the lock: after the ends of what it follows
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
        """Returns when `event` has ended, well or not; runs what it needs meanwhile.

        Objects that the host has released and only the command kept are then destroyed, and their destructor callbacks
        made.
        """
        self.call_due()
        if event.status > COMPLETE:
            assert event.command is not None
            self.wait_for(event.command, None if event.is_view else event)
            event.look()
        reap(event)

    def wait_for(self, command: Command, event: Event | None = None) -> None:
        """Returns when a command has ended. `event` is the command's if C does not carry it."""
        helped = False
        while not command.has_ended():
            mine = carried = None
            with self._lock:
                if not self._closed:
                    mine, carried = self._ready.claim_needed(command, event)
                if mine is None and carried is None:
                    self._ready.make_due(self._now())
                if mine is None or helped:  # other threads run what this thread has made ready
                    self._workers.leave()
                if mine is None and self._workers.stranded:
                    mine = self._workers.claim()
                idle = mine is None and carried is None
                sleeps = idle and not (self._callbacks.any_due() or self.core.has_ready())
                if sleeps and event is not None:
                    event.is_awaited = True
            if mine is not None:
                helped = True
                self._run_where_it_may(mine)
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
        """Makes commands ready that the core had ready while the calling thread waited in C. No lock is held."""
        ended, after = self._take_ready()
        settle_and_reap(after, ended)

    def _take_ready(self) -> tuple[list[Event], Aftermath]:
        """Makes commands ready. Returns those that ended without running, and the work to do after that."""
        after = Aftermath()
        with self._lock:
            ended = self._ready.take(self._now(), after)
            self._tell_still()
        ended += self._let_follow(ended, after)
        return ended, after

    def flush(self) -> None:
        """Makes all commands due that are enqueued, so that they begin as soon as they may."""
        with self._lock:
            self._ready.make_due(self._now())
        self._leave()

    def _leave(self) -> None:
        """Lets the driver's threads run what is due. If none can be created, runs it here. No lock is held."""
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
        """Returns when every command that is in `queue` at the call has ended."""
        self.call_due()
        last = queue.core.enqueued()
        while (found := self.core.unfinished(queue.core, last)) is not None:
            self.wait_for(*found)
        reap(queue)

    def unfinished(self, queues: Sequence[EventQueue]) -> list[Event]:
        """Returns the commands in the queues that have not ended."""
        with self._lock:
            return [event for queue in queues for event in queue.open]

    def awaited(self, event: Event) -> list[Event]:
        """Returns the commands that one waits for, without those that C carries; 64 at most."""
        with self._lock:
            return self.core.awaited(event.command) if event.command is not None else []

    def add_callback(self, event: Event, status: int, callback: Callback) -> None:
        """Calls back when `status` is reached, or at once; if the thread is in a callback, after that has returned."""
        with self._lock:
            pending = event.status > status
            if pending:
                if event.callbacks is None:
                    event.callbacks = EventCallbacks(self._callbacks.reached)
                event.callbacks.registered.append((status, callback))
        if not pending:
            self._callbacks.call(partial(callback, event, event.status if event.status < 0 else status))

    def claim_user_event(self, event: Event) -> bool:
        """Claims a user event. Returns True if the caller is the first, and so has to end it."""
        assert event.command is not None
        return event.command.claim()

    def end_user_event(self, event: Event, status: int) -> None:
        """Ends a user event. Its callbacks return before commands that wait for it begin: hosts of boards rely on that.

        If the thread is in callbacks within each other, the commands may begin before (Callbacks.call_at_once).
        """
        assert event.command is not None
        after, then = Aftermath(), Aftermath()
        with self._lock:
            if event.status <= COMPLETE:
                return
            self._ready.end(event, status, self._now(), after)
        self._callbacks.call_at_once(after.settle)
        event.command.call_back()
        self._let_follow([event], then)
        then.settle()
        reap(event)
        self._stop_looking()

    def host_polls(self) -> None:
        """Flushes if no worker can be created, because a host that polls a status may do nothing else."""
        if self._workers.stranded:
            self.flush()

    def settle(self, patience_s: float) -> bool:
        """Waits until all commands that have not ended wait for user events.

        Returns False if that takes longer than `patience_s`.
        """
        self.flush()
        return self._wait_until_still(patience_s, self.core.is_at_rest)

    def at_rest(self) -> bool:
        """True if all commands that have not ended wait for user events, those that C carries included."""
        return not any(board.is_open() for board in self.boards) and self.core.is_at_rest()

    # Commands that C carries

    def run_handed_over(self, event: Event, began: Callback, ended: Callback) -> None:
        """Runs a command that C has handed over, as soon as the board is free for it: C has kept the queue's order."""
        after = Aftermath()
        event.callbacks = EventCallbacks(self._callbacks.call_due_of, [(RUNNING, began), (COMPLETE, ended)])
        event.queued_ns = self._now()
        with self._lock:
            self._refuse_when_closed()
            self._ready.make_ready(event, event.queued_ns, after)
            self._ready.make_due(event.queued_ns)
            is_mine = event.ready is not None and self._ready.claim(event)
        after.settle()
        if is_mine:
            self._run_where_it_may(event)
        self._leave()

    def run_if_free(self, operation: Operation) -> bool:
        """Runs an operation that belongs to no command, if it may begin now. Returns False otherwise.

        Its claim() must change nothing if it may not begin. Raises the operation's error.
        """
        with self._lock:
            if self._closed or operation.claim() is not TAKEN:
                return False
        try:
            operation.run()
        finally:
            with self._lock:
                operation.release(None)
            self._stop_looking()
        return True

    def run_apart(self, work: Callable[[], None]) -> None:
        """Runs `work` on a new thread, or here if the system cannot create one."""
        if not self._threads.start(work):
            work()

    def call_due(self) -> None:
        """Makes the callbacks that are due behind the calling thread's callback, before the thread waits."""
        if self._callbacks.any_due():
            self._callbacks.call_due()

    def commands_ready(self) -> None:
        """Takes the commands that a thread in C has made ready. Another thread makes the host's callbacks."""
        ended, after = self._take_ready()
        self._leave()
        if after:
            self.run_apart(partial(settle_and_reap, after, ended))

    def board_idle(self, board: CarriedBoard) -> None:
        """Records that no carried command runs on a board that is held."""
        with self._lock:
            board.idle()
            self._tell_still()
            self._workers.leave()

    def look_at_view(self, event: Event) -> None:
        """Updates a view's status and times if its command has ended."""
        assert event.command is not None
        status = event.command.status()
        if status <= COMPLETE < event.status:
            times = self.core.times(event.command)
            event.queued_ns, event.submit_ns, event.start_ns, event.end_ns = times
            event.status = status

    # Time; a scheduler with a simulated clock overrides these

    def host_time(self) -> int:
        """Returns the present time of the clock that stage_time() uses, in nanoseconds."""
        return self._now()

    def stage_time(self, event: Event, stage: str) -> int:
        """Returns the nanoseconds at which a command reached a stage: queued, submit, start or end."""
        return int(getattr(event, f"{stage}_ns"))

    def saw_end(self, event: Event) -> None:
        """Is called when the host has observed the end of a command without the scheduler."""

    def queue_made(self, queue: EventQueue) -> None:
        """Is called when the host has created a queue."""

    def boards_renewed(self) -> None:
        """Is called when the boards have been reset; no command runs."""

    def close(self, patience_s: float) -> bool:
        """Settles, then begins no more commands. Returns True if all running ones have ended.

        Commands still begin, because exit() may call handlers of the host's libraries after that of the driver. These
        handlers may wait for threads that wait for such a command, as those of the SYCL runtime do.
        """
        deadline = self._now() + int(patience_s * 1e9)
        self.settle(patience_s)
        with self._lock:
            self._closed = True
            self._held_at_end = list(self.boards)
            for board in self._held_at_end:
                board.hold()
            self._workers.close()
        return self._wait_until_still((deadline - self._now()) / 1e9, lambda: not self._ready.running)

    def reopen(self) -> None:
        """Accepts commands again after close()."""
        with self._lock:
            self._closed = False
            for board in self._held_at_end:
                board.resume()
            self._held_at_end = []
            self._workers.reopen()

    def while_none_begins(self, decide: Callable[[], T]) -> T:
        """Returns the result of `decide`, which runs while no command begins or ends.

        `decide` has to be short and must not destroy objects of the host.
        """
        with self._lock:
            return decide()

    # With the lock held

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise OutOfResources("the process is exiting")

    def _entering(self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...]) -> None:
        """Is called before a command enters its queue, for schedulers with a simulated clock."""

    # Without the lock

    def _let_follow(self, ended: Sequence[Event], after: Aftermath) -> list[Event]:
        """Lets the followers of ended commands begin, and those of commands that end without running.

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
                self._tell_still()
            passed.extend(ended)
        return passed

    def _stop_looking(self) -> None:
        """Is called when the calling thread runs no more commands: a worker takes over if any is ready."""
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

    def _run_where_it_may(self, event: Event) -> None:
        """Runs a claimed command here, or on a new thread if it may wait for later commands."""
        if event.operation is None or not event.operation.needs_thread:  # no local variable: it would keep it
            self._run(event)
        elif not self._threads.start(partial(self._run_apart, [event])):
            self._ended_stage(event, OutOfResources.status, None)
            tell_failure(
                event, OutOfResources("the system cannot create a thread for a command that may wait for others")
            )

    def _run_apart(self, only: list[Event]) -> None:
        """Runs a command on a thread that was started for it, then commands that are due, until there is none.

        Takes the command out of `only`, because that list lives as long as the thread.
        """
        event: Event | None = only.pop()
        while event is not None:
            self._run(event)
            event = None  # destroyed here, not at the next assignment, which is under the lock
            self.reaper.reap()
            with self._lock:
                event = self._workers.claim()
        self._stop_looking()

    def _run(self, event: Event) -> None:
        """Runs a claimed command until a stage has to wait.

        Only the event refers to its operation, so that _ended_stage() destroys it before the command has ended.
        """
        if event.status != RUNNING:
            self._begin(event)
        while event.operation is not None and self._ended_stage(event, *self._run_stage(event)):
            pass

    def _begin(self, event: Event) -> None:
        """Records that a claimed command runs."""
        after = Aftermath()
        with self._lock:
            self._ready.begins(event, self._now(), after)
        after.settle()

    def _ended_stage(self, event: Event, status: int, following: Operation | None) -> bool:
        """Ends a stage. Returns True if this thread has to run the command's next one."""
        operation = event.operation  # destroyed without the lock
        goes_on = False
        with self._lock:
            now = self._now()  # before the next kernel of the same cores begins
            status, following = self._ready.release(event, status, following)
            if following is not None:
                goes_on = self._ready.go_on(event, following) is not None
                if goes_on:  # other threads run what the ended stage blocked
                    self._workers.leave()
                self._tell_still()
            else:
                event.operation = None
        del operation
        if following is None:
            self._end_claimed(event, status, now)
        return goes_on

    def _end_claimed(self, event: Event, status: int, now: int) -> None:
        """Ends a command whose operation is destroyed. A thread that waits for it makes the destructor callbacks."""
        after = Aftermath()
        with self._lock:
            waited_for = event.is_awaited
            self._ready.end_claimed(event, status, now, after)
            self._tell_still()
        self._let_follow([event], after)
        if after:
            self._stop_looking()  # a callback may wait for what is ready now
            after.settle()
        if not waited_for:
            reap(event)

    def _tell_still(self) -> None:
        """Has the threads look again that wait until nothing runs, or all is at rest. The lock is held."""
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
    """Does the work that follows ends of commands, and what their destructors deferred. No lock is held."""
    after.settle()
    for event in ended:
        reap(event)


def reap(item: OfContext) -> None:
    """Does the deferred work of the item's context. No lock is held."""
    context = item.context
    if context.reaper:
        context.reap()
