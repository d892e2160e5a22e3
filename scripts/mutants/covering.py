# SPDX-License-Identifier: Apache-2.0
"""The lines that each test reaches, and its duration; kept from run to run, by test file.

A test file is measured again when it has changed, or what it shares with others. When only the driver has changed, the
lines of the old text are looked up in the new one: measuring takes longer than most runs.
"""

from __future__ import annotations

import _thread
import contextlib
import difflib
import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sandbox

TEXTS = "texts"
"""The folder of the driver's files as they were measured, by their digests."""
Run = Callable[[str, list[str], Path], bool]
"""Runs a test file without some of its tests, and keeps what it reached in another file; False if it cannot."""


class Covering:
    """The reach of tests: `lines` by test and source file, and `seconds` of the processor by test."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int], set[str]] = {}
        self._reach: dict[str, set[str]] = {}
        self._importers: dict[str, set[str]] = {}
        self._changed: dict[str, set[int]] = {}
        """The lines of files that are others than when their tests were measured."""
        self._places_now = cache(places_now)

    def add(self, measured: dict[str, Any], texts: Path) -> None:
        """Adds what the tests of a file reached, whose sources were in the folder `texts`."""
        self.seconds |= measured["seconds"]
        now = {file: self._places_now(Path(file), texts / digest) for file, digest in measured["ran"].items()}
        for file, places in now.items():
            if places is not None:
                self._changed.setdefault(file, set()).update(places.changed)
        for test, files in measured["lines"].items():
            for file, lines in files.items():
                self._reach.setdefault(file, set()).add(test)
                places = now[file]
                for line in lines:
                    for place in (line,) if places is None else places.of.get(line, ()):
                        self._tests.setdefault((file, place), set()).add(test)

    def tests_of(self, file: str, first: int, last: int, *, importing: bool) -> dict[str, float]:
        """Returns the tests that reach lines of a file, the shortest first.

        For what its import runs (`importing`): all that reach the file, or stand in a test file that imports from it,
        because defaults and constants are read without reaching a line. For lines that are new since the tests were
        measured, and not beside any that a test reached: all that reach the file.
        """
        found = set(self._reach.get(file, ())) | self._importing(file) if importing else set()
        for line in range(first, last + 1):
            found |= self._tests.get((file, line), set())
        if not found and not self._changed.get(file, set()).isdisjoint(range(first, last + 1)):
            found = set(self._reach.get(file, ()))
        return {test: self.seconds[test] for test in sorted(found, key=lambda test: (self.seconds[test], test))}

    def _importing(self, file: str) -> set[str]:
        if file not in self._importers:
            package, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
            words = re.compile(rf"^from {package}(\.{name} import | import .*\b{name}\b)", re.MULTILINE)
            named = {test.split("::")[0] for test in self.seconds}
            self._importers[file] = {test_file for test_file in named if words.search(Path(test_file).read_text())}
        return {test for test in self.seconds if test.split("::")[0] in self._importers[file]}


class Places:
    """Where the lines of a text are in another: `of` each line, and the lines there that are `changed`."""

    def __init__(self, before: str, after: str) -> None:
        self.of: dict[int, list[int]] = {}
        self.changed: set[int] = set()
        matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
        for tag, begin, end, new_begin, new_end in matcher.get_opcodes():
            new = range(new_begin + 1, new_end + 1)  # lines count from 1
            if tag == "equal":
                for line, place in zip(range(begin + 1, end + 1), new, strict=True):
                    self.of.setdefault(line, []).append(place)
            else:  # new lines have the tests of those that they replace, and of the neighbours
                self.changed.update(new)
                for line in range(begin, end + 2):
                    self.of.setdefault(line, []).extend(new)


def places_now(file: Path, before: Path) -> Places | None:
    """Returns where the lines are that a file had before; None if it has not changed."""
    old, new = before.read_text(), file.read_text() if file.exists() else ""
    return None if old == new else Places(old, new)


class Measuring:
    """A pytest plugin: times each test, and has its lines counted apart."""

    def __init__(self, measured: Any) -> None:
        self._coverage = measured
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        begin = time.process_time()
        result = yield
        self.seconds[item.nodeid] = round(time.process_time() - begin, 3)
        return result


@contextlib.contextmanager
def all_threads_traced() -> Iterator[None]:
    """Lets tracers see threads that are made without `threading`, as the driver's workers are."""
    start = _thread.start_new_thread

    def start_traced(work: Callable[..., object], *given: Any) -> int:
        def begin(*arguments: Any, **named: Any) -> None:
            sys.settrace(threading.gettrace())
            work(*arguments, **named)

        return start(begin, *given)

    _thread.start_new_thread = start_traced
    try:
        yield
    finally:
        _thread.start_new_thread = start


def chosen_files(fast: list[str], chosen: list[str] | None) -> list[str]:
    """Returns the chosen files of the fast tests, or all if none was chosen. Raises SystemExit for other files."""
    if strange := set(chosen or ()) - set(fast):
        raise SystemExit(f"tests/mutants.json does not list {', '.join(sorted(strange))} among the fast tests")
    return [file for file in fast if chosen is None or file in chosen]


def measure(
    files: Iterable[str],
    without: list[str],
    folder: Path,
    at_once: int,
    wanted: Iterable[Path],
    run: Run | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> Covering:
    """Runs the test files that have changed since they were last run; `run` does it for one, in a child.

    It runs those, too, with which one of the `wanted` sources was not measured, as it was not there. `prepare` is
    called before, if there are any. Raises SystemExit when `run` returns False, which it does, where no other is given,
    if a test fails.
    """
    run = run or _measure_file
    folder.mkdir(parents=True, exist_ok=True)
    covering, stale, needed = Covering(), {}, {str(path) for path in wanted}
    for file in files:
        kept = folder / f"{Path(file).stem}.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        if known.get("digest") == _digest(file, without) and needed <= known["ran"].keys():
            covering.add(known, folder / TEXTS)
        else:
            stale[file] = kept

    if stale:
        prepare()

    def children() -> Iterator[tuple[str, sandbox.Child]]:
        for file, kept in stale.items():
            print(f"measuring {file}", flush=True)

            def work(file: str = file, kept: Path = kept) -> bool:
                return run(file, without, kept)

            yield file, sandbox.fork(work, kept.with_suffix(".log"))

    for file, status in sandbox.each(children(), at_once):
        kept = stale[file]
        if status:
            raise SystemExit(f"{file} fails without any mutant, see {kept.with_suffix('.log')}")
        covering.add(json.loads(kept.read_text()), folder / TEXTS)
    return covering


def _measure_file(file: str, without: list[str], kept: Path) -> bool:
    import coverage

    measured = coverage.Coverage(
        data_file=None, config_file=False, source=["fpgart"], concurrency=_concurrency(file), messages=False
    )
    measuring = Measuring(measured)
    options = ["-x", "-q", "--tb=short", *sandbox.PLUGINS, *(f"--deselect={name}" for name in without)]
    measured.start()
    with all_threads_traced():
        status = pytest.main([*options, file], plugins=[measuring])
    measured.stop()
    if status != pytest.ExitCode.OK:
        return False
    data = measured.get_data()
    lines: dict[str, dict[str, list[int]]] = {test: {} for test in measuring.seconds}
    ran = sorted(str(Path(path).relative_to(Path.cwd())) for path in data.measured_files())
    for name in ran:
        path = str(Path.cwd() / name)
        for line, tests in data.contexts_by_lineno(path).items():
            for test in tests:
                if test in lines:
                    lines[test].setdefault(name, []).append(line)
    keep(kept, file, without, measuring.seconds, lines, ran)
    return True


def keep(
    kept: Path,
    file: str,
    without: list[str],
    seconds: dict[str, float],
    lines: dict[str, dict[str, list[int]]],
    ran: list[str],
) -> None:
    """Keeps what the tests of a file reached in those of the driver's that they `ran`, with what it is valid for."""
    texts = kept.parent / TEXTS
    texts.mkdir(exist_ok=True)
    digests = {}
    for name in ran:
        text = Path(name).read_bytes()
        digests[name] = hashlib.sha256(text).hexdigest()
        if not (texts / digests[name]).exists():
            new = texts / f"new.{os.getpid()}"
            new.write_bytes(text)
            new.replace(texts / digests[name])
    measured = {"digest": _digest(file, without), "ran": digests, "seconds": seconds, "lines": lines}
    kept.write_text(json.dumps(measured))


def _concurrency(file: str) -> list[str]:
    """Returns the kinds of threads in the tests of a file.

    Greenlets only if it has any: a tracer that supports them can hang when a thread of the system ends.
    """
    return ["greenlet", "thread"] if re.search(r"\binterleavings\b", Path(file).read_text()) else ["thread"]


def sources_of(file: str) -> list[Path]:
    """Returns a test file, the modules that it shares with those beside it, and the programs in C that it names."""
    words = set(re.findall(r"\w+", Path(file).read_text()))
    folder = Path(Path(file).parts[0])
    shared = [path for path in folder.glob("*.py") if not path.name.startswith("test_")]
    return [Path(file), *sorted([*shared, *(path for path in folder.glob("*/*.c") if path.stem in words)])]


def version(file: str) -> str:
    """Changes with the sources of a test file."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources_of(file))).hexdigest()


def _digest(file: str, without: list[str]) -> str:
    """Changes with the test file, and with what the tests share."""
    return hashlib.sha256(f"{version(file)} {[name for name in without if name.startswith(file)]}".encode()).hexdigest()
