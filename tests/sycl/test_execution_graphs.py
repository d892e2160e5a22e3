# SPDX-License-Identifier: Apache-2.0
"""The graphs of fpgart.sycl are those of DPC++ for the same program, except where docs/fidelity.md says otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import tomllib
from execution_graphs import (
    DIFFERENCES,
    ROOT,
    STORED,
    Graph,
    closed,
    compiled,
    of_dpcpp,
    of_fpgart,
    programs,
    why_not_installed,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EFFORT = int(os.environ.get("FPGART_TEST_EFFORT", "1"))
PROGRAMS = programs()
DPCPP: dict[str, Graph] = json.loads(STORED.read_text())
DIFFERENT = tomllib.loads(DIFFERENCES.read_text())
MODES = ["read", "write", "read_write", "discard_write", "discard_read_write"]


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


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        (["task q b:write"], ["b: allocate host", "b: copy c host", "b: run host"]),
        (["task q b:write", "kernel q b:discard_write"], ["b: run c"]),
    ],
    ids=["a host task", "a kernel behind a host task"],
)
def test_a_program_may_end_before_what_it_has_submitted_last(program: Path, steps: list[str], last: list[str]) -> None:
    """The runtime's own handler of exit() waits for the task, and for its thread, which then enqueues the kernel."""
    begin = ["queue q c 0", "buffer b none", "kernel q b:discard_read_write"]
    ends = [of_dpcpp(program, begin + steps)[-1] for _ in range(8)]
    assert ends == [last] * 8


def without_write_backs(graph: Graph) -> Graph:
    return [[line for line in step if "write back" not in line] for step in graph]


@st.composite
def step_lists(draw: st.DrawFn) -> list[str]:
    """Steps with two buffers and a sub-buffer, on two queues of one context or of two.

    In two contexts each access is a write that keeps the contents: behind others, DPC++ can end with a segmentation
    fault (docs/fidelity.md), and it loses contents where a sub-buffer's are discarded.
    """
    apart = draw(st.booleans())
    device = "0" if apart else draw(st.sampled_from("01"))
    modes = ["write", "read_write"] if apart else MODES
    reads, writes = [m for m in modes if m in ("read", "read_write")], [m for m in modes if m != "read"]
    kinds = st.sampled_from(["suitable", "none"])
    steps = [f"queue q c {device}", f"queue r {'d' if apart else 'c'} {device}"]
    steps += [f"buffer a {draw(kinds)}", f"buffer b {draw(kinds)}", "part p a 256 256"]
    for _ in range(draw(st.integers(1, 6))):
        what = draw(st.sampled_from(["kernel", "task", "host", "copy", "get", "put", "fill"]))
        buffers = draw(st.permutations("ab" if what == "copy" else "abp"))
        wanted = {"copy": [reads, writes], "get": [reads], "put": [writes], "fill": [writes], "host": [modes]}
        each = wanted.get(what) or [modes] * draw(st.integers(1, 2))
        uses = [
            (buffer, draw(st.sampled_from([mode for mode in some if buffer != "p" or "discard" not in mode])))
            for buffer, some in zip(buffers, each, strict=False)
        ]
        if what == "host":
            steps.append(f"host {' '.join(uses[0])}")
        else:
            steps.append(f"{what} {draw(st.sampled_from('qr'))} {' '.join(map(':'.join, uses))}")
    return closed(steps)


@settings(max_examples=16 * EFFORT, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EFFORT == 1)
@given(steps=step_lists())
def test_other_programs_have_the_graph_of_dpcpp(program: Path, steps: list[str]) -> None:
    """The write at the end is left out: DPC++ also has it where the contents are in place already."""
    (graph,) = of_fpgart([steps])
    assert without_write_backs(graph) == without_write_backs(of_dpcpp(program, steps))
