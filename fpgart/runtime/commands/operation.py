# SPDX-License-Identifier: Apache-2.0
"""The base of all operations: how they describe themselves to watchers."""

from __future__ import annotations

from typing import Protocol, cast

from fpgart.runtime.commands.access import Accesses
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.event import Event, Operation


class DeviceOperation(Operation, Protocol):
    """An operation as watchers see it; NOTICES tell of such."""

    @property
    def device(self) -> Device: ...

    @property
    def launch(self) -> LaunchKernel | None:
        """The launch that it is, or is a stage of; None for other commands."""

    def accesses(self) -> Accesses:
        """What it does with memory; computed for those who ask."""

    def describe(self) -> dict[str, object]:
        """What is particular to it, in numbers and names, for traces."""


def operation_of(event: Event) -> DeviceOperation | None:
    """The work behind a command; None for markers, barriers and user events, and once it has ended."""
    return cast("DeviceOperation | None", event.operation)


def running_kernel(operation: DeviceOperation) -> LaunchKernel | None:
    """The launch whose kernel an operation runs; None for other operations, and for other stages of a launch."""
    return operation.launch if operation.name == "kernel" else None
