# SPDX-License-Identifier: Apache-2.0
"""Whether the tests that a statement names fail when the statement no longer holds: `make ledger`.

    breaks = ["fpgart/api/usm.py", "alignment > LARGEST_ALIGNMENT", "False"]

in docs/descriptions/*.toml says which change of the driver's Python breaks a statement: a file, a text that it has
once, and what takes its place. `unbroken = "reason"` says why there is no such change. Each change is made in a copy of
the tree (build/ledger), so every process of the tests has it, and the tree itself stays as it is. A statement is shown
if one of its tests fails. Without any change all of them have to pass.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import generate_descriptions as descriptions
from generate_descriptions import ROOT, Breaks, Statement

FOLDER = ROOT / "build" / "ledger"
COPY = FOLDER / "tree"
RUNNER = "conformance/test_c_programs.py"
"""Has the tests that run the programs in conformance/c."""
PASSED, FAILED = 0, 1
"""Exit statuses of pytest."""


def make_copy() -> None:
    """The files that git has, and what was built from them."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    built = [path for path in (ROOT / "fpgart").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in {*(ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name), *built}:
        target = COPY / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copy2(path, target)


@contextmanager
def broken(breaks: Breaks) -> Iterator[None]:
    """The copy, with one text of a file exchanged."""
    target = COPY / breaks.file
    whole = target.read_text()
    target.write_text(whole.replace(breaks.before, breaks.after))
    try:
        yield
    finally:
        target.write_text(whole)


def runnable(reference: str) -> list[str]:
    """What pytest runs for a test that a statement names: for a C function the tests that run its program."""
    name, _, _ = reference.partition("::")
    if not name.endswith(".c"):
        return [reference]
    text, program = (ROOT / RUNNER).read_text(), f'build("{Path(name).stem}")'
    tests = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return [f"{RUNNER}::{test.name}" for test in tests if program in (ast.get_source_segment(text, test) or "")]


def run(tests: Iterable[str]) -> int:
    """Run tests in the copy, those of each folder by themselves; the first exit status that is not 0."""
    for folder in ("tests", "conformance"):
        chosen = sorted({test for test in tests if test.startswith(f"{folder}/")})
        if not chosen:
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *chosen]
        environment = {**os.environ, "PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1"}
        with (FOLDER / "output").open("w") as output:
            status = subprocess.run(command, cwd=COPY, env=environment, stdout=output, stderr=output, check=False)
        if status.returncode != PASSED:
            return status.returncode
    return PASSED


def tests_of(statements: Iterable[Statement]) -> list[str]:
    return [each for statement in statements for test in statement.tests for each in runnable(test)]


def try_each(statements: list[Statement]) -> int:
    """Break each statement that says how; returns how many the tests do not notice."""
    unnoticed = 0
    for statement in statements:
        assert statement.breaks is not None
        with broken(statement.breaks):
            status = run(tests_of([statement]))
        if status not in (PASSED, FAILED):
            raise SystemExit(f"{statement.identifier}: pytest ended with {status}: see {FOLDER / 'output'}")
        print(f"{statement.identifier}: {'noticed' if status == FAILED else 'NOT NOTICED'}", flush=True)
        unnoticed += status == PASSED
    return unnoticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="beginnings of identifiers, such as 003.fill")
    only = tuple(parser.parse_args().only)
    asked = [s for each in descriptions.read() for s in each.statements if s.identifier.startswith(only or "")]
    breakable = [statement for statement in asked if statement.breaks is not None]
    explained = sum(bool(statement.unbroken) for statement in asked)
    make_copy()
    if (status := run(tests_of(breakable))) != PASSED:
        raise SystemExit(f"the tests fail in a copy without any change, with {status}: see {FOLDER / 'output'}")
    unnoticed = try_each(breakable)
    rest = len(asked) - len(breakable) - explained
    noticed = len(breakable) - unnoticed
    print(f"{len(asked)} statements: {noticed} noticed, {unnoticed} not, {explained} explained, {rest} not tried")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
