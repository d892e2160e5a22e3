# SPDX-License-Identifier: Apache-2.0
"""What programming a board leaves behind besides the program (fpgart/runtime/commands/programming.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from machine import Machine

from fpgart.runtime.commands.programming import load_onto

Boards = Callable[..., Machine]


class Network:
    """The channels of a program, which know whether they have been stopped."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


def program_with(machine: Machine, network: Network | None, source: str) -> Any:
    program: Any = machine.kernel(lambda: None, source=source).program
    program.made.network = lambda: network
    return program


@pytest.mark.parametrize("board", ["hetero", "k2h"])
def test_a_board_has_the_channels_of_the_program_that_was_loaded_last(boards: Boards, board: str) -> None:
    machine = boards(board)
    machine.device.open()
    first, second = Network(), Network()
    programs = [program_with(machine, network, f"{number}" * 8) for number, network in enumerate((first, second, None))]
    load_onto(machine.device, programs[0])
    assert machine.device.network is first
    load_onto(machine.device, programs[1])
    assert machine.device.network is second
    assert (first.stops, second.stops) == (1, 0)
    load_onto(machine.device, programs[2])
    assert machine.device.network is None
    assert (first.stops, second.stops) == (1, 1)
