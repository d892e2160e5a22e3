"""Fixtures for boards; and every trace that a test leaves is read by all forms of `fpgart report`."""

from __future__ import annotations

import gc
import hashlib
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import lock_ranks
import pytest
from accounts import check_accounts
from fpgart._native import lib
from hypothesis import settings
from machine import Boards, Machine, SetOption, machine_of

from fpgart.base.config import Option
from fpgart.board.stretch import PAGE, Stretch
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import Engine, NoEngine
from fpgart.watch import report
from fpgart.watch.page import as_html

lock_ranks.install()

if settings.get_current_profile_name() == "default":  # machines that are busy with other things have no deadlines
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
TRACE_BEGIN = b'[\n{"name": "begin"'
SHAPES: set[frozenset[object]] = set()
"""Of the traces whose pages were made: a page takes a third of a second, words take a millisecond."""
REPORTED: set[bytes] = set()
"""Digests of the traces that were reported: several tests may have copies of one."""


def pytest_collection_finish() -> None:
    """Excludes what exists before the first test from garbage collections, because many tests make one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Returns an engine that compiles and runs kernels; skips the test if there is none."""
    found = choose_engine()
    if isinstance(found, NoEngine):
        pytest.skip(found.reason)
    return found


@pytest.fixture
def board(engine: Engine) -> Iterator[Machine]:
    """A machine whose kernels run on the engine."""
    for machine in machine_of("usm_s10"):
        machine.platform._engine = engine
        yield machine


@pytest.fixture
def faults_of_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an earlier test has started the driver in this process: it has boards, and faults, of its own."""
    monkeypatch.setattr("fpgart.control.requests.is_running", lambda: False)


@pytest.fixture
def stretch() -> Iterator[Stretch]:
    """Memory that a board process could share; its addresses are free again afterwards."""
    made = Stretch()
    yield made
    for part in list(made._parts):
        made.free(part)
    lib.unmap(made.control, PAGE)
    os.close(made.descriptor)


@pytest.fixture(scope="session")
def memory() -> Stretch:
    """For one board process after the other: a process has room for few stretches, and these keep theirs."""
    return Stretch()


@pytest.fixture
def boards() -> Iterator[Boards]:
    with ExitStack() as open_machines:

        def make(*names: Any, simulator: bool = False, modelled: bool = False) -> Machine:
            made = contextmanager(machine_of)(*names, simulator=simulator, modelled=modelled)
            return open_machines.enter_context(made)

        yield make


@pytest.fixture
def machine(boards: Boards, request: pytest.FixtureRequest) -> Machine:
    """A machine with the boards that the marker `machine` of the module or the test names."""
    marker = request.node.get_closest_marker("machine")
    return boards(*marker.args, **marker.kwargs)


@pytest.fixture
def set_option() -> Iterator[SetOption]:
    """`set_option(config.BOARD, "hetero")`: the option has the value until the test ends; None: it is not set."""
    changed: list[Option[Any]] = []
    with pytest.MonkeyPatch.context() as environment:

        def change(option: Option[Any], value: str | None) -> None:
            if value is None:
                environment.delenv(option.name, raising=False)
            else:
                environment.setenv(option.name, value)
            option.forget()
            changed.append(option)

        yield change
    for option in changed:
        option.forget()


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """`imported("bridge.handles", lib)`: a module of the driver beside doubles of its library, for one test."""

    def import_one(name: str, lib: object = None, ffi: object = None) -> ModuleType:
        monkeypatch.setitem(sys.modules, "_fpgart_icd", SimpleNamespace(lib=lib or Mock(), ffi=ffi or Mock()))
        return importlib.import_module(f"fpgart.{name}")

    before = set(sys.modules)
    yield import_one
    for name in set(sys.modules) - before:
        if name.startswith(("fpgart.api", "fpgart.bridge")):
            del sys.modules[name]


def traces(folder: Path) -> Iterator[Path]:
    """The traces below a folder."""
    for file in folder.rglob("*.json"):
        if file.is_file():
            with file.open("rb") as opened:
                if opened.read(len(TRACE_BEGIN)) == TRACE_BEGIN:
                    yield file


def shape(events: list[report.Args]) -> frozenset[object]:
    """Returns the kinds of events, with the names of their arguments."""
    return frozenset(
        (e.get("cat"), e["ph"], e["name"] if e.get("cat") == "device" else "", frozenset(e.get("args", ())))
        for e in events
    )


def report_in_all_forms(file: Path) -> None:
    """Whatever is raised here is a fault of the report."""
    from rich.console import Console

    from fpgart.cli.tables import show

    try:
        events = report.ordered(file)
    except report.TraceError:  # a test of damaged traces
        return
    check_accounts(events)
    found = report.of(events)
    report.as_text(found)
    report.as_json(found)
    show(found, Console(file=io.StringIO()))
    kinds = shape(events)
    if kinds not in SHAPES:
        SHAPES.add(kinds)
        as_html(found, events, file.name)


@pytest.fixture(autouse=True)
def every_trace_is_reported(request: pytest.FixtureRequest) -> Iterator[None]:
    """The traces that a test has left in its folders can be shown in words, as JSON, as tables and as a page."""
    folders: list[Path] = []
    if "tmp_path" in request.fixturenames:
        folders.append(request.getfixturevalue("tmp_path"))
    if "pytester" in request.fixturenames:
        folders.append(request.getfixturevalue("pytester").path)
    yield
    for folder in folders:
        for file in traces(folder):
            digest = hashlib.sha256(file.read_bytes()).digest()
            if digest not in REPORTED:
                REPORTED.add(digest)
                report_in_all_forms(file)
