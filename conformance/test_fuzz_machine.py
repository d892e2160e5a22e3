# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's moves as a state machine of one thread: what fails shrinks to the few calls that matter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest
from fuzz import MOST_DEVICES, MOVES, SOURCE, USM_MOVES, Player, UsmPlayer, has_usm
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from opencl_api import Host

EFFORT = int(os.environ.get("FPGART_TEST_EFFORT", "1"))


class Calls(RuleBasedStateMachine):
    """Random moves on one host; each move's own choices are drawn, so that they shrink, too."""

    host: Host
    moves: tuple[str, ...] = MOVES

    def __init__(self) -> None:
        super().__init__()
        kind = UsmPlayer if self.moves is not MOVES else Player
        self.player = kind(self.host, 0)

    @rule(data=st.data(), random=st.randoms(use_true_random=False))
    def move(self, data: st.DataObject, random: Random) -> None:
        self.player.random = random
        getattr(self.player, data.draw(st.sampled_from(self.moves), label="move"))()

    def teardown(self) -> None:
        self.player.random = Random(0)
        self.player.end()


@pytest.fixture
def one_host(loader: object) -> Iterator[Host]:
    made = Host(loader, MOST_DEVICES)  # type: ignore[arg-type]
    made.program(SOURCE)
    yield made
    made.close()


def test_every_byte_is_right_after_any_sequence_of_calls(one_host: Host) -> None:
    class Machine(Calls):
        host = one_host
        moves = MOVES + USM_MOVES if has_usm(one_host) else MOVES

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=40 * EFFORT, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
