# SPDX-License-Identifier: Apache-2.0
"""The driver in the process of the tests; fpgart.api can be imported only once it is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from pathlib import Path

from fpgart.cli.registration import LIBRARY


class DriverError(Exception):
    """The driver cannot be used for tests; the sentence says why."""


def load() -> None:
    """Start the driver in this process, as a loader would; the loader will get the same one. Raises DriverError."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise DriverError(str(error)) from None
    count = ctypes.c_uint(0)
    status = library.clGetPlatformIDs(0, None, ctypes.byref(count))
    if status or count.value != 1:
        raise DriverError(f"{LIBRARY} has no platform (status {status}); it says why on stderr")


def platform_handle() -> int:
    """The cl_platform_id."""
    from fpgart.api.platform import the_platform

    return int(the_platform().handle)


def settle(patience_s: float) -> bool:
    """Wait for what runs or is ready to; False when that takes longer."""
    from fpgart.api import testbench

    return testbench.settle(patience_s)


def renew_boards() -> None:
    """Boards as if they were new, when nothing runs; what is alive on them keeps its place and its contents."""
    from fpgart.api import testbench

    testbench.renew_boards()


def take_off_boards(numbers: Collection[int]) -> None:
    """Move some buffers to the host's memory, when nothing runs. They can be used as before."""
    from fpgart.api import testbench

    testbench.take_off_boards(numbers)


def memory_in_use() -> dict[int, str]:
    """Buffers and allocations of the host: number in traces, and in words."""
    from fpgart.api import testbench

    return testbench.memory_in_use()


def unfinished() -> int:
    """How many commands have not ended."""
    from fpgart.api import testbench

    return testbench.unfinished()


def begin_trace(file: Path) -> Callable[[], None]:
    """Trace into a file until what this returns is called; nothing may run. Raises OSError."""
    from fpgart.api import testbench

    return testbench.begin_trace(str(file))
