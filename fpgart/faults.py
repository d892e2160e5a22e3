# SPDX-License-Identifier: Apache-2.0
"""Injects faults into hosts in Python and their tests: like FPGART_FAULTS, but while the process runs.

    import fpgart.faults

    with fpgart.faults.injecting("read:fail:nth=2") as faults:
        ...  # pyopencl: the second aocl_mmd_read from here on fails
    assert faults[0].injected == 1

docs/faults.md describes the language. Faults that are added before the driver is loaded take effect when it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from fpgart.board import faults as board_faults
from fpgart.board.fault_rules import FaultSyntaxError, Rule, parse
from fpgart.board.faults import FAULTS
from fpgart.control import requests as control

__all__ = ["Fault", "FaultSyntaxError", "active", "add", "clear", "injected", "injecting", "remove"]


class Fault:
    """An active rule. `seen` counts the calls that match it so far, `injected` those of them that it changed."""

    def __init__(
        self, rule: Rule, *, here: board_faults.Fault | None = None, number: int | None = None, seed: int = 0
    ) -> None:
        """It has either `here`, a fault in this interpreter with its `seed`, or the `number` of the driver's."""
        self.rule = rule
        self.here = here
        self.number = number
        self.seed = seed

    def __repr__(self) -> str:
        return f"<Fault {self.rule.text!r}: {self.injected} of {self.seen}>"

    @property
    def seen(self) -> int:
        return self._counts()[0]

    @property
    def injected(self) -> int:
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        if self.here is not None:
            return self.here.seen, self.here.injected
        seen, injected = control.ask("fault_counts", self.number)
        return int(seen), int(injected)


_here: dict[board_faults.Fault, Fault] = {}
_in_driver: dict[int, Fault] = {}
"""Each fault has one object."""


def add(text: str) -> tuple[Fault, ...]:
    """Adds faults to the active ones, one for each clause. Raises FaultSyntaxError."""
    if control.is_running():
        rules = parse(text).rules
        numbers = control.ask("add_faults", text)
        return tuple(_known(number, rule) for number, rule in zip(numbers, rules, strict=True))
    seed = parse(text).seed
    return tuple(_waiting(fault, seed) for fault in FAULTS.add(text))


def remove(*faults: Fault) -> None:
    """Removes some faults. Delays and hangs in progress end at once."""
    numbers = [fault.number for fault in faults if fault.number is not None]
    if numbers:
        control.ask("remove_faults", numbers)
    FAULTS.remove(tuple(fault.here for fault in faults if fault.here is not None))


def clear() -> None:
    """Removes all faults, also those of FPGART_FAULTS, and resets the counts."""
    if control.is_running():
        control.ask("clear_faults")
    FAULTS.clear()


def active() -> tuple[Fault, ...]:
    """Returns the active faults."""
    here = tuple(map(_waiting, FAULTS.active))
    if not control.is_running():
        return here
    return here + tuple(_known(number, parse(text).rules[0]) for number, text in control.ask("active_faults"))


def injected() -> int:
    """Returns the number of calls that faults have changed since the last clear()."""
    return FAULTS.injected + (int(control.ask("injected")) if control.is_running() else 0)


@contextmanager
def injecting(text: str) -> Iterator[tuple[Fault, ...]]:
    """Adds faults for the time of a `with` block. Raises FaultSyntaxError."""
    faults = add(text)
    try:
        yield faults
    finally:
        remove(*faults)


def hand_over(request: bytes) -> bytes:
    """Returns, as texts, the faults that were added before the driver started. It numbers them from 0."""
    waiting = [_waiting(fault) for fault in FAULTS.active]
    FAULTS.clear()
    for number, fault in enumerate(waiting):
        fault.here, fault.number = None, number
        _in_driver[number] = fault
    return json.dumps([f"{fault.rule.text}; seed={fault.seed}" for fault in waiting]).encode()


def _waiting(fault: board_faults.Fault, seed: int = 0) -> Fault:
    return _here.setdefault(fault, Fault(fault.rule, here=fault, seed=seed))


def _known(number: int, rule: Rule) -> Fault:
    return _in_driver.setdefault(number, Fault(rule, number=number))
