# SPDX-License-Identifier: Apache-2.0
"""The driver in the process of the tests, in an interpreter of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from pathlib import Path

from fpgart.base.registration import LIBRARY
from fpgart.control import requests as control


class DriverError(Exception):
    """Raised if the driver cannot be used for tests; the sentence says why."""


def load() -> None:
    """Starts the driver in this process, as a loader would; a loader gets the same one. Raises DriverError."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise DriverError(str(error)) from None
    count = ctypes.c_uint(0)
    status = library.clGetPlatformIDs(0, None, ctypes.byref(count))
    if status or count.value != 1:
        raise DriverError(f"{LIBRARY} has no platform (status {status}); the reason is on stderr")


def platform_handle() -> int:
    return int(control.ask("platform_handle"))


def settle(patience_s: float) -> bool:
    return bool(control.ask("settle", patience_s))


def renew_boards() -> None:
    control.ask("renew_boards")


def take_off_boards(numbers: Collection[int]) -> None:
    """Moves buffers to the host's memory, where hosts can use them as before. No command may run.

    Mapped buffers and those with CL_MEM_USE_HOST_PTR stay.
    """
    control.ask("take_off_boards", list(numbers))


def memory_in_use() -> dict[int, str]:
    """Returns buffers and allocations of the host: number in traces, and in words."""
    return {int(number): words for number, words in control.ask("memory_in_use").items()}


def unfinished() -> int:
    return int(control.ask("unfinished"))


def number_of(handle: int) -> int:
    """Returns the number in traces of the memory behind a cl_mem. Raises ControlError if it is none."""
    return int(control.ask("number_of", handle))


def begin_trace(file: Path) -> Callable[[], None]:
    """Traces into a file until the returned function is called; no command may run. Raises OSError."""
    control.ask("begin_trace", str(file))

    def end() -> None:
        control.ask("end_trace")

    return end
