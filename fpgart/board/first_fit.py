# SPDX-License-Identifier: Apache-2.0
"""First-fit allocation of address ranges, in time that grows with the logarithm of the range."""

from __future__ import annotations

GRANULARITY = 1024
RADIX_BITS = 4
RADIX = 1 << RADIX_BITS


def round_up(size: int, unit: int = GRANULARITY) -> int:
    return -(-size // unit) * unit


class Holes:
    """Free ranges by their begins. It finds the first one that is large enough.

    It is a tree of radix 16 over begins, in granules. Each node has, for each of its 16 children, the size of the
    largest hole that begins below it; level 0 has the holes themselves. Nodes without holes do not exist.
    """

    __slots__ = ("_levels",)

    def __init__(self, positions: int) -> None:
        """`positions`: the number of granules."""
        count = max(1, -(-(positions - 1).bit_length() // RADIX_BITS))
        self._levels: list[dict[int, list[int]]] = [{} for _ in range(count)]

    def put(self, position: int, size: int) -> None:
        """Adds a hole of `size` that begins at `position`; 0 removes it."""
        for level in self._levels:
            index = position & RADIX - 1
            position >>= RADIX_BITS
            node = level.get(position)
            if node is None:
                if not size:
                    return
                node = level[position] = [0] * RADIX
            before = node[index]
            if before == size:
                return
            largest = max(node)
            node[index] = size
            if size > largest:
                continue  # the nodes above that had less have to know it
            if before == largest:
                size = max(node)
                if not size:
                    del level[position]
            else:
                return

    def first(self, size: int, position: int = 0) -> int | None:
        """Returns the first hole at or after `position` that has `size`."""
        levels = self._levels
        depth = 0
        while depth < len(levels):
            index = position & RADIX - 1
            position >>= RADIX_BITS
            node = levels[depth].get(position)
            if node is not None:
                for child in range(index, RADIX):
                    if node[child] >= size:
                        return self._leftmost(depth, position << RADIX_BITS | child, size)
            position += 1  # no hole under this node: continue at the begin of the next one
            depth += 1
        return None

    def _leftmost(self, depth: int, position: int, size: int) -> int:
        while depth:
            depth -= 1
            node = self._levels[depth][position]
            for child, largest in enumerate(node):
                if largest >= size:
                    position = position << RADIX_BITS | child
                    break
        return position

    def last_before(self, position: int) -> int | None:
        """Returns the last hole that begins before `position`."""
        levels = self._levels
        position -= 1
        depth = 0
        while depth < len(levels) and position >= 0:
            index = position & RADIX - 1
            position >>= RADIX_BITS
            node = levels[depth].get(position)
            if node is not None:
                for child in range(index, -1, -1):
                    if node[child]:
                        return self._rightmost(depth, position << RADIX_BITS | child)
            position -= 1
            depth += 1
        return None

    def _rightmost(self, depth: int, position: int) -> int:
        while depth:
            depth -= 1
            node = self._levels[depth][position]
            position = position << RADIX_BITS | max(child for child in range(RADIX) if node[child])
        return position


class FirstFit:
    """Allocates ranges of [begin, end), each at the lowest address where it fits.

    All sizes are rounded up to 1 KiB. A freed range is joined with its free neighbours.
    """

    __slots__ = ("_by_end", "_holes", "_sizes", "begin", "end", "free_bytes")

    def __init__(self, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self.free_bytes = 0
        self._holes = Holes((end - begin) // GRANULARITY)
        self._sizes: dict[int, int] = {}
        self._by_end: dict[int, int] = {}
        self._open(begin, (end - begin) // GRANULARITY * GRANULARITY)

    def allocate(self, size: int, first: int | None = None) -> int | None:
        """Returns the lowest address at or above `first` where `size` bytes fit; None if there is none."""
        size = round_up(size)
        start = hole = self._find(size, first)
        if hole is None or start is None:
            return None
        if first is not None and hole < first:
            start = first
        self._cut(hole, start, size)
        return start

    def allocate_aligned(self, size: int, alignment: int) -> int | None:
        """Returns the lowest multiple of `alignment` where `size` bytes fit; None if there is none.

        `alignment` is a multiple of 1 KiB.
        """
        size = round_up(size)
        hole = self._address(self._holes.first(size // GRANULARITY))
        while hole is not None:
            start = round_up(hole, alignment)
            if start + size <= hole + self._sizes[hole]:
                self._cut(hole, start, size)
                return start
            after = (hole - self.begin) // GRANULARITY + 1
            hole = self._address(self._holes.first(size // GRANULARITY, after))
        return None

    def _cut(self, hole: int, start: int, size: int) -> None:
        """Removes a range from the hole that contains it."""
        length = self._close(hole)
        if start > hole:
            self._open(hole, start - hole)
        if start + size < hole + length:
            self._open(start + size, hole + length - start - size)

    def free(self, address: int, size: int) -> None:
        """Frees a range that allocate() returned."""
        size = round_up(size)
        before = self._by_end.get(address)
        if address + size in self._sizes:
            size += self._close(address + size)
        if before is not None:
            size += self._close(before)
            address = before
        self._open(address, size)

    def holes(self) -> list[tuple[int, int]]:
        """Returns address and size of every free range, in order."""
        return sorted(self._sizes.items())

    def _find(self, size: int, first: int | None) -> int | None:
        """Returns the address of the hole that the range will be cut from."""
        if first is None or first <= self.begin:
            return self._address(self._holes.first(size // GRANULARITY))
        position = round_up(first - self.begin) // GRANULARITY
        across = self._address(self._holes.last_before(position))
        if across is not None and first + size <= across + self._sizes[across]:
            return across
        return self._address(self._holes.first(size // GRANULARITY, position))

    def _address(self, position: int | None) -> int | None:
        return None if position is None else self.begin + position * GRANULARITY

    def _open(self, address: int, size: int) -> None:
        if size:
            self.free_bytes += size
            self._sizes[address] = size
            self._by_end[address + size] = address
            self._holes.put((address - self.begin) // GRANULARITY, size // GRANULARITY)

    def _close(self, address: int) -> int:
        size = self._sizes.pop(address)
        self.free_bytes -= size
        del self._by_end[address + size]
        self._holes.put((address - self.begin) // GRANULARITY, 0)
        return size
