# SPDX-License-Identifier: Apache-2.0
"""Defines what buffers need of their context in order to be placed."""

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
    """The devices on which buffers can be placed, and the lock for that. A context implements it."""

    handle: int

    @property
    def devices(self) -> Sequence[Device]: ...

    placing: Lock
    """The lock that guards the buffers' blocks and mappings."""
    reaper: Reaper
    """The queue for the work that destroyed buffers leave."""
    svm: AddressRegistry[SvmAllocation]
    malloced: BoardMalloc
    unified_memory: bool
    """True if all boards use the host's own memory."""
    maps_in_place: bool
    """True if buffers are mapped in the board's memory."""
