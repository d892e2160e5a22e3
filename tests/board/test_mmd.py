"""The counters of calls to a board (board/mmd.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fpgart.board.catalogue import describe
from fpgart.board.mmd import PHYSICAL_MEMORY, SHARED_VIRTUAL_MEMORY, Around, Capability, Info, OfflineInfo, Traffic
from fpgart.board.simulated_board import SimulatedBoard

HEADER = (Path(__file__).resolve().parents[2] / "include" / "aocl_mmd.h").read_text()
NUMBERS = {name: int(number) for name, number in re.findall(r"AOCL_MMD_(\w+) = (\d+)", HEADER)}
BITS = {name: 1 << int(bit) for name, bit in re.findall(r"#define AOCL_MMD_(\w+) \(1 << (\d+)\)", HEADER)}


@pytest.mark.parametrize("queries", [OfflineInfo, Info])
def test_what_can_be_asked_has_the_numbers_of_the_header(queries: type[OfflineInfo] | type[Info]) -> None:
    members = queries.__members__.items()
    assert {name: int(query) for name, query in members} == {name: NUMBERS[name] for name, _ in members}


def test_what_boards_can_do_has_the_bits_of_the_header() -> None:
    for able in filter(None, Capability):
        assert able == BITS[f"MEM_CAPABILITY_{able.name}"]
    assert (BITS["PHYSICAL_MEMORY"], BITS["SVM_COARSE_GRAIN_BUFFER"]) == (PHYSICAL_MEMORY, SHARED_VIRTUAL_MEMORY)


def test_traffic_is_the_number_of_calls_and_the_sum_of_their_bytes() -> None:
    traffic = Traffic()
    assert (traffic.calls, traffic.bytes) == (0, 0)
    traffic.add(100)
    traffic.add(28)
    assert (traffic.calls, traffic.bytes) == (2, 128)


@pytest.mark.parametrize("shared", [False, True])
def test_an_mmd_around_another_tells_of_the_board_what_that_does(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    board = SimulatedBoard(describe("a10_ref"))
    monkeypatch.setattr(board, "is_shared", shared)
    around = Around(board)
    assert around.is_shared is shared
    assert around.description is board.description
    assert around.traffic["free"] is board.traffic["free"]
    assert around.is_available() == board.is_available()
    assert around.loaded() == board.loaded()


def test_c_may_not_pass_by_an_mmd_around_another() -> None:
    board = SimulatedBoard(describe("a10_ref"))
    assert board.in_c
    assert Around(board).in_c == 0
