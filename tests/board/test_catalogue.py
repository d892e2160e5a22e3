# SPDX-License-Identifier: Apache-2.0
"""The catalogue of boards, and the choice by the environment (board/catalogue.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fpgart.base import config
from fpgart.base.personality import ANY, EMULATED, PERSONALITIES, SIMULATED
from fpgart.board import catalogue
from fpgart.board.board_spec import BoardSpecError

OPTIONS = (
    config.BOARD,
    config.OFFLINE_DEVICE,
    config.SIMULATOR_DEVICES,
    config.EMULATOR_DEVICES,
    config.CPU_EMULATE_DEVICES,
    config.PLATFORM,
    config.NO_INTERLEAVING,
)
Environment = Callable[..., None]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    """Sets variables, given by the names of their options; none is set before."""

    def change(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(getattr(config, name).name, value)
        for option in OPTIONS:
            option.forget()

    for option in OPTIONS:
        monkeypatch.delenv(option.name, raising=False)
    change()
    yield change
    monkeypatch.undo()
    change()


def names() -> list[str]:
    boards, faults = catalogue.chosen_boards()
    assert faults == []
    return [board.name for board in boards]


def test_boards_of_both_kinds_come_along_in_the_order_of_their_names() -> None:
    found = catalogue.shipped()
    assert found == sorted(found)
    assert {"a10_ref", "usm_s10", "hetero", "k2h"} <= set(found)
    for name in found:
        assert catalogue.describe(name).name == name


def test_a_board_may_be_a_file_of_any_name_or_a_path(tmp_path: Path) -> None:
    text = (Path(catalogue.FOLDER) / "a10_ref.xml").read_text()
    for file in (tmp_path / "mine", tmp_path / "mine.xml"):
        file.write_text(text)
        assert catalogue.describe(str(file)).name == "a10_ref"


@pytest.mark.parametrize("name", ["nothing", "a10_ref2"])
def test_a_board_that_is_not_there_is_told_with_those_that_are(name: str) -> None:
    with pytest.raises(
        config.OptionError, match=f"FPGART_BOARD={name}: not one of .*a10_ref, .*k2h.*, nor the path of a file"
    ):
        catalogue.describe(name)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, ["usm_s10"]),
        ({"BOARD": "a10_ref,hetero"}, ["a10_ref", "hetero"]),
        ({"BOARD": "a10_ref", "OFFLINE_DEVICE": "hetero"}, ["hetero"]),
        ({"BOARD": "a10_ref", "OFFLINE_DEVICE": "+hetero"}, ["a10_ref", "hetero"]),
        ({"BOARD": "a10_ref,hetero", "EMULATOR_DEVICES": "3"}, ["a10_ref"] * 3),
        ({"BOARD": "a10_ref", "SIMULATOR_DEVICES": "2"}, ["a10_ref"] * 2),
        ({"BOARD": "a10_ref", "CPU_EMULATE_DEVICES": "2"}, ["a10_ref"] * 2),
        ({"SIMULATOR_DEVICES": "2", "EMULATOR_DEVICES": "3", "CPU_EMULATE_DEVICES": "4"}, ["usm_s10"] * 2),
        ({"EMULATOR_DEVICES": "3", "CPU_EMULATE_DEVICES": "4"}, ["usm_s10"] * 3),
    ],
)
def test_the_environment_chooses_boards(environment: Environment, variables: dict[str, str], found: list[str]) -> None:
    environment(**variables)
    assert names() == found


def test_a_board_that_its_file_does_not_describe_is_left_out_and_told(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<board/>")
    environment(BOARD=f"a10_ref,{tmp_path / 'bad.xml'},hetero")
    found, faults = catalogue.chosen_with_names()
    assert [(name, board.name) for name, board in found] == [("a10_ref", "a10_ref"), ("hetero", "hetero")]
    assert [type(fault) for fault in faults] == [BoardSpecError]


@pytest.mark.parametrize(
    ("asked", "interleaved"),
    [("", [True, False]), ("all", [False, False]), ("DDR", [False, False]), ("QDR", [True, False])],
)
def test_banks_are_separate_where_the_environment_asks_for_it(
    environment: Environment, asked: str, interleaved: list[bool]
) -> None:
    environment(**({"NO_INTERLEAVING": asked} if asked else {}))
    board = catalogue.describe("hetero")
    memories = {memory.name: memory for memory in board.memories}
    assert [memories[name].interleaved for name in ("DDR", "QDR")] == interleaved


@pytest.mark.parametrize(
    ("variables", "personality"),
    [
        ({}, PERSONALITIES[ANY]),
        ({"PLATFORM": "ti"}, PERSONALITIES["ti"]),
        ({"PLATFORM": "intel", "SIMULATOR_DEVICES": "1"}, PERSONALITIES["intel"]),
        ({"SIMULATOR_DEVICES": "1", "EMULATOR_DEVICES": "1"}, SIMULATED),
        ({"EMULATOR_DEVICES": "1", "CPU_EMULATE_DEVICES": "1"}, EMULATED),
        ({"CPU_EMULATE_DEVICES": "1"}, PERSONALITIES["emulator"]),
        ({"BOARD": "k2h"}, PERSONALITIES["ti"]),
        ({"BOARD": "a10_ref,k2h"}, PERSONALITIES[ANY]),
        ({"BOARD": "k2h", "CPU_EMULATE_DEVICES": "1"}, PERSONALITIES["emulator"]),
    ],
)
def test_the_platform_is_that_of_the_environment_or_of_the_first_board(
    environment: Environment, variables: dict[str, str], personality: object
) -> None:
    environment(**variables)
    assert catalogue.chosen_personality(catalogue.chosen_boards()[0]) is personality


def test_without_a_board_the_platform_is_the_usual_one(environment: Environment) -> None:
    assert catalogue.chosen_personality([]) is PERSONALITIES[ANY]
