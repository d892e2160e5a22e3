# SPDX-License-Identifier: Apache-2.0
"""Findings: what the checks tell, one finding per mistake of the host.

Whoever finds something calls `Findings.report(Finding(...))`. What comes from elsewhere (an interpreter of
kernels, say) is a family of its own: see fpgart/check/families.py.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass

from fpgart import log
from fpgart.output_file import open_output

NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
MOST_REMEMBERED = 10_000
"""Findings that are told apart; what is found beyond that is told each time."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake. `check` is the family that found it, as FPGART_CHECK names it, `rule` the kind of mistake.

    `object` names what it concerns, `made_by` the API call that made that ("": none), `misused_by` the call or
    access that used it wrongly; `words` says what is wrong, and `fix` what to do.
    """

    check: str
    rule: str
    object: str
    made_by: str
    misused_by: str
    words: str
    fix: str

    def __str__(self) -> str:
        made = f", made by {self.made_by}" if self.made_by else ""
        return f"[{self.check}] {self.words}\n  {self.object}{made}, misused by {self.misused_by}\n  fix: {self.fix}"

    def as_json(self) -> str:
        """For programs: one line."""
        return json.dumps(asdict(self))


class Findings:
    """Tells each finding once, counts them, and sums up at the end. Any thread may report."""

    def __init__(self, families: tuple[str, ...], path: str = "", tell: Callable[[str], None] = log.warning) -> None:
        """`families`: those that are wanted. `path`: a file that gets a line of JSON per finding; "" for none.

        Raises OSError when the file cannot be written.
        """
        self.families = families
        self.host_frees_later = False
        """Whether the host may still free what it holds when the parts are asked to finish, as Python's may."""
        self.total = self.different = 0
        self.file = open_output(path) if path else -1
        self._tell = tell
        self._told: set[tuple[str, ...]] = set()
        self._lock = threading.RLock()
        self._process = os.getpid()

    def report(self, finding: Finding) -> None:
        """Tell a finding, unless its family is not wanted; one that was told before is counted only.

        The same is what differs in nothing but numbers (addresses, bytes, work-items) in its words.
        """
        if finding.check not in self.families:
            return
        words = NUMBER.sub("#", finding.words)
        key = finding.check, finding.rule, finding.object, finding.misused_by, words
        with self._lock:
            self.total += 1
            if key in self._told:
                return
            if len(self._told) < MOST_REMEMBERED:
                self._told.add(key)
            self.different += 1
        self._tell(str(finding))
        if self.file >= 0:
            os.write(self.file, f"{finding.as_json()}\n".encode(errors="replace"))

    def add(self, number: int) -> None:
        """Count findings that were told elsewhere."""
        with self._lock:
            self.total += number
            self.different += number

    def sum_up(self) -> None:
        """The end of the process: how many there were, nothing where there was none."""
        with self._lock:
            total, different = self.total, self.different
            self.total = self.different = 0
        if total and os.getpid() == self._process:
            self._tell(f"{total} finding{'s' if total > 1 else ''}, {different} of them different")
