# SPDX-License-Identifier: Apache-2.0
"""The protocol of a context that buffers need in order to be placed."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from fpgart.runtime.memory.board_malloc import BoardMalloc
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.svm import SvmAllocation
from fpgart.runtime.scheduling.reaper import Reaper


class Placement(Protocol):
    """Where buffers can be placed, and what guards it. A context is one."""

    handle: int

    @property
    def devices(self) -> Sequence[Device]: ...

    @property
    def placing(self) -> Lock:
        """Guards which blocks and mappings the buffers have."""

    @property
    def reaper(self) -> Reaper:
        """Takes what buffers leave behind when they die."""

    @property
    def svm(self) -> AddressRegistry[SvmAllocation]: ...

    @property
    def malloced(self) -> BoardMalloc: ...

    @property
    def unified_memory(self) -> bool:
        """Whether all boards use the host's own memory: then buffers are mapped where they are."""
