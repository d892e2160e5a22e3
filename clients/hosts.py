# SPDX-License-Identifier: Apache-2.0
"""Programs that recipes describe, as clients: built in copies of their sources, and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from client import ROOT, Client, Environment, Missing, Outcome, one, run, together
from recipe import Host, Recipe, Source

PATIENCE_OF_A_COMMAND_S = 600


def client_of(recipe: Recipe, sources: Path) -> Client:
    """Returns the client of a recipe. `sources`: the folder with a git repository for each source."""

    def run_hosts(environment: Environment, folder: Path) -> Outcome:
        if lacking := [*recipe.lacking(), *absent(recipe, sources)]:
            raise Missing("; ".join(lacking))
        copies = folder / "sources"
        copies.mkdir()
        for source in recipe.sources:
            copy(source, sources, copies)
        return together(outcome(recipe, host, environment, copies) for host in recipe.hosts)

    return Client(
        recipe.name, run_hosts, programs_of(recipe), source_of(recipe), recipe.changes, "engine" in recipe.drivers
    )


def programs_of(recipe: Recipe) -> str:
    return ", ".join(host.name for host in recipe.hosts)


def source_of(recipe: Recipe) -> str:
    if not recipe.sources:
        return ", ".join(dict.fromkeys(recipe.installed.values())) or "this repository"
    first = recipe.sources[0]
    return f"{first.repository} {first.commit[:7]}"


def absent(recipe: Recipe, sources: Path) -> list[str]:
    """Returns, for each commit that is not in the folder, the commands that fetch it."""
    return [
        f"{source.repository} {source.commit[:7]} is not in {sources}: {source.commands(sources)}"
        for source in recipe.sources
        if not git(sources / source.folder, "cat-file", "-e", f"{source.commit}^{{commit}}")
    ]


def git(folder: Path, *words: str) -> bool:
    """True if a command of git's succeeds. Raises Missing if git is not installed."""
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True).returncode == 0
    except FileNotFoundError:
        raise Missing("git is not installed (Debian, Ubuntu: apt install git)") from None


def copy(source: Source, sources: Path, copies: Path) -> None:
    """Checks the parts that are needed out into a repository beside the original, which stays as it is."""
    place = copies / source.folder
    original = str((sources / source.folder).resolve())
    made = git(sources, "clone", "--quiet", "--shared", "--no-checkout", original, str(place.resolve()))
    if not made or not git(place, "checkout", "--quiet", source.commit, "--", *(source.folders or ["."])):
        raise Missing(f"{original} has commit {source.commit} of {source.repository}, but not all of its files")


def outcome(recipe: Recipe, host: Host, environment: Environment, copies: Path) -> Outcome:
    """Builds a host and runs it in each way."""
    place = copies / (recipe.sources[0].folder if recipe.sources else recipe.name) / host.folder
    if not recipe.sources:
        place.mkdir(parents=True)
    if not place.is_dir():
        return one(host.name, False, f"the repository has no folder {host.folder}")
    work = copies / f"work {host.name}".replace(" ", "-")
    work.mkdir()

    def placed(text: str) -> str:
        return text.replace("{sources}", str(copies)).replace("{fpgart}", str(ROOT)).replace("{work}", str(work))

    # Only fpgart's environment names it; on other drivers there are no boards and no SDK.
    fpgart = [sys.executable, "-m", "fpgart.cli", "run", *map(placed, host.options), "--"]
    before = fpgart if "FPGART_ONLY" in environment else []
    surroundings = environment | {name: placed(value) for name, value in host.environment.items()}

    def shell(command: str) -> tuple[int, str]:
        words = [*before, "sh", "-c", placed(command)]
        return run(surroundings, place, *words, patience=PATIENCE_OF_A_COMMAND_S)

    for command in host.build:
        status, output = shell(command)
        if status:
            return one(f"{host.name}: build", False, f"`{command}` ended with status {status}\n{output}")
    found = []
    for each in host.runs:
        status, output = shell(each.command)
        found.append(one(f"{host.name} {each.name}", each.is_right(status, output), f"status {status}\n{output}"))
    return together(found)
