# SPDX-License-Identifier: Apache-2.0
"""Defines what an operation tells watchers about itself."""

from __future__ import annotations

from typing import Protocol, cast

from fpgart.runtime.commands.access import Accesses
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.event import Event, Operation


class DeviceOperation(Operation, Protocol):
    """An operation as the listeners of NOTICES get it."""

    @property
    def device(self) -> Device: ...

    @property
    def launch(self) -> LaunchKernel | None:
        """The launch that the operation is, or is a stage of; None for other commands."""

    def accesses(self) -> Accesses:
        """Returns the accesses to memory. They are computed at each call."""

    def describe(self) -> dict[str, object]:
        """Returns facts about the operation for traces, by name."""


def operation_of(event: Event) -> DeviceOperation | None:
    """Returns the operation of a command that has not ended; None for markers, barriers and user events."""
    return cast("DeviceOperation | None", event.operation)


def running_kernel(operation: DeviceOperation) -> LaunchKernel | None:
    """Returns the launch whose kernel the operation runs; None for other operations and other stages of a launch."""
    return operation.launch if operation.name == "kernel" else None
