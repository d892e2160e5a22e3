# SPDX-License-Identifier: Apache-2.0
"""Public hosts for FPGA and DSP boards, built and run as they are (FPGA_HOSTS=folder make clients).

The folder has the sources, a folder for each repository, and beside them a recipe for each host, a JSON file:

    {
      "folder": "stream/host",                        the part of the sources that it is about
      "options": ["--board", "usm_s10"],              of `fpgart run`, under which all commands run
      "environment": {"CXX": "g++ -std=c++14"},       beside that
      "build": ["make ALTERA=1", "aoc kernel.cl"],    shell commands, within that folder
      "runs": {"STREAM": {"command": "bin/host -n 1", "right": "Validation: SUCCESS"}}
    }

A run is right if it ends with status 0 and its output has what the regular expression `right` finds, and not what
`wrong` finds. Commands work on a copy of the sources. "{hosts}" in a command or a variable is the folder of all.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Environment = dict[str, str]
Shell = Callable[[Environment, Path, str], tuple[int, str]]
"""Runs a command in a folder; gives status and output."""


class RecipeError(Exception):
    """A recipe that cannot be used; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a host, and what its output has to say. An empty `wrong` excludes nothing."""

    name: str
    command: str
    right: re.Pattern[str]
    wrong: re.Pattern[str] | None = None

    def is_right(self, status: int, output: str) -> bool:
        return status == 0 and bool(self.right.search(output)) and not (self.wrong and self.wrong.search(output))


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a host is built and run."""

    name: str
    folder: Path
    runs: tuple[Run, ...]
    build: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: Environment = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one run; `words` are the end of its output, or of the build's that failed."""

    name: str
    right: bool
    words: str


KEYS = {"folder", "options", "environment", "build", "runs"}


def read(path: Path) -> Recipe:
    """Raises RecipeError."""
    hosts = path.parent

    def placed(text: str) -> str:
        return text.replace("{hosts}", str(hosts))

    try:
        said: dict[str, Any] = json.loads(path.read_text())
        if unknown := said.keys() - KEYS:
            raise RecipeError(f"{path}: {', '.join(sorted(unknown))} is none of {', '.join(sorted(KEYS))}")
        runs = tuple(
            Run(
                name,
                placed(run["command"]),
                re.compile(run["right"]),
                re.compile(run["wrong"]) if "wrong" in run else None,
            )
            for name, run in said["runs"].items()
        )
        return Recipe(
            path.stem,
            hosts / said["folder"],
            runs,
            tuple(map(placed, said.get("build", ()))),
            tuple(map(placed, said.get("options", ()))),
            {name: placed(value) for name, value in said.get("environment", {}).items()},
        )
    except (ValueError, TypeError, AttributeError, re.error) as error:
        raise RecipeError(f"{path}: {error}") from None
    except KeyError as error:
        raise RecipeError(f"{path}: {error} is missing") from None


def recipes(hosts: Path) -> list[Recipe]:
    """All in a folder, by name. Raises RecipeError."""
    return [read(path) for path in sorted(hosts.glob("*.json"))]


def results(recipe: Recipe, environment: Environment, work: Path, shell: Shell) -> Iterator[Result]:
    """Build a copy of a host in the folder `work`, and run it in each way."""
    sources = work / recipe.name
    if not recipe.folder.is_dir():
        yield Result(recipe.name, False, f"{recipe.folder} is not a folder")
        return
    shutil.copytree(recipe.folder, sources, symlinks=True)
    surroundings = environment | recipe.environment
    for command in recipe.build:
        status, output = shell(surroundings, sources, command)
        if status:
            yield Result(recipe.name, False, f"`{command}` ended with status {status}\n{output}")
            return
    for run in recipe.runs:
        status, output = shell(surroundings, sources, run.command)
        yield Result(f"{recipe.name} {run.name}", run.is_right(status, output), f"status {status}\n{output}")
