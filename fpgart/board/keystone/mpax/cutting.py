# SPDX-License-Identifier: Apache-2.0
"""Cuts buffers into runs, and finds the pieces that show each run."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from fpgart.base.named_tuples import NamedTuple
from fpgart.board.first_fit import round_up
from fpgart.board.keystone.addresses import PAGE, Block
from fpgart.board.keystone.mpax.model import Piece
from fpgart.board.keystone.mpax.placing import has_place

NEVER = 1 << 60


class Choice(NamedTuple):
    """A piece for a run of buffers, which ends before buffer `after`."""

    cost: int
    after: int
    piece: Piece


def ranges(destinations: Sequence[Block]) -> list[tuple[int, int]]:
    return [(block.begin, block.end) for block in destinations]


def choices_of(
    wanted: list[tuple[int, int]], blocks: list[tuple[int, int]], regions: int, chains: bool
) -> list[list[Choice]]:
    """Returns, for each buffer, the pieces for runs that begin with it, without those that cannot be in a best plan.

    The cost of a choice is the bytes that it shows, in whole pages, plus one per region, so that memory matters first.
    """
    largest = max((_largest_region(block) for block in blocks), default=0)
    choices: list[list[Choice]] = []
    ends = [end for _, end in wanted]
    for first, (begin, end) in enumerate(wanted):
        found: list[Choice] = []
        size = block_size(begin, end)
        after = first
        while size <= largest and after < len(wanted):
            start = begin & -size
            reached = bisect_right(ends, start + size)
            if reached > after:  # a larger region is of use only if it shows more buffers
                after = reached
                found.append(_choice(Piece(start, size, size, 1), after))
            size <<= 1
        choices.append(found)
    if chains:
        for straddling in range(len(wanted)):
            _add_chains(straddling, wanted, blocks, regions, choices)
    return choices


def _choice(piece: Piece, after: int) -> Choice:
    return Choice(piece.size + piece.regions, after, piece)


class Side(NamedTuple):
    """The regions on one side of a boundary: they show `size` bytes, up to buffer `reached`."""

    reached: int
    size: int
    largest: int
    regions: int


def _add_chains(
    straddling: int,
    wanted: list[tuple[int, int]],
    blocks: list[tuple[int, int]],
    regions: int,
    choices: list[list[Choice]],
) -> None:
    """Adds pieces of several regions for the runs whose coarsest boundary lies inside one buffer.

    A region never crosses the coarsest boundary of the bytes that the piece shows. If a boundary between regions lies
    outside of all buffers, two pieces do as well as one; so only pieces with a buffer across each boundary are added.
    Smaller regions can begin at more addresses, and more of them show fewer bytes that nothing needs.
    """
    begin, end = wanted[straddling]
    block = block_size(begin, end)
    middle = (begin & -block) + block // 2
    found: dict[tuple[int, int], list[Piece]] = {}
    step = block // 2
    while step >= PAGE and (middle - begin) // step + (end - middle) // step <= regions:
        left = list(_sides(wanted, straddling, middle, -1, block // 2, step, regions))
        right = list(_sides(wanted, straddling, middle, 1, block // 2, step, regions))
        for before, after in itertools.product(left, right):
            count = before.regions + after.regions
            if count <= regions and step in (before.largest, after.largest):
                piece = Piece(middle - before.size, before.size + after.size, step, count)
                same_run = found.setdefault((before.reached, after.reached), [])
                if not any(piece.yields_to(other) for other in same_run) and has_place(piece, blocks):
                    same_run.append(piece)
        step >>= 1
    for (first, last), pieces in found.items():
        choices[first] += [_choice(piece, last + 1) for piece in pieces]


def _sides(
    wanted: list[tuple[int, int]], straddling: int, middle: int, direction: int, half: int, step: int, regions: int
) -> Iterator[Side]:
    """Yields what regions of up to `step` bytes, the largest next to the boundary, can show in one direction."""
    far_end = 1 if direction > 0 else 0
    stop = len(wanted) if direction > 0 else -1
    for reached in range(straddling, stop, direction):
        far = abs(wanted[reached][far_end] - middle)
        beyond = abs(wanted[reached + direction][far_end] - middle) if reached + direction != stop else NEVER
        if far > half or far // step > regions or (far > step and not _inside(wanted, middle + direction * step)):
            return
        shown = far - far % step
        if all(_inside(wanted, middle + direction * boundary) for boundary in range(step, shown, step)):
            for size, largest, count in _finer(wanted, middle, direction, shown, far - shown):
                if size < beyond:  # else the next buffer would be shown, too
                    yield Side(reached, size, step if shown else largest, shown // step + count)


def _finer(
    wanted: list[tuple[int, int]], middle: int, direction: int, shown: int, left: int
) -> Iterator[tuple[int, int, int]]:
    """Yields ways to show `left` bytes behind the `shown` ones: all bytes shown, the largest region, the number of
    regions.
    """
    largest = 1 << left.bit_length() >> 1
    before = 0
    for count in itertools.count():
        if not left:
            yield shown, largest, count
            return
        if shown and not _inside(wanted, middle + direction * shown):
            return
        unit = 1 << left.bit_length() - 1
        if left > unit and shown + 2 * unit != before:
            before = shown + 2 * unit
            yield before, largest if count else 2 * unit, count + 1
        shown += unit
        left -= unit


def _inside(wanted: list[tuple[int, int]], address: int) -> bool:
    """True if an address lies in a buffer, but not at its begin."""
    index = bisect_left(wanted, (address, 0)) - 1
    return index >= 0 and address < wanted[index][1]


def block_size(begin: int, end: int) -> int:
    """Returns the size of the smallest aligned power of two that contains `begin` to `end`."""
    return max(PAGE, 1 << (begin ^ end - 1).bit_length())


def largest_region(destinations: Sequence[Block]) -> int:
    """Returns the bytes of the largest region that fits into the destinations; 0 if there are none."""
    return max((_largest_region(block) for block in ranges(destinations)), default=0)


def _largest_region(block: tuple[int, int]) -> int:
    size = 1 << (block[1] - block[0]).bit_length()
    while round_up(block[0], size) + size > block[1]:
        size >>= 1
    return size
