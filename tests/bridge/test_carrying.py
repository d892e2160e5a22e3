# SPDX-License-Identifier: Apache-2.0
"""The commands of a board that C carries (fpgart/bridge/carrying.py), beside a double of icd/entry/boards.c."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from unittest.mock import Mock


def test_a_board_that_runs_is_stopped_once_it_is_idle_and_goes_on_once(imported: Callable[..., ModuleType]) -> None:
    lib = Mock()
    lib.fpgart_board_hold.return_value = 1  # a command runs
    board = imported("bridge.carrying", lib).CarriedBoard(Mock(), 7)
    assert not board.stop()
    assert not board.stop()
    board.idle()
    assert board.stop()
    lib.fpgart_board_hold.assert_called_once_with(7)
    board.go_on()
    board.go_on()
    lib.fpgart_board_resume.assert_called_once_with(7)
    lib.fpgart_board_hold.return_value = 0
    assert board.stop()
    assert lib.fpgart_board_hold.call_count == 2
