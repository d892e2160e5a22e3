# SPDX-License-Identifier: Apache-2.0
"""Coarse-grained shared virtual memory (OpenCL 3.0, 5.6): host memory that the board reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry

USUAL_ALIGNMENT = 128
LARGEST_ALIGNMENT = 1024
"""The only one but 0 that runtimes of Intel's boards take, so their hosts ask for it."""


class SvmAllocation(NamedTuple):
    """`size` bytes at `pointer`."""

    pointer: int
    size: int

    @property
    def end(self) -> int:
        return self.pointer + self.size


class SvmContext(Protocol):
    """Devices that share the allocations of a registry."""

    @property
    def devices(self) -> Sequence[Device]: ...

    @property
    def svm(self) -> AddressRegistry[SvmAllocation]: ...


def allocate(context: SvmContext, size: int, alignment: int) -> int:
    """Address of `size` bytes for a context with a device that reaches it; 0 when there is no memory."""
    address = _giver(context).mmd.host_alloc(size, alignment or USUAL_ALIGNMENT)
    if address:
        context.svm.add(SvmAllocation(address, size))
        for listener in NOTICES.svm_allocated:
            listener(address, size)
    return address


def _giver(context: SvmContext) -> Device:
    """The device whose board gives the memory: the first one that reaches it."""
    return next(device for device in context.devices if device.has_svm)


def free(context: SvmContext, address: int) -> bool:
    """Give an allocation back; False when `address` is none of this context."""
    if context.svm.remove(address) is None:
        return False
    for listener in NOTICES.svm_freed:
        listener(address)
    _giver(context).mmd.free(address)
    return True
