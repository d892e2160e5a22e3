# SPDX-License-Identifier: Apache-2.0
"""Decides which commands are ready, whose turn it is, and ends them.

A command is *ready* once everything that it follows has ended; C knows that (core.py). Ready commands wait in a
`ReadyList`, oldest first: one per device for transfers, one per device for kernels, one for work on host memory. A
thread *claims* a ready command that conflicts with nothing, and runs it.

This module has no threads and no locks: the caller (scheduler.py) holds its lock during each call. An `Aftermath`
collects the work that must wait until the lock is released. So must the commands that follow one that has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fpgart.base import log
from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.runtime.scheduling.core import Command, Core
from fpgart.runtime.scheduling.event import RUNNING, SUBMITTED, ComputeUnit, Event, EventQueue, Operation, ReadyList
from fpgart.runtime.scheduling.occupancy import BOTH, TAKEN, Claim
from fpgart.runtime.scheduling.order import Role
from fpgart.runtime.scheduling.unclaimable import Unclaimable


class Aftermath(list[Callable[[], None]]):
    """Work to do, in this order, after the lock is released.

    It makes callbacks, and abandons the operations of commands that have ended without running.
    """

    __slots__ = ()

    def settle(self) -> None:
        """Does the work. Exceptions are logged and not raised."""
        for act in self:
            try:
                act()
            except BaseException:
                log.bug("an event callback failed, or an operation could not be given up")
        self.clear()


def role_of(event: Event) -> Role:
    """Returns the role of a command. One without an operation is a marker or a barrier."""
    if event.operation is not None:
        return Role.WORK
    return Role.BARRIER if event.command_type == cl.CL_COMMAND_BARRIER else Role.MARKER


class Readiness:
    """The commands of all queues of a process, from their enqueueing to their end.

    `horizon`: commands that were enqueued until this time are *due* (nanoseconds of the monotonic clock). The host has
    flushed them, waits for something, or has had its time to wait. The driver's threads claim only due commands.
    """

    __slots__ = ("core", "horizon", "lists", "running", "units")

    def __init__(self, core: Core[Event]) -> None:
        self.core = core
        self.horizon = 0
        self.running = 0
        """The number of claimed commands."""
        self.lists: list[ReadyList] = []
        self.units: dict[Event, ComputeUnit] = {}
        """The compute unit of each launch that has taken one."""

    def new_list(self, *, ends_by_itself: bool) -> ReadyList:
        """Returns a new list for ready commands of one kind."""
        made = ReadyList(ends_by_itself=ends_by_itself)
        self.lists.append(made)
        return made

    # Queries

    def any_ready(self) -> bool:
        return any(self.lists)

    def any_due(self) -> bool:
        """True if a due command is ready; it may still conflict with running ones."""
        horizon = self.horizon
        for ready in self.lists:  # noqa: SIM110 - asked after each command; any() takes three times as long
            if ready and next(iter(ready)).queued_ns <= horizon:
                return True
        return False

    def any_later_than(self, horizon: int) -> bool:
        """True if a ready command may have been enqueued after `horizon`."""
        for ready in self.lists:  # noqa: SIM110 - as above
            if ready and ready.newest_ns > horizon:
                return True
        return False

    def make_due(self, until: int) -> None:
        """Makes the commands due that were enqueued until `until`."""
        if until > self.horizon:
            self.horizon = until

    # Enqueueing

    def enter(
        self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...], now: int, after: Aftermath
    ) -> list[Event]:
        """Puts a command at the end of its queue; it is ready at once if all that it follows has ended.

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
        queue.open[event] = None
        return self.take(now, after)

    def take(self, now: int, after: Aftermath) -> list[Event]:
        """Makes the commands ready that the core returns.

        Returns those that have ended without running: the caller lets their followers begin, without the lock.
        """
        ended = []
        for event, error in self.core.take():
            if error or event.operation is None:
                self._pass_through(event, error, now, after)
                ended.append(event)
            else:
                self.make_ready(event, now, after)
        return ended

    def make_ready(self, event: Event, now: int, after: Aftermath) -> None:
        """Makes a command ready: all that it follows has ended."""
        assert event.operation is not None
        event.status = SUBMITTED
        event.submit_ns = now
        tell(event, SUBMITTED, after)
        unit = event.operation.compute_unit
        if unit is None:
            self._stand(event, event.operation)
        elif unit.is_taken:
            unit.append(event)
        else:
            self._take_unit(event, event.operation, unit)

    def _take_unit(self, event: Event, operation: Operation, unit: ComputeUnit) -> None:
        unit.is_taken = True
        self.units[event] = unit
        self._stand(event, operation)

    def _leave_unit(self, event: Event) -> None:
        """Gives the compute unit of an ended launch to the next one."""
        unit = self.units.pop(event)
        unit.is_taken = False
        if unit:
            following = unit.popleft()
            assert following.operation is not None
            self._take_unit(following, following.operation, unit)

    def _pass_through(self, event: Event, error: int, now: int, after: Aftermath) -> None:
        """Ends a command that has no operation, or whose wait list failed.

        A host that has seen the end may use the memory that was reserved for it: allocations run the reaper first.
        """
        if event.operation is not None:
            reaper = event.context.reaper
            reaper.free_later(event.operation.abandon)
            after.append(reaper.free)
        event.submit_ns = event.start_ns = now
        tell(event, SUBMITTED, after)
        self.end(event, error, now, after)

    def _stand(self, event: Event, operation: Operation) -> None:
        """Puts a ready command into its list."""
        event.ready = ready = operation.ready_list
        if event.queued_ns <= self.horizon and ready:  # those before it must be due too, or it would wait for them
            self.make_due(ready.newest_ns)
        ready.add(event)

    # Claiming

    def claim(self, event: Event) -> bool:
        """Claims a ready command. Returns False if it conflicts with a running or an older one."""
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
        """Claims the oldest due command of a list that may begin now."""
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
        """Claims any command that is due and may begin now."""
        for ready in self.lists:
            if ready:
                event = self.claim_first(ready, self.horizon)
                if event is not None:
                    return event
        return None

    def claim_needed(self, command: Command, event: Event | None) -> tuple[Event | None, Command | None]:
        """Claims a command that has to run before `command` can end, at best itself.

        If there is none, the second result is a carried command to wait for in the engine. `event` is the command's if
        C does not carry it. A kernel that merely stands before the command is never claimed: it may wait for what the
        host does next.
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

    def _take(self, event: Event, operation: Operation) -> Claim:
        """Claims an operation. One whose claim() raises is claimed, too, and fails when it runs."""
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
        """Records that `event` runs."""
        event.start_ns = now
        event.status = RUNNING
        if event.command is not None:
            event.command.begin()
        tell(event, RUNNING, after)

    # Ending

    def release(self, event: Event, status: int, following: Operation | None) -> tuple[int, Operation | None]:
        """Frees what a stage of a claimed command occupied.

        Returns the status of the stage and the stage that follows. If none follows, the caller destroys the operation
        without the lock and then calls end_claimed(), so that memory which only the operation held is free when the end
        is observed.
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
        """Begins the next stage of a command, or puts it into its list.

        Returns the stage if the calling thread has to run it now.
        """
        self.running -= 1
        event.operation = following
        if not (following.direction and following.ready_list) and self._take(event, following) is TAKEN:
            return event.operation
        self._stand(event, following)
        return None

    def end_claimed(self, event: Event, status: int, now: int, after: Aftermath) -> None:
        """Ends a claimed command after its last stage."""
        self.running -= 1
        if event in self.units:
            self._leave_unit(event)
        self.end(event, status, now, after)

    def end(self, event: Event, status: int, now: int, after: Aftermath) -> None:
        """Ends a command: sets its status and collects its callbacks. The caller lets its followers begin later."""
        event.end_ns = now
        event.status = status
        if event.number:
            self.core.commands.pop(event.number, None)
            assert event.queue is not None
            del event.queue.open[event]
        if event.command is not None:
            event.command.set(status)
        tell(event, status, after)
        event.operation = None


def tell(event: Event, status: int, after: Aftermath) -> None:
    """Makes the callbacks due that are registered for `status`; the aftermath has them called."""
    callbacks = event.callbacks
    if callbacks is not None and callbacks.make_due(event, status):
        after.append(partial(callbacks.reached, event))
