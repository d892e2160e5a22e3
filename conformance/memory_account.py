# SPDX-License-Identifier: Apache-2.0
"""What a process has of memory, and how much of it is in use: free room that malloc keeps does not count as that."""

from __future__ import annotations

import ctypes
import gc
import sys
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
MAY_GROW_BLOCKS = 10_000
"""Python's blocks differ by some thousand from moment to moment: numbers, and what other threads have at hand."""


class _Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                     "keepcost")
    ]  # fmt: skip


@dataclass(frozen=True)
class Account:
    """In bytes, but for `blocks`: how many small ones Python's allocator has given out."""

    resident: int
    given_out: int
    """By malloc and not freed, of all threads' arenas and mappings."""
    kept_free: int
    """In malloc's arenas: freed, and kept for what comes."""
    blocks: int

    def __str__(self) -> str:
        return (
            f"{self.resident / MIB:.1f} MiB resident, {self.given_out / MIB:.2f} MiB given out by malloc, "
            f"{self.kept_free / MIB:.2f} MiB free in its arenas, {self.blocks} of Python's blocks"
        )

    def growth(self, before: Account, may_grow_mib: float) -> str:
        """In words how much more is in use than `before`, or nothing where it may be that much."""
        grown = (self.given_out - before.given_out) / MIB
        if grown <= may_grow_mib and self.blocks - before.blocks <= MAY_GROW_BLOCKS:
            return ""
        return (
            f"memory in use grew by {grown:.2f} MiB and {self.blocks - before.blocks} of Python's blocks; "
            f"{may_grow_mib} MiB and {MAY_GROW_BLOCKS} are allowed"
        )


def account() -> Account:
    """What is in use now, without garbage. Where there is no glibc of 2021, malloc's part is 0."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    malloc = _Mallinfo2()
    if ask is not None:
        ask.restype = _Mallinfo2
        malloc = ask()
    return Account(
        resident=pages * 4096,
        given_out=malloc.uordblks + malloc.hblkhd,
        kept_free=malloc.fordblks,
        blocks=sys.getallocatedblocks(),
    )
