# SPDX-License-Identifier: Apache-2.0
"""NamedTuple does what typing.NamedTuple does."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from fpgart.base.named_tuples import NamedTuple


class Place(NamedTuple):
    row: int
    column: int = 7

    def moved(self) -> Place:
        return self._replace(row=self.row + 1)


class Named(Place):
    """A class that is derived from a NamedTuple."""


class Other(NamedTuple):
    row: int


def test_fields_are_read_by_name_and_by_position() -> None:
    place = Place(1, column=2)
    assert (place.row, place.column, *place) == (1, 2, 1, 2)


def test_a_field_that_is_left_out_has_its_default() -> None:
    assert Place(1) == Place(1, 7)


def test_the_signature_of_a_class_is_known_before_it_has_objects() -> None:
    class Unused(NamedTuple):
        row: int
        column: int = 7

    assert str(inspect.signature(Unused)) == "(row: int, column: int = 7)"


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"depth": 2}), ((1,), {"row": 1})])
def test_wrong_fields_are_refused(values: tuple[int, ...], named: dict[str, int]) -> None:
    for _ in range(2):  # the first object, and those that come behind
        with pytest.raises(TypeError):
            Place(*values, **named)


def test_an_object_of_a_derived_class_is_of_that_class_whichever_is_made_first() -> None:
    assert type(Named(1)) is Named
    assert type(Place(1)) is Place


def test_classes_have_constructors_of_their_own() -> None:
    assert Other(3) == (3,)
    assert Place(3) == (3, 7)


def test_a_copy_has_other_values_where_they_are_named() -> None:
    assert Place(1, 2).moved() == Place(2, 2)
    assert type(Named(1).moved()) is Named


def test_objects_are_shown_copied_and_pickled_as_those_of_typing_are() -> None:
    place = Place(1)
    assert repr(place) == "Place(row=1, column=7)"
    assert place._asdict() == {"row": 1, "column": 7}
    assert Place._make([4, 5]) == Place(4, 5)
    assert copy.deepcopy(place) == place
    assert pickle.loads(pickle.dumps(place)) == place
    assert not hasattr(place, "__dict__")


def test_objects_match_patterns_by_position() -> None:
    match Place(1, 2):
        case Place(row, 2):
            assert row == 1
        case _:
            raise AssertionError
