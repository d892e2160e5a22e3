"""Each call of the engine fails once, and no more than what needed it fails with it.

The host is tests/programs/every_engine_call.c; between it and its engine is tests/programs/failing_engine.c.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from c_hosts import build, plain_environment, wrapped_engine
from processes import finished, output

from fpgart.base import opencl as cl

HERE = {"FPGART_COMPILE_APART": "0"}
APART: dict[str, str] = {}
OWN = {"FPGART_ENGINE_BUFFERS": "own", **HERE}
ISOLATED = {"FPGART_ISOLATE": "1"}
MODES = {"here": HERE, "compiled apart": APART, "own buffers": OWN, "isolated": ISOLATED}
PARTS = ("start", "commands", "rows", "pointers", "steps", "queries", "channels")
OFTEN = {
    ("start", "here"): 6,
    ("commands", "here"): 3,
    ("commands", "compiled apart"): 6,
    ("commands", "own buffers"): 6,
    ("rows", "here"): 1,
    ("pointers", "here"): 1,
    ("steps", "here"): 6,
    ("queries", "here"): 6,
    ("channels", "here"): 6,
}
"""The cases that every run tries; of so many calls one fails."""
HAS_NOT = {("channels", "own buffers"), ("start", "isolated")}
"""Channels need shared memory; a board process that finds no engine is not asked again."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("every_engine_call", tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that choose the engine."""
    return wrapped_engine("failing", tmp_path_factory.mktemp("engine"))


def functions_that_failed(
    host: Path, engine: dict[str, str], calls: Path, mode: str, part: str, step: int, status: int
) -> set[str]:
    # A cache of its own: PoCL fails where several processes build the same program in one.
    own = {"FAILING_CALLS": str(calls), "POCL_CACHE_DIR": str(calls.with_name("pocl"))}
    environment = {**plain_environment(), **engine, **MODES[mode], **own}
    return set(output(finished(host, part, status, 1, step, env=environment)).split())


@pytest.mark.parametrize(("part", "mode"), OFTEN)
def test_a_call_of_the_engine_that_fails_is_told_leaves_nothing_and_the_next_commands_are_right(
    host: Path, engine: dict[str, str], tmp_path: Path, part: str, mode: str
) -> None:
    step = OFTEN[part, mode]
    assert functions_that_failed(host, engine, tmp_path / "calls", mode, part, step, cl.CL_OUT_OF_RESOURCES)


@pytest.mark.slow
@pytest.mark.parametrize("status", [cl.CL_OUT_OF_RESOURCES, cl.CL_OUT_OF_HOST_MEMORY])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("part", PARTS)
def test_each_call_of_the_engine_that_fails_is_told_leaves_nothing_and_the_next_commands_are_right(
    host: Path, engine: dict[str, str], tmp_path: Path, part: str, mode: str, status: int
) -> None:
    if (part, mode) in HAS_NOT:
        pytest.skip("there is no such thing")
    assert functions_that_failed(host, engine, tmp_path / "calls", mode, part, 1, status)
