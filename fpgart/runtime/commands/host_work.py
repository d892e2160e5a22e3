# SPDX-License-Identifier: Apache-2.0
"""Commands that touch host memory only."""

from __future__ import annotations

from collections.abc import Callable

from fpgart.runtime.commands.access import Accesses
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.event import PlainOperation, ReadyList
from fpgart.runtime.scheduling.occupancy import Direction


def nothing() -> None:
    """Does nothing: the default of HostWork's `instead`."""


def no_accesses() -> Accesses:
    """Returns no accesses: for work that uses no memory of the host's program."""
    return ()


class HostWork(PlainOperation):
    """The operation of a command that uses host memory only. It conflicts with no other operation."""

    __slots__ = ("accesses", "device", "instead", "work")
    name = "host"
    direction = Direction.NONE

    def __init__(
        self,
        device: Device,
        work: Callable[[], None],
        instead: Callable[[], None] = nothing,
        accesses: Callable[[], Accesses] = no_accesses,
    ) -> None:
        """`work` does the command's work; `instead` is called if the command ends without it."""
        self.accesses = accesses
        self.device = device
        self.work = work
        self.instead = instead

    @property
    def ready_list(self) -> ReadyList:
        return self.device.scheduler.host_ready

    def run(self) -> None:
        self.work()

    def abandon(self) -> None:
        self.instead()
