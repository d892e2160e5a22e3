# SPDX-License-Identifier: Apache-2.0
"""What all operations of commands say of themselves to those who watch."""

from __future__ import annotations

from typing import Protocol

from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.event import Operation


class DeviceOperation(Operation, Protocol):
    """An operation, as watchers see it."""

    @property
    def device(self) -> Device: ...
