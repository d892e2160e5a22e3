# SPDX-License-Identifier: Apache-2.0
"""The simulated clock (FPGART_TIME=model): when each command would run on the board that is described.

The times follow from the graph of commands, in the order in which the host enqueues them, and never from when the
commands really run. Planning (planning.py) determines the work of a command when it is enqueued, the board's
description (board/timing.py) its duration, and the commands before it when the board is free (board_clock.py). A
command that waits for a user event gets its times when the host sets that event. A launch that may use cables to other
boards gets them when it has really run, because only then its packets are known.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from weakref import WeakKeyDictionary

from fpgart.base.notices import NOTICES
from fpgart.runtime.model.board_clock import BoardClocks, StepTime
from fpgart.runtime.model.kernel_planning import cabled_launch
from fpgart.runtime.model.planning import Planner
from fpgart.runtime.model.steps import Programming, Run
from fpgart.runtime.scheduling.core import Core
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, Callback, Event, EventQueue, Operation
from fpgart.runtime.scheduling.order import QueueOrder, Role
from fpgart.runtime.scheduling.readiness import role_of
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.runtime.scheduling.threads import Threads

HOST_NS = 1_000
"""The simulated nanoseconds that enqueueing a command takes; the host's other work takes none. Threads begin there."""
MOST_THREADS = 4096
"""The number of threads whose times are kept; the least recently used ones are dropped."""


class ModelledCommand:
    """A command, or a user event, in the simulated clock: times in nanoseconds, known once it is `settled`.

    `failed` is set for a user event that the host ended with an error, and for commands with a failed one in their wait
    list.
    """

    __slots__ = (
        "awaited",
        "dependants",
        "end",
        "event",
        "failed",
        "missing",
        "number",
        "operation",
        "queued",
        "settled",
        "start",
        "steps",
        "submit",
    )

    def __init__(self, number: int, event: Event | None, queued: int) -> None:
        self.number = number
        self.event = event
        """The event of a command, until the command is settled."""
        self.operation = None if event is None else event.operation
        """The operation of the command, until watchers are told. The event drops it at the real end, perhaps earlier.
        """
        self.queued = self.submit = self.start = self.end = queued
        self.missing = 0
        self.awaited: tuple[ModelledCommand, ...] = ()
        self.dependants: list[ModelledCommand] = []
        self.settled = self.failed = False
        self.steps: list[StepTime] = []
        """The steps of the boards whose times are known, until the command is settled."""


class ModelledQueue:
    __slots__ = ("end", "order", "queued")

    def __init__(self, queued: int, *, in_order: bool) -> None:
        self.queued = queued
        self.end = 0
        """The time at which all settled commands have ended."""
        self.order: QueueOrder[ModelledCommand] = QueueOrder(in_order)
        """The commands that later ones have to wait for. Those that are not settled are open in it."""


class SimulatedClock:
    """The times of commands and of the host's threads. The scheduler's lock guards it."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._boards = BoardClocks()
        self._numbers = count(1)
        self._commands: WeakKeyDictionary[Event, ModelledCommand] = WeakKeyDictionary()
        self._queues: WeakKeyDictionary[EventQueue, ModelledQueue] = WeakKeyDictionary()
        self._threads: dict[int, int] = {}
        self.untold: list[tuple[Event, ModelledCommand, list[StepTime]]] = []
        """The commands that were settled since the lock was last released."""

    # The host's time

    def now(self) -> int:
        """Returns the calling thread's time."""
        return self._threads.get(threading.get_native_id(), HOST_NS)

    def turn(self, to: int) -> int:
        """Sets the calling thread's time, to a later or an earlier one, and returns the old one."""
        threads, thread = self._threads, threading.get_native_id()
        before = threads.pop(thread, HOST_NS)
        if len(threads) >= MOST_THREADS:
            del threads[next(iter(threads))]
        threads[thread] = to
        return before

    def reach(self, at: int) -> None:
        """Advances the calling thread's time to `at`, the time of something that it has observed."""
        if at > self.now():
            self.turn(at)

    def forget_boards(self) -> None:
        """Resets the boards: they hold no program, and the places of contents are looked up again."""
        self._planner = Planner()
        self._boards = BoardClocks()

    # Queues and commands

    def queue(self, queue: EventQueue) -> ModelledQueue:
        modelled = self._queues.get(queue)
        if modelled is None:
            modelled = self._queues[queue] = ModelledQueue(self.now(), in_order=queue.in_order)
        return modelled

    def command(self, event: Event) -> ModelledCommand:
        """Returns the modelled command of a command that was enqueued, or of a user event."""
        command = self._commands.get(event)
        if command is None:
            command = self._commands[event] = ModelledCommand(next(self._numbers), None, self.now())
        return command

    def enqueue(self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...]) -> None:
        """Adds a command at the end of its queue."""
        modelled = self.queue(queue)
        queued = modelled.queued = max(self.now(), modelled.queued)
        self.turn(queued + HOST_NS)
        command = self._commands[event] = ModelledCommand(next(self._numbers), event, queued)
        command.awaited = tuple(self.command(other) for other in wait_list)
        role = role_of(event)
        if role is not Role.WORK and not wait_list and not queue.in_order:
            command.submit = max(command.submit, modelled.end)
        before = modelled.order.follow(command, role, waits=bool(wait_list))
        for other in dict.fromkeys((*command.awaited, *before)):
            if other.settled:
                command.submit = max(command.submit, other.end)
            else:
                command.missing += 1
                other.dependants.append(command)
        if cabled_launch(event.operation) is not None:
            command.missing += 1
        if not command.missing:
            self._settle([command])

    def packets_known(self, event: Event) -> None:
        """Gives a launch that may use cables its times: it is about to end, so its packets are known."""
        command = self.command(event)
        command.missing -= 1
        if not command.missing and not command.settled:
            self._settle([command])

    def set_user_event(self, event: Event, status: int) -> None:
        """Ends a user event at the calling thread's time."""
        command = self.command(event)
        if not command.settled:
            command.submit = command.start = command.end = max(command.queued, self.now())
            command.failed = status < COMPLETE
            self._settle(self._finish(command))

    def _settle(self, commands: Iterable[ModelledCommand]) -> None:
        """Gives commands their times, and those that waited for them alone; the first enqueued comes first."""
        ready = [(command.number, command) for command in commands]
        heapify(ready)
        while ready:
            _, command = heappop(ready)
            command.failed = any(other.failed for other in command.awaited)
            command.start = command.end = command.submit
            for settled in [command] if command.failed else self._place(command):
                for other in self._conclude(settled):
                    heappush(ready, (other.number, other))

    def _conclude(self, command: ModelledCommand) -> list[ModelledCommand]:
        """Settles a command whose times are known. Returns the commands that waited for nothing else."""
        event = command.event
        assert event is not None
        assert event.queue is not None
        self.untold.append((event, command, command.steps))
        command.steps = []
        modelled = self.queue(event.queue)
        modelled.end = max(modelled.end, command.end)
        modelled.order.ended(command)
        return self._finish(command)

    def _place(self, command: ModelledCommand) -> list[ModelledCommand]:
        """Begins a command, step by step. Returns the commands whose times are known now.

        A launch that waits for other kernels at its channels is not among them.
        """
        found: list[ModelledCommand] = []
        for step in self._planner.steps(command.operation):
            if isinstance(step, Run) and step.talking is not None:
                return found + self._took(self._boards.begin(step, command.end, command))
            if isinstance(step, Programming):
                found += self._took(self._boards.release(step.device))
            for made in self._boards.place(step, command.end):
                _add(command, made)
        return [*found, command]

    @staticmethod
    def _took(ended: list[tuple[ModelledCommand, StepTime]]) -> list[ModelledCommand]:
        """Adds the time of each ended kernel to its launch. Returns the launches, whose times are then complete."""
        for command, made in ended:
            _add(command, made)
        return [command for command, _ in ended]

    def _release(self) -> bool:
        """Ends the waiting of launches for kernels that were not launched. Returns False if there were none."""
        found = self._took(self._boards.release())
        self._settle(other for command in found for other in self._conclude(command))
        return bool(found)

    def ask(self, command: ModelledCommand) -> None:
        """Settles a command, because its times are asked for."""
        while not command.settled and self._release():
            pass

    def ask_queue(self, queue: EventQueue) -> int:
        """Returns the time at which all commands in a queue have ended, as far as it can be known."""
        modelled = self.queue(queue)
        while modelled.order.open and self._release():
            pass
        return modelled.end

    @staticmethod
    def _finish(command: ModelledCommand) -> list[ModelledCommand]:
        """Marks a command as settled. Returns the commands that waited for nothing else."""
        command.settled = True
        command.event = None
        command.awaited = ()
        dependants, command.dependants = command.dependants, []
        for other in dependants:
            other.submit = max(other.submit, command.end)
            other.missing -= 1
        return [other for other in dependants if not other.missing]


def _add(command: ModelledCommand, made: StepTime) -> None:
    """Adds a step to a command. The start of a launch is that of its kernel."""
    if made.kernel or not command.steps:
        command.start = made.begin
    command.steps.append(made)
    command.end = made.end


class ModelScheduler(Scheduler):
    """The scheduler with a simulated clock: commands run as they do without it, their times are the clock's."""

    ends_are_news = True
    carries = False

    def __init__(self, threads: Threads | None = None, core: Core[Event] | None = None) -> None:
        super().__init__(threads, core)
        self.clock = SimulatedClock()

    # Commands

    def enqueue(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        super().enqueue(event, wait_list)
        self._tell()

    def _entering(self, event: Event, queue: EventQueue, wait_list: tuple[Event, ...]) -> None:
        self.clock.enqueue(event, queue, wait_list)

    def _ended_stage(self, event: Event, status: int, following: Operation | None) -> bool:
        if following is None and cabled_launch(event.operation) is not None:
            with self._lock:
                self.clock.packets_known(event)
            self._tell()
        return super()._ended_stage(event, status, following)

    def run_blocking(self, event: Event, wait_list: tuple[Event, ...] = ()) -> None:
        try:
            super().run_blocking(event, wait_list)
        finally:
            self._tell()
            self.saw_end(event)

    def end_user_event(self, event: Event, status: int) -> None:
        with self._lock:
            if event.status > COMPLETE:
                self.clock.set_user_event(event, status)
        self._tell()
        super().end_user_event(event, status)

    def _tell(self) -> None:
        """Tells watchers what was settled and drops the operations, without the lock: that may destroy objects."""
        if not self.clock.untold:
            return
        with self._lock:
            untold, self.clock.untold = self.clock.untold, []
        for event, command, steps in untold:
            command.operation = None
            for listener in NOTICES.modelled:
                listener(event, command, steps)

    def boards_renewed(self) -> None:
        with self._lock:
            self.clock.forget_boards()

    # What the host observes

    def queue_made(self, queue: EventQueue) -> None:
        with self._lock:
            self.clock.queue(queue)

    def saw_end(self, event: Event) -> None:
        with self._lock:
            command = self.clock.command(event)
            self.clock.ask(command)
            if command.settled:
                self.clock.reach(command.end)
        self._tell()

    def wait(self, event: Event) -> None:
        super().wait(event)
        self.saw_end(event)

    def finish(self, queue: EventQueue) -> None:
        super().finish(queue)
        self._saw_ends([queue])

    def unfinished(self, queues: Sequence[EventQueue]) -> list[Event]:
        """Advances the caller's time to the end of all commands in the queues."""
        self._saw_ends(queues)
        return super().unfinished(queues)

    def _saw_ends(self, queues: Sequence[EventQueue]) -> None:
        with self._lock:
            for queue in queues:
                self.clock.reach(self.clock.ask_queue(queue))
        self._tell()

    def add_callback(self, event: Event, status: int, callback: Callback) -> None:
        """Registers a callback. It runs in simulated time as a thread that begins when the event reaches the status."""

        def called(event: Event, reached: int) -> None:
            at = self.stage_time(event, STAGES.get(reached, "end"))
            before = self._turn(at)
            try:
                callback(event, reached)
            finally:
                self._turn(before)

        super().add_callback(event, status, called)

    def _turn(self, to: int) -> int:
        with self._lock:
            return self.clock.turn(to)

    def host_time(self) -> int:
        with self._lock:
            return self.clock.now()

    def stage_time(self, event: Event, stage: str) -> int:
        with self._lock:
            command = self.clock.command(event)
            if stage != "queued":
                self.clock.ask(command)
            found = int(getattr(command, stage))
        self._tell()
        return found


STAGES = {SUBMITTED: "submit", RUNNING: "start"}
