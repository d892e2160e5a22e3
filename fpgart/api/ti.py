# SPDX-License-Identifier: Apache-2.0
"""Additions of TI's OpenCL for the 66AK2x to the API (include/CL/cl_ext_ti.h)."""

from __future__ import annotations

from fpgart.api.platform import the_platform
from fpgart.base import log
from fpgart.bridge.entry import Pointer, entry
from fpgart.runtime.memory.device import Device

MSMC = "msmc"


def shared_with_host() -> Device | None:
    """Returns the first board whose memory belongs to the host's processor, too."""
    return next((device for device in the_platform().devices if device.board.has_msmc), None)


def allocate(size: int, memory: str = "") -> int:
    """Returns the address of board memory, or NULL. Raises DeviceNotAvailable."""
    device = shared_with_host()
    if device is None:
        log.note(f"{size} bytes of board memory are requested, but no board of this process has a 66AK2x")
        return 0
    return the_platform().malloced.allocate(device, size, memory) if size else 0


@entry("__malloc_ddr")
def malloc_ddr(size: int) -> Pointer:
    return allocate(size)


@entry("__malloc_msmc")
def malloc_msmc(size: int) -> Pointer:
    return allocate(size, MSMC)


@entry("__free_ddr", "__free_msmc", status=False)
def free(ptr: int) -> None:
    the_platform().malloced.free(ptr)


@entry("__is_in_malloced_region")
def is_in_malloced_region(ptr: int) -> Pointer:
    """Returns 1 for an address in such an allocation, else 0."""
    return int(the_platform().malloced.holds(ptr))
