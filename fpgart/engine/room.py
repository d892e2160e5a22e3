# SPDX-License-Identifier: Apache-2.0
"""The check for resources without which PoCL ends the process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from fpgart.base.memory_limit import limit_of_memory
from fpgart.engine.driver import DriverError

PROCESSORS = "/sys/devices/system"
SPARE = 7
"""The processes of the compiler and of its linker, which count as threads where the user's threads are counted, and the
driver's own threads. Without the linker PoCL ends the process."""
STACK = 256 << 20
"""Bytes of the stack of one of PoCL's threads (engine/containment/stacks.c)."""
LIBRARIES, DATA = 768 << 20, 400 << 20
"""Bytes of address space of PoCL, its compiler and their allocations for a small kernel; bytes of data among them."""
FILES = 12
"""The files that PoCL has open at the same time while it builds a kernel, and a few more."""


def check_room(path: Path) -> None:
    """Raises DriverError, with the resource that is missing, for a PoCL that could not start or build here."""
    if not os.path.isdir(PROCESSORS):
        raise DriverError(f"{path}: PoCL reads the processors of the machine from {PROCESSORS}, which does not exist")
    wanted = 2 * _threads_of_pocl() + SPARE  # the compiler's process has PoCL's threads, too
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
    """Returns the number of threads that PoCL creates: one per processor, unless the user wants fewer."""
    processors, asked = os.cpu_count() or 1, os.environ.get("POCL_MAX_PTHREAD_COUNT", "")
    return min(processors, int(asked)) if asked.isdecimal() and int(asked) else processors


def _threads_to_be_had(most: int) -> int:
    """Returns how many threads can be created, `most` at most."""
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
