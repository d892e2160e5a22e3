# SPDX-License-Identifier: Apache-2.0
"""The order that is certain between commands: vector clocks over commands, queues and the host.

A command is after those of its wait list, after the one before it in an in-order queue, after barriers of an
out-of-order queue, and after all that the host knew to have ended when it enqueued it: the host learns by
blocking calls, waiting, finishing, asking for the status and being called back. All of the host's threads count
as one, since how they wait for each other cannot be seen: what one of them knows, all know.

Commands are numbered along *chains*, lines of commands each of which is after the one before; a clock says how
far along each chain its command is certain that things have ended.
"""

from __future__ import annotations

from itertools import count
from weakref import WeakKeyDictionary

from fpgart.runtime.scheduling.event import COMPLETE, Event, EventQueue
from fpgart.runtime.scheduling.order import QueueOrder
from fpgart.runtime.scheduling.readiness import role_of

Clock = dict[int, int]


def join(clock: Clock, other: Clock) -> None:
    """`clock` knows what `other` knows, too."""
    for chain, index in other.items():
        if clock.get(chain, 0) < index:
            clock[chain] = index


class ClockedCommand:
    """A command's place in the order. `clock` is None until all that it waits for have theirs.

    Only user events keep it waiting: what their end is after is known when the host ends them.
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
        """`base`: what the host knew. `text`: what the command is called. `number`: in the order of their calls."""
        self.text = text
        self.number = number
        self.base = base
        self.clock: Clock | None = None
        self.chain = self.index = 0
        self.waiting = 0
        self.predecessors: list[ClockedCommand] = []
        self.dependants: list[ClockedCommand] = []

    def before(self, other: ClockedCommand) -> bool:
        """Whether this one has certainly ended when `other` begins. Both have their clocks."""
        assert other.clock is not None
        return other.clock.get(self.chain, 0) >= self.index


class Order:
    """Gives every command its clock. The caller holds a lock (that its thread may take twice)."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._ends: Clock = {}
        self._numbers = count(1)
        self._commands: WeakKeyDictionary[Event, ClockedCommand] = WeakKeyDictionary()
        self._orders: WeakKeyDictionary[EventQueue, QueueOrder[ClockedCommand]] = WeakKeyDictionary()

    def find(self, event: Event) -> ClockedCommand | None:
        return self._commands.get(event)

    def known(self, command: ClockedCommand) -> bool:
        """Whether the host knows that it has ended: then everything from now on is after it."""
        return command.clock is not None and self.host.get(command.chain, 0) >= command.index

    def enqueue(
        self, event: Event, wait_list: tuple[Event, ...], text: str
    ) -> tuple[ClockedCommand, list[ClockedCommand]]:
        """The command, and those that have got their clocks now: itself, or none."""
        queue = event.queue
        assert queue is not None
        command = ClockedCommand(dict(self.host), text, next(self._numbers))
        self._commands[event] = command
        for other in wait_list:
            found = self._awaited(other)
            if found is not None:
                command.predecessors.append(found)
        order = self._orders.get(queue)
        if order is None:
            order = self._orders[queue] = QueueOrder(queue.in_order)
        for other_command in [c for c in order.open if queue.in_order or self.known(c)]:  # the last one stands for all
            order.ended(other_command)
        command.predecessors += order.follow(command, role_of(event), waits=bool(wait_list))
        for other_command in command.predecessors:
            if other_command.clock is None:
                other_command.dependants.append(command)
                command.waiting += 1
        return command, [] if command.waiting else self._settle(command)

    def _awaited(self, event: Event) -> ClockedCommand | None:
        found = self._commands.get(event)
        if found is None and event.queue is None and event.status > COMPLETE:
            found = self._commands[event] = ClockedCommand({}, "")
        return found

    def _settle(self, command: ClockedCommand) -> list[ClockedCommand]:
        """Give a command its clock, and all those that waited only for it."""
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
        """Who waited for nobody but `command`."""
        dependants, command.dependants = command.dependants, []
        free = []
        for other in dependants:
            other.waiting -= 1
            if not other.waiting:
                free.append(other)
        return free

    def _chain(self, clock: Clock) -> int:
        """A chain whose last command is before whoever has this clock."""
        for chain, end in list(self._ends.items()):
            if clock.get(chain, 0) >= end:
                return chain
        return len(self._ends)

    # What the host learns and does

    def observed(self, event: Event) -> None:
        """The host knows that a command has ended."""
        command = self._commands.get(event)
        if command is not None and command.clock is not None:
            join(self.host, command.clock)

    def drained(self, queue: EventQueue) -> None:
        """The host knows that all commands of a queue have ended."""
        order = self._orders.get(queue)
        for command in list(order.open) if order is not None else ():
            if command.clock is not None:
                join(self.host, command.clock)

    def user_event_ended(self, event: Event) -> list[ClockedCommand]:
        """The host ends a user event: what waited for it is after all that the host knows. Who got clocks by that."""
        command = self._commands.get(event)
        if command is None or command.clock is not None:
            return []
        command.clock = dict(self.host)
        settled: list[ClockedCommand] = []
        for other in self._served(command):
            settled += self._settle(other)
        return settled
