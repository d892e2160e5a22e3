# SPDX-License-Identifier: Apache-2.0
"""Command queues (OpenCL 3.0, 5.1)."""

from __future__ import annotations

from itertools import count

from fpgart.base import opencl as cl
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.core import CoreQueue
from fpgart.runtime.scheduling.event import CarriedCommands, Event, Operation

NUMBERS = count(1)


class CommandQueue:
    """A command queue for one device, in order or out of order.

    `number` identifies it in traces. `open` has the commands that have not ended, without those that C carries; the
    scheduler guards it.
    """

    def __init__(
        self,
        context: Context,
        device: Device,
        properties: int = 0,
        property_list: tuple[int, ...] | None = None,
        core: CoreQueue | None = None,
    ) -> None:
        """`core`: the queue in C, if C has made it."""
        self.handle = 0
        self.number = next(NUMBERS)
        self.context = context
        self.device = device
        self.properties = properties
        self.property_list = property_list
        self.in_order = not properties & cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
        self._scheduler = context.scheduler
        self.core = core or self._scheduler.core.queue(in_order=self.in_order)
        self.open: dict[Event, None] = {}
        self.carried: CarriedCommands | None = None
        """The commands of the queue that C carries, once it may carry any."""
        context.queues.add(self)
        self._scheduler.queue_made(self)

    def enqueue(self, command_type: int, operation: Operation | None, wait_list: tuple[Event, ...] = ()) -> Event:
        """Puts a command at the end of the queue and returns its event at once."""
        return self.run(command_type, operation, False, wait_list)

    def run(
        self, command_type: int, operation: Operation | None, blocking: bool, wait_list: tuple[Event, ...] = ()
    ) -> Event:
        """Does the same as enqueue(). A blocking command has ended when this returns; its error is raised."""
        event = Event(self.context, self, command_type, operation)
        for listener in NOTICES.command_enqueued:
            listener(event, wait_list, blocking)
        try:
            if blocking:
                self._scheduler.run_blocking(event, wait_list)
            else:
                self._scheduler.enqueue(event, wait_list)
        except BaseException:
            if event.command is None and event.operation is not None:  # the scheduler refused it, so it never ends
                event.operation.abandon()
            raise
        finally:
            if blocking:
                for listener in NOTICES.end_observed:
                    listener(event)
        return event

    def flush(self) -> None:
        """Submits all commands in the queue to the device (OpenCL 3.0, 5.15)."""
        if self.carried is not None:
            self.carried.flush()
        if self.open or self.carried is not None:
            self._scheduler.flush()

    def finish(self) -> None:
        """Returns when all commands that are in the queue at the call have ended (OpenCL 3.0, 5.15)."""
        self._scheduler.finish(self)
        for listener in NOTICES.queue_drained:
            listener(self)


def auto_queue(context: Context, device: Device | None = None) -> CommandQueue:
    """Returns a new in-order queue for commands that the host did not enqueue, by default on the first device."""
    return CommandQueue(context, device or context.devices[0])
