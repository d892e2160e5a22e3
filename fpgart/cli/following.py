# SPDX-License-Identifier: Apache-2.0
"""`fpgart report --follow`: the report of a trace while it is being written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fpgart.watch.report import Args, Report, of, ordered

INTERVAL_S = 1.0
MOST_SHARE = 0.25
"""The largest share of a processor for repeated reading."""


def follow(trace: Path, draw: Callable[[Report], None], sleep: Callable[[float], None] = time.sleep) -> list[Args]:
    """Draws the report whenever the trace has grown, until no process writes it; returns all of its events.

    Raises TraceError, OSError.
    """
    for found in states(trace, sleep):
        report = of(found)
        draw(report)
        if report.whole:
            break
    return found


def states(trace: Path, sleep: Callable[[float], None]) -> Iterator[list[Args]]:
    """Yields the events so far, whenever there are more; the last time when the process that writes it has ended."""
    size = -1
    while True:
        written = is_written(trace)
        grown = trace.stat().st_size
        took = 0.0
        if grown != size:
            size, begin = grown, time.monotonic()
            yield ordered(trace)
            took = time.monotonic() - begin
        if not written:
            return
        sleep(max(INTERVAL_S, took / MOST_SHARE))


def is_written(trace: Path) -> bool:
    """True if a process has locked the trace, which it writes. True if the system does not say."""
    facts = trace.stat()
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    try:
        locks = Path("/proc/locks").read_text()
    except OSError:
        return True
    return any(f" {device} " in line and " FLOCK " in line for line in locks.splitlines())
