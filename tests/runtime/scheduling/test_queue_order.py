"""The order of a command queue (order.py): which commands a new one follows (OpenCL 3.0, 5.1, 5.13)."""

from __future__ import annotations

import pytest

from fpgart.runtime.scheduling.order import QueueOrder, Role

Order = QueueOrder[str]
MARKERS = [Role.MARKER, Role.BARRIER]


def order_of(*commands: str, in_order: bool) -> Order:
    order = Order(in_order)
    for command in commands:
        order.follow(command, Role.WORK, waits=False)
    return order


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("waits", [False, True])
def test_a_command_of_an_in_order_queue_follows_the_one_before_it(role: Role, waits: bool) -> None:
    assert order_of("a", "b", in_order=True).follow("c", role, waits=waits) == ("b",)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("in_order", [False, True])
def test_the_first_command_follows_none(role: Role, in_order: bool) -> None:
    assert order_of(in_order=in_order).follow("a", role, waits=False) == ()


@pytest.mark.parametrize("waits", [False, True])
def test_commands_of_an_out_of_order_queue_follow_no_other(waits: bool) -> None:
    assert order_of("a", "b", in_order=False).follow("c", Role.WORK, waits=waits) == ()


@pytest.mark.parametrize("role", MARKERS)
def test_a_marker_without_a_wait_list_follows_all_before_it(role: Role) -> None:
    assert order_of("a", "b", in_order=False).follow("c", role, waits=False) == ("a", "b")


@pytest.mark.parametrize("role", MARKERS)
def test_a_marker_with_a_wait_list_follows_none_but_that(role: Role) -> None:
    assert order_of("a", "b", in_order=False).follow("c", role, waits=True) == ()


@pytest.mark.parametrize("role", Role)
def test_what_comes_after_a_barrier_follows_it(role: Role) -> None:
    order = order_of("a", in_order=False)
    order.follow("barrier", Role.BARRIER, waits=True)
    order.follow("b", Role.WORK, waits=False)
    assert order.follow("c", role, waits=True) == ("barrier",)


def test_what_comes_after_a_marker_does_not_follow_it() -> None:
    order = order_of("a", in_order=False)
    order.follow("marker", Role.MARKER, waits=False)
    assert order.follow("b", Role.WORK, waits=False) == ()


def test_the_last_barrier_counts() -> None:
    order = order_of(in_order=False)
    for barrier in ("first", "second"):
        order.follow(barrier, Role.BARRIER, waits=False)
    assert order.follow("a", Role.WORK, waits=False) == ("second",)


@pytest.mark.parametrize("role", MARKERS)
def test_a_marker_does_not_follow_what_has_ended(role: Role) -> None:
    order = order_of("a", "b", "c", in_order=False)
    order.ended("a")
    order.forget("c")
    assert order.follow("d", role, waits=False) == ("b",)


def test_what_has_ended_may_still_have_to_be_followed() -> None:
    """By those for whom the past counts; forgotten is what no one has to follow."""
    order = order_of("a", in_order=True)
    order.ended("a")
    assert order.follow("b", Role.WORK, waits=False) == ("a",)
    order.forget("b")
    assert order.follow("c", Role.WORK, waits=False) == ()


def test_a_command_that_is_forgotten_takes_no_later_one_with_it() -> None:
    order = order_of("a", "b", in_order=True)
    order.forget("a")
    assert order.follow("c", Role.WORK, waits=False) == ("b",)


def test_a_barrier_that_is_forgotten_is_not_followed() -> None:
    order = order_of(in_order=False)
    order.follow("barrier", Role.BARRIER, waits=False)
    order.forget("barrier")
    assert order.follow("a", Role.WORK, waits=False) == ()


def test_a_command_that_is_forgotten_takes_no_barrier_with_it() -> None:
    order = order_of("a", in_order=False)
    order.follow("barrier", Role.BARRIER, waits=False)
    order.forget("a")
    assert order.follow("b", Role.WORK, waits=False) == ("barrier",)


def test_open_are_those_that_have_not_ended_oldest_first() -> None:
    order = order_of("a", "b", "c", in_order=True)
    order.ended("b")
    order.ended("b")
    assert list(order.open) == ["a", "c"]
