# SPDX-License-Identifier: Apache-2.0
"""Requests from the host's Python to the driver of this process, which has an interpreter of its own.

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
    """Raised if the driver does not run, or could not do the request; the sentence says why."""


def is_running() -> bool:
    """True if a driver was started in this process."""
    library = _loaded()
    return library is not None and bool(library.fpgart_control_runs())


def ask(name: str, *arguments: Any) -> Any:
    """Makes the driver, which is loaded, do a request; starts it if need be.

    Raises ControlError, and the errors of the request (FaultSyntaxError, OSError).
    """
    library = _loaded()
    assert library is not None
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
    """Returns the library, if it is loaded; else None."""
    try:
        library = ctypes.CDLL(str(LIBRARY), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    library.fpgart_control.restype = ctypes.c_void_p
    return library
