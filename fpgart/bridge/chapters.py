# SPDX-License-Identifier: Apache-2.0
"""The chapters of the specification: each is imported when a host first calls one of its functions.

Most hosts use few of them, and importing all takes longer than starting the interpreter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from fpgart.bridge.entry import BOUND, OUT_OF_HOST_MEMORY, bind, result_of_failure

CHAPTERS = (
    "platform",
    "device",
    "context",
    "queue",
    "device_info",
    "program",
    "buffer.creation",
    "kernel",
    "buffer.transfers",
    "execute",
    "event",
    "buffer.mapping",
    "buffer.queries",
    "buffer.rectangles",
    "buffer.migration",
    "usm",
    "svm",
    "fpga",
    "pipe",
    "ti",
    "absent",
)
"""In the order in which hosts use them; a function is searched from the first to the last."""

CHAPTERS_OF_LAUNCH = CHAPTERS[: CHAPTERS.index("execute") + 1]
MODULES_OF_LAUNCH = (
    "fpgart.bridge.carrying",
    "fpgart.runtime.commands.host_work",
    "fpgart.runtime.commands.new_launch",
    "fpgart.runtime.programs.work_groups",
)
"""Those that functions of these chapters import when they are first called."""

Functions = list[tuple[str, list[str], str]]
"""API functions: name, names of the parameters, return type."""

_to_come: list[str] = []
_functions: Functions = []
_loading = threading.RLock()


def open_at(functions: str) -> None:
    """Binds every API function that Python implements to C.

    `functions` has a line for each, with its name, the names of its parameters, and the type of what is returned. The
    text is part of the code that the driver's start compiles, and a list of tuples would take that 2 ms.
    """
    _functions[:] = map(_function, functions.splitlines())
    _to_come[:] = CHAPTERS
    for name, _, returned in _functions:
        # This is the result if the chapter cannot be imported.
        bind(name, _first_call(name), result_of_failure(returned, OUT_OF_HOST_MEMORY))


def _function(line: str) -> tuple[str, list[str], str]:
    name, parameters, returned = line.split(";")
    return name, parameters.split(","), returned


def load_for_launch() -> None:
    """Imports the chapters and modules of a first launch, and looks for models of kernels."""
    from fpgart.engine.models import are_wanted  # not needed at the start

    _load_until(lambda: _to_come[0] not in CHAPTERS_OF_LAUNCH)
    for module in MODULES_OF_LAUNCH:
        import_module(module)
    are_wanted()


def load_all() -> None:
    """Imports all chapters that have not been imported."""
    _load_until(lambda: False)


def _first_call(name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        _load_until(lambda: BOUND[name][0] is not call)
        return BOUND[name][0](*arguments)

    return call


def _load_until(done: Callable[[], bool]) -> None:
    with _loading:
        while _to_come and not done():
            chapter = import_module(f"fpgart.api.{_to_come[0]}")
            if len(_to_come) == 1:
                chapter.refuse_the_rest(_functions)
            del _to_come[0]
