# SPDX-License-Identifier: Apache-2.0
"""Contexts (OpenCL 3.0, 4.4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from fpgart.base.errors import CLError
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry, Living
from fpgart.runtime.memory.svm import SvmAllocation
from fpgart.runtime.memory.usm import UsmAllocation, give_back
from fpgart.runtime.objects.platform import Platform
from fpgart.runtime.programs.compiler_mode import CompilerMode
from fpgart.runtime.scheduling.event import EventQueue
from fpgart.runtime.scheduling.reaper import Destructible, Reaper

Notify = Callable[[CLError], None]


class Context(Destructible):
    """The devices that share objects. `reaper` gets the work that destroyed objects leave."""

    def __init__(
        self,
        platform: Platform,
        devices: list[Device],
        properties: tuple[int, ...] = (),
        notify: Notify | None = None,
    ) -> None:
        self.handle = 0
        self.platform = platform
        self.scheduler = platform.scheduler
        self.devices = devices
        self.properties = properties
        self.malloced = platform.malloced
        self.reaper = Reaper()
        self.reaped_by_caller = False
        """True if whoever destroys the context runs its reaper at once."""
        self.placing = threading.Lock()
        """Guards the blocks and the mappings of the context's buffers."""
        self.compiler_mode: int = CompilerMode.ONLINE
        """The origin of the context's programs: CL_CONTEXT_COMPILER_MODE_INTELFPGA."""
        self.library_root = ""
        self.svm: AddressRegistry[SvmAllocation] = AddressRegistry()
        self.usm: AddressRegistry[UsmAllocation] = AddressRegistry()
        self.queues: Living[EventQueue] = Living()
        self._notify = notify
        self._entered: list[Device] = []
        self.max_mem_alloc_size = min(device.max_mem_alloc_size for device in devices)
        """The size in bytes of the largest buffer that fits on every device of the context."""
        self.unified_memory = all(device.board.unified_memory for device in devices)
        """True if all boards use the host's own memory."""
        self.maps_in_place = self.unified_memory and len(devices) == 1
        """True if buffers are mapped in the board's memory. A second board could move a buffer away from there."""
        for device in devices:
            device.enter()
            self._entered.append(device)
            device.contexts.add(self)

    def notify(self, error: CLError) -> None:
        """Reports an error to the host's pfn_notify, if it gave one."""
        if self._notify is not None:
            self._notify(error)

    def reap(self) -> None:
        """Does the work that destroyed objects have left. No lock is held."""
        self.reaper.reap()

    def __del__(self) -> None:
        self.reaper.extend(self.destructors)
        self.reaper.append(partial(give_back_all, self.usm))
        self.reaper.extend(device.leave for device in self._entered)
        if not self.reaped_by_caller:
            self.scheduler.reaper.append(self.reaper.reap)


def give_back_all(allocations: AddressRegistry[UsmAllocation]) -> None:
    """Frees the allocations that the host has not freed."""
    for allocation in allocations.all():
        give_back(allocation)
