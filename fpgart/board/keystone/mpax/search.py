# SPDX-License-Identifier: Apache-2.0
"""Searches the combination of pieces that shows all needs and the least memory.

A table over (first buffer, regions left) has the least memory that the remaining buffers take. With it as a bound, the
combinations come in order of the memory that they show (A*), until one is found whose pieces can be placed. If none is
left, there is no mapping.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence

from fpgart.base.ranges import together
from fpgart.board.first_fit import round_up
from fpgart.board.keystone.addresses import PAGE, Block, DspAddress, PhysicalAddress
from fpgart.board.keystone.mpax.cutting import NEVER, Choice, choices_of, ranges
from fpgart.board.keystone.mpax.model import REGIONS, Need, Piece, Plan, Region
from fpgart.board.keystone.mpax.placing import place


def find(needs: Sequence[Need], destinations: Sequence[Block], regions: int = REGIONS) -> Plan | None:
    """Returns regions in `destinations` that show all needs and the least other memory; None if there are none.

    One region per run is tried first, and several only if that fails.
    """
    wanted = _merged(needs)
    placed = _search(wanted, destinations, regions, chains=False) or _search(wanted, destinations, regions, chains=True)
    if placed is None:
        return None
    found = [region for piece, dsp in placed for region in _regions_of(piece, dsp)]
    ordered = sorted((piece.begin, piece.begin + piece.size, dsp - piece.begin) for piece, dsp in placed)
    return Plan(tuple(found), tuple(_address(need, ordered) for need in needs))


def fits(needs: Sequence[Need], destinations: Sequence[Block], regions: int = REGIONS) -> bool:
    """True if find() finds regions for these needs."""
    wanted = _merged(needs)
    return any(_search(wanted, destinations, regions, chains) is not None for chains in (False, True))


def least_shown(needs: Sequence[Need], destinations: Sequence[Block], regions: int) -> int | None:
    """Returns the least memory that regions show with all needs, wherever they are; None if they are too few."""
    blocks = ranges(destinations)
    least = _least(choices_of(_merged(needs), blocks, regions, chains=True), regions)[0][regions]
    return None if least >= NEVER else least & -PAGE


def _merged(needs: Sequence[Need]) -> list[tuple[int, int]]:
    """Returns begin and end of the needs, in whole pages and sorted. Needs that share bytes are joined."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((need.address, need.end) for need in needs if need.size):
        if merged and begin < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return [(begin // PAGE * PAGE, round_up(end, PAGE)) for begin, end in merged]


def _address(need: Need, shown: list[tuple[int, int, int]]) -> DspAddress:
    for begin, end, distance in shown:
        if begin <= need.address and need.end <= end:
            return DspAddress(need.address + distance)
    raise AssertionError(f"{need} is not in the plan")


def _regions_of(piece: Piece, dsp: int) -> Iterator[Region]:
    """Yields the regions of a piece, each time the largest that both addresses and the remaining bytes allow."""
    at, end = piece.begin, piece.begin + piece.size
    while at < end:
        size = piece.step
        while at % size or at + size > end:
            size >>= 1
        yield Region(PhysicalAddress(at), DspAddress(at - piece.begin + dsp), size)
        at += size


def _search(
    wanted: list[tuple[int, int]], destinations: Sequence[Block], regions: int, chains: bool
) -> list[tuple[Piece, int]] | None:
    """Returns pieces that show everything, each with its address for the core; None if there are none."""
    blocks = ranges(destinations)
    room = sum(end - begin for begin, end in blocks)
    if together(wanted) > room:  # two neighbours may share a page
        return None
    choices = choices_of(wanted, blocks, regions, chains)
    least = _least(choices, regions)
    order = itertools.count()
    waiting: list[tuple[int, int, int, int, int, tuple[Piece, ...]]] = []
    hopeless: set[tuple[tuple[int, int, int], ...]] = set()

    def consider(first: int, left: int, spent: int, pieces: tuple[Piece, ...]) -> None:
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
        places = place(pieces, blocks)
        if places is not None:
            return list(zip(pieces, places, strict=True))
        hopeless.add(shapes)
    return None


def _least(choices: list[list[Choice]], regions: int) -> list[list[int]]:
    """Returns the least cost of showing the buffers from each one on, by the number of regions left."""
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
