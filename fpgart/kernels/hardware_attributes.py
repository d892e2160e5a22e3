# SPDX-License-Identifier: Apache-2.0
"""The attributes and pragmas for hardware that have numbers, and whether a text has numbers to be evaluated."""

from __future__ import annotations

import re

from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import Sign

LARGEST = (1 << 31) - 1


class Numbers(NamedTuple):
    """The number of arguments that an attribute or a pragma takes, and their range."""

    fewest: int = 1
    most: int = 1
    smallest: int = 0
    largest: int = LARGEST


KERNEL_ATTRIBUTES = {
    "intel_reqd_sub_group_size": Numbers(smallest=1),
    "max_global_work_dim": Numbers(largest=3),
    "max_work_group_size": Numbers(most=3, smallest=1),
    "num_compute_units": Numbers(most=3, smallest=1),
    "num_simd_work_items": Numbers(smallest=1),
    "scheduler_target_fmax_mhz": Numbers(),
    "uses_global_work_offset": Numbers(largest=1),
}
MEMORY_ATTRIBUTES = {
    "bank_bits": Numbers(most=64),
    "bankwidth": Numbers(smallest=1),
    "max_replicates": Numbers(smallest=1),
    "numbanks": Numbers(smallest=1),
    "numreadports": Numbers(smallest=1),
    "numwriteports": Numbers(smallest=1),
    "private_copies": Numbers(),
}
ATTRIBUTES = KERNEL_ATTRIBUTES | MEMORY_ATTRIBUTES | {"depth": Numbers(), "opencl_unroll_hint": Numbers(fewest=0)}
PRAGMAS = {
    "ii": Numbers(smallest=1),
    "initiation_interval": Numbers(smallest=1),
    "loop_coalesce": Numbers(fewest=0, smallest=1),
    "max_concurrency": Numbers(),
    "max_interleaving": Numbers(),
    "speculated_iterations": Numbers(),
    "unroll": Numbers(fewest=0),
}
CLAUSES = {"depth": Numbers(smallest=1), "safelen": Numbers(smallest=1)}
"""The clauses with numbers of the pragmas loop_fuse and ivdep."""
COMPUTED = Sign(
    (*KERNEL_ATTRIBUTES, *MEMORY_ATTRIBUTES, "opencl_unroll_hint", "pragma"),
    rf"\b(?:__)?(?:{'|'.join((*KERNEL_ATTRIBUTES, *MEMORY_ATTRIBUTES))})(?:__)?\b"
    r"|\bopencl_unroll_hint(?:__)?\s*\((?!\s*\d*\s*\))"
    rf"|\n[ \t]*#[ \t]*pragma[ \t]+(?:(?:{'|'.join(PRAGMAS)})\b(?![ \t]*\d*[ \t]*$)|(?:ivdep|loop_fuse)\b.*\()",
    re.MULTILINE,
)
"""Attributes and pragmas whose arguments may be no digits, in a text before macros are expanded: with_numbers()."""
