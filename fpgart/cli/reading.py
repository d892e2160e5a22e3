# SPDX-License-Identifier: Apache-2.0
"""Reads the traces of two runs beside each other: a large one keeps a processor busy for seconds."""

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
"""In a process that reads: the bytes that all of them have read."""


def read_beside(files: tuple[Path, ...], tell: Callable[[int], None]) -> list[Report]:
    """The report of each trace; `tell` gets numbers of bytes. Raises TraceError, OSError.

    Each large trace has a process of its own. Small ones are read before such a process had started.
    """
    if sum(file.stat().st_size for file in files) < LARGE:
        return [report.read(file, tell) for file in files]
    context = get_context("spawn")  # a process with threads, which show the progress, is not to be forked
    counter, told = context.Value("q", 0), 0
    with ProcessPoolExecutor(len(files), context, _begin, (counter,)) as pool:
        futures = [pool.submit(_read, file) for file in files]
        left = set(futures)
        while left:
            _, left = wait(left, POLL_S)
            tell(counter.value - told)
            told = counter.value
        return [future.result() for future in futures]


def _begin(counter: Synchronized[int]) -> None:
    global _read_here
    _read_here = counter


def _read(file: Path) -> Report:
    return report.read(file, _count)


def _count(size: int) -> None:
    with _read_here.get_lock():
        _read_here.value += size
