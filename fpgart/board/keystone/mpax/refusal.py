# SPDX-License-Identifier: Apache-2.0
"""Says why regions cannot show a launch's buffers."""

from __future__ import annotations

from collections.abc import Sequence

from fpgart.base.sizes import in_words
from fpgart.board.keystone.addresses import Block
from fpgart.board.keystone.mpax.cutting import largest_region
from fpgart.board.keystone.mpax.model import Need, Region
from fpgart.board.keystone.mpax.search import find, fits, least_shown


def why_not(needs: Sequence[Need], destinations: Sequence[Block], regions: int) -> str:
    if not destinations:
        names = ", ".join(need.name for need in needs)
        return f"{names} would have to be mapped, and this board has no destinations for that"
    for need in needs:
        if not fits([need], destinations, regions):
            return _why_not_alone(need, destinations, regions)
    alone = [(need, find([need], destinations, regions)) for need in needs]
    takes = "; ".join(f"{need} takes {_taken(found.regions)}" for need, found in alone if found is not None)
    there_are = f"there are {regions} regions, and destinations of {_sizes(destinations)}"
    least = least_shown(needs, destinations, regions)
    if least is None:
        short = f"even where buffers share a region, more than {regions} are needed"
    elif least > sum(block.size for block in destinations):
        short = f"in {regions} regions they take {in_words(least)} at least"
    else:
        short = "they cannot be placed beside each other"
    together = _together(needs, destinations, regions)
    others = ", ".join(need.name for need in needs if need not in together)
    return f"{takes}; {there_are}: {short}. Without {others}, the rest would fit"


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
    """Returns needs that can be shown together: each one that fits with those before it."""
    together: list[Need] = []
    for need in needs:
        if fits([*together, need], destinations, regions):
            together.append(need)
    return together


def _taken(regions: Sequence[Region]) -> str:
    if len(regions) == 1:
        return f"a region of {in_words(regions[0].size)}"
    return f"{len(regions)} regions ({' + '.join(in_words(region.size) for region in regions)})"


def _sizes(destinations: Sequence[Block]) -> str:
    return " and ".join(in_words(block.size) for block in destinations)
