# SPDX-License-Identifier: Apache-2.0
"""Functions of the driver that the host's Python calls by name (icd/entry/control.c): requests and answers are JSON.

A request is `{"name": ..., "arguments": [...]}`, an answer `{"value": ...}` or `{"error": kind, "words": ...}`. The
other side is fpgart/control/requests.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from _fpgart_icd import ffi, lib

from fpgart.base import log
from fpgart.base.errors import CLError
from fpgart.board.faults import FAULTS, Fault
from fpgart.control.host_python import ask_host


def add_faults(text: str) -> list[int]:
    """Adds faults; returns their numbers."""
    return [_number(fault) for fault in FAULTS.add(text)]


def add_waiting_faults() -> None:
    """Adds the faults that the host requested before the driver started; they get the first numbers."""
    waiting = ask_host("fpgart.faults", "hand_over", b"", only_if_imported=True)
    for text in json.loads(waiting or b"[]"):
        add_faults(text)


def remove_faults(numbers: list[int]) -> None:
    FAULTS.remove(tuple(_FAULTS[number] for number in numbers))


def active_faults() -> list[tuple[int, str]]:
    """Returns number and clause of each."""
    return [(_number(fault), fault.rule.text) for fault in FAULTS.active]


def fault_counts(number: int) -> tuple[int, int]:
    """Returns the calls that match a fault, and those of them that it changed."""
    fault = _FAULTS[number]
    return fault.seen, fault.injected


_FAULTS: list[Fault] = []
"""The faults by number; the host's side may query their counts as long as the process runs."""


def _number(fault: Fault) -> int:
    if fault not in _FAULTS:
        _FAULTS.append(fault)
    return _FAULTS.index(fault)


REQUESTS: dict[str, Callable[..., Any]] = {
    "add_faults": add_faults,
    "remove_faults": remove_faults,
    "clear_faults": lambda: FAULTS.clear(),
    "active_faults": active_faults,
    "fault_counts": fault_counts,
    "injected": lambda: FAULTS.injected,
}
"""The requests besides the functions of testbench.py."""


def serve(request: str) -> dict[str, Any]:
    """Returns the answer to a request; errors are identified by their kind.

    Any request may affect commands that C carries: later ones, and those of other threads.
    """
    from fpgart.api.platform import the_platform  # a chapter of the API, whose import binds its functions
    from fpgart.bridge.carrying import end_epochs

    scheduler = the_platform().scheduler
    end_epochs(scheduler)
    try:
        return _serve(request)
    finally:
        end_epochs(scheduler)


def _serve(request: str) -> dict[str, Any]:
    asked = json.loads(request)
    try:
        return {"value": _function(asked["name"])(*asked["arguments"])}
    except (CLError, OSError, ValueError, TypeError) as error:
        return {"error": type(error).__name__, "words": str(error)}
    except Exception as error:
        log.bug(f"request {asked['name']} failed")
        return {"error": type(error).__name__, "words": str(error)}


def _function(name: str) -> Callable[..., Any]:
    if name in REQUESTS:
        return REQUESTS[name]
    from fpgart.control import testbench

    found: Callable[..., Any] = getattr(testbench, name)
    return found


def answer(request: Any, length: int) -> Any:
    """Calls serve() for C: the answer is a text of C's."""
    asked = bytes(ffi.unpack(request, length)).decode()
    return lib.fpgart_text(json.dumps(serve(asked)).encode())
