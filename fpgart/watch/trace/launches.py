# SPDX-License-Identifier: Apache-2.0
"""Events of launches that C carries, which are written for many at once.

The lines of a kernel with the same arguments differ in numbers and times only. A form is those lines, with places for
them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from fpgart.base import opencl as cl
from fpgart.base.named_tuples import NamedTuple
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.watch.names import COMMANDS, LAUNCHES
from fpgart.watch.trace.commands import ENQUEUED
from fpgart.watch.trace.operations import migration_facts
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import OPERATIONS, Form, Timeline

MOST_FORMS = 1024
Place = tuple[int, tuple[int, ...]]
"""The type of a command, and the frames of its call."""


class Ran(NamedTuple):
    """A launch that C has carried. `pointers`: where its buffers were mapped in this process."""

    queue: CommandQueue
    launch: LaunchKernel
    pointers: list[int]
    status: int


class Forms:
    """The forms of lines of launches, by keys."""

    def __init__(self) -> None:
        self._forms: dict[bytes, Form] = {}

    def find(self, key: bytes, make: Callable[[], Form]) -> Form:
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) == MOST_FORMS:
                self._forms.clear()
            form = self._forms[key] = make()
        return form


class LaunchEvents:
    """The lines of calls and of launches."""

    def __init__(self, timeline: Timeline, sites: Sites, blocks: AddressRegistry[Block]) -> None:
        self._timeline = timeline
        self._sites = sites
        self._blocks = blocks
        self.begin = timeline.begin
        """The begin of the trace, in nanoseconds."""
        self._calls = Forms()
        self._runs = Forms()

    def write(self, lines: bytes) -> None:
        """Writes lines that numbers were filled into."""
        self._timeline.write(lines)

    def operations(self, most: int) -> list[int]:
        """Returns the numbers of so many new operations."""
        return list(islice(OPERATIONS, most))

    def call(self, key: bytes, made: Callable[[], tuple[int, Place]]) -> Form:
        """Returns the form of the call that enqueued a command. `key`: all calls with the same one have this form.

        `made` returns the thread and the place.
        """

        def make() -> Form:
            thread, place = made()
            return self._timeline.call_form(LAUNCHES[place[0]], thread, {ENQUEUED: 0} | self._site(place))

        return self._calls.find(key, make)

    def run(self, key: bytes, ran: Callable[[], tuple[Place, Ran]]) -> Form:
        """Returns the form of a launch that has ended: of its migrations, which were not needed, and of its kernel.

        `key`: all launches with the same one have this form. `ran` returns the place of the call, and the launch.
        """
        return self._runs.find(key, lambda: self._of_run(*ran()))

    def _of_run(self, place: Place, ran: Ran) -> Form:
        launch, queue = ran.launch, ran.queue
        of_command = self._site(place) | {ENQUEUED: 0}
        events: list[tuple[str, dict[str, Any]]] = []
        launch.places = self._places(ran)
        for (index, buffer), block in zip(launch.buffers, launch.places, strict=False):
            facts = migration_facts(buffer.owner, block, block, 0, launch.reason(index)) | of_command
            events.append(("migration", facts))
        args: dict[str, Any] = {"device": queue.device.id, "operation": 0, "command": COMMANDS[place[0]]}
        args |= launch.describe() | of_command
        if not queue.in_order:
            args["unordered"] = True
        if ran.status < 0:
            args["error"] = cl.NAMES_OF_STATUS.get(ran.status, str(ran.status))
        return self._timeline.queue_form(queue.number, [*events, ("kernel", args)])

    def _places(self, ran: Ran) -> list[Block]:
        pairs = zip(ran.launch.buffers, ran.pointers, strict=True)
        found = [self._blocks.at(pointer - buffer.origin) for (_, buffer), pointer in pairs]
        return [block for block in found if block is not None]

    def _site(self, place: Place) -> dict[str, Any]:
        return self._sites.at(LAUNCHES[place[0]], place[1])
