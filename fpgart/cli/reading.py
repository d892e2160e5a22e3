# SPDX-License-Identifier: Apache-2.0
"""Reads the traces of two runs in parallel: a large one takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from fpgart.cli.progress import LARGE
from fpgart.watch import report
from fpgart.watch.report import Report

POLL_S = 0.1

_read_here: Synchronized[int]
"""In a process that reads: the bytes that all processes have read."""


def read_beside(files: tuple[Path, ...], tell: Callable[[int], None]) -> list[Report]:
    """Returns the report of each trace, without its copies and buffers. Raises TraceError, OSError.

    `tell` gets numbers of bytes. Each large trace but the first is read in another process. Small ones are read before
    such a process would have started.
    """
    first, *others = files
    if sum(file.stat().st_size for file in files) < LARGE:
        return [_without_lives(report.read(file, tell)) for file in files]
    context = get_context("spawn")  # not by fork: threads of this process show the progress
    counter, told = context.Value("q", 0), 0

    def tell_all(size: int) -> None:
        nonlocal told
        elsewhere = counter.value
        tell(size + elsewhere - told)
        told = elsewhere

    with ProcessPoolExecutor(len(others), context, _begin, (counter,)) as pool:
        futures = [pool.submit(_read, file) for file in others]
        found = _without_lives(report.read(first, tell_all))
        while wait(futures, POLL_S).not_done:
            tell_all(0)
        tell_all(0)
        return [found, *(future.result() for future in futures)]


def _begin(counter: Synchronized[int]) -> None:
    global _read_here
    _read_here = counter


def _read(file: Path) -> Report:
    return _without_lives(report.read(file, _count))


def _without_lives(found: Report) -> Report:
    """Removes copies and buffers, which no comparison needs: to send them takes longer than to find them."""
    found.copies.clear()
    found.buffers.clear()
    return found


def _count(size: int) -> None:
    with _read_here.get_lock():
        _read_here.value += size
