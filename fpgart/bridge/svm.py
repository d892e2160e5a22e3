# SPDX-License-Identifier: Apache-2.0
"""Allocations of shared virtual memory, which C counts (icd/entry/boards.h)."""

from __future__ import annotations

from _fpgart_icd import lib

from fpgart.runtime.memory import svm
from fpgart.runtime.objects.context import Context


def allocate(context: Context, size: int, alignment: int) -> int:
    """Allocates `size` bytes and returns their address, or 0 if there is no memory."""
    lib.fpgart_count_svm(context.handle, 1)  # before the host has the address
    address = svm.allocate(context, size, alignment)
    if not address:
        lib.fpgart_count_svm(context.handle, -1)
    return address


def free(context: Context, address: int) -> None:
    """Frees an allocation if the context has one at `address`."""
    if svm.free(context, address):
        lib.fpgart_count_svm(context.handle, -1)
