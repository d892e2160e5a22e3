# SPDX-License-Identifier: Apache-2.0
"""Findings of the strict checks: told as they are made, counted at the end."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from fpgart import log


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a program does wrong.

    `words` says what, `object` names what it concerns, `made_by` and `misused_by` are the API calls that made
    it and that used it wrongly, `fix` says what to do. `check` is the check's name in FPGART_CHECK.
    """

    check: str
    words: str
    object: str
    made_by: str
    misused_by: str
    fix: str

    def __str__(self) -> str:
        made = f", made by {self.made_by}" if self.made_by else ""
        return f"[{self.check}] {self.words}\n  {self.object}{made}, misused by {self.misused_by}\n  fix: {self.fix}"


_findings: list[Finding] = []
_lock = threading.Lock()


def report(finding: Finding) -> None:
    """Tell a finding; one that has been told before is counted only."""
    with _lock:
        known = finding in _findings
        _findings.append(finding)
    if not known:
        log.warning(str(finding))


def tell_number() -> None:
    """The end: how many there were."""
    with _lock:
        total, different = len(_findings), len(set(_findings))
    if total:
        log.warning(f"{total} finding{'s' if total > 1 else ''}, {different} of them different")
