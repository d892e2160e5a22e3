# SPDX-License-Identifier: Apache-2.0
"""The commands of a board that C carries (fpgart/bridge/carrying.py), beside a double of icd/entry/boards.c."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from unittest.mock import Mock

import pytest
from machine import Machine, increment, listening

from fpgart.base import opencl as cl
from fpgart.board.in_flight import SHORT
from fpgart.runtime.commands.migration import MigrateToHost
from fpgart.runtime.memory.buffer import Buffer


def test_a_board_that_runs_is_stopped_once_it_is_idle_and_goes_on_once(imported: Callable[..., ModuleType]) -> None:
    lib = Mock()
    lib.core_board_hold.return_value = 1  # a command runs
    board = imported("bridge.carrying", lib).CarriedBoard(Mock(), 7)
    assert not board.stop()
    assert not board.stop()
    board.idle()
    assert board.stop()
    lib.core_board_hold.assert_called_once_with(board.core)
    board.go_on()
    board.go_on()
    lib.core_board_resume.assert_called_once_with(board.core)
    lib.core_board_hold.return_value = 0
    assert board.stop()
    assert lib.core_board_hold.call_count == 2


@pytest.fixture
def machine() -> Iterator[Machine]:
    """To which nobody listens."""
    made = Machine("hetero")
    yield made
    made.scheduler.close(5)
    made.device.mmd.close()


def on_host(machine: Machine, size: int) -> Buffer:
    """A buffer that was migrated to the host's memory."""
    buffer = machine.keep(machine.written(bytes([7]) * size))
    buffer.handle = 1
    machine.queue.enqueue(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, MigrateToHost(machine.device, [buffer], keep=True))
    machine.queue.finish()
    assert buffer.on_host
    return buffer


def renewed(carrying: ModuleType, machine: Machine, *buffers: Buffer, is_launch: bool = True) -> bool:
    """The answer to a command on these buffers whose epoch has ended."""
    kernel = machine.kernel(increment, *["DDR"] * len(buffers), given=buffers)
    given = [(buffer, index) for index, buffer in enumerate(buffers)]
    found: bool = carrying.renew(machine.queue, kernel if is_launch else None, given)
    return found


@pytest.fixture
def carrying(imported: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Beside a board of C's on which nobody watches launches."""
    lib = Mock()
    lib.fpgart_watched.return_value, lib.core_board_epoch.return_value = 0, 1
    module = imported("bridge.carrying", lib)
    monkeypatch.setattr(module, "board_of", lambda queue: Mock(address=1))
    return module


def test_a_launch_gets_its_buffer_from_the_hosts_memory_at_its_turn(carrying: ModuleType, machine: Machine) -> None:
    buffer = on_host(machine, 64)
    assert renewed(carrying, machine, buffer)
    assert buffer.home is not None
    assert machine.read(buffer) == bytes([7]) * 64


@pytest.mark.parametrize("case", ["long", "watched", "transfer"])
def test_a_buffer_stays_in_the_hosts_memory_for_commands_of_python(
    carrying: ModuleType, machine: Machine, case: str
) -> None:
    """If it is long, or somebody is told of migrations; and a transfer needs it nowhere else."""
    buffer = on_host(machine, SHORT + 1 if case == "long" else 64)
    if case == "watched":
        with listening(machine.watcher):
            assert not renewed(carrying, machine, buffer)
    else:
        assert not renewed(carrying, machine, buffer, is_launch=case != "transfer")
    assert buffer.home is None


def test_a_launch_is_pythons_whose_buffer_is_in_another_memory_than_its_argument_needs(
    carrying: ModuleType, machine: Machine
) -> None:
    there, missing = machine.written(bytes(64)), on_host(machine, 64)
    kernel = machine.kernel(increment, "", "no such memory")
    assert not carrying.renew(machine.queue, kernel, [(there, 0), (missing, 1)])
    assert missing.home is None
