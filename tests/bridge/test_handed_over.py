# SPDX-License-Identifier: Apache-2.0
"""Commands of C that the scheduler runs (fpgart/bridge/handed_over.py)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock
from weakref import ref

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


def test_only_the_event_keeps_the_operation_of_a_command_that_runs(imported: Callable[..., ModuleType]) -> None:
    """A host that has released a buffer may use its memory as soon as the command has ended."""

    class Transfer:
        """An operation."""

    made: list[ref[Transfer]] = []

    def make() -> Transfer:
        operation = Transfer()
        made.append(ref(operation))
        return operation

    def run(event: SimpleNamespace, began: object, ended: object) -> None:
        assert made[0]() is event.operation
        event.operation = None
        assert made[0]() is None

    event = SimpleNamespace(operation=None)
    imported("bridge.handed_over", Mock())._run(SimpleNamespace(run_handed_over=run), 7, event, make)
    assert event.operation is None
