# SPDX-License-Identifier: Apache-2.0
"""Notes of launches (fpgart/bridge/watched.py), beside a double of icd/entry/watched.c."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType

import pytest


class NoLaunches:
    """The functions of C while the host enqueues no launch."""

    FPGART_UNWATCHED, FPGART_TRACED, FPGART_CHECKED = 0, 1, 2

    def fpgart_watch_launches(self, how: int, around: int) -> None:
        self.how, self.around = how, around

    def fpgart_launches_left(self) -> int:
        return 0

    def fpgart_callbacks_are_left(self, flag: bool) -> None:
        assert not flag

    def fpgart_next_released(self) -> int:
        return 0


def test_no_thread_looks_for_notes_after_they_are_closed(imported: Callable[..., ModuleType]) -> None:
    watched = imported("bridge.watched", NoLaunches())
    before = set(threading.enumerate())
    watched.NOTES.tell(watched.LaunchWatcher(), NoLaunches.FPGART_TRACED)
    (thread,) = set(threading.enumerate()) - before
    watched.NOTES.close()
    thread.join()


@pytest.mark.parametrize("marks", [False, True])
def test_c_looks_at_marks_around_a_launch_only_if_blocks_have_some(
    imported: Callable[..., ModuleType], marks: bool
) -> None:
    lib = NoLaunches()
    checked = imported("bridge.checked", lib)
    checked.CheckedLaunches().check_with([], marks=marks)
    assert (lib.how, lib.around != 0) == (lib.FPGART_CHECKED, marks)
    checked.NOTES.close()


def test_a_trace_and_checks_are_told_of_the_same_launches(imported: Callable[..., ModuleType]) -> None:
    lib = NoLaunches()
    checked = imported("bridge.checked", lib)
    checked.NOTES.tell(checked.LaunchWatcher(), lib.FPGART_TRACED)
    checked.CheckedLaunches().check_with([], marks=True)
    assert (lib.how, lib.around != 0) == (lib.FPGART_TRACED | lib.FPGART_CHECKED, True)
    checked.NOTES.close()
