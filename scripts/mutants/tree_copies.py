# SPDX-License-Identifier: Apache-2.0
"""Mutants of what tests reach through the driver's library: its C, and the modules behind its entry points.

The processes that a test starts run the mutant, too: it is made in a copy of the tree, which is built again for C. To
find which tests reach a line, they run in other copies, where each block of these files marks a byte of its own in a
file that all processes map.
"""

from __future__ import annotations

import ast
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
import pytest
import sandbox
from copied_tree import CopiedTree

FOLDER = Path("build/mutants").resolve()
MARKS = FOLDER / "marks"
"""One file for each copy in which blocks are marked."""
MARKED = "marked_blocks"
SIZE = 1 << 16
"""The most blocks."""
START_S = 1.0
"""What the tests of a file cost before the first of them."""
C_HEAD = f"extern unsigned char *{MARKED}; "
C = f"""
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char unmapped[{SIZE}];
unsigned char *{MARKED} = unmapped;
__attribute__((constructor)) static void map_marked_blocks(void)
{{
    int file = open("FILE", O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, {SIZE}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        {MARKED} = mapped;
}}
"""
"""A file of core/, which is in each library and program that has C of these."""
PYTHON = f"""
import mmap
import os
try:
    file = os.open("FILE", os.O_RDWR)
    {MARKED} = mmap.mmap(file, {SIZE})
    os.close(file)
except OSError:
    {MARKED} = bytearray({SIZE})
"""


def marked_python(source: str, first: int) -> tuple[str, dict[int, int]]:
    """Returns a module whose blocks mark bytes from `first` on, and the block of each line."""
    tree, blocks, number = ast.parse(source), {}, first
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                begin = node.lineno if isinstance(node, ast.FunctionDef) else body[0].lineno
                blocks.update(dict.fromkeys(range(begin, body[-1].end_lineno + 1), number))
                has_words = isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None
                body.insert(has_words, ast.parse(f"{MARKED}[{number}] = 1").body[0])
                number += 1
    words = [isinstance(each, ast.Expr) or getattr(each, "module", "") == "__future__" for each in tree.body]
    tree.body.insert(words.index(False), ast.parse(f"from fpgart.{MARKED} import {MARKED}").body[0])
    return ast.unparse(tree), blocks


def marked_c(source: str, first: int) -> tuple[str, dict[int, int]]:
    """Returns a C file whose blocks mark bytes from `first` on, and the block of each line; lines stay where they are.

    The file is formatted as clang-format does it.
    """
    lines, blocks, number = source.split("\n"), {}, first
    for at, line in enumerate(lines):
        code, begin = line.strip(), at
        while sum(each.count(")") - each.count("(") for each in lines[begin : at + 1]) > 0:
            begin -= 1
        is_head = code.endswith((") {", "do {", "else {")) and "switch" not in lines[begin]
        if line == "{" or is_head:
            indentation = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
            end = next(after for after in range(at + 1, len(lines)) if lines[after].startswith(indentation + "}"))
            blocks.update(dict.fromkeys(range(at + 2, end + 1), number))  # lines count from 1
            lines[at] += f" {MARKED}[{number}] = 1;"
            number += 1
    return C_HEAD + "\n".join(lines), blocks


def mark(tree: CopiedTree, files: Iterable[Path], marks: Path) -> dict[str, dict[int, int]]:
    """Has the blocks of these files mark bytes in the copy; returns the block of each line of each."""
    tree.make()
    marks.parent.mkdir(exist_ok=True)
    marks.write_bytes(bytes(SIZE))
    for name, text in ((f"fpgart/{MARKED}.py", PYTHON), (f"core/{MARKED}.c", C)):
        (tree.folder / name).write_text(text.replace("FILE", str(marks)))
    found: dict[str, dict[int, int]] = {}
    first = 0
    for file in files:
        text, found[str(file)] = (marked_c if file.suffix == ".c" else marked_python)(file.read_text(), first)
        (tree.folder / file).write_text(text)
        first = max(found[str(file)].values(), default=first - 1) + 1
    assert first <= SIZE
    tree.build()
    return found


@dataclass(eq=False)
class Marking:
    """A pytest plugin: times each test, with the processes that it has waited for, and collects what it has marked."""

    marks: mmap.mmap
    seconds: dict[str, float] = field(default_factory=dict)
    blocks: dict[str, list[int]] = field(default_factory=dict)
    unfit: set[str] = field(default_factory=set)
    """Those that fail or are skipped in this copy."""
    _by_fixture: dict[Any, set[int]] = field(default_factory=dict)
    """What fixtures have marked that are set up once for several tests."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before = self._marked()
        self.marks[:] = bytes(SIZE)
        result = yield
        self._by_fixture.setdefault(fixturedef, set()).update(self._marked())
        for number in before:
            self.marks[number] = 1
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.marks[:] = bytes(SIZE)
        begin = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] = round(sum(os.times()[:4]) - begin, 3)
        fixtures = [each for found in item._fixtureinfo.name2fixturedefs.values() for each in found]
        shared = (self._by_fixture.get(fixture, ()) for fixture in fixtures)
        self.blocks[item.nodeid] = sorted({*self._marked()}.union(*shared))
        return result

    def _marked(self) -> list[int]:
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
    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    """The block of each of their lines."""

    def trees(self) -> Iterator[tuple[CopiedTree, Path]]:
        for number in range(self.number):
            yield CopiedTree(FOLDER / self.name / str(number)), MARKS.with_name(f"marks.{number}")

    def make(self) -> None:
        for tree, _ in self.trees():
            tree.make()

    def mark(self) -> None:
        for tree, marks in self.trees():
            self.lines = mark(tree, self.marked, marks)

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

    def measure_file(self, file: str, without: list[str], kept: Path) -> bool:
        """Runs a test file, but the slow tests; keeps what the tests reached that passed."""
        raw = kept.with_suffix(".raw")
        with self.one() as (tree, marks):
            if not alone(partial(_run_marked, tree, marks, file, without, raw.resolve())):
                return False
        seconds, blocks = json.loads(raw.read_text())
        lines: dict[str, dict[str, list[int]]] = {}
        for test, marked in blocks.items():
            entered = set(marked)
            found = {name: [at for at, block in of.items() if block in entered] for name, of in self.lines.items()}
            lines[test] = {name: at for name, at in found.items() if at}
        covering.keep(kept, file, without, seconds, lines, sorted(map(str, self.marked)))
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


def _run_marked(tree: CopiedTree, marks: Path, file: str, without: list[str], raw: Path) -> bool:
    _enter(tree)
    with marks.open("r+b") as opened:
        marking = Marking(mmap.mmap(opened.fileno(), SIZE))
    options = ["-q", "--tb=short", "-m", "not slow", *sandbox.PLUGINS, *(f"--deselect={name}" for name in without)]
    status = pytest.main([*options, file], plugins=[marking])
    fit = {test: seconds for test, seconds in marking.seconds.items() if test not in marking.unfit}
    raw.write_text(json.dumps([fit, {test: marking.blocks[test] for test in fit}]))
    return status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


def _run_chosen(tree: CopiedTree, chosen: dict[str, float]) -> bool:
    _enter(tree)
    return sandbox.passes(chosen)
