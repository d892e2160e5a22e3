# SPDX-License-Identifier: Apache-2.0
"""The resources that PoCL needs: without them PoCL ends the process, so they are checked before."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from fpgart.base.memory_limit import limit_of_memory
from fpgart.engine.driver import DriverError

PROCESSORS = "/sys/devices/system"
SPARE = 1
"""The linker, a process, which counts as a thread where the user's are counted."""
STACK = 256 << 20
"""Bytes of the stack of one of its threads (engine/containment/stacks.c)."""
LIBRARIES, DATA = 768 << 20, 400 << 20
"""Bytes of address space of PoCL, of its compiler and of what they allocate for a small kernel; of data among them."""
FILES = 12
"""That PoCL has open at the same time while it builds a kernel, and a few more."""


def check_room(path: Path) -> None:
    """Raises DriverError, with what is wanting, for a PoCL that could not start or build here."""
    if not os.path.isdir(PROCESSORS):
        raise DriverError(f"{path}: PoCL reads the processors of the machine from {PROCESSORS}, which does not exist")
    wanted = _threads_of_pocl() + SPARE
    stacks = _threads_of_pocl() * STACK
    limit = limit_of_memory(stacks + LIBRARIES, stacks + DATA)
    if limit:
        raise DriverError(f"{path}: the process may not have as much memory as PoCL needs{limit}")
    found = _threads_to_be_had(wanted)
    if found < wanted:
        creates = f"can create only {found} of {wanted} (ulimit -u)" if found else "cannot create any"
        raise DriverError(f"{path}: PoCL runs kernels on threads of its own, and the system {creates}")
    if not _has_files():
        raise DriverError(
            f"{path}: fewer than {FILES} files can be opened, but PoCL needs that many for a build (ulimit -n)"
        )


def _threads_of_pocl() -> int:
    """One for each processor, unless the user wants fewer."""
    processors, asked = os.cpu_count() or 1, os.environ.get("POCL_MAX_PTHREAD_COUNT", "")
    return min(processors, int(asked)) if asked.isdecimal() and int(asked) else processors


def _threads_to_be_had(most: int) -> int:
    """How many threads there can be besides those that there are."""
    enough = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(most):
            thread = threading.Thread(target=enough.wait, name="fpgart probe")
            thread.start()
            started.append(thread)
    except RuntimeError:
        return len(started)
    finally:
        enough.set()
        for thread in started:
            thread.join()
    return most


def _has_files() -> bool:
    opened: list[int] = []
    try:
        for _ in range(FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        for each in opened:
            os.close(each)
    return True
