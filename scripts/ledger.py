# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests of a statement fail if the statement does not hold: `make ledger`.

    breaks = ["fpgart/api/usm.py", "alignment > LARGEST_ALIGNMENT", "False"]

in docs/descriptions/*.toml is a change of the driver that breaks a statement: a file, a text that it has once, and
its replacement. `unbroken = "reason"` says why there is no such change. Each change is made in a copy of the tree
(build/ledger), so every process of the tests has it, and the tree itself stays as it is; after a change in icd/ or
core/ the copy is built again. A statement is shown if one of its tests fails. Without any change all of them have to
pass.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import generate_descriptions as descriptions
from copied_tree import CopiedTree
from generate_descriptions import ROOT, Breaks, Statement

FOLDER = ROOT / "build" / "ledger"
COPY = CopiedTree(FOLDER / "tree")
RUNNER = "conformance/test_c_programs.py"
"""Has the tests that run the programs in conformance/c."""
MEMORY_OBJECTS = "conformance/sycl_"
"""Begins the names of the files that conformance/test_sycl.py runs, each in a process of its own."""
PASSED, FAILED = 0, 1
"""Exit statuses of pytest."""
NOTICED = "noticed"


def runnable(reference: str) -> list[str]:
    """Returns the tests that pytest runs for a test of a statement: for a C function, those that run its program."""
    name, _, _ = reference.partition("::")
    if not name.endswith(".c"):
        return [reference]
    text, program = (ROOT / RUNNER).read_text(), f'run("{Path(name).stem}"'
    tests = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return [f"{RUNNER}::{test.name}" for test in tests if program in (ast.get_source_segment(text, test) or "")]


def runs(tests: Sequence[str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yields pytest's arguments and variables, for each folder, and for each file of MEMORY_OBJECTS.

    The tests in such a file run on boards and on PoCL, whose device has images.
    """
    for folder in ("tests/", "conformance/"):
        chosen = [test for test in tests if test.startswith(folder) and not test.startswith(MEMORY_OBJECTS)]
        if chosen:
            yield [*dict.fromkeys(chosen)], {}
    for file in sorted({test.partition("::")[0] for test in tests if test.startswith(MEMORY_OBJECTS)}):
        names = {test.rpartition("::")[2] for test in tests if test.startswith(f"{file}::")}
        within = {"PYTEST_ADDOPTS": f"-p scripts.unshrunk -k '{' or '.join(sorted(names))}'"}
        for driver in ("fpgart", "pocl"):
            yield ["conformance/test_sycl.py", "--driver", driver, "-k", Path(file).stem], within


def run(tests: Sequence[str]) -> int:
    """Runs tests in the copy, in this order but those of each folder by themselves; the first exit status but 0."""
    plugins = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "scripts.unshrunk"]
    for arguments, more in runs(tests):
        command = [sys.executable, "-m", "pytest", "-q", "-x", *plugins, *arguments]
        environment = {**COPY.environment(), **more}
        with (FOLDER / "output").open("w") as output:
            status = subprocess.run(
                command, cwd=COPY.folder, env=environment, stdout=output, stderr=output, check=False
            )
        if status.returncode != PASSED:
            return status.returncode
    return PASSED


def tests_of(statements: Iterable[Statement]) -> list[str]:
    return [each for statement in statements for test in statement.tests for each in runnable(test)]


def try_each(statements: list[Statement]) -> int:
    """Breaks each statement that says how; returns how many the tests do not notice.

    A process that a signal has ended has noticed, too. Statements with the same change and tests are tried once.
    """
    known: dict[tuple[Breaks, tuple[str, ...]], str] = {}
    for statement in statements:
        assert statement.breaks is not None
        tests = tuple(tests_of([statement]))
        if (statement.breaks, tests) not in known:
            breaks = statement.breaks
            whole = (ROOT / breaks.file).read_text()
            with COPY.changed(breaks.file, whole.replace(breaks.before, breaks.after)):
                known[breaks, tests] = outcome(run(tests))
        print(f"{statement.identifier}: {known[statement.breaks, tests]}", flush=True)
    return sum(known[s.breaks, tuple(tests_of([s]))] != NOTICED for s in statements if s.breaks is not None)


def outcome(status: int) -> str:
    """Returns the result of a statement by the exit status of pytest."""
    if status == FAILED or status < 0:
        return NOTICED
    return "NOT NOTICED" if status == PASSED else f"pytest ended with {status}"


def is_asked_for(identifier: str, only: list[str]) -> bool:
    """True if a statement, its group or its description is named, or none is."""
    return not only or any(f"{identifier}.".startswith(f"{name}.") for name in only)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="descriptions, groups or statements: 001 003.fill 000.write.9")
    only = parser.parse_args().only
    asked = [s for each in descriptions.read() for s in each.statements if is_asked_for(s.identifier, only)]
    breakable = [statement for statement in asked if statement.breaks is not None]
    explained = sum(bool(statement.unbroken) for statement in asked)
    COPY.make()
    if (status := run(tests_of(breakable))) != PASSED:
        raise SystemExit(f"the tests fail in a copy without any change, with {status}: see {FOLDER / 'output'}")
    unnoticed = try_each(breakable)
    unseen = sum(not statement.tests for statement in asked)
    noticed = len(breakable) - unnoticed
    print(
        f"{len(asked)} statements: {noticed} noticed, {unnoticed} not, {explained} explained, {unseen} without a test"
    )
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
