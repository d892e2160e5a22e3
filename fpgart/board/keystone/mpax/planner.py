# SPDX-License-Identifier: Apache-2.0
"""Plans the regions of a launch, or explains why it cannot."""

from __future__ import annotations

from collections.abc import Sequence

from fpgart.board.keystone.addresses import Block
from fpgart.board.keystone.mpax.model import REGIONS, Need, NoMapping, Plan
from fpgart.board.keystone.mpax.refusal import why_not
from fpgart.board.keystone.mpax.search import find


def plan(needs: Sequence[Need], destinations: Sequence[Block], regions: int = REGIONS) -> Plan:
    """Returns regions in `destinations` that show all needs and the least other memory. Raises NoMapping."""
    found = find(needs, destinations, regions)
    if found is None:
        raise NoMapping(why_not(needs, destinations, regions))
    return found
