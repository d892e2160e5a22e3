# SPDX-License-Identifier: Apache-2.0
"""The protocol of a context that programs, kernels and pipes need."""

from __future__ import annotations

from typing import Protocol

from fpgart.base.errors import CLError
from fpgart.runtime.memory.device import DevicePlatform
from fpgart.runtime.memory.placement import Placement
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.usm import UsmAllocation


class ProgramContext(Placement, Protocol):
    """A context for programs, beside buffers."""

    def notify(self, error: CLError) -> None: ...

    @property
    def platform(self) -> DevicePlatform: ...

    @property
    def usm(self) -> AddressRegistry[UsmAllocation]: ...

    @property
    def compiler_mode(self) -> int:
        """How programs come to be in it: CL_CONTEXT_COMPILER_MODE_INTELFPGA."""

    @property
    def library_root(self) -> str:
        """The folder of compiled programs, for the modes that have one; "" for the usual one."""
