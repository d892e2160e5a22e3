# SPDX-License-Identifier: Apache-2.0
"""The order that is certain between commands: vector clocks over commands, queues and the host.

A command is after those of its wait list, after the one before it in an in-order queue, after barriers of an
out-of-order queue, and after all commands of which the host knew the end when it enqueued this one: the host
learns it by blocking calls, waiting, finishing, querying the status and callbacks. All of the host's threads count as
one, because their synchronisation is not visible: all know what one of them knows.

Commands are numbered along *chains*, in which each command is after the one before; a clock has, for each chain, the
number up to which commands have certainly ended before its command.
"""

from __future__ import annotations

from collections import deque
from itertools import count, islice
from weakref import WeakKeyDictionary

from fpgart.runtime.scheduling.event import COMPLETE, Event, EventQueue
from fpgart.runtime.scheduling.order import QueueOrder, Role
from fpgart.runtime.scheduling.readiness import role_of

Clock = dict[int, int]


def join(clock: Clock, other: Clock) -> None:
    """Adds the knowledge of `other` to `clock`."""
    for chain, index in other.items():
        if clock.get(chain, 0) < index:
            clock[chain] = index


class ClockedCommand:
    """A command's place in the order. `clock` is None until all commands that it waits for have theirs.

    Only user events delay it: the clock of their end is known when the host ends them.
    """

    __slots__ = (
        "__weakref__",
        "base",
        "chain",
        "clock",
        "dependants",
        "index",
        "number",
        "predecessors",
        "text",
        "waiting",
    )

    def __init__(self, base: Clock, text: str, number: int = 0) -> None:
        """`base` is the host's knowledge, `text` the command's name, `number` its place in the order of calls."""
        self.text = text
        self.number = number
        self.base = base
        self.clock: Clock | None = None
        self.chain = self.index = 0
        self.waiting = 0
        self.predecessors: list[ClockedCommand] = []
        self.dependants: list[ClockedCommand] = []

    def before(self, other: ClockedCommand) -> bool:
        """True if this command has certainly ended when `other` begins. Both have their clocks."""
        assert other.clock is not None
        return other.clock.get(self.chain, 0) >= self.index


class Order:
    """The clocks of all commands. The caller holds a reentrant lock."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._ends: Clock = {}
        self._numbers = count(1)
        self._commands: WeakKeyDictionary[Event, ClockedCommand] = WeakKeyDictionary()
        self._orders: WeakKeyDictionary[EventQueue, QueueOrder[ClockedCommand]] = WeakKeyDictionary()

    def find(self, event: Event) -> ClockedCommand | None:
        return self._commands.get(event)

    def known(self, command: ClockedCommand) -> bool:
        """True if the host knows that it has ended: all later commands are after it."""
        return command.clock is not None and self.host.get(command.chain, 0) >= command.index

    def enqueue(
        self, event: Event, wait_list: tuple[Event, ...], text: str
    ) -> tuple[ClockedCommand, list[ClockedCommand]]:
        """Returns the command, and the commands that got their clocks by this call: itself, or none."""
        assert event.queue is not None
        command = self._new(text)
        self._commands[event] = command
        for other in wait_list:
            found = self._awaited(other)
            if found is not None:
                command.predecessors.append(found)
        return command, self._put(event.queue, command, role_of(event), waits=bool(wait_list))

    def enqueue_launch(self, queue: EventQueue, text: str) -> tuple[ClockedCommand, list[ClockedCommand]]:
        """Does the same for a launch without a wait list, and without an event that anything could wait for."""
        command = self._new(text)
        return command, self._put(queue, command, Role.WORK, waits=False)

    def repeat(self, command: ClockedCommand, count: int) -> None:
        """Replaces a command by the last of `count` more, each directly behind the one before it."""
        assert command.clock is not None
        command.index += count
        command.clock[command.chain] = self._ends[command.chain] = command.index
        command.number = deque(islice(self._numbers, count), maxlen=1).pop()

    def _new(self, text: str) -> ClockedCommand:
        return ClockedCommand(dict(self.host), text, next(self._numbers))

    def _put(self, queue: EventQueue, command: ClockedCommand, role: Role, *, waits: bool) -> list[ClockedCommand]:
        """Puts a command behind those of its queue; returns the commands that got their clocks by that."""
        order = self._orders.get(queue)
        if order is None:
            order = self._orders[queue] = QueueOrder(queue.in_order)
        for other_command in [c for c in order.open if queue.in_order or self.known(c)]:  # the last is after all others
            order.ended(other_command)
        command.predecessors += order.follow(command, role, waits=waits)
        for other_command in command.predecessors:
            if other_command.clock is None:
                other_command.dependants.append(command)
                command.waiting += 1
        return [] if command.waiting else self._settle(command)

    def _awaited(self, event: Event) -> ClockedCommand | None:
        found = self._commands.get(event)
        if found is None and event.queue is None and event.status > COMPLETE:
            found = self._commands[event] = ClockedCommand({}, "")
        return found

    def _settle(self, command: ClockedCommand) -> list[ClockedCommand]:
        """Gives a command its clock, and all those that waited only for it."""
        settled = []
        ready = [command]
        while ready:
            now = ready.pop()
            clock = now.base
            for other in now.predecessors:
                assert other.clock is not None
                join(clock, other.clock)
            now.predecessors = []
            now.chain = self._chain(clock)
            now.index = self._ends[now.chain] = self._ends.get(now.chain, 0) + 1
            clock[now.chain] = now.index
            now.clock = clock
            settled.append(now)
            ready += self._served(now)
        return settled

    @staticmethod
    def _served(command: ClockedCommand) -> list[ClockedCommand]:
        """Returns the commands that waited for no other command than this."""
        dependants, command.dependants = command.dependants, []
        free = []
        for other in dependants:
            other.waiting -= 1
            if not other.waiting:
                free.append(other)
        return free

    def _chain(self, clock: Clock) -> int:
        """Returns a chain whose last command is before a command with this clock."""
        for chain, end in list(self._ends.items()):
            if clock.get(chain, 0) >= end:
                return chain
        return len(self._ends)

    # Knowledge and calls of the host

    def observed(self, event: Event) -> None:
        """Records that the host knows the end of a command."""
        command = self._commands.get(event)
        if command is not None and command.clock is not None:
            join(self.host, command.clock)

    def drained(self, queue: EventQueue) -> None:
        """Records that the host knows the end of all commands of a queue."""
        order = self._orders.get(queue)
        for command in list(order.open) if order is not None else ():
            if command.clock is not None:
                join(self.host, command.clock)

    def user_event_ended(self, event: Event) -> list[ClockedCommand]:
        """Gives a user event the host's knowledge as its clock; returns the commands that got clocks by it."""
        command = self._commands.get(event)
        if command is None or command.clock is not None:
            return []
        command.clock = dict(self.host)
        settled: list[ClockedCommand] = []
        for other in self._served(command):
            settled += self._settle(other)
        return settled
