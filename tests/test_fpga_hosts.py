"""Recipes of hosts that others wrote (clients/fpga_hosts.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "clients"))

from fpga_hosts import Environment, Recipe, RecipeError, read, results  # noqa: E402


def recipe(folder: Path, **said: Any) -> Recipe:
    (folder / "host").mkdir()
    (folder / "host" / "data").write_text("42")
    path = folder / "ours.json"
    path.write_text(json.dumps({"folder": "host"} | said))
    return read(path)


def shell(environment: Environment, folder: Path, command: str) -> tuple[int, str]:
    result = subprocess.run(["sh", "-c", command], env=environment, cwd=folder, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def outcome(made: Recipe, folder: Path) -> dict[str, bool]:
    work = folder / "work"
    work.mkdir()
    return {result.name: result.right for result in results(made, dict(os.environ), work, shell)}


def test_a_host_is_built_in_a_copy_and_run_in_each_way(tmp_path: Path) -> None:
    made = recipe(
        tmp_path,
        build=["cp data built"],
        runs={"right": {"command": "cat built", "right": "42"}, "wrong": {"command": "echo 41", "right": "42"}},
    )
    assert outcome(made, tmp_path) == {"ours right": True, "ours wrong": False}
    assert [path.name for path in (tmp_path / "host").iterdir()] == ["data"]


@pytest.mark.parametrize("command", ["echo 42; exit 3", "echo 42 FAILED"])
def test_right_words_are_not_enough(tmp_path: Path, command: str) -> None:
    made = recipe(tmp_path, runs={"run": {"command": command, "right": "42", "wrong": "FAILED"}})
    assert outcome(made, tmp_path) == {"ours run": False}


def test_a_host_that_does_not_build_has_failed(tmp_path: Path) -> None:
    made = recipe(tmp_path, build=["false"], runs={"run": {"command": "echo 42", "right": "42"}})
    assert outcome(made, tmp_path) == {"ours": False}


def test_commands_know_the_folder_of_all_and_the_recipes_variables(tmp_path: Path) -> None:
    runs = {"run": {"command": "cat {hosts}/host/$FILE", "right": "42"}}
    assert outcome(recipe(tmp_path, environment={"FILE": "data"}, runs=runs), tmp_path) == {"ours run": True}


@pytest.mark.parametrize(
    ("said", "words"),
    [({}, "'runs' is missing"), ({"runs": {}, "bulid": []}, "bulid"), ({"runs": {"a": {}}}, "command")],
)
def test_a_recipe_with_a_mistake_is_refused_with_words(tmp_path: Path, said: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        recipe(tmp_path, **said)
