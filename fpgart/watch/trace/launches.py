# SPDX-License-Identifier: Apache-2.0
"""Events of launches that C carries, which are written for many at once.

The lines of a kernel with the same arguments differ in numbers and times only, so that they are filled into forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fpgart.base import opencl as cl
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.memory.device import Block
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.watch.names import COMMANDS
from fpgart.watch.trace.blocks import Blocks
from fpgart.watch.trace.commands import ENQUEUED
from fpgart.watch.trace.operations import migration_facts
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import OPERATIONS, Timeline

CALLS = {cl.CL_COMMAND_NDRANGE_KERNEL: "clEnqueueNDRangeKernel", cl.CL_COMMAND_TASK: "clEnqueueTask"}
MOST_FORMS = 1024
Place = tuple[int, tuple[int, ...]]
"""The type of a command, and the frames of its call."""


class Ran(NamedTuple):
    """A launch that C has carried. `pointers`: where its buffers were mapped in this process."""

    queue: CommandQueue
    launch: LaunchKernel
    pointers: list[int]
    status: int


class LaunchEvents:
    """The lines of calls and of launches."""

    def __init__(self, timeline: Timeline, sites: Sites, blocks: Blocks) -> None:
        self._timeline = timeline
        self._sites = sites
        self._blocks = blocks
        self._calls: dict[tuple[int, Place], str] = {}
        self._runs: dict[tuple[bytes, Place], list[str]] = {}

    def write(self, lines: list[str]) -> None:
        """Writes lines that the other methods have returned."""
        self._timeline.write(lines)

    def call(self, thread: int, place: Place, number: int, begin: int, duration: int) -> str:
        """Returns the line of the call that enqueued a command."""
        form = self._calls.get((thread, place))
        if form is None:
            if len(self._calls) == MOST_FORMS:
                self._calls.clear()
            form = self._timeline.call_form(CALLS[place[0]], thread, {ENQUEUED: 0} | self._site(place))
            self._calls[thread, place] = form
        return self._timeline.fill(form, number, begin, duration)

    def run(self, key: bytes, place: Place, times: tuple[int, int, int], ran: Callable[[], Ran]) -> list[str]:
        """Returns the lines of a launch that has ended: of its migrations, which were not needed, and of its kernel.

        `key`: launches with the same one differ only in `times`: number, begin and end. `ran` returns the launch.
        """
        forms = self._runs.get((key, place))
        if forms is None:
            if len(self._runs) == MOST_FORMS:
                self._runs.clear()
            forms = self._runs[key, place] = self._forms(place, ran())
        number, begin, end = times
        operation, timeline = next(OPERATIONS), self._timeline
        lines = [timeline.fill(form, number, begin, 0, operation) for form in forms[:-1]]
        lines.append(timeline.fill(forms[-1], number, begin, end - begin, operation))
        return lines

    def _forms(self, place: Place, ran: Ran) -> list[str]:
        launch, queue = ran.launch, ran.queue
        of_command = self._site(place) | {ENQUEUED: 0}
        forms = []
        launch.places = self._places(ran)
        for (index, buffer), block in zip(launch.buffers, launch.places, strict=False):
            facts = migration_facts(buffer.owner, block, block, 0, launch.reason(index)) | of_command
            forms.append(self._timeline.queue_form("migration", queue.number, facts))
        args: dict[str, Any] = {"device": queue.device.id, "operation": 0, "command": COMMANDS[place[0]]}
        args |= launch.describe() | of_command
        if not queue.in_order:
            args["unordered"] = True
        if ran.status < 0:
            args["error"] = cl.NAMES_OF_STATUS.get(ran.status, str(ran.status))
        return [*forms, self._timeline.queue_form("kernel", queue.number, args)]

    def _places(self, ran: Ran) -> list[Block]:
        device = ran.queue.device.id
        pairs = zip(ran.launch.buffers, ran.pointers, strict=True)
        found = [self._blocks.mapped_at(device, pointer - buffer.origin) for (_, buffer), pointer in pairs]
        return [block for block in found if block is not None]

    def _site(self, place: Place) -> dict[str, Any]:
        return self._sites.at(CALLS[place[0]], place[1])
