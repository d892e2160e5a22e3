# SPDX-License-Identifier: Apache-2.0
"""Mutants in copies of the tree, which are built again for C: the processes that a test starts run them, too.

To find which tests reach a line, they run in other copies, where each block marks a byte of its own in a file that all
processes map.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import covering
import marking
import pytest
import sandbox
from copied_tree import CopiedTree

FOLDER = Path("build/mutants").resolve()
MARKS = FOLDER / "marks"
"""One file for each copy in which blocks are marked."""
START_S = 1.0
"""What the tests of a file cost before the first of them."""


def mark(tree: CopiedTree, files: Iterable[Path], marks: Path) -> dict[str, int]:
    """Has the blocks of these files mark bytes in the copy; returns the number of the first block of each."""
    tree.make()
    marks.parent.mkdir(exist_ok=True)
    marks.write_bytes(bytes(2 * marking.SIZE))
    for name, text in ((f"fpgart/{marking.MARKED}.py", marking.PYTHON), (f"core/{marking.MARKED}.c", marking.C)):
        (tree.folder / name).write_text(text.replace("FILE", str(marks)))
    first_blocks: dict[str, int] = {}
    number = 0
    for file in files:
        first_blocks[str(file)] = number
        text, blocks = marking.marked(str(file), file.read_text(), number)
        (tree.folder / file).write_text(text)
        number = max(blocks.values(), default=number - 1) + 1
    assert number <= marking.SIZE
    tree.build()
    return first_blocks


@dataclass(eq=False)
class Marking:
    """A pytest plugin: times each test, with the processes that it has waited for, and collects what it has marked."""

    marks: mmap.mmap
    seconds: dict[str, float] = field(default_factory=dict)
    marked: dict[str, list[int]] = field(default_factory=dict)
    unfit: set[str] = field(default_factory=set)
    """Those that fail or are skipped in this copy."""
    _by_fixture: dict[Any, set[int]] = field(default_factory=dict)
    """What fixtures have marked that are set up once for several tests."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._marks()
        self._clear()
        result = yield
        self._by_fixture.setdefault(fixturedef, set()).update(self._marks())
        for number in before:
            self.marks[number] = 1
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._clear()
        begin = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] = round(sum(os.times()[:4]) - begin, 3)
        fixtures = [each for found in item._fixtureinfo.name2fixturedefs.values() for each in found]
        shared = (self._by_fixture.get(fixture, ()) for fixture in fixtures)
        self.marked[item.nodeid] = sorted({*self._marks()}.union(*shared))
        return result

    def _clear(self) -> None:
        self.marks[:] = bytes(2 * marking.SIZE)

    def _marks(self) -> list[int]:
        return [number for number, mark in enumerate(self.marks[:]) if mark]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.unfit.add(report.nodeid)


@dataclass
class Copies:
    """Copies of the tree, one for each process that works at the same time."""

    name: str
    number: int
    marked: list[Path] = field(default_factory=list)
    """The files whose blocks are to be marked."""
    first_blocks: dict[str, int] = field(default_factory=dict)
    """The number of the first block of each."""

    def trees(self) -> Iterator[tuple[CopiedTree, Path]]:
        for number in range(self.number):
            yield CopiedTree(FOLDER / self.name / str(number)), MARKS.with_name(f"marks.{number}")

    def make(self) -> None:
        for tree, _ in self.trees():
            tree.make()

    def mark(self) -> None:
        for tree, marks in self.trees():
            self.first_blocks = mark(tree, self.marked, marks)

    @contextlib.contextmanager
    def one(self) -> Iterator[tuple[CopiedTree, Path]]:
        """A copy that no other process works in, until the context ends."""
        with contextlib.ExitStack() as stack:
            for tree, marks in self.trees():
                lock = stack.enter_context(open(f"{tree.folder}.lock", "w"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield tree, marks
                return
            raise RuntimeError("all copies are in use")

    def measure_file(self, file: str, kept: Path) -> bool:
        """Runs a test file, but the slow tests; keeps what the tests entered that passed."""
        raw = kept.with_suffix(".raw")
        with self.one() as (tree, marks):
            if not alone(partial(_run_marked, tree, marks, file, raw.resolve())):
                return False
        seconds, marked = json.loads(raw.read_text())
        entered = {test: {number % marking.SIZE for number in numbers} for test, numbers in marked.items()}
        inside = [test for test, numbers in marked.items() if all(number >= marking.SIZE for number in numbers)]
        covering.keep(kept, file, seconds, entered, inside, self.first_blocks)
        return True

    def passes(self, path: Path, code: str, tests: dict[str, float]) -> bool:
        """Runs tests in a copy where a file has other contents; raises Refused where the compiler does not take it."""
        with self.one() as (tree, _), contextlib.ExitStack() as stack:
            try:
                stack.enter_context(tree.changed(str(path), code))
            except subprocess.CalledProcessError as error:
                raise sandbox.Refused from error
            files = sorted(sandbox.by_file(tests), key=partial(_rank, path))
            return all(alone(partial(_run_chosen, tree, chosen)) for chosen in files)


def _rank(path: Path, tests: dict[str, float]) -> tuple[bool, float]:
    """Sorts files of tests for a mutant: those of its room come first, then those with most tests for their time."""
    room = path.parts[1] if path.parts[0] == "fpgart" else path.parts[0]
    is_strange = not sandbox.file_of(tests).startswith(f"tests/{room}/")
    return is_strange, (START_S + sum(tests.values())) / len(tests)


def alone(work: Any) -> bool:
    """Does some work in a child, with the output of this process."""
    ((_, status),) = sandbox.each(iter([(None, sandbox.fork(work, Path("/dev/stdout"), leads=False))]), 1)
    return status == 0


def _enter(tree: CopiedTree) -> None:
    """Makes the tests of this process, and of those that it starts, those of a copy."""
    os.chdir(tree.folder)
    sys.path.insert(0, str(tree.folder))
    os.environ.update(tree.environment())
    if os.environ.get("FPGART_TEST_SCHEDULES") == sandbox.FEW_SCHEDULES:  # those of C are quick
        del os.environ["FPGART_TEST_SCHEDULES"]


def _run_marked(tree: CopiedTree, marks: Path, file: str, raw: Path) -> bool:
    _enter(tree)
    os.environ[marking.TESTING] = str(os.getpid())
    with marks.open("r+b") as opened:
        plugin = Marking(mmap.mmap(opened.fileno(), 2 * marking.SIZE))
    status = pytest.main(["-q", "--tb=short", "-m", "not slow", *sandbox.PLUGINS, file], plugins=[plugin])
    fit = {test: seconds for test, seconds in plugin.seconds.items() if test not in plugin.unfit}
    raw.write_text(json.dumps([fit, {test: plugin.marked[test] for test in fit}]))
    return status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


def _run_chosen(tree: CopiedTree, chosen: dict[str, float]) -> bool:
    _enter(tree)
    return sandbox.passes(chosen)
