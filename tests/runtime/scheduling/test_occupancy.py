"""The conflict matrix of a board (runtime/scheduling/occupancy.py): what may begin beside what it is busy with."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fpgart.runtime.scheduling.occupancy import Claim, Direction, Occupancy

IN, OUT, BOTH = Direction.IN, Direction.OUT, Direction.BOTH


def board(*, full_duplex: bool = True, cores: int = 0) -> Occupancy:
    return Occupancy(full_duplex=full_duplex, cores=cores)


def test_a_board_that_does_nothing_admits_everything() -> None:
    assert all(board().admits(way) for way in (IN, OUT, BOTH))
    assert board().claim_programming() is Claim.TAKEN
    assert board().claim_launch(0) is Claim.TAKEN


@pytest.mark.parametrize("full_duplex", [False, True])
@pytest.mark.parametrize("busy", [IN, OUT, BOTH])
@pytest.mark.parametrize("way", [IN, OUT, BOTH])
def test_transfers_exclude_each_other_on_full_duplex_boards_in_the_same_direction(
    full_duplex: bool, busy: Direction, way: Direction
) -> None:
    occupancy = board(full_duplex=full_duplex)
    occupancy.begin_transfer(busy)
    assert occupancy.admits(way) == (full_duplex and not busy & way)
    occupancy.end_transfer(busy)
    assert occupancy.admits(way)


def test_the_end_of_a_transfer_leaves_the_other_direction_busy() -> None:
    occupancy = board()
    occupancy.begin_transfer(IN)
    occupancy.begin_transfer(OUT)
    occupancy.end_transfer(OUT)
    assert occupancy.admits(OUT)
    assert not occupancy.admits(IN)


def test_kernels_run_beside_transfers_and_beside_each_other() -> None:
    occupancy = board(full_duplex=False)
    occupancy.begin_transfer(IN)
    assert occupancy.claim_launch(0) is Claim.TAKEN
    assert occupancy.claim_launch(0) is Claim.TAKEN
    occupancy.end_transfer(IN)
    assert occupancy.admits(OUT)


def test_programming_excludes_everything_until_it_ends() -> None:
    occupancy = board()
    assert occupancy.claim_programming() is Claim.TAKEN
    assert occupancy.claim_programming() is Claim.WAITS
    assert occupancy.claim_launch(0) is Claim.WAITS
    assert not any(occupancy.admits(way) for way in (IN, OUT, BOTH))
    occupancy.end_programming()
    assert all(occupancy.admits(way) for way in (IN, OUT, BOTH))
    assert occupancy.claim_launch(0) is Claim.TAKEN


def test_programming_waits_for_every_launch() -> None:
    occupancy = board()
    for _ in range(2):
        occupancy.claim_launch(0)
    occupancy.end_launch(0)
    assert occupancy.claim_programming() is Claim.WAITS
    occupancy.end_launch(0)
    assert occupancy.claim_programming() is Claim.TAKEN


def test_transfers_go_on_while_programming_waits_for_launches() -> None:
    """A kernel that runs may need them to end."""
    occupancy = board()
    occupancy.claim_launch(0)
    occupancy.begin_transfer(IN)
    assert occupancy.claim_programming() is Claim.WAITS
    occupancy.end_transfer(IN)
    assert occupancy.admits(IN)


def test_no_transfer_begins_while_programming_waits_for_transfers_alone() -> None:
    occupancy = board()
    occupancy.begin_transfer(IN)
    assert occupancy.claim_programming() is Claim.WAITS
    assert not occupancy.admits(OUT)
    occupancy.end_transfer(IN)
    assert not occupancy.admits(IN)
    assert occupancy.claim_programming() is Claim.TAKEN
    occupancy.end_programming()
    assert occupancy.admits(IN)


def test_transfers_begin_again_when_a_launch_needs_no_programming_any_more() -> None:
    occupancy = board()
    occupancy.begin_transfer(IN)
    occupancy.claim_programming()
    assert occupancy.claim_launch(0) is Claim.TAKEN
    assert occupancy.admits(OUT)


def test_tasks_take_a_core_each_until_none_is_left() -> None:
    occupancy = board(cores=3)
    assert occupancy.claim_launch(1) is Claim.TAKEN
    assert occupancy.claim_launch(2) is Claim.TAKEN
    assert occupancy.claim_launch(1) is Claim.WAITS
    occupancy.end_launch(2)
    assert occupancy.claim_launch(3) is Claim.WAITS
    assert occupancy.claim_launch(2) is Claim.TAKEN


class CarriedCommands:
    """Commands that C carries; one runs until the test says otherwise."""

    def __init__(self) -> None:
        self.is_stopped, self.runs = False, True

    def stop(self) -> bool:
        self.is_stopped = True
        return not self.runs

    def go_on(self) -> None:
        self.is_stopped = False

    def uses(self, handles: Iterable[int]) -> bool:
        return self.runs

    def loaded(self) -> str:
        return ""

    def has_loaded(self, identity: str) -> None:
        """It keeps no programs."""


def test_carried_commands_stop_while_tasks_have_cores() -> None:
    occupancy, carried = board(cores=2), CarriedCommands()
    occupancy.carried = carried
    assert occupancy.claim_launch(1) is Claim.WAITS
    carried.runs = False
    assert occupancy.claim_launch(1) is Claim.TAKEN
    assert occupancy.claim_launch(1) is Claim.TAKEN
    occupancy.carry_on()  # a migration has ended
    occupancy.end_launch(1)
    assert carried.is_stopped
    occupancy.end_launch(1)
    assert not carried.is_stopped


def test_carried_commands_do_not_begin_between_programming_and_its_launch() -> None:
    occupancy, carried = board(cores=2), CarriedCommands()
    occupancy.carried, carried.runs = carried, False
    assert occupancy.claim_programming() is Claim.TAKEN
    occupancy.begin_launch(2)
    occupancy.end_programming()
    assert carried.is_stopped
    occupancy.end_launch(2)
    assert not carried.is_stopped


def test_a_board_is_programmed_when_no_carried_command_runs() -> None:
    occupancy, carried = board(), CarriedCommands()
    occupancy.carried = carried
    assert occupancy.claim_programming() is Claim.WAITS
    carried.runs = False
    assert occupancy.claim_programming() is Claim.TAKEN
    occupancy.end_programming()
    assert not carried.is_stopped


def test_a_launch_that_takes_no_core_stops_no_carried_command() -> None:
    occupancy, carried = board(cores=0), CarriedCommands()
    occupancy.carried = carried
    assert occupancy.claim_launch(0) is Claim.TAKEN
    assert not carried.is_stopped


def test_a_launch_that_takes_no_core_waits_for_none() -> None:
    occupancy = board(cores=1)
    occupancy.claim_launch(1)
    assert occupancy.claim_launch(0) is Claim.TAKEN


def test_launches_that_begin_with_programming_count_as_others_do() -> None:
    occupancy = board(cores=2)
    occupancy.begin_launch(2)
    assert occupancy.claim_programming() is Claim.WAITS
    assert occupancy.claim_launch(1) is Claim.WAITS
    occupancy.end_launch(2)
    assert occupancy.claim_launch(2) is Claim.TAKEN
