# SPDX-License-Identifier: Apache-2.0
"""FPGART_WATCHDOG: a report of who waits for whom, when no command has moved for a while."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from time import monotonic_ns
from typing import Any
from weakref import WeakKeyDictionary, ref

from fpgart.base import log
from fpgart.runtime.commands.operation import operation_of
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, Event, EventQueue, Operation
from fpgart.watch.callers import Callers, Site
from fpgart.watch.names import COMMANDS
from fpgart.watch.places import Places
from fpgart.watch.words import times

MOST_COMMANDS = 8
"""The most commands that it reports of each queue."""
LOOKS = 4
"""The number of looks in `seconds`."""

State = tuple[int, int, tuple[tuple[int, int], ...]]


class Watchdog:
    """Listens to NOTICES, and looks at intervals from a thread of its own.

    It reports once per standstill: commands that have not ended while none was made, began or ended for `seconds`.
    """

    def __init__(
        self, callers: Callers, seconds: float, tell: Callable[[str], None] = log.warning, places: Places | None = None
    ) -> None:
        self._callers = callers
        self._places = places or Places()
        self._seconds = seconds
        self._tell = tell
        self._events: dict[int, tuple[ref[Event], Site | None]] = {}
        self._queues: dict[int, Site | None] = {}
        self._wait_lists: WeakKeyDictionary[Event, list[ref[Event]]] = WeakKeyDictionary()
        self._made = self._moves = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fpgart watchdog", daemon=True)
        callers.waiting = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; returns when it has ended."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    # Notices

    def event_made(self, event: Event) -> None:
        self._made += 1
        events, key = self._events, id(event)
        events[key] = ref(event, lambda _: events.pop(key, None)), self._callers.here()

    def command_enqueued(self, event: Event, wait_list: tuple[Event, ...], blocking: bool) -> None:
        if wait_list:
            self._wait_lists[event] = [ref(other) for other in wait_list]

    def handle_given(self, item: Any) -> None:
        if isinstance(item, CommandQueue):
            self._queues[item.number] = self._callers.here()

    def operation_began(self, event: Event, operation: Operation) -> None:
        self._moves += 1

    def operation_ended(self, event: Event, operation: Operation, begin: int, status: int) -> None:
        self._moves += 1

    # Looking

    def _watch(self) -> None:
        seen, since, told = self._state(), monotonic_ns(), False
        while not self._end.wait(self._seconds / LOOKS):
            now, state = monotonic_ns(), self._state()
            if state != seen:
                seen, since, told = state, now, False
            elif not told and now - since >= self._seconds * 1e9 and (words := self.report()):
                told = True
                self._tell(f"no progress for {(now - since) / 1e9:.1f} s\n{words}")

    def _state(self) -> State:
        return self._made, self._moves, tuple((id(event), event.status) for event in self._alive())

    def _alive(self) -> list[Event]:
        """Returns the events that have not ended, in the order of their creation."""
        found = [reference() for reference, _ in list(self._events.copy().values())]
        for event in found:
            if event is not None:
                event.look()
        return [event for event in found if event is not None and event.status > COMPLETE]

    # Reporting

    def report(self) -> str:
        """Returns who waits for whom at this moment; "" if nobody does."""
        alive = self._alive()
        queues = {event.queue: None for event in alive if isinstance(event.queue, CommandQueue)}
        lines = [line for queue in queues for line in self._queue_lines(queue, alive)]
        for event in alive:
            waiters = event.command.sleepers() if event.command is not None else 0
            dependants = event.command.followers() if event.command is not None else 0
            if event.queue is None and (waiters or dependants):
                waiting = [times(dependants, "command")] if dependants else []
                waiting += [times(waiters, "thread")] if waiters else []
                verb = "waits" if waiters + dependants == 1 else "wait"
                lines.append(f"{self._event_words(event)}: {' and '.join(waiting)} {verb} for it")
        if lines:
            lines += self._thread_lines()
        return "\n".join(lines)

    def _queue_lines(self, queue: CommandQueue, alive: list[Event]) -> Iterator[str]:
        commands = queue.context.scheduler.unfinished([queue])
        order = "in order" if queue.in_order else "out of order"
        device = f"device {queue.device.id} '{queue.device.board.name}', {order}"
        yield f"{self._queue_words(queue)} on {device}: {times(len(commands), 'command')}"
        shown = commands[: 1 if queue.in_order else MOST_COMMANDS]
        for event in shown:
            yield f"  {self._event_words(event)} {self._why(event, alive)}"
            for other in self._awaited(queue, event):
                of = f" of {self._queue_words(other.queue)}" if other.queue not in (None, queue) else ""
                yield f"    {self._event_words(other)}{of}"
        if len(commands) > len(shown):
            yield (
                f"  and {len(commands) - len(shown)} behind"
                if queue.in_order
                else f"  and {len(commands) - len(shown)} more"
            )

    def _awaited(self, queue: CommandQueue, event: Event) -> list[Event]:
        listed = (reference() for reference in self._wait_lists.get(event, ()))
        found = [other for other in listed if other is not None and other.status > COMPLETE]
        return list(dict.fromkeys((*found, *queue.context.scheduler.awaited(event))))

    def _why(self, event: Event, alive: list[Event]) -> str:
        if event.status == RUNNING and event.ready is None:
            return f"has been running for {(monotonic_ns() - event.start_ns) / 1e9:.1f} s"
        if event.ready is None:
            return "waits for"
        operation = event.operation
        device = operation.device if operation is not None else None
        busy = [
            self._event_words(other)
            for other in alive
            if other.status == RUNNING and other.ready is None and getattr(other.operation, "device", None) is device
        ]
        return "waits for its turn on the board" + (f", which is busy with {', '.join(busy)}" if busy else "")

    def _queue_words(self, queue: EventQueue | None) -> str:
        assert queue is not None
        if not queue.handle:
            return "the driver's own queue"
        return f"queue {queue.number}{self._made_by(self._queues.get(queue.number))}"

    def _event_words(self, event: Event) -> str:
        _, site = self._events.get(id(event), (None, None))
        return f"{command_words(event)}{self._made_by(site)}"

    def _made_by(self, site: Site | None) -> str:
        return f" ({self._places.describe(site)})" if site is not None else ""

    def _thread_lines(self) -> Iterator[str]:
        for each in list((self._callers.waiting or {}).values()):
            who = "the main thread" if each.thread == os.getpid() else f"thread {each.thread}"
            seconds = (monotonic_ns() - each.begin_ns) / 1e9
            yield f"{who} has spent {seconds:.1f} s in {self._places.describe(each.site)}"


def command_words(event: Event) -> str:
    """Returns `NDRANGE_KERNEL 'add'`, `READ_BUFFER`, `a user event that nobody has set`."""
    if event.queue is None:
        return "a user event that nobody has set"
    name = COMMANDS.get(event.command_type, hex(event.command_type))
    operation = operation_of(event)
    launch = operation.launch if operation is not None else None
    return f"{name} '{launch.kernel.name}'" if launch is not None else name
