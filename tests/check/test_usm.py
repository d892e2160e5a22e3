"""What the checks of unified shared memory know about freed allocations (fpgart/check/usm.py)."""

from __future__ import annotations

from fpgart.check.usm import MOST_FREED, FreedAllocations, _Freed


def freed(begin: int) -> _Freed:
    return _Freed(begin, begin + 64, f"allocation {begin}", "clDeviceMemAllocINTEL", None)


def test_memory_that_was_allocated_and_freed_many_times_is_known_as_freed() -> None:
    known = FreedAllocations()
    for _ in range(MOST_FREED + 1):
        known.forget(64, 128)
        known.add(freed(64))
    assert known.find(100) == freed(64)


def test_the_addresses_that_were_freed_last_are_known() -> None:
    known = FreedAllocations()
    for begin in range(0, 64 * (MOST_FREED + 1), 64):
        known.add(freed(begin))
    assert known.find(0) is None
    assert known.find(64) == freed(64)
    assert known.find(64 * MOST_FREED) == freed(64 * MOST_FREED)
