# SPDX-License-Identifier: Apache-2.0
"""Makes this driver the platform of a script or a notebook, with reports of its traces."""

from __future__ import annotations

import atexit
import importlib.util
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from fpgart.base import config
from fpgart.base.registration import RegistrationError
from fpgart.cli.running import for_loaders
from fpgart.cli.validation import check_file, refuse_wrong_options
from fpgart.control import requests as control
from fpgart.testing import driver
from fpgart.watch import report as traces
from fpgart.watch.page.fragment import as_fragment

PATIENCE_S = 30.0
"""The time that the end of an activation waits for running commands."""


class ActivationError(Exception):
    """The driver cannot be the platform of this process; the message says why."""


class ShownReport:
    """The report of a trace, as text and, in a notebook, as HTML."""

    def __init__(self, events: list[traces.Args]) -> None:
        self.events = events
        self.facts = traces.of(events)

    @property
    def advice(self) -> list[traces.Advice]:
        """The advice for the host, the greatest saving first."""
        return self.facts.advice

    @property
    def copies_to_avoid(self) -> list[traces.Advice]:
        """The advice that saves copies in every run of the host."""
        return self.facts.copies_to_avoid

    @property
    def findings(self) -> list[traces.CheckFinding]:
        """The mistakes that the checks found; activate() needs `check` for that."""
        return self.facts.findings

    def __str__(self) -> str:
        return traces.as_text(self.facts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_fragment(self.facts, self.events)


class Activation:
    """Makes the driver the platform of this process until end(), or for good."""

    def __init__(self, options: dict[str, str], trace: Path | None, *, only: bool) -> None:
        """`options` has the driver's environment variables and their values. Raises ActivationError."""
        self.trace = trace
        self._undo = ExitStack()
        with ExitStack() as until_whole:
            until_whole.callback(self._undo.close)
            _let_loaders_find(options, self._undo)
            _start(options)
            self._undo.callback(_renew_boards)
            if trace is not None:
                self._undo.callback(driver.begin_trace(trace))
            if importlib.util.find_spec("pyopencl") is not None:
                _come_first(only, self._undo)
            until_whole.pop_all()

    def report(self) -> ShownReport:
        """Returns the report of the activation so far. Raises ActivationError if there is no trace."""
        if self.trace is None:
            raise ActivationError("nothing is traced: call fpgart.activate(trace=True)")
        driver.settle(PATIENCE_S)
        shown = ShownReport(traces.ordered(self.trace))
        shown.facts.whole = True  # the user knows that the trace goes on
        return shown

    def end(self) -> None:
        """Ends the trace, empties the boards, and restores the environment and pyopencl."""
        global _current
        self._undo.close()
        if _current is self:
            _current = None

    def __enter__(self) -> Activation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


_current: Activation | None = None
_started_with: dict[str, str] | None = None
"""The options with which the driver of this process was started; they do not change."""


def activate(
    board: str | None = None,
    *,
    platform: str | None = None,
    engine: str | None = None,
    check: str | None = None,
    trace: bool | str | os.PathLike[str] = False,
    only: bool = True,
) -> Activation:
    """Does the work of fpgart.activate()."""
    global _current
    wanted = {config.BOARD.name: board, config.PLATFORM.name: platform, config.ENGINE.name: engine}
    wanted[config.CHECK.name] = check
    options = {name: value for name, value in wanted.items() if value is not None}
    if _current is not None:
        _refuse_others(options)  # before the earlier activation ends
    file = _trace_file(trace)
    if _current is not None:
        _current.end()
    _current = Activation(options, file, only=only)
    return _current


def report(trace: str | os.PathLike[str] | None = None) -> ShownReport:
    """Does the work of fpgart.report()."""
    if trace is not None:
        return ShownReport(traces.ordered(Path(trace)))
    if _current is None:
        raise ActivationError("no trace: call fpgart.report('trace.json'), or fpgart.activate(trace=True) first")
    return _current.report()


def _trace_file(asked: bool | str | os.PathLike[str]) -> Path | None:
    """Returns the file of the trace that is wanted. Raises ActivationError if it cannot be written."""
    if asked is False:
        return None
    if asked is not True:
        file = Path(asked).absolute()
        try:
            check_file("trace", str(file))
        except config.OptionError as error:
            raise ActivationError(str(error)) from None
        return file
    handle, name = tempfile.mkstemp(prefix="fpgart-", suffix=".json")
    os.close(handle)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)


def _let_loaders_find(options: dict[str, str], undo: ExitStack) -> None:
    """Sets the environment, also for programs that this process starts."""
    try:
        variables = {**for_loaders(), **config.with_absolute_paths(options)}
    except RegistrationError as error:
        raise ActivationError(str(error)) from None
    earlier = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    undo.callback(_restore, earlier)


def _restore(earlier: dict[str, str | None]) -> None:
    for name, value in earlier.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    for option in config.OPTIONS.values():
        option.forget()


def _start(options: dict[str, str]) -> None:
    """Starts the driver, so that errors are reported here. Raises ActivationError."""
    global _started_with
    if control.is_running():
        _refuse_others(options)
        return
    try:
        refuse_wrong_options({})
        driver.load()
    except (config.OptionError, driver.DriverError) as error:
        raise ActivationError(str(error)) from None
    _started_with = options


def _refuse_others(options: dict[str, str]) -> None:
    """Raises ActivationError for other options than those of the driver, which runs."""
    if options and options != _started_with:
        raise ActivationError(
            f"the driver of this process already runs with {_in_words(_started_with or {})} and keeps its boards: "
            "start a new process (in a notebook: restart the kernel)"
        )


def _in_words(options: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "what it found in the environment"


def _come_first(only: bool, undo: ExitStack) -> None:
    """Makes pyopencl list this platform first, or alone; its loader searches for platforms once."""
    import pyopencl

    list_all: Callable[[], list[Any]] = pyopencl.get_platforms
    handle = driver.platform_handle()
    if all(platform.int_ptr != handle for platform in list_all()):
        raise ActivationError(
            "pyopencl listed the platforms before fpgart.activate() was called, which it does only once: call it first "
            "(in a notebook: restart the kernel)"
        )

    def listed() -> list[Any]:
        found = sorted(list_all(), key=lambda platform: bool(platform.int_ptr != handle))
        return found[:1] if only else found

    pyopencl.get_platforms = listed
    undo.callback(setattr, pyopencl, "get_platforms", list_all)


def _renew_boards() -> None:
    """Resets the boards, so that the next activation does not see this one's contents."""
    if driver.settle(PATIENCE_S):
        driver.renew_boards()


def add_magics(shell: Any) -> None:
    """Adds `%fpgart hetero`, which activates boards, and `%%fpgart` above a cell, which reports on it."""

    def fpgart(line: str, cell: str | None = None) -> ShownReport | None:
        if cell is None:
            activate(line.strip() or None)
            return None
        if _current is None:
            activate(line.strip() or None)
        with tempfile.TemporaryDirectory(prefix="fpgart-cell-") as folder:
            file = Path(folder) / "trace.json"
            end = driver.begin_trace(file)
            try:
                shell.run_cell(cell)
                driver.settle(PATIENCE_S)
            finally:
                end()
            return ShownReport(traces.ordered(file))

    shell.register_magic_function(fpgart, magic_kind="line_cell")
