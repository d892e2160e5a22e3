# SPDX-License-Identifier: Apache-2.0
"""The fixture `fpga_faults`: boards that fail on request, for hosts in the test's own process and for programs."""

from __future__ import annotations

import os
from collections.abc import Callable

from fpgart import faults
from fpgart.base.config import FAULTS
from fpgart.board.fault_rules import parse


class BenchFaults:
    """Faults of one test, in the language of FPGART_FAULTS (docs/faults.md)."""

    def __init__(self, in_programs: Callable[[], int]) -> None:
        """`in_programs` returns the number of faults in programs that the test has run."""
        self._in_programs = in_programs
        self._before = faults.active()
        self._texts: list[str] = []
        self._asked: tuple[faults.Fault, ...] = ()

    def add(self, text: str) -> tuple[faults.Fault, ...]:
        """Adds the faults of `text`, in the syntax of FPGART_FAULTS, to this process and to programs that start later.

        Returns a fault for each clause; it counts its occurrences in this process. Raises FaultSyntaxError.
        """
        parse("; ".join([*self._texts, text]))  # programs get all of them at once
        made = faults.add(text)
        self._texts.append(text)
        self._asked += made
        return made

    def clear(self) -> None:
        """Removes those of the test."""
        self._texts.clear()
        faults.remove(*(fault for fault in faults.active() if fault not in self._before))

    @property
    def injected(self) -> int:
        """The number of requested faults that occurred, in this process and in programs.

        A test of a host's reaction should check it: a fault that did not occur proves nothing.
        """
        return sum(fault.injected for fault in self._asked) + self._in_programs()

    def variables(self) -> dict[str, str]:
        """Returns the variables for programs, with the faults of the environment."""
        texts = [*filter(None, [os.environ.get(FAULTS.name)]), *self._texts]
        return {FAULTS.name: "; ".join(texts)} if texts else {}
