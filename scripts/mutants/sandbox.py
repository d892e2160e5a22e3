# SPDX-License-Identifier: Apache-2.0
"""Tests in a process of their own, forked from one that has imported all but the driver: that costs little.

Nothing is written to the source: the child imports a mutant in place of its module. Each test has a time limit,
after which the system ends the child, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import resource
import selectors
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MEMORY_BYTES = 4 << 30
"""What a mutant that collects without end may take."""
PROCESSOR_S, PROCESSOR_FACTOR = 3.0, 5.0
"""A test is given so many seconds of the processor, and so many times as long as it took before."""
CLOCK_S, CLOCK_FACTOR = 20.0, 40.0
"""The same by the clock, without the time in which the machine was busy with other things: for those that wait."""
OPTIONS = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:terminalreporter"]


def warm_up() -> None:
    """Import what tests import, but the driver, and have bytecode kept: else each child compiles all of it again."""
    import cffi  # noqa: F401
    import greenlet  # noqa: F401
    import hypothesis.stateful
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants",  # the first failure is enough, and each run does the same
        phases=[Phase.explicit, Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.setdefault("FPGART_TEST_SCHEDULES", "200")
    assert hypothesis.stateful is not None


class Mutated(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds and loads one module with another source."""

    def __init__(self, name: str, path: Path, code: str) -> None:
        super().__init__(name, str(path))
        self._code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self._code, self.path, "exec", dont_inherit=True)


@dataclass
class Chosen:
    """A pytest plugin: runs these tests in this order, each within its time."""

    seconds: dict[str, float]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        known = {item.nodeid: item for item in items}
        items[:] = [known[name] for name in self.seconds if name in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        limit(self.seconds[item.nodeid])
        return (yield)


def limit(seconds: float) -> None:
    """From now on this process has some times as long as what takes `seconds`; then it is ended."""
    used = time.process_time()
    soft = int(used + PROCESSOR_S + PROCESSOR_FACTOR * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
    begin, waited, allowed = time.monotonic(), waited_for_processor(), CLOCK_S + CLOCK_FACTOR * seconds

    def look(*_: object) -> None:
        left = begin + allowed + max(0, waited_for_processor() - waited) - time.monotonic()
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
        else:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGALRM)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, allowed)


def waited_for_processor() -> float:
    """Seconds in which threads of this process could have run, but others did."""
    waited_ns = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            waited_ns += int(file.read_text().split()[1])
    return waited_ns / 1e9


def passes(tests: dict[str, float], mutated: Mutated) -> bool:
    """Run tests (their names, with their seconds) of a mutant; in a child of fork().

    File by file, the shortest first: most mutants fall to the first file, and importing the others would take longer.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    sys.meta_path.insert(0, mutated)
    by_file: dict[str, dict[str, float]] = {}
    for name, seconds in tests.items():
        by_file.setdefault(name.split("::")[0], {})[name] = seconds
    for file in sorted(by_file, key=lambda file: sum(by_file[file].values())):
        limit(5)
        if pytest.main([*OPTIONS, file], plugins=[Chosen(by_file[file])]) != pytest.ExitCode.OK:
            return False
    return True


@dataclass
class Child:
    """A process that does some work; its exit status is 0, 1 for False, or negative for a signal."""

    pid: int
    handle: int


def fork(work: Callable[[], bool], output: Path) -> Child:
    """Do `work` in a child, with what it prints in a file."""
    pid = os.fork()
    if pid:
        return Child(pid, os.pidfd_open(pid))
    status = 2
    try:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((0, null), (1, file), (2, file)):
            os.dup2(target, number)
        status = 0 if work() else 1
    finally:  # nothing of the parent's is done again here, whatever was raised
        sys.stdout.flush()
        os._exit(status)


def each(work: Iterator[tuple[Any, Child]], at_once: int) -> Iterator[tuple[Any, int]]:
    """Take children from `work`, some at once; yields what each is for, and its exit status."""
    with selectors.DefaultSelector() as running, contextlib.ExitStack() as cleaning:
        cleaning.callback(lambda: [_end_group(key.data[1].pid) for key in running.get_map().values()])
        while True:
            for subject, child in itertools.islice(work, at_once - len(running.get_map())):
                running.register(child.handle, selectors.EVENT_READ, (subject, child))
            if not running.get_map():
                return
            for key, _ in running.select():
                subject, child = key.data
                running.unregister(child.handle)
                os.close(child.handle)
                _, status = os.waitpid(child.pid, 0)
                _end_group(child.pid)
                yield subject, os.waitstatus_to_exitcode(status)


def _end_group(pid: int) -> None:
    """End what a child has left behind."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
