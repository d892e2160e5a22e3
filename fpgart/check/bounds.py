# SPDX-License-Identifier: Apache-2.0
"""Transfers that would leave their buffer (family buffers). The call returns an error, which hosts may ignore."""

from __future__ import annotations

import threading

from fpgart.check.findings import CheckPart, Finding, Findings
from fpgart.check.words import buffer_maker, buffer_name
from fpgart.runtime.memory.buffer import Buffer


class Bounds(CheckPart):
    """Listens to NOTICES: first the refused range, then the call that failed, on the same thread."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._refused = threading.local()

    def range_refused(self, buffer: Buffer, offset: int, size: int) -> None:
        made_at = self._findings.origins.of(buffer)
        self._refused.last = buffer_name(buffer), buffer_maker(buffer), buffer.size, offset, size, made_at

    def call_failed(self, call: str, status: int, words: str) -> None:
        last = getattr(self._refused, "last", None)
        if last is None:
            return
        self._refused.last = None
        name, maker, whole, offset, size, made_at = last
        self._findings.report(
            Finding(
                "buffers",
                "transfer past the end",
                name,
                maker,
                call,
                f"{call} would move {size} bytes from byte {offset} on, but the buffer ends at {whole}; nothing moved",
                "transfer no more than the buffer has, or make it larger; check the status of the call",
                made_at,
                self._findings.origins.here(),
            )
        )
