# SPDX-License-Identifier: Apache-2.0
"""The check of the order of locks (tests/lock_ranks.py), and its table."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
from c_hosts import ROOT
from lock_ranks import ROWS, Inversion, NoRow, RankedLock
from machine import Machine

from fpgart.runtime.memory import usm


def test_every_lock_in_c_has_a_row() -> None:
    defined = re.compile(r"^(?:static )? *pthread_(?:mutex|rwlock)_t (\w+)(?: =|;)", re.MULTILINE)
    sources = [path for room in ("core", "icd", "fpgart") for path in (ROOT / room).rglob("*.[ch]")]
    found = {f"{path.relative_to(ROOT)}:{name}" for path in sources for name in defined.findall(path.read_text())}
    assert found == {name for row in ROWS for name in row.locks if "/" in name}


def test_a_lock_is_taken_by_a_thread_that_holds_higher_ones(boards: Callable[..., Machine]) -> None:
    machine = boards("usm_s10")
    with usm.TOUCHING, machine.context.placing, machine.scheduler._lock:
        pass


def test_a_lock_that_stands_above_one_that_is_held_is_refused(boards: Callable[..., Machine]) -> None:
    machine = boards("usm_s10")
    with machine.scheduler._lock, pytest.raises(Inversion, match=r"context:placing .* holds .*scheduler:_lock"):
        machine.context.placing.acquire()
    with machine.context.placing, machine.scheduler._lock:
        pass


def test_two_locks_of_one_row_are_not_held_together(boards: Callable[..., Machine]) -> None:
    first, second = boards("usm_s10").context, boards("usm_s10").context
    with first.placing, pytest.raises(Inversion):
        second.placing.acquire()


def test_a_lock_that_its_thread_may_take_again_is_taken_again() -> None:
    name = "fpgart.engine.contents:lock"
    lock = RankedLock(name, threading.RLock(), again=True)
    with lock, lock:
        pass
    with RankedLock(name, threading.RLock(), again=True):
        pass


def test_a_lock_without_a_row_is_refused() -> None:
    scope = {"__name__": "fpgart.runtime.new", "threading": threading}
    with pytest.raises(NoRow, match=r"fpgart\.runtime\.new:"):
        exec("made = threading.Lock()", scope)
