# SPDX-License-Identifier: Apache-2.0
"""What the driver has to say: errors with words, and tracebacks of its own bugs.

FPGART_LOG=stderr, or a file's path, shows every error the host was given; bugs are always shown.
"""

from __future__ import annotations

import os
import sys
import traceback

from fpgart import config
from fpgart.errors import CLError


def _write(text: str) -> None:
    """One write per message, so that threads do not mix their lines."""
    target = config.LOG.value
    data = "".join(f"fpgart: {line}\n" for line in text.splitlines()).encode(errors="replace")
    if target and target != "stderr":
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    else:
        os.write(2, data)


def error(failure: CLError, call: str = "") -> None:
    """An error that the host gets; shown when FPGART_LOG is set."""
    if config.LOG.value:
        _write(f"{call}{': ' if call else ''}{failure.name}: {failure}")


def note(text: str) -> None:
    """Something the user asked to know about; shown when FPGART_LOG is set."""
    if config.LOG.value:
        _write(text)


def warning(text: str) -> None:
    """Something that the user has to know about; always shown."""
    _write(text)


def bug(where: str) -> None:
    """The exception at hand is a fault of the driver, or of a host's Python function."""
    kind, failure, trace = sys.exc_info()
    _write(f"{where}; this is a bug of the driver\n" + "".join(traceback.format_exception(kind, failure, trace)))
