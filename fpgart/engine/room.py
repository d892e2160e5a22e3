# SPDX-License-Identifier: Apache-2.0
"""Whether a process has what PoCL needs, which ends the process where it does not get it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from fpgart.engine.driver import DriverError

PROCESSORS = "/sys/devices/system"
FILES = 12
"""That PoCL has open at the same time while it builds a kernel, and a few more."""


def check_room(path: Path) -> None:
    """Raises DriverError, with what is wanting, for a PoCL that could not start or build here."""
    if not os.path.isdir(PROCESSORS):
        raise DriverError(f"{path}: PoCL reads the processors of the machine from {PROCESSORS}, which does not exist")
    if not _has_threads():
        raise DriverError(f"{path}: PoCL runs kernels on threads of its own, and the system cannot create any")
    if not _has_files():
        raise DriverError(
            f"{path}: fewer than {FILES} files can be opened, but PoCL needs that many for a build (ulimit -n)"
        )


def _has_threads() -> bool:
    thread = threading.Thread(target=int, name="fpgart probe")
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


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
