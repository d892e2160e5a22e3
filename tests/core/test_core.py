# SPDX-License-Identifier: Apache-2.0
"""The command processor (core/) under chosen schedules: tests/programs/explore_core.c has the hosts and the rules."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from effort import MOST_SCHEDULES
from processes import ROOT, finished, output

CORE = ROOT / "core"


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("core") / "explore_core"
    options = ["-O1", "-DCORE_EXPLORED", f"-I{CORE}", f"-I{ROOT / 'include'}"]
    # Not of core/, of which test_portability.py sees the warnings: a mutant may have some.
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    for source in sorted(CORE.glob("*.c")):
        memory = [f"-D{name}=explored_{name}" for name in ("malloc", "calloc", "free")]
        subprocess.run(
            ["gcc", *options, *memory, "-c", source, "-o", program.with_name(source.stem + ".o")], check=True
        )
    objects = sorted(program.parent.glob("*.o"))
    program_source = ROOT / "tests/programs/explore_core.c"
    subprocess.run(["gcc", *options, *warnings, program_source, *objects, "-o", program], check=True)
    return program


def run(*command: str | Path) -> None:
    output(finished(*command))


def test_small_hosts_keep_the_rules_under_all_schedules_with_two_preemptions(explorer: Path) -> None:
    run(explorer, "systematic", str(MOST_SCHEDULES))


@pytest.mark.parametrize("seed", [1, 1_000_000, 2_000_000, 3_000_000])
def test_random_hosts_keep_the_rules_under_random_schedules(explorer: Path, seed: int) -> None:
    run(explorer, "random", str(8 * MOST_SCHEDULES), str(seed))


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Returns the figures that tests/programs/many_commands.c prints for queues with 10,000 commands."""
    program = tmp_path_factory.mktemp("many") / "many_commands"
    sources = [*sorted(CORE.glob("*.c")), ROOT / "tests/programs/many_commands.c"]
    options = ["-O1", f"-I{CORE}", f"-I{ROOT / 'include'}", "-lpthread"]
    subprocess.run(["gcc", *sources, *options, "-o", program], check=True)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: int(number) for name, number in (line.rsplit(" ", 1) for line in lines)}


@pytest.mark.parametrize(
    "which", ["behind a decided command", "behind one that runs", "behind many that run", "in order"]
)
def test_commands_that_have_ended_are_forgotten(figures: dict[str, int], which: str) -> None:
    assert figures[f"open {which}"] < 2000


@pytest.mark.parametrize(("order", "most"), [("in order", 1000), ("out of order", 20_000)])
def test_new_commands_ask_the_engine_seldom(figures: dict[str, int], order: str, most: int) -> None:
    assert figures[f"asked by few, {order}"] == 0
    assert figures[f"asked by many, {order}"] <= most


def test_kernels_that_have_ended_behind_a_decided_command_are_not_others(figures: dict[str, int]) -> None:
    assert figures["others behind a decided command"] == 0


def test_an_end_makes_no_system_call_while_no_thread_waits(figures: dict[str, int]) -> None:
    assert figures["system calls without a thread that sleeps"] == 0


@pytest.mark.parametrize(("order", "most"), [("in order", 1), ("out of order", 10_000)])
def test_the_engine_is_asked_once_for_each_command_whose_end_is_noted(
    figures: dict[str, int], order: str, most: int
) -> None:
    assert figures[f"asked to note all, {order}"] <= most


@pytest.mark.parametrize("order", ["in order", "out of order"])
def test_the_engine_is_asked_once_for_each_command_that_has_ended(figures: dict[str, int], order: str) -> None:
    assert figures[f"asked to note ends, {order}"] == 10_000


@pytest.mark.parametrize("order", ["in order", "out of order"])
def test_the_engine_is_asked_for_few_commands_to_find_an_open_one(figures: dict[str, int], order: str) -> None:
    assert figures["others"] == 1
    assert figures[f"asked for others, {order}"] <= 8


@pytest.mark.parametrize("what", ["markers", "markers with a wait list", "kernels", "markers in order"])
def test_commands_that_follow_few_have_room_for_few_links(figures: dict[str, int], what: str) -> None:
    """A marker follows the marker before it, and with a wait list or in order none but those that it names."""
    assert figures[f"{what} with room for many links"] == 0
