# SPDX-License-Identifier: Apache-2.0
"""Ready commands: the commands that each waits for, its turn, and the commands that its end makes ready.

A command is *ready* once everything that it follows has ended; C knows that (core.py). Ready commands stand in a
`ReadyList`, oldest first: one per device for transfers, one per device for kernels, one for work on host memory. A
thread *claims* a ready command that nothing conflicts with, and runs it.

There are no threads and no locks in this module: the caller (scheduler.py) holds its lock during each call. An
`Aftermath` collects the work that must wait until the lock is released; so must what follows a command that has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from fpgart.base import log
from fpgart.base import opencl as cl
from fpgart.base.errors import ExecStatusErrorForEventsInWaitList, OutOfResources
from fpgart.runtime.scheduling.core import Command, Core
from fpgart.runtime.scheduling.event import (
    COMPLETE,
    RUNNING,
    SUBMITTED,
    Event,
    EventQueue,
    Launch,
    Operation,
    ReadyList,
)
from fpgart.runtime.scheduling.occupancy import BOTH, TAKEN, Claim
from fpgart.runtime.scheduling.order import Role
from fpgart.runtime.scheduling.unclaimable import Unclaimable

BATCH = 128  # how many launches are under way at once in one batch, at most
BATCH_NS = 20_000_000  # how long those will probably take, at most, but for the last of them


class Aftermath(list[Callable[[], None]]):
    """What is left to do, in this order, when the lock is no longer held.

    That is to call the host back, and to abandon the operations of commands that have ended without being run.
    """

    __slots__ = ()

    def settle(self) -> None:
        """Do it. Whatever a callback raises is logged and goes no further."""
        for act in self:
            try:
                act()
            except BaseException:
                log.bug("an event callback failed, or an operation could not be given up")
        self.clear()


def role_of(event: Event) -> Role:
    """A command without an operation is a marker or a barrier."""
    if event.operation is not None:
        return Role.WORK
    return Role.BARRIER if event.command_type == cl.CL_COMMAND_BARRIER else Role.MARKER


class Readiness:
    """The commands of all queues of a process, between their enqueueing and their end.

    `horizon`, in nanoseconds of the monotonic clock: commands that were enqueued until then are *due*. The host has
    flushed them, waits for something, or has had its time to wait. Threads of the driver take what is due only.
    """

    __slots__ = ("core", "horizon", "lists", "running")

    def __init__(self, core: Core[Event]) -> None:
        self.core = core
        self.horizon = 0
        self.running = 0
        """Commands that are claimed."""
        self.lists: list[ReadyList] = []

    def new_list(self, *, ends_by_itself: bool) -> ReadyList:
        """Where ready commands of one kind wait for their turn."""
        made = ReadyList(ends_by_itself=ends_by_itself)
        self.lists.append(made)
        return made

    # What there is

    def any_ready(self) -> bool:
        return any(self.lists)

    def at_rest(self) -> bool:
        """Whether nothing runs and nothing is ready to run."""
        return not (self.running or self.any_ready())

    def any_due(self) -> bool:
        """Whether a thread of the driver may find something; it may still have to wait for its turn."""
        horizon = self.horizon
        for ready in self.lists:  # noqa: SIM110 - asked after each command; any() takes three times as long
            if ready and next(iter(ready)).queued_ns <= horizon:
                return True
        return False

    def any_later_than(self, horizon: int) -> bool:
        """Whether a ready command may have been enqueued after `horizon`."""
        for ready in self.lists:  # noqa: SIM110 - as above
            if ready and ready.newest_ns > horizon:
                return True
        return False

    def make_due(self, until: int) -> None:
        """Commands that were enqueued until `until` are due, and those that follow them in no time."""
        if until > self.horizon:
            self.horizon = until

    # Enqueueing

    def enter(
        self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...], now: int, after: Aftermath
    ) -> list[Event]:
        """Put a command at the end of its queue; it is ready at once if all that it follows has ended.

        Returns the commands that have ended, as take() does.
        """
        core = self.core
        number = core.number(event)
        waits = [other.command for other in wait_list if other.command is not None]
        try:
            event.command = core.decide(queue.core, role_of(event), number, waits)
        except BaseException:
            del core.commands[number]
            raise
        event.number = number
        event.wait_list = tuple(other for other in wait_list if other.queue is not None)
        queue.open[event] = None
        return self.take(now, after)

    def take(self, now: int, after: Aftermath) -> list[Event]:
        """Give each command its turn that follows nothing any more.

        Returns those that have ended without being run: what follows them is for the caller, without the lock.
        """
        ended = []
        for event, error in self.core.take():
            if event.status == SUBMITTED:  # it was handed over behind another one
                self.begins(event, now, after)
            elif error or event.operation is None:
                self._pass_through(event, error, now, after)
                ended.append(event)
            else:
                self.make_ready(event, now, after)
        return ended

    def make_ready(self, event: Event, now: int, after: Aftermath) -> None:
        """All that a command follows has ended."""
        assert event.operation is not None
        event.wait_list = ()
        event.status = SUBMITTED
        event.submit_ns = now
        if event.callbacks:
            collect(event, SUBMITTED, after)
        self._stand(event, event.operation)

    def _pass_through(self, event: Event, error: int, now: int, after: Aftermath) -> None:
        """A command without work of its own, or whose wait list failed, ends as soon as it may begin."""
        if event.operation is not None:
            after.append(event.operation.abandon)
        event.wait_list = ()
        event.submit_ns = event.start_ns = now
        if event.callbacks:
            collect(event, SUBMITTED, after)
        self.end(event, error, now, after)

    def _stand(self, event: Event, operation: Operation) -> None:
        """Put a ready command behind the others of its kind."""
        event.ready = ready = operation.ready_list
        if event.queued_ns <= self.horizon and ready:  # what stands before it must not keep it from its turn
            self.make_due(ready.newest_ns)
        ready.add(event)

    # Claiming

    def claim(self, event: Event) -> bool:
        """Start a ready command, if nothing that it conflicts with runs or is older."""
        ready, operation = event.ready, event.operation
        assert ready is not None
        assert operation is not None
        direction = operation.direction
        for older in ready:
            if older is event:
                break
            assert older.operation is not None
            if direction & older.operation.direction:
                return False
        return self._take(event, operation) is TAKEN

    def claim_first(self, ready: ReadyList, horizon: int) -> Event | None:
        """The oldest due command of a list that may begin now."""
        before = 0
        for event in ready:
            if event.queued_ns > horizon:
                break
            operation = event.operation
            assert operation is not None
            if not operation.direction & before:
                claim = self._take(event, operation)
                if claim is TAKEN:
                    return event
                if claim is Claim.YIELDS:
                    continue
            before |= operation.direction
            if before == BOTH:
                break
        return None

    def claim_any(self) -> Event | None:
        """A command that is due and may begin now."""
        for ready in self.lists:
            if ready:
                event = self.claim_first(ready, self.horizon)
                if event is not None:
                    return event
        return None

    def claim_needed(self, command: Command, event: Event | None) -> tuple[Event | None, Command | None]:
        """Something that has to run before a command can end, itself at best; or what the engine has of that.

        `event`: the command's, if C does not carry it.

        Never a kernel that merely stands before it: that may wait for what the host does next.
        """
        carried = None
        if event is None or event.ready is None:
            event, carried = self.core.needed(command)
        ready = event.ready if event is not None else None
        if event is None or ready is None:
            return None, carried
        if self.claim(event):
            return event, None
        return self.claim_first(ready, event.queued_ns) if ready.ends_by_itself else None, None

    def claim_followers(
        self, under_way: Sequence[tuple[Event, Launch]], last: Event | None, now: int
    ) -> list[tuple[Event, Launch]]:
        """What may be handed over behind short launches that are claimed, or under way, in its order.

        Not beyond `last`: a thread that waits for it must not wait for more. None: all that are due.
        """
        found: list[tuple[Event, Launch]] = []
        event, launch = under_way[-1]
        until = self.horizon if last is None else last.queued_ns
        room, expected_ns = BATCH - len(under_way), sum(each.expected_ns for _, each in under_way)
        while event is not last and len(found) < room and expected_ns < BATCH_NS:
            other = self._next_in_line(event, until)
            if other is None or other.operation is None:
                break
            following = other.operation.short_launch
            if following is None or not following.claim_behind(launch):
                break
            self.running += 1
            other.status = SUBMITTED
            other.submit_ns = now
            event, launch = other, following
            expected_ns += launch.expected_ns
            found.append((event, launch))
        return found

    def _next_in_line(self, event: Event, until: int) -> Event | None:
        """The command of the same queue that waits for `event` alone, if it was enqueued by `until`."""
        other = self.core.next_in_line(event.command) if event.command is not None else None
        return other if other is not None and other.queued_ns <= until and not other.callbacks else None

    def _take(self, event: Event, operation: Operation) -> Claim:
        """Ask the operation; one that cannot even be asked is taken, and fails when it is run."""
        try:
            claim = operation.claim()
        except BaseException as error:
            event.operation = Unclaimable(operation, error)
            claim = TAKEN
        if claim is TAKEN:
            self.running += 1
            if event.ready is not None:
                del event.ready[event]
                event.ready = None
        return claim

    def begins(self, event: Event, now: int, after: Aftermath) -> None:
        """`event` runs from now on."""
        event.start_ns = now
        event.status = RUNNING
        if event.command is not None:
            event.command.begin()
        if event.callbacks:
            collect(event, RUNNING, after)

    # Ending

    def release(self, event: Event, status: int, following: Operation | None) -> tuple[int, Operation | None]:
        """A stage of a claimed command is over: what it kept busy is free.

        Returns the status of the stage and the stage that follows it. If none follows, the caller destroys the
        operation without the lock, and then calls end_claimed(): whoever sees the end finds the memory free that the
        operation alone kept.
        """
        operation = event.operation
        assert operation is not None
        try:
            operation.release(following)
        except BaseException:
            log.bug("what an operation kept busy could not be freed")
            return OutOfResources.status, None
        return status, following

    def go_on(self, event: Event, following: Operation) -> Operation | None:
        """Start the stage that follows one that is over, or have it wait for its turn.

        Returns the stage that the calling thread has to run now.
        """
        self.running -= 1
        event.operation = following
        if not (following.direction and following.ready_list) and self._take(event, following) is TAKEN:
            return event.operation
        self._stand(event, following)
        return None

    def end_claimed(self, event: Event, status: int, now: int, after: Aftermath) -> None:
        """The end of a claimed command whose last stage is over."""
        self.running -= 1
        self.end(event, status, now, after)

    def end_launch(self, event: Event, status: int, now: int, after: Aftermath) -> None:
        """As end_claimed() for a launch that was handed over with others: it fails with what it waited for, too."""
        if event.status == SUBMITTED:
            self.begins(event, now, after)
        if any(other.status < COMPLETE for other in event.wait_list):
            status = ExecStatusErrorForEventsInWaitList.status
        event.wait_list = ()
        self.end_claimed(event, status, now, after)

    def end(self, event: Event, status: int, now: int, after: Aftermath) -> None:
        """`event` has ended: for those who wait for it and those who are called back. What follows it comes later."""
        event.end_ns = now
        event.status = status
        if event.number:
            self.core.commands.pop(event.number, None)
            assert event.queue is not None
            del event.queue.open[event]
        if event.command is not None:
            event.command.set(status)
        if event.callbacks:
            collect(event, status, after)
        event.operation = None


def collect(event: Event, status: int, after: Aftermath) -> None:
    """Move the callbacks that are due with `status` to the aftermath; an abnormal end counts as every status."""
    due = [entry for entry in event.callbacks or () if entry[0] >= status]
    if due:
        event.callbacks = [entry for entry in event.callbacks or () if entry[0] < status]
        due.sort(key=lambda entry: -entry[0])
        after.extend(partial(callback, event, status if status < 0 else wanted) for wanted, callback in due)
