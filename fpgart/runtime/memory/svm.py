# SPDX-License-Identifier: Apache-2.0
"""Coarse-grained shared virtual memory (OpenCL 3.0, 5.6): host memory that the board accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry

USUAL_ALIGNMENT = 128
LARGEST_ALIGNMENT = 1024
"""The only alignment but 0 that runtimes of Intel's boards accept, so their hosts request it."""


class SvmAllocation(NamedTuple):
    """`size` bytes at `pointer`."""

    pointer: int
    size: int

    @property
    def end(self) -> int:
        return self.pointer + self.size


class SvmContext(Protocol):
    """The members of a context that SVM needs."""

    @property
    def devices(self) -> Sequence[Device]: ...

    svm: AddressRegistry[SvmAllocation]


def allocate(context: SvmContext, size: int, alignment: int) -> int:
    """Allocates `size` bytes and returns their address, or 0 if there is no memory.

    A device of the context has to support SVM.
    """
    address = _owner(context).mmd.host_alloc(size, alignment or USUAL_ALIGNMENT)
    if address:
        context.svm.add(SvmAllocation(address, size))
        for listener in NOTICES.svm_allocated:
            listener(address, size)
    return address


def _owner(context: SvmContext) -> Device:
    """Returns the device whose board allocates the memory: the first one that supports SVM."""
    return next(device for device in context.devices if device.has_svm)


def free(context: SvmContext, address: int) -> bool:
    """Frees an allocation. Returns False if the context has none at `address`."""
    if context.svm.remove(address) is None:
        return False
    for listener in NOTICES.svm_freed:
        listener(address)
    _owner(context).mmd.free(address)
    return True
