# SPDX-License-Identifier: Apache-2.0
"""First-fit allocation of address ranges, in time that grows with the logarithm of the number of free ranges."""

from __future__ import annotations

GRANULARITY = 1024


def round_up(size: int, unit: int = GRANULARITY) -> int:
    return -(-size // unit) * unit


class FirstFit:
    """Allocates ranges of [begin, end), each at the lowest address where it fits (board/first_fit.c).

    All sizes are rounded up to 1 KiB. A freed range is joined with its free neighbours. Any thread may call methods.
    """

    __slots__ = ("_ffi", "_heap", "_lib", "address", "begin", "end")

    def __init__(self, begin: int, end: int) -> None:
        from fpgart._native import ffi, lib  # the build imports this module before it compiles that one

        self._ffi, self._lib = ffi, lib
        heap = lib.first_fit_new(begin, end)
        if not heap:
            raise MemoryError
        self.begin = begin
        self.end = end
        self._heap = ffi.gc(heap, lib.first_fit_delete)
        self.address = int(ffi.cast("uintptr_t", heap))
        """The heap's `struct first_fit`, for C."""

    def allocate(self, size: int, first: int | None = None) -> int | None:
        """Returns the lowest address at or above `first` where `size` bytes fit; None if there is none."""
        return self._allocate(size, first or 0, 1)

    def allocate_aligned(self, size: int, alignment: int) -> int | None:
        """Returns the lowest multiple of `alignment` where `size` bytes fit; None if there is none."""
        return self._allocate(size, 0, alignment)

    def _allocate(self, size: int, first: int, alignment: int) -> int | None:
        found = int(self._lib.first_fit_allocate(self._heap, size, first, alignment))
        return None if found < 0 else found

    def free(self, address: int, size: int) -> None:
        """Frees a range that allocate() returned."""
        self._lib.first_fit_free(self._heap, address, size)

    @property
    def free_bytes(self) -> int:
        return int(self._lib.first_fit_free_bytes(self._heap))

    def holes(self) -> list[tuple[int, int]]:
        """Returns address and size of every free range, in order."""
        room = count = 16
        while count >= room:
            room = 2 * count
            holes = self._ffi.new("uint64_t[][2]", room)
            count = int(self._lib.first_fit_holes(self._heap, holes, room))
        return [(int(begin), int(size)) for begin, size in holes[0:count]]
