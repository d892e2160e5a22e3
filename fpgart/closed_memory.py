# SPDX-License-Identifier: Apache-2.0
"""Memory of boards that the host cannot access (FPGART_USM_FAULTS), and where the driver accesses it instead.

Kernels run in another process, which has the memory at the same addresses. The driver has it at two places: where hosts
and kernels know it, without any rights, and at another address, which no host gets.
"""

from __future__ import annotations

CLOSED: dict[int, tuple[int, int]] = {}
"""By the address where hosts know a memory: its end, and how far away the driver's own mapping is."""


def close(begin: int, size: int, own: int) -> None:
    """Note that `size` bytes at `begin`, which have no rights, are at `own` for the driver."""
    CLOSED[begin] = begin + size, own - begin


def forget(begin: int) -> int:
    """The memory at `begin` is unmapped; returns where the driver has it, 0 if it was not closed."""
    known = CLOSED.pop(begin, None)
    return 0 if known is None else begin + known[1]


def is_closed(address: int) -> bool:
    return driver_address(address) != address


def driver_address(address: int) -> int:
    """Where the driver reads and writes what hosts and kernels know by an address of this process."""
    for begin, (end, shift) in CLOSED.items():
        if begin <= address < end:
            return address + shift
    return address
