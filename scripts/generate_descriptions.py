# SPDX-License-Identifier: Apache-2.0
"""Write docs/descriptions.md from the statements in docs/descriptions/*.toml.

python scripts/generate_descriptions.py [--check]

A statement has an identifier (file.group.number), `says`, and one of
    holds = [tests]                   each `file::function`, `file::Class::function` or `file.c::function`;
                                      `::words` behind a C function name the case
    deviates = "row of docs/fidelity.md"   with `tests` that show what happens instead, where there are some
    not_modelled = "reason"
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found, no-redef]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "descriptions"
TARGET = ROOT / "docs" / "descriptions.md"
FIDELITY = ROOT / "docs" / "fidelity.md"
STATES = {"holds": "holds", "deviates": "deviates", "not_modelled": "not modelled"}
ANCHOR = re.compile(r'^\| <a id="([a-z0-9-]+)"></a>', re.MULTILINE)
HEAD = """# The descriptions, statement by statement

Made by scripts/generate_descriptions.py from [descriptions/](descriptions); do not edit.

fpgart models what five public documents describe. Here is every statement that they make about behaviour, in our
words: whether it holds, with the tests that show it; where fpgart deviates, with the row of
[fidelity.md](fidelity.md) that says why; or that it is not modelled, and why not. The documents' own names for things
are in the [glossary](glossary.md). tests/test_descriptions.py sees to it that each test and each row is there.

"""


class StatementError(Exception):
    """A statement that is not written as it has to be."""


@dataclass(frozen=True)
class Statement:
    """What a description says, and what is so here."""

    identifier: str
    says: str
    state: str
    tests: tuple[str, ...] = ()
    row: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Description:
    """A document and its statements."""

    number: str
    title: str
    statements: tuple[Statement, ...]

    def count(self, state: str) -> int:
        return sum(statement.state == state for statement in self.statements)


# Reading


def statement_of(identifier: str, fields: dict[str, Any]) -> Statement:
    """Raises StatementError for a statement without words or without one state."""
    states = [state for state in STATES if state in fields]
    if len(states) != 1:
        raise StatementError(f"{identifier}: has {len(states)} of {', '.join(STATES)} instead of one")
    (state,) = states
    unknown = set(fields) - {"says", "tests", state}
    if unknown or not str(fields.get("says", "")).strip():
        raise StatementError(f"{identifier}: lacks `says`, or has unknown fields {sorted(unknown)}")
    tests = tuple(fields["holds"] if state == "holds" else fields.get("tests", ()))
    if state == "holds" and not tests:
        raise StatementError(f"{identifier}: no test shows that it holds")
    row = fields["deviates"] if state == "deviates" else ""
    reason = fields["not_modelled"] if state == "not_modelled" else ""
    return Statement(identifier, fields["says"], state, tests, row, reason)


def statements_of(number: str, groups: dict[str, Any]) -> Iterator[Statement]:
    """Raises StatementError where a group's statements are not numbered from 1 without gaps, in that order."""
    for group, members in groups.items():
        for expected, (index, fields) in enumerate(members.items(), 1):
            identifier = f"{number}.{group}.{index}"
            if index != str(expected):
                raise StatementError(f"{identifier}: is number {expected} of its group")
            yield statement_of(identifier, fields)


def read() -> list[Description]:
    """All descriptions, in the order of their numbers. Raises StatementError."""
    found = []
    for file in sorted(FOLDER.glob("*.toml")):
        groups = tomllib.loads(file.read_text())
        title = groups.pop("title")
        found.append(Description(file.stem, title, tuple(statements_of(file.stem, groups))))
    return found


# What statements refer to


@functools.cache
def functions_of(file: Path) -> frozenset[str]:
    """What can be named behind a file's `::`: tests of a Python file, functions of a C file."""
    text = file.read_text()
    if file.suffix == ".c":
        return frozenset(re.findall(r"^[a-z][\w *]*?\b(\w+)\([^;]*?\)\n\{", text, re.MULTILINE))
    names: set[str] = set()
    for node in ast.parse(text).body:
        names |= names_in(node)
    return frozenset(names)


def names_in(node: ast.stmt) -> set[str]:
    """Tests that a statement of a module defines; hypothesis makes its state machines tests by an assignment."""
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
        return {node.name}
    if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
        return {f"{node.name}::{name}" for member in node.body for name in names_in(member)}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name) and target.id.startswith("Test")}
    return set()


def missing(reference: str) -> str | None:
    """Why a test that a statement refers to is none, or None if it is there."""
    name, _, function = reference.partition("::")
    file = ROOT / name
    if not file.is_file():
        return f"there is no {name}"
    function, _, words = function.partition("::") if file.suffix == ".c" else (function, "", "")
    if function not in functions_of(file):
        return f"{name} has no {function}"
    if words and f'"{words}"' not in file.read_text():
        return f'{name} has no case "{words}"'
    return None


def rows_of_fidelity() -> list[str]:
    """Identifiers of rows in docs/fidelity.md."""
    return ANCHOR.findall(FIDELITY.read_text())


# Writing


def link(reference: str) -> str:
    name, _, function = reference.partition("::")
    shown = function.replace("::", ": ") if name.endswith(".c") else function.rpartition("::")[2]
    return f"[{Path(name).name}: {shown}](../{name})" if name.endswith(".c") else f"[{shown}](../{name})"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def explained(statement: Statement) -> str:
    """What stands beside a statement's state."""
    parts = [link(reference) for reference in statement.tests]
    if statement.row:
        parts.insert(0, f"[{statement.row}](fidelity.md#{statement.row})")
    if statement.reason:
        parts.insert(0, cell(statement.reason))
    return ", ".join(parts)


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def counts(descriptions: list[Description]) -> Iterator[str]:
    yield row("description", "statements", "hold", "deviate", "not modelled")
    yield row(*["---"] * 5)
    for each in descriptions:
        named = f"[{each.number}](#{each.number}) {each.title}"
        yield row(named, len(each.statements), *(each.count(state) for state in STATES))
    total = [sum(each.count(state) for each in descriptions) for state in STATES]
    yield row("all", sum(total), *total)


def page(descriptions: list[Description]) -> str:
    lines = [*counts(descriptions)]
    for each in descriptions:
        lines += ["", f'<a id="{each.number}"></a>', "", f"## {each.number}: {each.title}", ""]
        lines += [row("", "statement", "state", "shown by, or why"), row(*["---"] * 4)]
        lines += [row(s.identifier, cell(s.says), STATES[s.state], explained(s)) for s in each.statements]
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    made = page(read())
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text() != made)
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
