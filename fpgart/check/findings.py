# SPDX-License-Identifier: Apache-2.0
"""Findings: the results of checks, one finding per mistake of the host.

A check calls `Findings.report(Finding(...))`. Findings of other origin, such as an interpreter of kernels, are a family
of their own: see fpgart/check/families.py.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from fpgart.base import log
from fpgart.base.notices import NOTICES
from fpgart.base.output_file import KeptOutput, open_output
from fpgart.kernels.cpp_names import with_kernel_names
from fpgart.watch.callers import Site
from fpgart.watch.mistake import Mistake
from fpgart.watch.origins import Origins, no_origins
from fpgart.watch.places import Places
from fpgart.watch.words import times

if TYPE_CHECKING:
    from fpgart.runtime.programs.kernel import Kernel

NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
MOST_REMEMBERED = 10_000
"""The most findings that are compared with later ones; any beyond are reported each time."""


LOOKED_AT = {
    "usm": "unified shared memory",
    "buffers": "buffers and host memory",
    "order": "races between commands",
    "fpga": "what boards do otherwise",
    "kernels": "memory accesses of kernels",
}
"""The subject of each family, for the last line."""


@dataclass(frozen=True, slots=True)
class Finding(Mistake):
    """A mistake, with the calls in the host's code that created and misused the object.

    `against` is the other command, if two conflict.
    """

    made_at: Site | None = None
    misused_at: Site | None = None
    against: str = ""
    against_at: Site | None = None

    def describe(self, places: Places) -> str:
        """Returns the finding as lines for people."""
        made = f", created by {self.made_by}" if self.made_by else ""
        sites = ("created", self.made_at), ("misused", self.misused_at), (f"against {self.against}", self.against_at)
        known = [(what, places.where(site)) for what, site in sites if site is not None]
        lines = [f"[{self.check}] {self.words}", f"  {self.object}{made}, misused by {self.misused_by}"]
        lines += [f"  {what} at {where}" for what, where in known if where]
        return "\n".join([*lines, f"  fix: {self.fix}"])

    def facts(self, places: Places) -> dict[str, Any]:
        """Returns the finding for programs."""
        facts: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(Mistake)}
        if self.against:
            facts["against"] = self.against
        for name, site in (("made_at", self.made_at), ("misused_at", self.misused_at), ("against_at", self.against_at)):
            if site is not None:
                facts[name] = places.facts(site)
        return facts


class Findings:
    """Reports each finding once, counts them, and sums up at the end. Any thread may report."""

    def __init__(
        self,
        families: tuple[str, ...],
        path: str = "",
        tell: Callable[[str], None] = log.warning,
        origins: Origins | None = None,
        places: Places | None = None,
    ) -> None:
        """`families` are those that are wanted; `path` is a file that gets a line of JSON per finding, "" for none.

        Raises OSError if the file cannot be written.
        """
        self.families = families
        self.origins = origins or no_origins()
        """The places of the host's calls, for reports."""
        self.places = places or Places()
        self.asked_for = True
        """True if the user wants a line even if there are no findings."""
        self.host_frees_later = False
        """True if the host may still free objects when the parts finish, as Python's may."""
        self.total = self.different = self.commands = 0
        self.file = open_output(path) if path else -1
        self._output = KeptOutput(self.file) if path else None
        self._tell = tell
        self._told: set[tuple[str | Site | None, ...]] = set()
        self._lock = threading.RLock()
        self._process = os.getpid()

    def report(self, finding: Finding) -> None:
        """Reports a finding, unless its family is not wanted; a finding that was reported before is only counted.

        Findings are the same if their words differ in numbers only (addresses, bytes, work-items), and their calls have
        the same place.
        """
        if finding.check not in self.families:
            return
        words = NUMBER.sub("#", finding.words)
        key = finding.check, finding.rule, finding.object, finding.misused_by, words, finding.misused_at
        with self._lock:
            self.total += 1
            if key in self._told:
                return
            if len(self._told) < MOST_REMEMBERED:
                self._told.add(key)
            self.different += 1
        self.tell(finding)

    def tell(self, finding: Finding) -> None:
        """Reports a finding that the caller has counted and compared with others."""
        finding = _in_names_of_source(finding)
        self._tell(finding.describe(self.places))
        if self._output is None and not NOTICES.finding_told:
            return
        facts = finding.facts(self.places)
        for listener in NOTICES.finding_told:
            listener(finding.rule, facts)
        if self._output is not None:
            try:
                self._output.write(f"{json.dumps(facts)}\n".encode(errors="replace"))
            except OSError as error:
                self._output = None
                self._tell(f"no more findings are written to FPGART_FINDINGS: {error.strerror}")

    def add(self, number: int) -> None:
        """Counts findings that were reported elsewhere."""
        with self._lock:
            self.total += number
            self.different += number

    def command_enqueued(self, event: object, wait_list: object, blocking: bool) -> None:
        with self._lock:
            self.commands += 1

    def launches_carried(self, queue: object, launch: object, site: object, count: int) -> None:
        with self._lock:
            self.commands += count

    def sum_up(self) -> None:
        """Reports, at the end of the process, how many findings and commands there were, and the checks' subjects."""
        with self._lock:
            total, different, commands = self.total, self.different, self.commands
            self.total = self.different = self.commands = 0
        if os.getpid() != self._process or not (total or (commands and self.asked_for)):
            return
        repeated = f", {different} of them different" if different < total else ""
        found = times(total, "finding") if total else "no findings"
        looked = ", ".join(dict.fromkeys(LOOKED_AT[family] for family in self.families))
        self._tell(f"{found}{repeated} in {times(commands, 'command')}; looked at: {looked}")


def _in_names_of_source(finding: Finding) -> Finding:
    """Returns the finding with SYCL kernels' mangled names replaced by their names in the source."""
    return replace(
        finding,
        object=with_kernel_names(finding.object),
        words=with_kernel_names(finding.words),
        misused_by=with_kernel_names(finding.misused_by),
        against=with_kernel_names(finding.against),
        fix=with_kernel_names(finding.fix),
    )


class CheckPart:
    """A part of a family of checks; its other methods are named after the notices that it listens to."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._origins = findings.origins
        self._lock = threading.RLock()  # garbage collection may run destructors of the host, which call the driver

    def prepares(self, kernel: Kernel) -> bool:
        """True if Python has to run launches of the kernel with its present arguments; C may carry all others.

        That is so if the part reads or changes something when the operation begins or ends.
        """
        return False

    def finish(self) -> None:
        """Reports findings that depend on the whole run, at the end of the process; by default there are none."""
