# SPDX-License-Identifier: Apache-2.0
"""cl_mem_flags and cl_map_flags: those that exist, and those that exclude each other."""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue

ACCESS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_WRITE_ONLY | cl.CL_MEM_READ_ONLY
HOST_ACCESS = cl.CL_MEM_HOST_WRITE_ONLY | cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS
HOST_POINTERS = cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_ALLOC_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR
CHANNEL_SHIFT = 16
LAST_CHANNEL = 7
CHANNELS = LAST_CHANNEL << CHANNEL_SHIFT
HETEROGENEOUS = 1 << 19
KNOWN_FLAGS = ACCESS | HOST_ACCESS | HOST_POINTERS | CHANNELS | HETEROGENEOUS
MAP_FLAGS = cl.CL_MAP_READ | cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION

MIGRATION_FLAGS = cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED


def check_map_flags(flags: int) -> None:
    """Raises InvalidValue for unknown flags, and for an invalidating mapping that is also another one."""
    invalidates = flags & cl.CL_MAP_WRITE_INVALIDATE_REGION
    if flags & ~MAP_FLAGS or (invalidates and flags & ~invalidates):
        raise InvalidValue(f"{flags:#x} are not valid flags for mapping")


def check_migration_flags(flags: int) -> None:
    if flags & ~MIGRATION_FLAGS:
        raise InvalidValue(f"{flags:#x} are not valid flags for migrating")


def one_of(flags: int, among: int) -> bool:
    """True if `flags` has at most one bit of `among`."""
    chosen = flags & among
    return not chosen & (chosen - 1)


def check_flags(flags: int, known: int = KNOWN_FLAGS, kind: str = "buffer") -> None:
    """Raises InvalidValue for unknown flags of this kind of object and for flags that exclude each other."""
    if flags & ~known:
        raise InvalidValue(f"{flags:#x} has bits that are not {kind} flags")
    if not one_of(flags, ACCESS):
        raise InvalidValue(f"{flags:#x}: only one of read-write, write-only and read-only is possible")
    if not one_of(flags, HOST_ACCESS):
        raise InvalidValue(f"{flags:#x}: only one of the host access flags is possible")
    if flags & cl.CL_MEM_USE_HOST_PTR and flags & (cl.CL_MEM_ALLOC_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR):
        raise InvalidValue(f"{flags:#x}: CL_MEM_USE_HOST_PTR excludes allocating and copying")
