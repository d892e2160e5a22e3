# SPDX-License-Identifier: Apache-2.0
"""Which command runs when, and on whose thread.

A command is ready once everything it waits for has ended. Ready commands wait, oldest first, in a
*place*: one per device for transfers, one per device for kernels, one for host work. Transfers of a
device exclude each other; kernels run beside transfers and beside each other.

A thread that waits for an event runs what that event needs by itself: handing work to another
thread costs more than everything else in a small call. The worker threads take what nobody waits
for, at once after a flush and otherwise after a short delay.

One lock guards all state here and in the events. It is never held while a command runs, while
bytes move or while the host is called back.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from queue import Empty, SimpleQueue
from time import monotonic_ns
from typing import TYPE_CHECKING

from fpgart import log
from fpgart.board.mmd import BoardError
from fpgart.engine.network import host_waits
from fpgart.errors import (
    CLError,
    ExecStatusErrorForEventsInWaitList,
    OutOfResources,
    error_of,
)
from fpgart.notices import NOTICES
from fpgart.runtime.device import Direction
from fpgart.runtime.event import COMPLETE, RUNNING, SUBMITTED, Callback, Event

if TYPE_CHECKING:
    from fpgart.runtime.event import Operation
    from fpgart.runtime.queue import CommandQueue

DELAY_NS = 200_000  # how long a command may wait for a thread that waits for it
POLL_S = 0.0005
QUIET_NS = 20_000_000  # after that long without work the worker sleeps until it is woken
WALK = 64  # how far a waiting thread looks for something that it can run

Fired = list[tuple[Callback, Event, int]]


class Scheduler:
    """Runs the commands of all queues of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._acquire = self._lock.acquire
        self._release = self._lock.release
        self.host_place: OrderedDict[Event, None] = OrderedDict()
        self._places: list[OrderedDict[Event, None]] = [self.host_place]
        self._wake: SimpleQueue[bool] = SimpleQueue()  # True: do not wait for the delay
        self._asleep = 0
        self._workers = 0
        self._worker_limit = max(2, os.cpu_count() or 2)
        self._running = 0
        self._closed = False

    # What the runtime asks for

    def new_place(self) -> OrderedDict[Event, None]:
        """Where the ready commands of one kind wait on one device."""
        place: OrderedDict[Event, None] = OrderedDict()
        self._places.append(place)
        return place

    def enqueue(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Put a command at the end of its queue."""
        queue = event.queue
        assert queue is not None
        fired: Fired = []
        now = event.queued_ns = monotonic_ns()
        self._acquire()
        try:
            self._refuse_when_closed()
            self._follow(event, queue, wait_list)
            if not event.unmet:
                self._make_ready(event, now, fired)
            wake = self._asleep and event.place is not None
        finally:
            self._release()
        if wake:
            self._wake.put(False)
        elif not self._workers:
            self._add_worker()
        if fired:
            self._fire(fired)

    def run_blocking(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        """Put a command at the end of its queue and return when it has ended.

        Raises the error that it ended with.
        """
        queue = event.queue
        assert queue is not None
        if not wait_list and not queue.outstanding:
            now = event.queued_ns = monotonic_ns()
            self._acquire()
            try:
                self._refuse_when_closed()
                direct = not queue.outstanding and self._claim_unplaced(event)
                if direct:
                    queue.outstanding[event] = None
                    event.status = RUNNING
                    event.submit_ns = event.start_ns = now
            finally:
                self._release()
            if direct:
                self._run_where_it_may(event)
                if event.status > COMPLETE:  # it has further stages
                    self.wait(event)
                _raise_failure(event)
                return
        self.enqueue(event, wait_list)
        self.wait(event)
        _raise_failure(event)

    def wait(self, event: Event) -> None:
        """Return when `event` has ended, however it ended; until then run what it needs."""
        helped = False
        while event.status > COMPLETE:
            waiter = None
            self._acquire()
            try:
                if event.status <= COMPLETE:
                    break
                mine = self._claim_for(event)
                if mine is None:
                    waiter = threading.Lock()
                    waiter.acquire()
                    if event.waiters is None:
                        event.waiters = []
                    event.waiters.append(waiter)
            finally:
                self._release()
            if mine is not None:
                helped = True
                self._run_where_it_may(mine)
            elif waiter is not None:
                if helped:  # what I made ready may have to be run by somebody before I am served
                    self.hand_over()
                    helped = False
                host_waits(True)
                try:
                    waiter.acquire()
                finally:
                    host_waits(False)
        if helped:
            self.hand_over()

    def hand_over(self) -> None:
        """Let the worker take what is ready, without delay."""
        if any(self._places):
            if not self._workers:
                self._add_worker()
            self._wake.put(True)

    def finish(self, queue: CommandQueue) -> None:
        """Return when every command in `queue` has ended."""
        while queue.outstanding:
            self._acquire()
            try:
                last = next(reversed(queue.outstanding), None)
            finally:
                self._release()
            if last is not None:
                self.wait(last)

    def unfinished(self, queues: list[CommandQueue]) -> list[Event]:
        """The commands in some queues that have not ended."""
        self._acquire()
        try:
            return [event for queue in queues for event in queue.outstanding]
        finally:
            self._release()

    def add_callback(self, event: Event, status: int, callback: Callback) -> None:
        self._acquire()
        try:
            pending = event.status > status
            if pending:
                if event.callbacks is None:
                    event.callbacks = []
                event.callbacks.append((status, callback))
        finally:
            self._release()
        if not pending:
            callback(event, min(event.status, status) if event.status < 0 else status)

    def end_user_event(self, event: Event, status: int) -> None:
        fired: Fired = []
        self._acquire()
        try:
            if event.status > COMPLETE:
                self._end(event, status, fired)
        finally:
            self._release()
        self._fire(fired)
        self.hand_over()

    def settle(self, patience_s: float) -> bool:
        """Wait until nothing runs and nothing is ready to run; False when that takes longer."""
        deadline = monotonic_ns() + int(patience_s * 1e9)
        pause = threading.Event()
        while self._running or any(self._places):
            if monotonic_ns() > deadline:
                return False
            self.hand_over()
            pause.wait(POLL_S)
        return True

    # Time, for those who ask; a scheduler with a clock of its own answers otherwise

    def host_time(self) -> int:
        """Nanoseconds of the clock that stage_time() is in, now."""
        return monotonic_ns()

    def stage_time(self, event: Event, stage: str) -> int:
        """Nanoseconds at which a command reached a stage: queued, submit, start or end."""
        return int(getattr(event, f"{stage}_ns"))

    def saw_end(self, event: Event) -> None:
        """The host has seen by itself that a command has ended."""

    def queue_made(self, queue: CommandQueue) -> None:
        """The host has made a queue."""

    def boards_renewed(self) -> None:
        """The boards are as new, and nothing runs."""

    def close(self, patience_s: float) -> bool:
        """Start nothing more, and wait for what runs; True when everything stands still."""
        self._acquire()
        try:
            self._closed = True
        finally:
            self._release()
        for _ in range(self._workers):
            self._wake.put(True)
        deadline = monotonic_ns() + int(patience_s * 1e9)
        pause = threading.Event()
        while self._running and monotonic_ns() < deadline:
            pause.wait(POLL_S)
        return not self._running

    def reopen(self) -> None:
        """Take commands again after close()."""
        self._closed = False

    # With the lock held

    def _begin(self) -> None:
        """This thread runs a command."""
        self._running += 1

    def _stop(self) -> None:
        self._running -= 1

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise OutOfResources("the process is exiting")

    def _follow(self, event: Event, queue: CommandQueue, wait_list: tuple[Event, ...]) -> None:
        """Count what must end before `event`, and leave word there."""
        outstanding = queue.outstanding
        event.wait_list = predecessors = wait_list
        if queue.in_order:
            if outstanding:
                predecessors = (*wait_list, next(reversed(outstanding)))
        elif event.operation is None and not wait_list:
            predecessors = tuple(outstanding)
        elif queue.barrier is not None:
            predecessors = (*wait_list, queue.barrier)
        for other in predecessors:
            if other.status > COMPLETE:
                if other.dependants is None:
                    other.dependants = []
                other.dependants.append(event)
                event.unmet += 1
        event.predecessors = predecessors
        outstanding[event] = None
        if event.operation is None and queue.is_barrier(event):
            queue.barrier = event

    def _make_ready(self, event: Event, now: int, fired: Fired) -> None:
        failed = any(other.status < COMPLETE for other in event.wait_list)
        event.wait_list = event.predecessors = ()
        event.status = SUBMITTED
        event.submit_ns = now
        if event.callbacks:
            self._collect(event, SUBMITTED, fired)
        operation = event.operation
        if failed:
            self._end(event, ExecStatusErrorForEventsInWaitList.status, fired)
        elif operation is None:
            event.start_ns = now
            if event.callbacks:
                self._collect(event, RUNNING, fired)
            self._end(event, COMPLETE, fired)
        else:
            event.place = place = operation.place
            place[event] = None

    def _claim_unplaced(self, event: Event) -> bool:
        """Start a command that never waited, if nothing stands in its way."""
        operation = event.operation
        assert operation is not None
        if operation.place or not operation.claim():
            return False
        self._begin()
        return True

    def _claim(self, event: Event) -> bool:
        """Take a ready command out of its place, if nothing that it conflicts with runs or is older."""
        place, operation = event.place, event.operation
        assert place is not None
        assert operation is not None
        direction = operation.direction
        for older in place:
            if older is event:
                break
            assert older.operation is not None
            if direction & older.operation.direction:
                return False
        if not operation.claim():
            return False
        del place[event]
        event.place = None
        self._begin()
        return True

    def _claim_first(self, place: OrderedDict[Event, None], older_than: int) -> Event | None:
        """The oldest command of a place that can start now."""
        before = Direction.NONE
        for event in place:
            operation = event.operation
            assert operation is not None
            if event.queued_ns > older_than:
                break
            if not operation.direction & before and operation.claim():
                del place[event]
                event.place = None
                self._begin()
                return event
            before |= operation.direction
            if before == Direction.BOTH:
                break
        return None

    def _claim_for(self, event: Event) -> Event | None:
        """Something ready that `event` waits for, `event` itself at best."""
        if self._closed:
            return None
        for _ in range(WALK):
            place = event.place
            if place is not None:
                if self._claim(event):
                    return event
                return self._claim_first(place, event.queued_ns)
            queue = event.queue
            if event.status <= RUNNING or queue is None:
                return None
            if queue.in_order:
                oldest = next(iter(queue.outstanding))
                if oldest is not event:
                    event = oldest
                    continue
            unfinished = next((e for e in event.predecessors if e.status > RUNNING), None)
            if unfinished is None:
                return None
            event = unfinished
        return None

    def _claim_any(self, older_than: int) -> Event | None:
        if self._closed:
            return None
        for place in self._places:
            if place:
                event = self._claim_first(place, older_than)
                if event is not None:
                    return event
        return None

    def _end(self, event: Event, status: int, fired: Fired) -> None:
        """The end of `event`, and of everything that ends with it."""
        ended = [(event, status)]
        now = monotonic_ns()
        while ended:
            event, status = ended.pop()
            event.end_ns = now
            event.status = status
            queue = event.queue
            if queue is not None:
                queue.outstanding.pop(event, None)
                if queue.barrier is event:
                    queue.barrier = None
            if event.callbacks:
                self._collect(event, status, fired)
            if event.waiters:
                for waiter in event.waiters:
                    waiter.release()
                event.waiters = None
            dependants, event.dependants = event.dependants, None
            event.operation = None
            for other in dependants or ():
                other.unmet -= 1
                if other.unmet == 0:
                    if other.operation is not None and all(e.status >= COMPLETE for e in other.wait_list):
                        self._make_ready(other, now, fired)
                    else:
                        ended.append((other, self._pass_through(other, now, fired)))

    def _pass_through(self, event: Event, now: int, fired: Fired) -> int:
        """A command without work of its own, or whose wait list failed, ends as soon as it may start."""
        failed = any(other.status < COMPLETE for other in event.wait_list)
        event.wait_list = event.predecessors = ()
        event.submit_ns = event.start_ns = now
        event.status = SUBMITTED
        if event.callbacks:
            self._collect(event, SUBMITTED, fired)
            if not failed:
                self._collect(event, RUNNING, fired)
        return ExecStatusErrorForEventsInWaitList.status if failed else COMPLETE

    def _collect(self, event: Event, status: int, fired: Fired) -> None:
        """Move the callbacks that are due to `fired`."""
        due = [entry for entry in event.callbacks or () if entry[0] >= status]
        if due:
            event.callbacks = [entry for entry in event.callbacks or () if entry[0] < status]
            due.sort(key=lambda entry: -entry[0])
            fired.extend((callback, event, status if status < 0 else wanted) for wanted, callback in due)

    # Without the lock

    def _run_where_it_may(self, event: Event) -> None:
        """Run a claimed command here; one that may wait for later commands on a thread of its own."""
        operation = event.operation
        if operation is not None and operation.needs_thread:
            name = f"fpgart {operation.name}"
            threading.Thread(target=self._run_apart, args=(event,), name=name, daemon=True).start()
        else:
            self._run(event)

    def _run_apart(self, event: Event) -> None:
        self._run(event)
        self.hand_over()  # nobody else knows of what became ready

    def _run(self, event: Event) -> None:
        """Run a claimed command to the end of its stage."""
        operation = event.operation
        assert operation is not None
        fired: Fired = []
        if event.status != RUNNING:
            event.start_ns = monotonic_ns()
            event.status = RUNNING
            if event.callbacks:
                self._acquire()
                try:
                    self._collect(event, RUNNING, fired)
                finally:
                    self._release()
                self._fire(fired)
                fired = []
        status = self._run_stages(event, operation, fired)
        operation = None
        if status is None:  # the next stage has to wait; somebody will take it
            self.hand_over()
            return
        if fired:
            self._fire(fired)
        if event.context.reaper:
            event.context.reap()

    def _run_stages(self, event: Event, operation: Operation, fired: Fired) -> int | None:
        """Run stage after stage as long as each can start at once; the status at the end, None before it."""
        while True:
            status, following = self._run_stage(event, operation)
            self._acquire()
            try:
                operation.release(following)
                if following is None:
                    self._stop()
                    self._end(event, status, fired)
                    return status
                event.operation = operation = following
                if (operation.direction and operation.place) or not operation.claim():
                    self._stop()
                    event.place = place = operation.place
                    place[event] = None
                    return None
            finally:
                self._release()

    def _run_stage(self, event: Event, operation: Operation) -> tuple[int, Operation | None]:
        begin = 0
        if NOTICES.operation_began:
            begin = monotonic_ns()
            for listener in NOTICES.operation_began:
                listener(event, operation)
        status, following = COMPLETE, None
        try:
            following = operation.run()
        except CLError as error:
            status = error.status
            _tell(event, error)
        except BoardError as error:
            status = OutOfResources.status
            _tell(event, OutOfResources(str(error)))
        except BaseException:
            status = OutOfResources.status
            log.bug("a command failed")
        for listener in NOTICES.operation_ended:
            listener(event, operation, begin, status)
        return status, following

    def _fire(self, fired: Fired) -> None:
        for callback, event, status in fired:
            try:
                callback(event, status)
            except BaseException:
                log.bug("an event callback failed")

    # Workers

    def _add_worker(self) -> None:
        self._acquire()
        try:
            if self._workers >= self._worker_limit or self._closed:
                return
            self._workers += 1
            first = self._workers == 1
        finally:
            self._release()
        threading.Thread(target=self._work, args=(first,), name="fpgart worker", daemon=True).start()

    def _work(self, stays: bool) -> None:
        """Take what is ready until there is none; the first worker stays for more."""
        urgent = not stays
        last_work = monotonic_ns()
        while not self._closed:
            now = monotonic_ns()
            self._acquire()
            try:
                event = self._claim_any(now if urgent else now - DELAY_NS)
                more = event is not None and any(self._places)
                sleeping = event is None and now - last_work > QUIET_NS and not any(self._places)
                self._asleep = int(sleeping) if stays else self._asleep
            finally:
                self._release()
            if event is not None:
                if more and self._workers < self._worker_limit:
                    self._add_worker()
                self._run_where_it_may(event)
                event = None
                last_work = monotonic_ns()
                continue
            if not stays:
                break
            try:
                urgent = self._wake.get(timeout=None if sleeping else POLL_S)
            except Empty:
                urgent = False
            if sleeping:
                self._asleep = 0
                last_work = monotonic_ns()
        self._acquire()
        try:
            self._workers -= 1
        finally:
            self._release()


def _tell(event: Event, error: CLError) -> None:
    log.error(error)
    event.context.notify(error)


def _raise_failure(event: Event) -> None:
    if event.status < COMPLETE:
        raise error_of(event.status, "the command did not complete")
