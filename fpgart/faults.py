# SPDX-License-Identifier: Apache-2.0
"""Faults on request for hosts in Python and their tests: what FPGART_FAULTS does, while the process runs.

    import fpgart.faults

    with fpgart.faults.injecting("read:fail:nth=2") as faults:
        ...  # pyopencl: the second aocl_mmd_read from here on fails
    assert faults[0].injected == 1

docs/faults.md describes the language. Faults that are added before the driver is loaded wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fpgart.board.fault_rules import FaultSyntaxError
from fpgart.board.faults import FAULTS, Fault

__all__ = ["Fault", "FaultSyntaxError", "active", "add", "clear", "injected", "injecting", "remove"]


def add(text: str) -> tuple[Fault, ...]:
    """Put faults in force besides those that are; one for each clause. Raises FaultSyntaxError."""
    return FAULTS.add(text)


def remove(*faults: Fault) -> None:
    """Put some out of force. Delays and hangs under way end at once."""
    FAULTS.remove(faults)


def clear() -> None:
    """Put all out of force, FPGART_FAULTS' as well, and count anew."""
    FAULTS.clear()


def active() -> tuple[Fault, ...]:
    """Those in force."""
    return FAULTS.active


def injected() -> int:
    """How many faults there were since the last clear()."""
    return FAULTS.injected


@contextmanager
def injecting(text: str) -> Iterator[tuple[Fault, ...]]:
    """Faults that are in force within a `with` block. Raises FaultSyntaxError."""
    faults = add(text)
    try:
        yield faults
    finally:
        remove(*faults)
