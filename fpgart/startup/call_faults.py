# SPDX-License-Identifier: Apache-2.0
"""Faults of API calls, and the list of all calls (FPGART_CALLS).

Each entry point asks in C before it does anything (icd/entry/call_faults.c), so that this includes calls that C
answers. A call that is to fail is not carried out. Its error is reported as others are: to the log, and to the
context's pfn_notify.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any

from _fpgart_icd import ffi, lib

from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import error_of
from fpgart.base.output_file import KeptOutput, open_output
from fpgart.board.faults import FAULTS
from fpgart.bridge.entry import tell_context
from fpgart.bridge.handles import HELD
from fpgart.bridge.host_calls import host_frames, places
from fpgart.watch.callers import Site

MOST_LISTED = 100_000
"""The calls that the file has at most: a host may ask for ever for the end of a command that failed."""


class Calls:
    """Writes a line for each call of the API to a file. Any thread may call add()."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._output: KeptOutput | None = KeptOutput(open_output(path))
        self._count = 0
        self._where = lru_cache(maxsize=None)(places().where)

    def add(self, function: str, thread: int, status: int) -> None:
        """Writes the line of a call. `status`: that of the injected fault; 0 for a call that is carried out."""
        self._count += 1
        if self._output is None or self._count > MOST_LISTED:
            return
        facts = {"process": os.getpid(), "thread": thread, "call": function}
        facts["place"] = self._where(Site(function, host_frames()))
        if status:
            facts["fault"] = cl.NAMES_OF_STATUS[status]
        try:
            self._output.write(f"{json.dumps(facts)}\n".encode())
        except OSError as error:
            self._output = None
            log.warning(f"no more calls are written to {config.CALLS.name}: {error.strerror}")


_calls: list[Calls] = []


def start() -> None:
    """Lets entry points ask, if an option or a fault needs that. Raises OptionError."""
    path = config.CALLS.value
    try:
        _calls[:] = [Calls(path)] if path else []
    except OSError as error:
        raise config.OptionError(f"{config.CALLS.name}={path}: {error.strerror}") from None
    FAULTS.api_asks = lambda asks: lib.fpgart_ask_about_calls(asks or bool(_calls))
    FAULTS.api_asks(False)


def fault_of(name: Any, handle: int, thread: int) -> int:
    """Returns the status with which a call fails; 0 if it is carried out. `handle`: its first argument."""
    function = bytes(ffi.string(name)).decode()
    fault = FAULTS.strike_function(function, thread)
    status = fault.rule.status if fault is not None else 0
    for calls in _calls:
        calls.add(function, thread, status)
    if fault is None:
        return 0
    error = error_of(status, f"the call failed, as the fault '{fault.rule.text}' asks for")
    log.error(error, function)
    tell_context(error, HELD.get(handle))
    return status
