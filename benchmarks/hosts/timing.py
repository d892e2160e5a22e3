# SPDX-License-Identifier: Apache-2.0
"""How the Python hosts of benchmarks/programs.py measure: the median of many steps, in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

WARM_UP = 10


def report(step: Callable[[], object], steps: int) -> None:
    """Prints the median time of a step that waits for its results."""
    for _ in range(WARM_UP):
        step()
    times = []
    for _ in range(steps):
        begin = perf_counter()
        step()
        times.append(perf_counter() - begin)
    print(f"step {median(times) * 1e6:.1f}")
