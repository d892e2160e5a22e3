# SPDX-License-Identifier: Apache-2.0
"""The regions through which a DSP core sees the memory of one launch.

A core's memory protection and address extension unit (MPAX) maps physical memory in *regions*. Their sizes are powers
of two, and they are aligned to their size in physical memory and in the core's address space. OpenCL has seven. A
buffer has to appear in one piece, in one region or in several that are adjacent in both spaces. A region may hold
several buffers. A byte that two arguments share appears once, because the core's caches know only its own addresses.

The search is exact. Buffers in order of their addresses are cut into *runs*; consecutive regions, a `Piece`, show a
run. cutting.py finds the pieces that each run may have, placing.py their addresses, search.py the combination that
shows the least memory, refusal.py the reason why there is none.
"""

from fpgart.board.keystone.mpax.cutting import largest_region
from fpgart.board.keystone.mpax.model import REGIONS, Need, NoMapping, Plan, Region
from fpgart.board.keystone.mpax.planner import plan
from fpgart.board.keystone.mpax.search import fits

__all__ = ["REGIONS", "Need", "NoMapping", "Plan", "Region", "fits", "largest_region", "plan"]
