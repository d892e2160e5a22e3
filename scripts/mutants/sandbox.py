# SPDX-License-Identifier: Apache-2.0
"""Tests in a process of their own, forked from one that has imported all but the driver: that costs little.

The child has the driver and the tests from its parent and exchanges the code of a function, or imports them from a copy
of the tree. Each test has a time limit, after which the system ends the child, whatever it is doing.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import itertools
import json
import os
import resource
import selectors
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import swapping

MEMORY_BYTES = 4 << 30
"""The most memory of a mutant, which may allocate without end."""
PROCESSOR_S, PROCESSOR_FACTOR = 3.0, 5.0
"""A test is given so many seconds of the processor, and so many times as long as it took before."""
CLOCK_S, CLOCK_FACTOR = 20.0, 40.0
"""The same by the clock, without the time in which the machine was busy with other things: for those that wait."""
FEW_SCHEDULES = "200"
"""Of each small host of the scheduler's tests, unless FPGART_TEST_SCHEDULES says how many."""
PLUGINS = ["-p", "pytest_timeout", "-o", "timeout=0", "-p", "no:cacheprovider"]
"""Plugins are not loaded by themselves here, and pytest refuses the option `timeout` without its plugin. The plugin's
timer would replace that of limit()."""
OPTIONS = ["-x", "-q", "--no-header", "--tb=no", *PLUGINS, "-p", "no:terminalreporter"]


def warm_up() -> None:
    """Imports what tests import, but the driver, and have bytecode kept: else each child compiles all of it again."""
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
    os.environ.setdefault("FPGART_TEST_SCHEDULES", FEW_SCHEDULES)
    assert hypothesis.stateful is not None


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


class Clock:
    """Ends this process when its time is up by the clock.

    A thread looks, because no handler of a signal runs while the main thread waits in C.
    """

    LONGEST_S = 1.0

    def __init__(self) -> None:
        self._process = 0
        self._end = self._waited = 0.0

    def allow(self, seconds: float) -> None:
        self._end, self._waited = time.monotonic() + seconds, waited_for_processor()
        if self._process != os.getpid():  # a child of fork() has no thread
            self._process = os.getpid()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            _thread.start_new_thread(self._look, ())

    def _look(self) -> None:
        while (left := self._end - time.monotonic()) > 0 or (left := left + self._without_processor()) > 0:
            time.sleep(min(left, self.LONGEST_S))
        os.kill(os.getpid(), signal.SIGALRM)

    def _without_processor(self) -> float:
        return max(0.0, waited_for_processor() - self._waited)


CLOCK = Clock()


def limit(seconds: float) -> None:
    """Limits the time of this process, from now on, to a multiple of `seconds`; then it is ended."""
    used = time.process_time()
    soft = int(used + PROCESSOR_S + PROCESSOR_FACTOR * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
    CLOCK.allow(CLOCK_S + CLOCK_FACTOR * seconds)


def waited_for_processor() -> float:
    """Seconds in which threads of this process could have run, but others did."""
    waited_ns = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            waited_ns += int(file.read_text().split()[1])
    return waited_ns / 1e9


def by_file(tests: dict[str, float]) -> list[dict[str, float]]:
    """Tests (their names, with their seconds) file by file, the shortest first.

    Most mutants fall to the first file, and importing the others, or their fixtures, would take longer.
    """
    files: dict[str, dict[str, float]] = {}
    for name, seconds in tests.items():
        files.setdefault(name.split("::")[0], {})[name] = seconds
    return sorted(files.values(), key=lambda file: sum(file.values()))


def passes(tests: dict[str, float]) -> bool:
    """Runs tests of a mutant, which they import; in a child of fork()."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    for chosen in by_file(tests):
        limit(5)
        if pytest.main([*OPTIONS, file_of(chosen)], plugins=[Chosen(chosen)]) != pytest.ExitCode.OK:
            return False
    return True


def file_of(tests: dict[str, float]) -> str:
    return next(iter(tests)).split("::")[0]


class Refused(Exception):
    """The compiler does not take a mutant, which is none then."""


REFUSED = 3


@dataclass
class Child:
    """A process that does some work; its exit status is 0, 1 for False, REFUSED, or negative for a signal."""

    pid: int
    handle: int


def fork(work: Callable[[], bool], output: Path, *, leads: bool = True) -> Child:
    """Does `work` in a child, with what it prints in a file; a child that leads a group is ended with all of it."""
    pid = os.fork()
    if pid:
        return Child(pid, os.pidfd_open(pid))
    status = 2
    try:
        if leads:
            os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((0, null), (1, file), (2, file)):
            os.dup2(target, number)
        status = 0 if work() else 1
    except Refused:
        status = REFUSED
    finally:  # nothing of the parent's is done again here, whatever was raised
        sys.stdout.flush()
        os._exit(status)


def each(work: Iterator[tuple[Any, Child]], at_once: int) -> Iterator[tuple[Any, int]]:
    """Takes children from `work`, some at once; yields what each is for, and its exit status."""
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


@dataclass
class Trial:
    """A change of a function, and the tests that reach it."""

    swap: swapping.Swap
    tests: dict[str, float]


def try_swaps(trials: list[Trial], folder: Path, at_once: int) -> Iterator[tuple[int, int]]:
    """Runs the tests of each change in a child of a process that has collected them all; yields numbers and statuses.

    The status is 0 also where the function is not there, or where the test that failed does so without the change:
    such a change is made in a copy instead. Raises SystemExit where the tests cannot be collected.
    """
    files = sorted({name.split("::")[0] for trial in trials for name in trial.tests})
    reader, writer = os.pipe()
    with os.fdopen(reader) as lines:

        def collect() -> bool:
            lines.close()
            return pytest.main([*OPTIONS, *files], plugins=[Trying(trials, folder, at_once, writer)]) == 0

        collecting = fork(collect, folder / "collecting")
        os.close(writer)
        try:
            for line in lines:
                number, status = json.loads(line)
                yield number, status
        finally:
            os.kill(collecting.pid, signal.SIGTERM)  # it ends its children, if it was broken off
            _, status = os.waitpid(collecting.pid, 0)
            os.close(collecting.handle)
    if status and os.waitstatus_to_exitcode(status) != -signal.SIGTERM:
        raise SystemExit(f"the tests cannot be run together, see {folder / 'collecting'}")


@dataclass
class Trying:
    """A pytest plugin: runs tests that are collected again and again, in a child for each change of a function."""

    trials: list[Trial]
    folder: Path
    at_once: int
    results: int
    """A descriptor that gets a line for each trial: its number and its status."""
    _is_sound: dict[str, bool] = field(default_factory=dict)
    """Of tests that failed: whether they pass when nothing is changed."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        functions = swapping.Functions()
        gc.collect()
        gc.freeze()  # what is there need not be looked at in each child
        for number, status in each(self._children(functions, session), self.at_once):
            told = 0 if status == 1 and not self._failed_soundly(number, session) else status
            os.write(self.results, f"{json.dumps([number, told])}\n".encode())
        return True

    def _children(self, functions: swapping.Functions, session: Any) -> Iterator[tuple[int, Child]]:
        for number, trial in enumerate(self.trials):
            swapped = functions.of(trial.swap.before)
            if swapped:
                work = partial(self._passes, trial, swapped, number, session)
                yield number, fork(work, self.folder / f"output.{number % 64}")
            else:
                os.write(self.results, f"{json.dumps([number, 0])}\n".encode())

    def _passes(self, trial: Trial, swapped: list[types.FunctionType], number: int, session: Any) -> bool:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        for function in swapped:
            function.__code__ = trial.swap.after
        tests = {name: seconds for file in by_file(trial.tests) for name, seconds in file.items()}
        failed = self._first_failure(tests, session)
        self._failure_of(number).write_text(failed)
        return not failed

    def _failure_of(self, number: int) -> Path:
        return self.folder / f"failed.{number % 64}"

    def _failed_soundly(self, number: int, session: Any) -> bool:
        failed = self._failure_of(number).read_text()
        if failed not in self._is_sound:
            tests = {failed: self.trials[number].tests[failed]}
            child = fork(lambda: not self._first_failure(tests, session), self.folder / "sound")
            ((_, status),) = each(iter([(None, child)]), 1)
            self._is_sound[failed] = status == 0
        return self._is_sound[failed]

    def _first_failure(self, tests: dict[str, float], session: Any) -> str:
        """Returns the name of the first test that fails, in the order given; "" if none does."""
        items = [self._items[name] for name in tests if name in self._items]
        for item, following in itertools.zip_longest(items, items[1:]):
            limit(tests[item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return str(item.nodeid)
        return ""


def _end_group(pid: int) -> None:
    """Ends what a child has left behind."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
