# SPDX-License-Identifier: Apache-2.0
"""The graphs of fpgart.sycl are those of DPC++ for the same program, except where docs/fidelity.md says otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomllib
from execution_graphs import (
    DIFFERENCES,
    ROOT,
    STORED,
    Graph,
    compiled,
    of_dpcpp,
    of_fpgart,
    programs,
    why_not_installed,
)

PROGRAMS = programs()
DPCPP: dict[str, Graph] = json.loads(STORED.read_text())
DIFFERENT = tomllib.loads(DIFFERENCES.read_text())


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    """The graphs of fpgart.sycl, by name of the program."""
    return dict(zip(PROGRAMS, of_fpgart(list(PROGRAMS.values())), strict=True))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """graph_steps.cpp, compiled."""
    if missing := why_not_installed():
        pytest.skip(f"needs fpgart[sycl]: {missing}")
    return compiled(tmp_path_factory.mktemp("graphs"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_graph_is_that_of_dpcpp(name: str, graphs: dict[str, Graph]) -> None:
    other = DIFFERENT.get(name, {"steps": {}})["steps"]
    expected = [other.get(step, lines) for step, lines in zip(PROGRAMS[name], DPCPP[name], strict=True)]
    assert graphs[name] == expected


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_from_dpcpp_has_a_row_in_the_page(name: str) -> None:
    reason = DIFFERENT[name]["reason"]
    assert f"| {reason} |" in (ROOT / "docs" / "fidelity.md").read_text()
    steps = dict(zip(PROGRAMS[name], DPCPP[name], strict=True))
    assert {step for step, lines in DIFFERENT[name]["steps"].items() if steps[step] == lines} == set()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stored_graph_is_that_of_the_runtime_installed(name: str, program: Path) -> None:
    assert of_dpcpp(program, PROGRAMS[name]) == DPCPP[name]
