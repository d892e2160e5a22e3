# SPDX-License-Identifier: Apache-2.0
"""Registries that many threads use: objects by address, and live objects."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from machine import at_once

from fpgart.runtime.memory.registry import AddressRegistry, Living

ROUNDS = 3000
UNIT = 16


@dataclass(frozen=True)
class Range:
    pointer: int
    size: int = UNIT

    @property
    def end(self) -> int:
        return self.pointer + self.size


class Thing:
    """An object that weak references can refer to."""


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_range_is_found_by_every_address_within() -> None:
    registry: AddressRegistry[Range] = AddressRegistry()
    first, second = Range(100), Range(200, 1)
    registry.add(second)
    registry.add(first)
    assert [registry.find(address) for address in (99, 100, 115, 116, 200, 201)] == [
        None, first, first, None, second, None,
    ]  # fmt: skip
    assert registry.at(100) is first
    assert registry.at(101) is None
    assert registry.remove(101) is None
    assert registry.remove(100) is first
    assert registry.all() == [second]
    assert len(registry) == 1


def test_ranges_are_found_while_others_come_and_go(often_switching: None) -> None:
    registry: AddressRegistry[Range] = AddressRegistry()
    stays = Range(UNIT * 10**6)
    registry.add(stays)

    def come_and_go(begin: int) -> None:
        for number in range(ROUNDS):
            address = UNIT * (begin + number % 64)
            registry.add(Range(address))
            assert registry.remove(address) == Range(address)

    def look_up() -> None:
        for _ in range(ROUNDS):
            assert registry.find(stays.pointer + 1) is stays
            assert stays in registry.all()

    at_once(lambda: come_and_go(0), lambda: come_and_go(1000), look_up, look_up)
    assert registry.all() == [stays]


def test_the_dead_are_forgotten() -> None:
    living: Living[Thing] = Living()
    kept = [Thing() for _ in range(3)]
    for thing in kept:
        living.add(thing)
    for _ in range(1000):
        living.add(Thing())
    assert living.all() == kept
    assert len(living._refs) < 100
    del thing
    kept.clear()
    assert not living


def test_the_living_are_walked_while_others_come_and_go(often_switching: None) -> None:
    living: Living[Thing] = Living()
    kept = [Thing() for _ in range(20)]
    for thing in kept:
        living.add(thing)

    def come_and_go() -> None:
        for _ in range(ROUNDS):
            living.add(Thing())

    def walk() -> None:
        for _ in range(ROUNDS // 10):
            assert set(kept) <= set(living.all())

    at_once(come_and_go, come_and_go, walk, walk)
    assert set(living.all()) == set(kept)


class Forgetful(Living[Thing]):
    """Counts how often the dead were looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def _remove_destroyed(self) -> None:
        self.looks += 1
        super()._remove_destroyed()


@pytest.mark.parametrize(("alive", "looks"), [(Living.LEAST, 0), (2 * (Living.LEAST + 1), 1)])
def test_the_dead_are_looked_for_beyond_the_least_and_when_twice_as_many_are_there(alive: int, looks: int) -> None:
    living = Forgetful()
    kept = [Thing() for _ in range(alive + 1)]
    for thing in kept[:-1]:
        living.add(thing)
    assert living.looks == looks
    living.add(kept[-1])
    assert living.looks == looks + 1


def test_the_dead_are_looked_for_no_more_often_when_few_are_alive() -> None:
    living = Forgetful()
    for _ in range(Living.LEAST + 1):
        living.add(Thing())
    for _ in range(Living.LEAST - 1):
        living.add(Thing())
    assert living.looks == 1


class Interrupted:
    """A lock; before it is taken for the n-th time another thread does something."""

    def __init__(self, turn: int, meanwhile: Callable[[], None]) -> None:
        self._turns_left = turn
        self._meanwhile = meanwhile
        self._lock = threading.Lock()

    def __enter__(self) -> bool:
        self._turns_left -= 1
        if self._turns_left == 0:
            self._meanwhile()
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def interrupt(living: Living[Thing], meanwhile: Callable[[], None]) -> None:
    """Has `meanwhile` done between the two steps of forgetting the dead."""
    lock: Any = Interrupted(2, meanwhile)
    living._lock = lock
    living._remove_destroyed()


def test_what_is_added_while_the_dead_are_forgotten_is_there() -> None:
    living: Living[Thing] = Living()
    thing = Thing()
    living.add(Thing())
    interrupt(living, lambda: living.add(thing))
    assert living.all() == [thing]
    assert len(living._refs) == 1


def test_what_is_added_after_another_thread_has_forgotten_the_dead_is_there() -> None:
    living: Living[Thing] = Living()
    thing = Thing()

    def meanwhile() -> None:
        living._remove_destroyed()
        living.add(thing)

    interrupt(living, meanwhile)
    assert living.all() == [thing]


def test_what_is_added_where_a_dead_one_stood_while_the_dead_are_forgotten_is_there() -> None:
    living: Living[Thing] = Living()
    kept, thing = Thing(), Thing()
    for each in (kept, Thing(), Thing()):
        living.add(each)
    del each

    def meanwhile() -> None:
        assert living.newest() is kept
        living.add(thing)

    interrupt(living, meanwhile)
    assert living.all() == [kept, thing]


def test_the_newest_that_is_alive_is_found_behind_dead_ones() -> None:
    living: Living[Thing] = Living()
    kept = [Thing() for _ in range(3)]
    for each in kept:
        living.add(each)
    for _ in range(5):
        living.add(Thing())
    assert living.newest() is kept[2]
    del each, kept[2]
    assert living.newest() is kept[1]
    assert living.all() == kept
    kept.clear()
    assert living.newest() is None
    assert not living
