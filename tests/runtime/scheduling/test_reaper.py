# SPDX-License-Identifier: Apache-2.0
"""The work that destructors defer (fpgart/runtime/scheduling/reaper.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fpgart.runtime.scheduling.reaper import Reaper


def test_what_was_left_is_done_once_oldest_first() -> None:
    reaper, done = Reaper(), list[int]()
    for number in range(3):
        reaper.append(lambda number=number: done.append(number))  # type: ignore[misc]
    reaper.reap()
    reaper.reap()
    assert done == [0, 1, 2]


def test_what_is_left_meanwhile_is_done_too() -> None:
    reaper, done = Reaper(), list[str]()
    reaper.append(lambda: reaper.append(lambda: done.append("more")))
    reaper.reap()
    assert done == ["more"]


def test_what_cannot_be_done_is_logged_and_keeps_nothing_from_being_done(capfd: pytest.CaptureFixture[str]) -> None:
    reaper, done = Reaper(), list[str]()

    def fail() -> None:
        raise ValueError("out of order")

    reaper.extend([fail, lambda: done.append("next")])
    reaper.reap()
    words = capfd.readouterr().err
    assert "deferred work of a destructor failed" in words
    assert "out of order" in words
    assert done == ["next"]


def test_a_thread_that_finds_nothing_any_more_is_done(capfd: pytest.CaptureFixture[str]) -> None:
    class Emptied(Reaper):
        """Another thread takes the last one between the look and the taking."""

        def popleft(self) -> Callable[[], None]:
            super().clear()
            return super().popleft()

    reaper, done = Emptied(), list[str]()
    reaper.append(lambda: done.append("never"))
    reaper.reap()
    assert done == []
    assert capfd.readouterr().err == ""
