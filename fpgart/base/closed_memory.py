# SPDX-License-Identifier: Apache-2.0
"""Boards' memory that the host cannot access (FPGART_USM_FAULTS), and the driver's own mapping of it.

Kernels run in another process, which has the memory at the same addresses. The driver has two mappings: one without
rights, at the addresses of hosts and kernels, and one at an address that no host gets.
"""

from __future__ import annotations

import threading

from fpgart.base.named_tuples import NamedTuple


class _Closed(NamedTuple):
    """Addresses from `begin` to `end` for hosts; the driver's own mapping is `shift` bytes further."""

    begin: int
    end: int
    shift: int


_closed: tuple[_Closed, ...] = ()
"""Replaced as a whole, so that driver_address() needs no lock."""
_changing = threading.Lock()


def close(begin: int, size: int, own: int) -> None:
    """Records that `size` bytes at `begin`, which have no rights, are mapped at `own` for the driver."""
    global _closed
    with _changing:
        _closed = (*_closed, _Closed(begin, begin + size, own - begin))


def forget(begin: int) -> int:
    """Removes the entry for memory that is unmapped. Returns the address of the driver's mapping, or 0."""
    global _closed
    with _changing:
        own = next((begin + each.shift for each in _closed if each.begin == begin), 0)
        _closed = tuple(each for each in _closed if each.begin != begin)
    return own


def is_closed(address: int) -> bool:
    return driver_address(address) != address


def driver_address(address: int) -> int:
    """Returns the address at which the driver accesses the memory at a host's or kernel's `address`."""
    for begin, end, shift in _closed:
        if begin <= address < end:
            return address + shift
    return address
