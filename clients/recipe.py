# SPDX-License-Identifier: Apache-2.0
"""Recipes: how programs that know nothing of fpgart are built and run, and which output is right.

A recipe is a TOML file. Its keys:

    repository = "owner/name"             on GitHub; without it, the programs are installed
    commit = "40 hexadecimal digits"
    folders = ["opencl", "make.inc"]      the parts of the repository that are needed (default: all)
    changes = "`-fpermissive`"            what differs from the build that the repository describes
    also = [{repository = "o/n", commit = "...", folders = []}]
    installed = {mpicc = "libopenmpi-dev"}    commands, or files by their path, and the Debian package of each
    drivers = ["fpgart"]                  "engine": runs on the bare engine as well (default: only fpgart)

    [host.NAME]
    folder = "opencl/nw"                  where its commands run
    options = ["--board", "a10_ref"]      of `fpgart run`
    environment = {CXX = "g++ -std=c++14"}
    build = ["make"]
    run.RUN = {command = "bin/host", right = "PASS", wrong = "ERROR", status = 0}

A run is right if it ends with `status` (0) and its output matches the regular expression `right` and not `wrong`. In
commands and variables, {sources} is the folder with the copies of all sources, {fpgart} that of this repository, and
{work} a folder for files, which is empty at first.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DRIVERS = ("fpgart", "engine")


class RecipeError(Exception):
    """A recipe that cannot be used, with a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A commit of a public repository; `folders` are the parts of it that are needed."""

    repository: str
    commit: str
    folders: tuple[str, ...]

    @property
    def folder(self) -> str:
        return self.repository.rpartition("/")[2]

    def commands(self, sources: Path) -> str:
        """Returns the shell commands that fetch it."""
        place = sources / self.folder
        return f"git clone https://github.com/{self.repository} {place} && git -C {place} checkout {self.commit}"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program, and what its output has to be."""

    name: str
    command: str
    right: re.Pattern[str]
    wrong: re.Pattern[str] | None
    status: int

    def is_right(self, status: int, output: str) -> bool:
        excluded = self.wrong is not None and self.wrong.search(output)
        return status == self.status and bool(self.right.search(output)) and not excluded


@dataclass(frozen=True, slots=True)
class Host:
    """A program of a recipe."""

    name: str
    folder: str
    options: tuple[str, ...]
    environment: dict[str, str]
    build: tuple[str, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    sources: tuple[Source, ...]
    changes: str
    installed: dict[str, str]
    drivers: tuple[str, ...]
    hosts: tuple[Host, ...]

    def lacking(self) -> list[str]:
        """Returns a sentence for each program that is not installed."""
        return [
            f"{needed} is not installed (Debian, Ubuntu: apt install {package})"
            for needed, package in self.installed.items()
            if not (Path(needed).exists() if needed.startswith("/") else shutil.which(needed))
        ]


class Table:
    """A table of a recipe. Each method takes a key out of it; `end` refuses those that nothing has taken."""

    def __init__(self, place: str, said: Any) -> None:
        if not isinstance(said, dict):
            raise RecipeError(f"{place} is {said!r} instead of a table")
        self.place, self.rest = place, dict(said)

    def take(self, key: str, what: str, right: Callable[[Any], bool], default: Any) -> Any:
        if key not in self.rest and default is not None:
            return default
        if key not in self.rest:
            raise RecipeError(f"{self.place}: '{key}' is missing")
        value = self.rest.pop(key)
        if not right(value):
            raise RecipeError(f"{self.place}: '{key}' is {value!r} instead of {what}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return str(self.take(key, "a string", lambda value: isinstance(value, str), default))

    def number(self, key: str, default: int) -> int:
        return int(self.take(key, "an integer", lambda value: type(value) is int, default))

    def texts(self, key: str) -> tuple[str, ...]:
        def right(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(word, str) for word in value)

        return tuple(self.take(key, "a list of strings", right, ()))

    def names(self, key: str) -> dict[str, str]:
        def right(value: Any) -> bool:
            return isinstance(value, dict) and all(isinstance(word, str) for word in value.values())

        return dict(self.take(key, "a table of strings", right, {}))

    def tables(self, key: str) -> list[tuple[str, Table]]:
        """Returns the tables within a table, by name; one at least."""
        within = self.take(key, "a table of tables", lambda value: isinstance(value, dict) and bool(value), None)
        return [(name, Table(f"{self.place}: {key}.{name}", said)) for name, said in within.items()]

    def pattern(self, key: str, default: str | None = None) -> re.Pattern[str]:
        text = self.text(key, default)
        try:
            return re.compile(text, re.MULTILINE)
        except re.error as error:
            raise RecipeError(f"{self.place}: '{key}' is not a regular expression: {error}") from None

    def end(self) -> None:
        if self.rest:
            raise RecipeError(f"{self.place}: nothing is called {', '.join(sorted(map(repr, self.rest)))}")


def read(path: Path) -> Recipe:
    """Raises RecipeError."""
    try:
        table = Table(path.name, tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise RecipeError(f"{path.name}: {error}") from None
    sources = (source(table), *also(table)) if "repository" in table.rest else ()
    drivers = table.texts("drivers") or DRIVERS[:1]
    if unknown := set(drivers) - set(DRIVERS):
        raise RecipeError(f"{path.name}: 'drivers' has {', '.join(sorted(unknown))}, not only {' and '.join(DRIVERS)}")
    changes, installed = table.text("changes", ""), table.names("installed")
    hosts = tuple(host(name, said) for name, said in table.tables("host"))
    table.end()
    return Recipe(path.stem, sources, changes, installed, drivers, hosts)


def read_all(folder: Path) -> list[Recipe]:
    """Returns all recipes of a folder, by name. Raises RecipeError."""
    return [read(path) for path in sorted(folder.glob("*.toml"))]


def source(table: Table) -> Source:
    repository, commit = table.text("repository"), table.text("commit")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise RecipeError(f"{table.place}: 'repository' is {repository!r} instead of owner/name")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise RecipeError(f"{table.place}: 'commit' is {commit!r} instead of 40 hexadecimal digits")
    return Source(repository, commit, table.texts("folders"))


def also(table: Table) -> list[Source]:
    found = []
    for said in table.take("also", "a list of tables", lambda value: isinstance(value, list), []):
        other = Table(f"{table.place}: also", said)
        found.append(source(other))
        other.end()
    return found


def host(name: str, table: Table) -> Host:
    made = Host(
        name,
        table.text("folder", "."),
        table.texts("options"),
        table.names("environment"),
        table.texts("build"),
        tuple(run(name, said) for name, said in table.tables("run")),
    )
    table.end()
    return made


def run(name: str, table: Table) -> Run:
    wrong = table.pattern("wrong") if "wrong" in table.rest else None
    made = Run(name, table.text("command"), table.pattern("right"), wrong, table.number("status", 0))
    table.end()
    return made
