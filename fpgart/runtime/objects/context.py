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
from fpgart.runtime.scheduling.event import EventQueue
from fpgart.runtime.scheduling.reaper import Reaper

Notify = Callable[[CLError], None]


class Context:
    """Devices that share objects. What these leave behind when they die goes to `reaper`."""

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
        self.seen_to = False
        """Whoever destroys it sees to what it leaves, at once."""
        self.placing = threading.Lock()
        """Guards which blocks and mappings the context's buffers have."""
        self.compiler_mode = 4
        """How programs come to be in the context: CL_CONTEXT_COMPILER_MODE_INTELFPGA."""
        self.library_root = ""
        self.svm: AddressRegistry[SvmAllocation] = AddressRegistry()
        self.usm: AddressRegistry[UsmAllocation] = AddressRegistry()
        self.queues: Living[EventQueue] = Living()
        self._notify = notify
        self._destructors: list[Callable[[], None]] = []
        self._entered: list[Device] = []
        self.max_mem_alloc_size = min(device.max_mem_alloc_size for device in devices)
        """Bytes of the largest buffer that every device of the context can hold."""
        self.unified_memory = all(device.board.unified_memory for device in devices)
        """Whether all boards use the host's own memory: then buffers are mapped where they are."""
        for device in devices:
            device.enter()
            self._entered.append(device)
            device.contexts.add(self)

    def all_queues(self) -> list[EventQueue]:
        """The command queues that are alive."""
        return self.queues.all()

    def notify(self, error: CLError) -> None:
        """Tell the host's pfn_notify, if it gave one, what went wrong."""
        if self._notify is not None:
            self._notify(error)

    def when_destroyed(self, callback: Callable[[], None]) -> None:
        """Call back, last registered first, when the context is destroyed (OpenCL 3.0, 4.4)."""
        self._destructors.append(callback)

    def reap(self) -> None:
        """Dispose of what dead objects left; must be called without a lock."""
        self.reaper.reap()

    def __del__(self) -> None:
        self.reaper.extend(reversed(self._destructors))
        self.reaper.append(partial(give_back_all, self.usm))
        self.reaper.extend(device.leave for device in self._entered)
        if not self.seen_to:
            self.scheduler.reaper.append(self.reaper.reap)


def give_back_all(allocations: AddressRegistry[UsmAllocation]) -> None:
    """What a context's host has not freed goes with the context."""
    for allocation in allocations.all():
        give_back(allocation)
