# SPDX-License-Identifier: Apache-2.0
"""Commands of C that the scheduler runs (fpgart/bridge/handed_over.py)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from unittest.mock import Mock

from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources


def test_a_command_that_the_scheduler_refuses_ends_and_keeps_nothing_busy(
    imported: Callable[..., ModuleType],
) -> None:
    """As it does while the process is exiting."""
    lib, scheduler, operation = Mock(), Mock(), Mock()
    scheduler.run_handed_over.side_effect = OutOfResources("the process is exiting")
    imported("bridge.handed_over", lib)._run(scheduler, 7, Mock(), lambda: operation)
    operation.abandon.assert_called_once_with()
    assert lib.core_end.call_args.args[1] == cl.CL_OUT_OF_RESOURCES


def test_a_command_whose_operation_cannot_be_made_ends(imported: Callable[..., ModuleType]) -> None:
    def make() -> Mock:
        raise OutOfResources("no room")

    lib, scheduler = Mock(), Mock()
    imported("bridge.handed_over", lib)._run(scheduler, 7, Mock(), make)
    assert lib.core_end.call_args.args[1] == cl.CL_OUT_OF_RESOURCES
    scheduler.run_handed_over.assert_not_called()


def test_the_scheduler_ends_a_command_that_it_runs(imported: Callable[..., ModuleType]) -> None:
    lib, operation = Mock(), Mock()
    imported("bridge.handed_over", lib)._run(Mock(), 7, Mock(), lambda: operation)
    lib.core_end.assert_not_called()
    operation.abandon.assert_not_called()
