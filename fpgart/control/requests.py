# SPDX-License-Identifier: Apache-2.0
"""Asking the driver of this process, from the host's Python: the driver runs in an interpreter of its own.

The other side is fpgart/control/answers.py.
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from fpgart.base.registration import LIBRARY
from fpgart.board.fault_rules import FaultSyntaxError

KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (FaultSyntaxError, OSError, FileNotFoundError, PermissionError, TypeError)
}


class ControlError(Exception):
    """The driver does not run, or could not do what it was asked for; the sentence says why."""


def is_running() -> bool:
    """Whether a driver was started in this process."""
    library = _loaded()
    return library is not None and bool(library.fpgart_control_runs())


def ask(name: str, *arguments: Any) -> Any:
    """Has the driver, which is loaded, carry out a request; it is started for that, if need be.

    Raises ControlError, and what the request raises (FaultSyntaxError, OSError).
    """
    library = _loaded()
    if library is None:
        raise ControlError(f"{LIBRARY} is not loaded in this process")
    request = json.dumps({"name": name, "arguments": arguments}).encode()
    text = library.fpgart_control(request, ctypes.c_size_t(len(request)))
    if not text:
        raise ControlError(f"the driver does not run, so it cannot do {name}")
    answer = json.loads(ctypes.string_at(text))
    library.fpgart_control_read(ctypes.c_void_p(text))
    if "error" in answer:
        raise KINDS.get(answer["error"], ControlError)(answer["words"])
    return answer["value"]


def _loaded() -> ctypes.CDLL | None:
    """The library, if somebody has loaded it."""
    try:
        library = ctypes.CDLL(str(LIBRARY), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    library.fpgart_control.restype = ctypes.c_void_p
    return library
