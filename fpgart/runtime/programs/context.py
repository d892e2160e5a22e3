# SPDX-License-Identifier: Apache-2.0
"""Defines what programs, kernels and pipes need of their context."""

from __future__ import annotations

from typing import Protocol

from fpgart.base.errors import CLError
from fpgart.runtime.memory.device import DevicePlatform
from fpgart.runtime.memory.placement import Placement
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.usm import UsmAllocation


class ProgramContext(Placement, Protocol):
    """The members of a context that programs need, beside those for buffers."""

    def notify(self, error: CLError) -> None: ...

    @property
    def platform(self) -> DevicePlatform: ...

    usm: AddressRegistry[UsmAllocation]
    compiler_mode: int
    """The origin of the context's programs: CL_CONTEXT_COMPILER_MODE_INTELFPGA."""
    library_root: str
    """The folder of compiled programs, for the modes that use one; "" for the default."""
