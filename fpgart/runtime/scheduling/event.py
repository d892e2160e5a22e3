# SPDX-License-Identifier: Apache-2.0
"""Events: commands on their way through a queue, and user events (OpenCL 3.0, 5.11 and 5.12)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, InvalidOperation, InvalidValue, ProfilingInfoNotAvailable
from fpgart.base.notices import NOTICES
from fpgart.runtime.scheduling.core import Command, CoreQueue
from fpgart.runtime.scheduling.occupancy import Claim, Direction
from fpgart.runtime.scheduling.reaper import Reaper

if TYPE_CHECKING:
    from fpgart.engine.interface import Batch

QUEUED = cl.CL_QUEUED
SUBMITTED = cl.CL_SUBMITTED
RUNNING = cl.CL_RUNNING
COMPLETE = cl.CL_COMPLETE

Callback = Callable[["Event", int], None]


class EventScheduler(Protocol):
    """What events ask of the scheduler."""

    def add_callback(self, event: Event, status: int, callback: Callback) -> None: ...

    def saw_end(self, event: Event) -> None: ...

    def host_polls(self) -> None: ...

    def claim_user_event(self, event: Event) -> bool: ...

    def end_user_event(self, event: Event, status: int) -> None: ...

    def stage_time(self, event: Event, stage: str) -> int: ...

    def wait(self, event: Event) -> None: ...

    def user_event(self) -> Command: ...

    def look_at_view(self, event: Event) -> None: ...

    def user_event_ended(self, event: Event, status: int) -> None: ...

    @property
    def ends_are_news(self) -> bool: ...


class EventContext(Protocol):
    """What events, and the scheduler, ask of a context."""

    handle: int

    @property
    def scheduler(self) -> EventScheduler: ...

    @property
    def reaper(self) -> Reaper: ...

    def reap(self) -> None: ...

    def notify(self, error: CLError) -> None: ...


class EventDevice(Protocol):
    """What events ask of their queue's device."""

    @property
    def id(self) -> int: ...


class CarriedCommands(Protocol):
    """The commands of one queue that C carries."""

    def users(self, begin: int, end: int) -> Iterator[Command]:
        """Those that have not ended and are given addresses there. No lock held."""

    def flush(self) -> None: ...


class EventQueue(Protocol):
    """What events, and the scheduler, ask of a command queue."""

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
    """The work behind a command, or a stage of it."""

    @property
    def device(self) -> object:
        """The device whose lists it stands in."""

    @property
    def needs_thread(self) -> bool:
        """Whether it may wait for commands that come later: then a thread of its own runs it."""

    @property
    def name(self) -> str:
        """What it is, for watchers: transfer, migration, program, kernel or host."""

    @property
    def ready_list(self) -> ReadyList:
        """Where it waits for its turn, behind those it may not overtake."""

    @property
    def short_launch(self) -> Launch | None:
        """Itself, if it is a launch that others may be handed over behind while it runs."""

    @property
    def direction(self) -> Direction:
        """It may overtake those in its list that go other ways."""

    def claim(self) -> Claim:
        """Take what it keeps busy, if that is free now. The scheduler's lock is held."""

    def release(self, following: Operation | None) -> None:
        """Give that back; `following` is the stage that comes next. The scheduler's lock is held."""

    def run(self) -> Operation | None:
        """Do it, holding no lock; returns the stage that has to follow, if any. Raises CLError."""

    def abandon(self) -> None:
        """Give back what it reserved when it was made, as its command ends without it. Called once, no lock held.

        run() sees to that by itself when it fails.
        """


class Launch(Operation, Protocol):
    """A launch that runs so shortly that those behind it need not wait until its end is known."""

    @property
    def expected_ns(self) -> int:
        """How long it will probably run."""

    def claim_behind(self, previous: Launch) -> bool:
        """As claim(), with `previous` in front of it; False where it has to wait. The scheduler's lock is held."""

    def batch(self, most: int) -> Batch:
        """What up to `most` launches are handed over with, this one first."""

    def hand_over(self, batch: Batch) -> None:
        """As run(), but only puts it into a batch, which hands it over. Raises CLError, BoardError."""

    def took(self, elapsed_ns: int) -> None:
        """It has ended; that is how long it ran."""


class Event:
    """A command, or (`queue` None) a user event.

    `status` is QUEUED, SUBMITTED, RUNNING, COMPLETE or a negative error, and only ever goes down.
    Times are in nanoseconds of the host's monotonic clock, 0 where a stage was never reached.
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
        "wait_list",
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
        """`command`: the one of C's, or the user event, that this is a view of."""
        self.handle = 0
        self.context = context
        self.queue = queue
        self.command_type = command_type
        self.operation = operation
        self.status = status
        self.command = command
        """What C knows of it: of a command, once it is in its queue."""
        self.is_view = command is not None
        """Whether C made it, and ends it: look() finds that out."""
        if queue is None and command is None:
            self.command = context.scheduler.user_event()
        self.number = 0
        """By which C knows a command that has not ended."""
        self.wait_list: tuple[Event, ...] = ()
        """Until it is ready; without user events, which the host may have given up."""
        self.is_awaited = False
        """Whether a thread sleeps until it has ended."""
        self.callbacks: list[tuple[int, Callback]] | None = None
        self.ready: ReadyList | None = None
        """The list in which it waits for its turn."""
        self.queued_ns = self.submit_ns = self.start_ns = self.end_ns = 0
        for listener in NOTICES.event_made:
            listener(self)

    def when(self, status: int, callback: Callback) -> None:
        """Call back when `status` is reached, at once if it already is; an abnormal end counts as all.

        Raises InvalidValue for any status but SUBMITTED, RUNNING and COMPLETE (OpenCL 3.0, 5.11).
        """
        check_callback_status(status)
        self.context.scheduler.add_callback(self, status, callback)

    def look(self) -> None:
        """If this is a view, learn whether the command has ended."""
        if self.is_view:
            self.context.scheduler.look_at_view(self)

    def seen_status(self) -> int:
        """The execution status, for a host that asks instead of waiting."""
        self.look()
        status = self.status
        if status <= COMPLETE:
            self.context.scheduler.saw_end(self)
        else:
            self.context.scheduler.host_polls()
        return status

    def set_status(self, status: int) -> None:
        """End a user event (OpenCL 3.0, 5.11): COMPLETE, or negative to fail all that wait for it."""
        if status > COMPLETE:
            raise InvalidValue(f"a user event ends with CL_COMPLETE or a negative status, not {status}")
        if not self.context.scheduler.claim_user_event(self):
            raise InvalidOperation(f"the status of a user event is set once; that of this one is {self.status}")
        for listener in NOTICES.user_event_ended:
            listener(self)
        self.context.scheduler.end_user_event(self, status)

    def profiling_time(self, stage: str) -> int:
        """Nanoseconds at which `stage` (queued, submit, start, end) was reached."""
        if self.queue is None:
            raise ProfilingInfoNotAvailable("user events are not profiled")
        if not self.queue.properties & cl.CL_QUEUE_PROFILING_ENABLE:
            raise ProfilingInfoNotAvailable("the queue was created without CL_QUEUE_PROFILING_ENABLE")
        self.look()
        if self.status != COMPLETE:
            raise ProfilingInfoNotAvailable(f"the command has not completed, its status is {self.status}")
        return self.context.scheduler.stage_time(self, stage)


def check_callback_status(status: int) -> None:
    """Raises InvalidValue for what no callback can be registered for."""
    if status not in (SUBMITTED, RUNNING, COMPLETE):
        raise InvalidValue(f"callbacks are for submitted, running and complete, not for status {status}")


class ReadyList(OrderedDict[Event, None]):
    """Ready commands of one kind on one device, oldest first.

    `ends_by_itself`: whether each of them ends whatever the host does. A kernel may wait for the host for ever.
    """

    def __init__(self, *, ends_by_itself: bool) -> None:
        super().__init__()
        self.ends_by_itself = ends_by_itself
        self.newest_ns = 0
        """When the youngest command that has stood here since it was last empty was enqueued."""

    def add(self, event: Event) -> None:
        self.newest_ns = max(event.queued_ns, self.newest_ns) if self else event.queued_ns
        self[event] = None
