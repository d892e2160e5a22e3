"""Imports between modules, those for type checkers included. pyproject.toml has the order of layers and floors."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

FLOORS = ("scheduling", "memory", "programs", "commands", "objects", "model")


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("fpgart", cache_dir=None)


def test_no_module_imports_itself_through_others(imports: grimp.ImportGraph) -> None:
    sorter = TopologicalSorter({each: imports.find_modules_directly_imported_by(each) for each in imports.modules})
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_of_the_runtime_knows_those_below_it_alone(imports: grimp.ImportGraph, floor: str) -> None:
    above = {f"fpgart.runtime.{name}" for name in FLOORS[FLOORS.index(floor) + 1 :]}
    own = imports.find_descendants(f"fpgart.runtime.{floor}")
    assert own
    known = {f"{one} -> {other}" for one in own for other in imports.find_modules_directly_imported_by(one)}
    assert not {each for each in known if any(each.split(" -> ")[1].startswith(f"{floor}.") for floor in above)}


def test_the_runtime_is_its_floors(imports: grimp.ImportGraph) -> None:
    assert imports.find_children("fpgart.runtime") == {f"fpgart.runtime.{floor}" for floor in FLOORS}
