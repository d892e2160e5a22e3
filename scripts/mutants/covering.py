# SPDX-License-Identifier: Apache-2.0
"""The lines that each test reaches, and its duration; kept from run to run, by test file."""

from __future__ import annotations

import _thread
import contextlib
import hashlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sandbox

Run = Callable[[str, list[str], Path], bool]
"""Runs a test file without some of its tests, and keeps what it reached in another file; False if it cannot."""


class Covering:
    """The reach of tests: `lines` by test and source file, and `seconds` of the processor by test."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[tuple[str, int], set[str]] = {}
        self._reach: dict[str, set[str]] = {}
        self._importers: dict[str, set[str]] = {}

    def add(self, measured: dict[str, Any]) -> None:
        self.seconds |= measured["seconds"]
        for test, files in measured["lines"].items():
            for file, lines in files.items():
                self._reach.setdefault(file, set()).add(test)
                for line in lines:
                    self._tests.setdefault((file, line), set()).add(test)

    def tests_of(self, file: str, first: int, last: int, *, importing: bool) -> dict[str, float]:
        """Returns the tests that reach lines of a file, the shortest first.

        For what its import runs (`importing`): all that reach the file, or stand in a test file that imports from it,
        because defaults and constants are read without reaching a line.
        """
        found = set(self._reach.get(file, ())) | self._importing(file) if importing else set()
        for line in range(first, last + 1):
            found |= self._tests.get((file, line), set())
        return {test: self.seconds[test] for test in sorted(found, key=lambda test: (self.seconds[test], test))}

    def _importing(self, file: str) -> set[str]:
        if file not in self._importers:
            package, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
            words = re.compile(rf"^from {package}(\.{name} import | import .*\b{name}\b)", re.MULTILINE)
            named = {test.split("::")[0] for test in self.seconds}
            self._importers[file] = {test_file for test_file in named if words.search(Path(test_file).read_text())}
        return {test for test in self.seconds if test.split("::")[0] in self._importers[file]}


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
    run: Run | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> Covering:
    """Runs the test files that have changed since they were last run; `run` does it for one, in a child.

    `prepare` is called before, if there are any. Raises SystemExit when `run` returns False, which it does, where no
    other is given, if a test fails.
    """
    run = run or _measure_file
    folder.mkdir(parents=True, exist_ok=True)
    covering, stale = Covering(), {}
    for file in files:
        kept = folder / f"{Path(file).stem}.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        if "ran" in known and known["digest"] == _digest(file, without, known["ran"]):
            covering.add(known)
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
        covering.add(json.loads(kept.read_text()))
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
    ran = sorted(str(Path(path).relative_to(Path.cwd())) for path in data.measured_files() if data.lines(path))
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
    """Keeps what the tests of a file reached, with what it is valid for."""
    digest = _digest(file, without, ran)
    kept.write_text(json.dumps({"digest": digest, "ran": ran, "seconds": seconds, "lines": lines}))


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


def _digest(file: str, without: list[str], ran: Iterable[str]) -> str:
    """Changes with the test file, with what the tests share, and with those of the driver's files that it ran."""
    digest = hashlib.sha256(repr([name for name in without if name.startswith(file)]).encode())
    for path in [*sources_of(file), *map(Path, ran)]:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()
