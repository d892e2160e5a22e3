# SPDX-License-Identifier: Apache-2.0
"""Events: the states of commands, and user events (OpenCL 3.0, 5.11 and 5.12)."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidOperation, InvalidValue, ProfilingInfoNotAvailable
from fpgart.base.notices import NOTICES
from fpgart.runtime.scheduling.core import Command, CoreQueue
from fpgart.runtime.scheduling.occupancy import Claim, Direction
from fpgart.runtime.scheduling.reaper import Reaper

QUEUED = cl.CL_QUEUED
SUBMITTED = cl.CL_SUBMITTED
RUNNING = cl.CL_RUNNING
COMPLETE = cl.CL_COMPLETE

Callback = Callable[["Event", int], None]


class EventScheduler(Protocol):
    """The members of the scheduler that events use."""

    def add_callback(self, event: Event, status: int, callback: Callback) -> None: ...

    def saw_end(self, event: Event) -> None: ...

    def host_polls(self) -> None: ...

    def claim_user_event(self, event: Event) -> bool: ...

    def end_user_event(self, event: Event, status: int) -> None: ...

    def stage_time(self, event: Event, stage: str) -> int: ...

    def wait(self, event: Event) -> None: ...

    def user_event(self) -> Command: ...

    def look_at_view(self, event: Event) -> None: ...

    @property
    def ends_are_news(self) -> bool: ...


class EventContext(Protocol):
    """The members of a context that events and the scheduler use."""

    handle: int

    @property
    def scheduler(self) -> EventScheduler: ...

    @property
    def reaper(self) -> Reaper: ...

    def reap(self) -> None: ...

    def notify(self, error: CLError) -> None: ...


class EventDevice(Protocol):
    """The members of a queue's device that events use."""

    @property
    def id(self) -> int: ...


class CarriedCommands(Protocol):
    """The commands of one queue that C carries."""

    def users(self, begin: int, end: int, kind: int) -> Iterator[Command]:
        """Yields the unfinished commands with an argument in the range, and those that may reach a kind of allocations.

        No lock is held.
        """

    def flush(self) -> None: ...


class EventQueue(Protocol):
    """The members of a command queue that events and the scheduler use."""

    handle: int

    @property
    def context(self) -> EventContext: ...

    @property
    def device(self) -> EventDevice: ...

    @property
    def number(self) -> int: ...

    @property
    def properties(self) -> int: ...

    @property
    def in_order(self) -> bool: ...

    @property
    def core(self) -> CoreQueue: ...

    @property
    def open(self) -> dict[Event, None]:
        """The commands that have not ended and that C does not carry, oldest first. The scheduler guards it."""

    carried: CarriedCommands | None


class Operation(Protocol):
    """The work of a command, or one stage of it."""

    @property
    def device(self) -> object:
        """The device in whose lists it waits for its turn."""

    @property
    def needs_thread(self) -> bool:
        """True if it may wait for later commands, so that a thread of its own has to run it."""

    @property
    def name(self) -> str:
        """Its kind, for watchers: transfer, migration, program, kernel or host."""

    @property
    def compute_unit(self) -> ComputeUnit | None:
        """The circuit for which it waits before it is in its list; None if it needs none for itself."""

    @property
    def ready_list(self) -> ReadyList:
        """The list in which it waits for its turn, behind those that it may not overtake."""

    @property
    def direction(self) -> Direction:
        """The directions of its bytes. It may overtake operations in its list with other directions."""

    def claim(self) -> Claim:
        """Occupies what it needs, if that is free. The scheduler's lock is held."""

    def release(self, following: Operation | None) -> None:
        """Frees what claim() occupied. `following` is the next stage, if any. The scheduler's lock is held."""

    def run(self) -> Operation | None:
        """Does the work and returns the next stage, if any. Raises CLError. No lock is held."""

    def abandon(self) -> None:
        """Frees what it reserved when it was made, because its command ends without it. No lock is held.

        It is called once. run() calls it itself if it fails.
        """


class PlainOperation:
    """The base of operations: may begin at any time, on any thread, and reserves nothing, unless a subclass does."""

    __slots__ = ()
    needs_thread = False
    launch: None = None
    compute_unit: None = None

    def claim(self) -> Claim:
        return Claim.TAKEN

    def release(self, following: Operation | None) -> None: ...

    def abandon(self) -> None: ...

    def describe(self) -> dict[str, object]:
        """Returns facts about the operation for traces, by name."""
        return {}


class ComputeUnit(deque["Event"]):
    """A kernel's circuit on a board, which runs one launch at a time; its items are the ready launches behind that one.

    These are in no `ReadyList`, because thousands may wait here, and a thread that looks for work would pass them all.
    """

    is_taken = False
    """True from the time that a launch is ready until it has ended."""


class EventCallbacks:
    """The callbacks of one event: *registered* until their status is reached, then *due* until they are called.

    One thread at a time calls them. So they come in the order of the statuses, although one thread submits the command
    and another begins it at the same time. The scheduler's lock guards the members.
    """

    __slots__ = ("are_called", "due", "reached", "registered")

    def __init__(self, reached: Callable[[Event], None], registered: Sequence[tuple[int, Callback]] = ()) -> None:
        """`reached` has the event's due callbacks called; a thread calls it without the lock."""
        self.reached = reached
        self.registered = list(registered)
        self.due: deque[partial[None]] = deque()
        self.are_called = False
        """True while a thread calls those that are due."""

    def make_due(self, event: Event, status: int) -> bool:
        """Makes those due that are registered for `status` or an earlier one, and returns True if there are any.

        An abnormal end makes all due.
        """
        due = [entry for entry in self.registered if entry[0] >= status]
        self.registered = [entry for entry in self.registered if entry[0] < status]
        due.sort(key=lambda entry: -entry[0])
        self.due.extend(partial(callback, event, status if status < 0 else wanted) for wanted, callback in due)
        return bool(due)

    def next_due(self) -> partial[None] | None:
        """Removes and returns the call that is due first; None if there is none, which ends the caller's turn."""
        if self.due:
            return self.due.popleft()
        self.are_called = False
        return None


class Event:
    """The event of a command, or a user event if `queue` is None.

    `status` is QUEUED, SUBMITTED, RUNNING, COMPLETE or a negative error; it only decreases. Times are in nanoseconds of
    the host's monotonic clock, 0 for a stage that was not reached.
    """

    __slots__ = (
        "__weakref__",
        "callbacks",
        "command",
        "command_type",
        "context",
        "end_ns",
        "handle",
        "is_awaited",
        "is_view",
        "number",
        "operation",
        "queue",
        "queued_ns",
        "ready",
        "start_ns",
        "status",
        "submit_ns",
    )

    def __init__(
        self,
        context: EventContext,
        queue: EventQueue | None,
        command_type: int,
        operation: Operation | None,
        status: int = QUEUED,
        command: Command | None = None,
    ) -> None:
        """`command`: the command or user event in C that this object is a view of."""
        self.handle = 0
        self.context = context
        self.queue = queue
        self.command_type = command_type
        self.operation = operation
        self.status = status
        self.command = command
        """The command in C, once it is in its queue; for a user event always."""
        self.is_view = command is not None
        """True if C made the event and ends it; look() updates the status."""
        if queue is None and command is None:
            self.command = context.scheduler.user_event()
        self.number = 0
        """The number by which C identifies a command that has not ended."""
        self.is_awaited = False
        """True if a thread sleeps until the command has ended."""
        self.callbacks: EventCallbacks | None = None
        self.ready: ReadyList | None = None
        """The list in which the command waits for its turn."""
        self.queued_ns = self.submit_ns = self.start_ns = self.end_ns = 0
        for listener in NOTICES.event_made:
            listener(self)

    def when(self, status: int, callback: Callback) -> None:
        """Registers a callback for `status`; it is called at once if that is reached. An abnormal end reaches each one.

        Raises InvalidValue for a status other than SUBMITTED, RUNNING and COMPLETE (OpenCL 3.0, 5.11).
        """
        check_callback_status(status)
        self.context.scheduler.add_callback(self, status, callback)

    def look(self) -> None:
        """Updates the status of a view."""
        if self.is_view:
            self.context.scheduler.look_at_view(self)

    def seen_status(self) -> int:
        """Returns the execution status to a host that polls it."""
        self.look()
        status = self.status
        if status <= COMPLETE:
            self.context.scheduler.saw_end(self)
        else:
            self.context.scheduler.host_polls()
        return status

    def set_status(self, status: int) -> None:
        """Ends a user event (OpenCL 3.0, 5.11) with COMPLETE, or with an error, which commands that wait for it get.

        Raises InvalidValue, and InvalidOperation if the status was set before.
        """
        if status > COMPLETE:
            raise InvalidValue(f"a user event ends with CL_COMPLETE or a negative status, not {status}")
        if not self.context.scheduler.claim_user_event(self):
            self.look()
            raise InvalidOperation(f"the status of a user event is set once; that of this one is {self.status}")
        for listener in NOTICES.user_event_ended:
            listener(self)
        self.context.scheduler.end_user_event(self, status)

    def profiling_time(self, stage: str) -> int:
        """Returns the nanoseconds at which `stage` (queued, submit, start, end) was reached.

        Raises ProfilingInfoNotAvailable.
        """
        if self.queue is None:
            raise ProfilingInfoNotAvailable("user events are not profiled")
        if not self.queue.properties & cl.CL_QUEUE_PROFILING_ENABLE:
            raise ProfilingInfoNotAvailable("the queue was created without CL_QUEUE_PROFILING_ENABLE")
        self.look()
        if self.status != COMPLETE:
            raise ProfilingInfoNotAvailable(f"the command has not completed, its status is {self.status}")
        return self.context.scheduler.stage_time(self, stage)


def check_callback_status(status: int) -> None:
    """Raises InvalidValue for a status that no callback can have."""
    if status not in (SUBMITTED, RUNNING, COMPLETE):
        raise InvalidValue(f"callbacks are for submitted, running and complete, not for status {status}")


class ReadyList(OrderedDict[Event, None]):
    """Ready commands of one kind on one device, oldest first.

    `ends_by_itself` is False for kernels, which may wait for what the host does next.
    """

    def __init__(self, *, ends_by_itself: bool) -> None:
        super().__init__()
        self.ends_by_itself = ends_by_itself
        self.newest_ns = 0
        """The latest time at which one of its commands was enqueued, among those since the list was last empty."""

    def add(self, event: Event) -> None:
        self.newest_ns = max(event.queued_ns, self.newest_ns) if self else event.queued_ns
        self[event] = None
