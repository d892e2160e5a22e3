# SPDX-License-Identifier: Apache-2.0
"""Memory of boards that the host cannot access (FPGART_USM_FAULTS), and where the driver accesses it instead.

Kernels run in another process, which has the memory at the same addresses. The driver has it at two places: where hosts
and kernels know it, without any rights, and at another address, which no host gets.
"""

from __future__ import annotations

import threading

from fpgart.base.named_tuples import NamedTuple


class _Closed(NamedTuple):
    """Addresses from `begin` to `end` as hosts know them; the driver's own mapping is `shift` bytes further."""

    begin: int
    end: int
    shift: int


_closed: tuple[_Closed, ...] = ()
"""Exchanged as a whole: who looks an address up takes no lock."""
_changing = threading.Lock()


def close(begin: int, size: int, own: int) -> None:
    """Note that `size` bytes at `begin`, which have no rights, are at `own` for the driver."""
    global _closed
    with _changing:
        _closed = (*_closed, _Closed(begin, begin + size, own - begin))


def forget(begin: int) -> int:
    """The memory at `begin` is unmapped; returns where the driver has it, 0 if it was not closed."""
    global _closed
    with _changing:
        own = next((begin + each.shift for each in _closed if each.begin == begin), 0)
        _closed = tuple(each for each in _closed if each.begin != begin)
    return own


def is_closed(address: int) -> bool:
    return driver_address(address) != address


def driver_address(address: int) -> int:
    """Where the driver reads and writes what hosts and kernels know by an address of this process."""
    for begin, end, shift in _closed:
        if begin <= address < end:
            return address + shift
    return address
