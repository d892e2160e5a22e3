# SPDX-License-Identifier: Apache-2.0
"""Each `fpgart` command that the documentation shows has a command, options and names of boards that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fpgart.board.catalogue import shipped
from fpgart.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")])
CODE = re.compile(r"^ {4}(.*)$|`([^`\n]+)`", re.MULTILINE)
CALL = re.compile(r"(?:^|[;&|\s]|\$\()fpgart +([a-z-](?:[^;|&)\n]|&(?=&))*)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
"""Output and directives; commands are indented."""
NO_CALL = re.compile(r"\bfrom fpgart import|\w: ")
"""Code of Python, and words about a command."""
OTHERS_TOOLS = frozenset(("aoc", "aocl", "clocl"))
"""Commands with options in the form of others."""
OF_THE_USER = ("", "BOARD", "NAME", "p520", "PATH")
"""Names of boards that stand for the reader's own."""


def commands(text: str) -> Iterator[str]:
    """Yields the words behind `fpgart` in code, up to the end of the shell's command."""
    for found in CODE.finditer(FENCED.sub("", text)):
        line = (found[1] or found[2] or "").partition(" #")[0]
        for call in CALL.finditer(line) if not NO_CALL.search(line) and not line.startswith("#") else ():
            yield call[1].strip()


def fault_of(call: str) -> str:
    """Why the command line would be refused; "" where it would not."""
    try:
        words = shlex.split(call.replace("...", ""))
    except ValueError:  # a quotation that goes on in the next line
        words = call.split()
    command: click.Command | None = cli
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.get_command(click.Context(command), name)
        if command is None:
            return f"there is no command {name}"
    if command.name in OTHERS_TOOLS:
        return ""
    options = {spelt: option for option in command.params if isinstance(option, click.Option) for spelt in option.opts}
    options |= dict.fromkeys(("-h", "--help", "--version", "-V"))
    for index, word in enumerate(words):
        if word == "--" or (command.name == "run" and not _is_value(words, index, options) and word[0] != "-"):
            break
        name, _, value = word.partition("=")
        if name.startswith("-") and name not in options:
            return f"{command.name} has no option {name}"
        if name == "--board":
            boards = (value or " ".join(words[index + 1 : index + 2])).split(",")
            wrong = [each for each in boards if each not in shipped() and each not in OF_THE_USER and "/" not in each]
            if wrong and not any("." in each or "$" in each or "<" in each for each in wrong):
                return f"there is no board {wrong[0]}"
    return ""


def _is_value(words: list[str], index: int, options: dict[str, click.Option | None]) -> bool:
    option = options.get(words[index - 1]) if index else None
    return option is not None and not option.is_flag


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_commands_of_the_documentation_are_valid(page: Path) -> None:
    faults = {call: fault for call in commands(page.read_text()) if (fault := fault_of(call))}
    assert faults == {}


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("run --board a10_ref -- ./host --its-own", ""),
        ("run --board a10_rev -- ./host", "there is no board a10_rev"),
        ("run --traces t.json -- ./host", "run has no option --traces"),
        ("reports t.json", "there is no command reports"),
        ("board serve --bord usm_s10", "serve has no option --bord"),
    ],
)
def test_what_would_be_refused_is_found(call: str, fault: str) -> None:
    assert fault_of(call) == fault


def test_there_are_commands_to_look_at() -> None:
    assert sum(len(list(commands(page.read_text()))) for page in PAGES) > 150
