# SPDX-License-Identifier: Apache-2.0
"""Which memory a DSP core has to be shown for one launch, and where.

A core's memory protection and address extension unit (MPAX) shows physical memory in *regions*: powers of two in size,
aligned to their size in physical memory and in the core's address space. OpenCL has seven. A buffer has to appear in
one piece, in one region or in several that lie beside each other in both spaces; a region may show several buffers.
A byte that two arguments share appears once, because the core's caches know only its own addresses.

The search is exact. Buffers in order of their addresses are cut into *runs*; a run is shown by consecutive regions, a
`_Piece`. A table over (first buffer, regions left) gives the least memory that has to be shown for the rest; led by it,
the ways to cut come in order of the memory that they show (A*), until one is found whose pieces can be placed.
Exhausting them proves that there is no mapping.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fpgart.board.keystone.addresses import (
    PAGE,
    Block,
    DspAddress,
    PhysicalAddress,
    in_words,
    round_up,
)
from fpgart.board.memory_system import NotVisible

REGIONS = 7
NEVER = 1 << 60


class NoMapping(NotVisible):
    """A kernel's buffers cannot be shown to it together; the sentences say what they need and what would fit."""


@dataclass(frozen=True, slots=True)
class Need:
    """`size` bytes of physical memory that a kernel uses; `name` is for the words of errors."""

    address: PhysicalAddress
    size: int
    name: str = "buffer"

    @property
    def end(self) -> int:
        return self.address + self.size

    def __str__(self) -> str:
        return f"{self.name} ({in_words(self.size)} at {self.address})"


@dataclass(frozen=True, slots=True)
class Region:
    """`size` bytes from `physical` that the core finds from `dsp`."""

    physical: PhysicalAddress
    dsp: DspAddress
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The regions to set up, in order of physical addresses, and where each need then begins."""

    regions: tuple[Region, ...]
    addresses: tuple[DspAddress, ...]


class _Piece(NamedTuple):
    """Physical memory that consecutive regions show; each is `step` bytes or less."""

    begin: int
    size: int
    step: int
    regions: int

    def yields_to(self, other: _Piece) -> bool:
        """Whether this is of no use, because `other` shows less and can go wherever this one can."""
        return (
            other.begin >= self.begin
            and other.begin + other.size <= self.begin + self.size
            and other.step <= self.step
            and other.regions <= self.regions
        )


class _Choice(NamedTuple):
    """A piece for the run that begins somewhere and ends before buffer `after`."""

    cost: int
    after: int
    piece: _Piece


def plan(needs: Sequence[Need], destinations: Sequence[Block], regions: int = REGIONS) -> Plan:
    """Regions in `destinations` that show all needs, and little else; raises NoMapping if there are none.

    One region per run is tried first. Only if that does not do, a run may take several.
    """
    wanted = _merged(needs)
    placed = _search(wanted, destinations, regions, chains=False) or _search(wanted, destinations, regions, chains=True)
    if placed is None:
        raise NoMapping(_why_not(needs, destinations, regions))
    found = [region for piece, dsp in placed for region in _regions_of(piece, dsp)]
    ordered = sorted((piece.begin, piece.begin + piece.size, dsp - piece.begin) for piece, dsp in placed)
    return Plan(tuple(found), tuple(_address(need, ordered) for need in needs))


def fits(needs: Sequence[Need], destinations: Sequence[Block], regions: int = REGIONS) -> bool:
    """Whether plan() finds regions for these needs."""
    wanted = _merged(needs)
    return any(_search(wanted, destinations, regions, chains) is not None for chains in (False, True))


def _merged(needs: Sequence[Need]) -> list[tuple[int, int]]:
    """Begin and end of what is needed, in pages and in order; needs that share bytes are one."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((need.address, need.end) for need in needs if need.size):
        if merged and begin < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return [(begin // PAGE * PAGE, round_up(end, PAGE)) for begin, end in merged]


def _pages(wanted: list[tuple[int, int]]) -> int:
    """Bytes of the pages that are needed; two neighbours may have one in common."""
    total = reached = 0
    for begin, end in wanted:
        total += end - max(begin, reached)
        reached = end
    return total


def _ranges(destinations: Sequence[Block]) -> list[tuple[int, int]]:
    return [(block.begin, block.end) for block in destinations]


def _address(need: Need, shown: list[tuple[int, int, int]]) -> DspAddress:
    for begin, end, distance in shown:
        if begin <= need.address and need.end <= end:
            return DspAddress(need.address + distance)
    raise AssertionError(f"{need} is not in the plan")


def _regions_of(piece: _Piece, dsp: int) -> Iterator[Region]:
    """The regions of a piece: each time the largest that both addresses and what is left allow."""
    at, end = piece.begin, piece.begin + piece.size
    while at < end:
        size = piece.step
        while at % size or at + size > end:
            size >>= 1
        yield Region(PhysicalAddress(at), DspAddress(at - piece.begin + dsp), size)
        at += size


# Cutting


def _search(
    wanted: list[tuple[int, int]], destinations: Sequence[Block], regions: int, chains: bool
) -> list[tuple[_Piece, int]] | None:
    """Pieces that show everything, each with its place in the core's address space."""
    blocks = _ranges(destinations)
    room = sum(end - begin for begin, end in blocks)
    if _pages(wanted) > room:
        return None
    choices = _choices(wanted, blocks, regions, chains)
    least = _least(choices, regions)
    order = itertools.count()
    waiting: list[tuple[int, int, int, int, int, tuple[_Piece, ...]]] = []
    hopeless: set[tuple[tuple[int, int, int], ...]] = set()

    def consider(first: int, left: int, spent: int, pieces: tuple[_Piece, ...]) -> None:
        total = spent + least[first][left]
        if total & -PAGE <= room:
            heapq.heappush(waiting, (total, -first, next(order), left, spent, pieces))

    consider(0, regions, 0, ())
    while waiting:
        _, first, _, left, spent, pieces = heapq.heappop(waiting)
        if -first < len(wanted):
            for cost, after, piece in choices[-first]:
                if piece.regions <= left:
                    consider(after, left - piece.regions, spent + cost, (*pieces, piece))
            continue
        shapes = tuple(sorted((piece.size, piece.begin % piece.step, piece.step) for piece in pieces))
        if shapes in hopeless:
            continue
        places = _place(pieces, blocks)
        if places is not None:
            return list(zip(pieces, places, strict=True))
        hopeless.add(shapes)
    return None


def _least(choices: list[list[_Choice]], regions: int) -> list[list[int]]:
    """The least cost of showing the buffers from each one on, by how many regions are left."""
    least = [[NEVER] * (regions + 1) for _ in choices]
    least.append([0] * (regions + 1))
    for first in range(len(choices) - 1, -1, -1):
        costs = least[first]
        for cost, after, piece in choices[first]:
            count = piece.regions
            for left, rest in enumerate(least[after][: regions + 1 - count], count):
                if cost + rest < costs[left]:
                    costs[left] = cost + rest
    return least


def _choices(
    wanted: list[tuple[int, int]], blocks: list[tuple[int, int]], regions: int, chains: bool
) -> list[list[_Choice]]:
    """For each buffer the pieces of runs that begin with it, without those that others make useless.

    A choice costs the bytes that it shows, whole pages, and one per region, so that memory matters first.
    """
    largest = max((_largest_region(block) for block in blocks), default=0)
    choices: list[list[_Choice]] = []
    ends = [end for _, end in wanted]
    for first, (begin, end) in enumerate(wanted):
        found: list[_Choice] = []
        size = _block_size(begin, end)
        after = first
        while size <= largest and after < len(wanted):
            start = begin & -size
            reached = bisect_right(ends, start + size)
            if reached > after:  # a larger region is of use only if it shows more buffers
                after = reached
                found.append(_choice(_Piece(start, size, size, 1), after))
            size <<= 1
        choices.append(found)
    if chains:
        for straddling in range(len(wanted)):
            _add_chains(straddling, wanted, blocks, regions, choices)
    return choices


def _choice(piece: _Piece, after: int) -> _Choice:
    return _Choice(piece.size + piece.regions, after, piece)


class _Side(NamedTuple):
    """What regions on one side of a boundary show: `size` bytes, up to and with buffer `reached`."""

    reached: int
    size: int
    largest: int
    regions: int


def _add_chains(
    straddling: int,
    wanted: list[tuple[int, int]],
    blocks: list[tuple[int, int]],
    regions: int,
    choices: list[list[_Choice]],
) -> None:
    """Pieces of several regions for the runs whose coarsest boundary lies inside one buffer.

    A region never crosses the coarsest boundary of what the piece shows. Where any boundary between regions lies
    outside of all buffers, two pieces do as well as one; so only those with a buffer across each are of interest.
    Smaller regions can begin at more addresses, and more of them show less that nobody needs.
    """
    begin, end = wanted[straddling]
    block = _block_size(begin, end)
    middle = (begin & -block) + block // 2
    found: dict[tuple[int, int], list[_Piece]] = {}
    step = block // 2
    while step >= PAGE and (middle - begin) // step + (end - middle) // step <= regions:
        left = list(_sides(wanted, straddling, middle, -1, block // 2, step, regions))
        right = list(_sides(wanted, straddling, middle, 1, block // 2, step, regions))
        for before, after in itertools.product(left, right):
            count = before.regions + after.regions
            if count <= regions and step in (before.largest, after.largest):
                piece = _Piece(middle - before.size, before.size + after.size, step, count)
                same_run = found.setdefault((before.reached, after.reached), [])
                if not any(piece.yields_to(other) for other in same_run) and _has_place(piece, blocks):
                    same_run.append(piece)
        step >>= 1
    for (first, last), pieces in found.items():
        choices[first] += [_choice(piece, last + 1) for piece in pieces]


def _sides(
    wanted: list[tuple[int, int]], straddling: int, middle: int, direction: int, half: int, step: int, regions: int
) -> Iterator[_Side]:
    """What regions of `step` bytes or less, the largest next to the boundary, can show in one direction from it."""
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
                if size < beyond:  # else this is a way to show the next buffer
                    yield _Side(reached, size, step if shown else largest, shown // step + count)


def _finer(
    wanted: list[tuple[int, int]], middle: int, direction: int, shown: int, left: int
) -> Iterator[tuple[int, int, int]]:
    """Ways to show `left` bytes behind the `shown` ones: all that is shown then, the largest region, how many."""
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
    """Whether an address lies in a buffer, not at its begin."""
    index = bisect_left(wanted, (address, 0)) - 1
    return index >= 0 and address < wanted[index][1]


def _block_size(begin: int, end: int) -> int:
    """Size of the smallest aligned power of two that has `begin` to `end`."""
    return max(PAGE, 1 << (begin ^ end - 1).bit_length())


def largest_region(destinations: Sequence[Block]) -> int:
    """Bytes of the largest region that there is room for; 0 if there are no destinations."""
    return max((_largest_region(block) for block in _ranges(destinations)), default=0)


def _largest_region(block: tuple[int, int]) -> int:
    size = 1 << (block[1] - block[0]).bit_length()
    while round_up(block[0], size) + size > block[1]:
        size >>= 1
    return size


# Placing


def _has_place(piece: _Piece, blocks: list[tuple[int, int]]) -> bool:
    """Whether some block is large enough for a piece alone."""
    return any(begin + (piece.begin - begin) % piece.step + piece.size <= end for begin, end in blocks)


def _place(pieces: tuple[_Piece, ...], blocks: list[tuple[int, int]]) -> list[int] | None:
    """Where pieces can be put beside each other in blocks; None if they cannot.

    Blocks are filled from their begin: whatever the order of the pieces in a block, the lowest place that
    is possible is as good as any for each one. So it is the orders that are tried, the largest piece first.
    """
    order = sorted(range(len(pieces)), key=lambda index: -pieces[index].size)
    places = [0] * len(pieces)
    dead: set[tuple[int, int, int]] = set()
    later = [sum(end - begin for begin, end in blocks[index + 1 :]) for index in range(len(blocks))]

    def fill(block: int, position: int, waiting: int, total: int) -> bool:
        """Place the pieces whose bits are in `waiting`, `total` bytes, from a position in a block on."""
        if not waiting:
            return True
        if block == len(blocks):
            return False
        state = block, position, waiting
        end = blocks[block][1]
        if state in dead or total > end - position + later[block]:
            return False
        for index in order:
            if waiting >> index & 1:
                begin, size, step, _ = pieces[index]
                start = position + (begin - position) % step
                if start + size <= end and fill(block, start + size, waiting ^ 1 << index, total - size):
                    places[index] = start
                    return True
        following = blocks[block + 1][0] if block + 1 < len(blocks) else 0
        if fill(block + 1, following, waiting, total):
            return True
        dead.add(state)
        return False

    if not blocks:
        return None if pieces else []
    total = sum(piece.size for piece in pieces)
    return places if fill(0, blocks[0][0], (1 << len(pieces)) - 1, total) else None


# Words


def _why_not(needs: Sequence[Need], destinations: Sequence[Block], regions: int) -> str:
    if not destinations:
        names = ", ".join(need.name for need in needs)
        return f"{names} would have to be mapped, and this board has no destinations for that"
    for need in needs:
        if not fits([need], destinations, regions):
            return _why_not_alone(need, destinations, regions)
    takes = "; ".join(f"{need} takes {_taken(plan([need], destinations, regions).regions)}" for need in needs)
    there_are = f"there are {regions} regions, and destinations of {_sizes(destinations)}"
    least = _least_shown(needs, destinations, regions)
    if least is None:
        short = f"even where buffers share a region, more than {regions} are needed"
    elif least > sum(block.size for block in destinations):
        short = f"in {regions} regions they take {in_words(least)} at least"
    else:
        short = "they cannot be placed beside each other"
    together = _together(needs, destinations, regions)
    others = ", ".join(need.name for need in needs if need not in together)
    return f"{takes}; {there_are}: {short}. Without {others} the rest would fit"


def _why_not_alone(need: Need, destinations: Sequence[Block], regions: int) -> str:
    largest = max(destinations, key=lambda block: block.size)
    if need.size > largest.size:
        return (
            f"{need} is larger than the largest destination, {in_words(largest.size)} ({largest}): "
            f"pass sub-buffers of up to {in_words(largest_region([largest]))}"
        )
    return (
        f"{need} cannot be shown by {regions} regions in one of the destinations ({_sizes(destinations)}), because "
        f"regions are aligned to their size, and it is not: pass sub-buffers that begin at multiples of their size"
    )


def _together(needs: Sequence[Need], destinations: Sequence[Block], regions: int) -> list[Need]:
    """Needs that can be shown together: each in turn that goes with those before it."""
    together: list[Need] = []
    for need in needs:
        if fits([*together, need], destinations, regions):
            together.append(need)
    return together


def _least_shown(needs: Sequence[Need], destinations: Sequence[Block], regions: int) -> int | None:
    """The least memory that regions which show all needs show, wherever they are; None if they are too few."""
    blocks = _ranges(destinations)
    least = _least(_choices(_merged(needs), blocks, regions, chains=True), regions)[0][regions]
    return None if least >= NEVER else least & -PAGE


def _taken(regions: Sequence[Region]) -> str:
    if len(regions) == 1:
        return f"a region of {in_words(regions[0].size)}"
    return f"{len(regions)} regions ({' + '.join(in_words(region.size) for region in regions)})"


def _sizes(destinations: Sequence[Block]) -> str:
    return " and ".join(in_words(block.size) for block in destinations)
