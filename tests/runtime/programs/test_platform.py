# SPDX-License-Identifier: Apache-2.0
"""The platform and its engine (fpgart/runtime/objects/platform.py)."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any

import pytest
from machine import Boards

from fpgart.runtime.objects.platform import Platform


class Engine:
    """An engine that is none."""

    mirrors: Any = None


def platform_of(boards: Boards, engine: Any = None, contents: Any = None) -> Platform:
    machine = boards("a10_ref")
    return Platform(machine.platform.personality, [], engine, machine.scheduler, contents)


@pytest.fixture
def choices(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """With what an engine was looked for; each time another one is found."""
    asked: list[Any] = []

    def choose(contents: Any, isolation: Any, meanwhile: Any) -> Engine:
        asked.append(contents)
        return Engine()

    monkeypatch.setattr("fpgart.engine.choice.choose_engine", choose)
    return asked


def test_an_engine_is_looked_for_when_it_is_first_needed_and_then_kept(boards: Boards, choices: list[Any]) -> None:
    contents = object()
    platform = platform_of(boards, contents=contents)
    assert choices == []
    first = platform.engine
    assert platform.engine is first
    assert isinstance(first, Engine)
    assert choices == [contents]


def test_no_engine_is_in_use_until_one_is_needed(boards: Boards, choices: list[Any]) -> None:
    platform = platform_of(boards)
    assert platform.engine_in_use is None
    assert choices == []
    assert platform.engine is platform.engine_in_use


def test_what_is_to_be_done_meanwhile_is_left_to_the_choice_of_the_engine(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = platform_of(boards)
    given: list[object] = []

    def choose(*arguments: object) -> Engine:
        given.extend(arguments)
        return Engine()

    monkeypatch.setattr("fpgart.engine.choice.choose_engine", choose)
    platform.meanwhile = given.clear
    assert platform.engine is not None
    assert given[-1] == given.clear


def test_boards_tell_an_engine_what_happens_to_memory_that_it_mirrors(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Engine()
    told.mirrors = object()
    monkeypatch.setattr("fpgart.engine.choice.choose_engine", lambda *_: told)
    platform = boards("a10_ref", "hetero").platform
    kept: list[object] = []
    for device in platform.devices:
        monkeypatch.setattr(device.mmd, "keep_elsewhere", kept.append)
    assert platform.engine is told
    assert kept == [told.mirrors, told.mirrors]


def test_an_engine_that_is_given_is_the_one(boards: Boards, choices: list[Any]) -> None:
    given: Any = Engine()
    assert platform_of(boards, engine=given).engine is given
    assert choices == []


def test_a_platform_begins_without_a_handle_and_knows_when(boards: Boards) -> None:
    before = monotonic_ns()
    platform = platform_of(boards, Engine())
    assert platform.handle == 0
    assert before <= platform.started_ns <= monotonic_ns()
    assert not platform.malloced.holds(1)


def test_devices_are_numbered_in_the_order_of_the_boards(boards: Boards) -> None:
    machine = boards("a10_ref", "hetero")
    assert [(device.id, device.board.name) for device in machine.devices] == [(0, "a10_ref"), (1, "hetero")]
    assert all(device.platform is machine.platform for device in machine.devices)
