# SPDX-License-Identifier: Apache-2.0
"""A trace from its begin to its end: the watchers that write it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from fpgart.base.notices import NOTICES
from fpgart.board.mmd import Mmd
from fpgart.channels.network import watch_channels
from fpgart.runtime.memory.device import Block
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.watch.origins import Origins
from fpgart.watch.trace.calls import HostCalls
from fpgart.watch.trace.channels import ChannelEvents
from fpgart.watch.trace.commands import CommandNumbers
from fpgart.watch.trace.launches import LaunchEvents
from fpgart.watch.trace.memory import BlockEvents, BufferEvents, UsmEvents
from fpgart.watch.trace.mmd import TracedMmd
from fpgart.watch.trace.operations import OperationEvents, SimulatedSteps
from fpgart.watch.trace.sites import Sites
from fpgart.watch.trace.timeline import Timeline


class Trace:
    """A trace, which is written to a file between listen() and close()."""

    def __init__(self, path: str, new_number: Callable[[], int] | None = None) -> None:
        """`new_number` returns a number for each new command. Raises OSError if the file cannot be written."""
        self.timeline = Timeline(path)
        self._sites = sites = Sites(self.timeline)
        self._blocks: AddressRegistry[Block] = AddressRegistry()
        commands = CommandNumbers(new_number or count(1).__next__)
        self.launches = LaunchEvents(self.timeline, sites, self._blocks)
        """The events of launches that C carries."""
        self._calls = HostCalls(self.timeline, sites, commands)
        self._block_events = BlockEvents(self.timeline, self._blocks)
        self._channels = ChannelEvents(self.timeline)
        self._watchers: tuple[object, ...] = (
            commands,
            self._calls,
            BufferEvents(self.timeline, sites),
            self._block_events,
            UsmEvents(self.timeline, sites),
            OperationEvents(self.timeline, sites, commands),
            SimulatedSteps(self.timeline, commands),
            self._channels,
        )

    def name_places(self, origins: Origins) -> None:
        """Adds places in the host's code to events; `origins` must know the calls within observe()."""
        self._sites.origins = origins

    def listen(self, *, reads_notes: bool = False) -> None:
        """Begins to write an event for each notice. `reads_notes`: `launches` gets those that C carries."""
        watch_channels(True)
        for watcher in (self._sites.origins, *self._watchers):
            NOTICES.listen(watcher, reads_notes=reads_notes)

    def write_first(self, write: Callable[[], None]) -> None:
        """Calls `write` in front of each event of a call, for what happened before it."""
        self._calls.write_first = write
        self._block_events.write_first = write

    def silence(self) -> None:
        """Stops writing events for notices."""
        for watcher in (self._sites.origins, *self._watchers):
            NOTICES.silence(watcher)
        watch_channels(False)

    def close(self) -> None:
        self._channels.tell_all()
        self.timeline.close()

    def observe(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns an entry point with an event around it."""
        return self._calls.observe(name, function)

    def around(self, mmd: Mmd, device: int) -> Mmd:
        """Writes the description of a device's board to the trace, and returns an Mmd that traces each call."""
        self.timeline.introduce(device, mmd.description)
        return TracedMmd(mmd, device, self.timeline, self._blocks)

    def know(self, block: Block) -> None:
        """Attributes addresses to a block that was reserved before the trace began."""
        self._blocks.add(block)
