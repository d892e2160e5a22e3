"""The work of Python code, in calls: a number that depends neither on the machine nor on its load."""

from __future__ import annotations

import gc
from collections.abc import Callable
from cProfile import Profile


def calls_of(work: Callable[[], object]) -> int:
    """Calls of functions, in Python and in C, until `work` returns or raises. What garbage does is not among them."""
    profile, collecting = Profile(), gc.isenabled()
    gc.disable()
    try:
        profile.runcall(work)
    finally:
        if collecting:
            gc.enable()
        profile.create_stats()
        counted = sum(calls for _, calls, *_ in profile.stats.values())  # type: ignore[attr-defined]
    return counted
