# SPDX-License-Identifier: Apache-2.0
"""Events of launches that C carries, which are written for many at once.

The lines of a kernel with the same arguments differ in numbers and times only, so that they are filled into forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fpgart.base import opencl as cl
from fpgart.base.named_tuples import NamedTuple
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
Times = tuple[int, int, int]
"""The number of a command, and the begin and the duration of its call or of its run, in nanoseconds."""


class Ran(NamedTuple):
    """A launch that C has carried. `pointers`: where its buffers were mapped in this process."""

    queue: CommandQueue
    launch: LaunchKernel
    pointers: list[int]
    status: int


def kept(forms: dict[bytes, list[str]], key: bytes, made: list[str]) -> list[str]:
    """Keeps forms for the next launch with this key, and returns them."""
    if len(forms) == MOST_FORMS:
        forms.clear()
    forms[key] = made
    return made


class LaunchEvents:
    """The lines of calls and of launches."""

    def __init__(self, timeline: Timeline, sites: Sites, blocks: Blocks) -> None:
        self._timeline = timeline
        self._sites = sites
        self._blocks = blocks
        self._calls: dict[bytes, list[str]] = {}
        self._runs: dict[bytes, list[str]] = {}

    def write(self, lines: list[str]) -> None:
        """Writes lines that the other methods have returned."""
        self._timeline.write(lines)

    def call(self, key: bytes, times: Times, made: Callable[[], tuple[int, Place]]) -> list[str]:
        """Returns the line of the call that enqueued a command.

        `key`: calls with the same one differ only in `times`: number, begin and duration. `made` returns the thread and
        the place.
        """
        forms = self._calls.get(key)
        if forms is None:
            thread, place = made()
            form = self._timeline.call_form(CALLS[place[0]], thread, {ENQUEUED: 0} | self._site(place))
            forms = kept(self._calls, key, [form])
        return self._timeline.fill(forms, *times)

    def run(self, key: bytes, times: Times, ran: Callable[[], tuple[Place, Ran]]) -> list[str]:
        """Returns the lines of a launch that has ended: of its migrations, which were not needed, and of its kernel.

        `key`: launches with the same one differ only in `times`. `ran` returns the place of the call, and the launch.
        """
        forms = self._runs.get(key)
        if forms is None:
            forms = kept(self._runs, key, self._forms(*ran()))
        return self._timeline.fill(forms, *times, next(OPERATIONS))

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
