# SPDX-License-Identifier: Apache-2.0
"""Allocations of shared virtual memory, which C knows (icd/entry/allocations.h)."""

from __future__ import annotations

from _fpgart_icd import lib

from fpgart.runtime.memory import svm
from fpgart.runtime.objects.context import Context


def allocate(context: Context, size: int, alignment: int) -> int:
    """Allocates `size` bytes and returns their address, or 0 if there is no memory."""
    address = svm.allocate(context, size, alignment)
    if address and not lib.fpgart_svm_made(context.handle, address, size):
        svm.free(context, address)
        return 0
    return address


def free(context: Context, address: int) -> None:
    """Frees an allocation if the context has one at `address`."""
    lib.fpgart_svm_removed(context.handle, address)
    svm.free(context, address)
