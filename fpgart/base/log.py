# SPDX-License-Identifier: Apache-2.0
"""Messages of the driver: errors, facts, warnings, and tracebacks of its own bugs.

FPGART_LOG=stderr, or a file's path, shows every error that the host got, and facts. Warnings and bugs are always shown.
C writes lines of the same form: those of protected memory (check/pages/fault_words.c) and of leaks (icd/entry/leaks.c).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from fpgart.base import config
from fpgart.base.errors import CLError
from fpgart.base.output_file import append

_lost: set[str] = set()
"""Files that could not be written. Each is reported once."""


def file() -> str:
    """Returns the path of the file that gets the log; "" for stderr."""
    return "" if config.LOG.value == "stderr" else config.LOG.value


def _write(text: str) -> None:
    """Writes a message at once, so that threads do not mix their lines.

    It raises nothing: a log that cannot be written, because the disk is full for example, must not make a call fail.
    """
    target = file()
    data = "".join(f"fpgart: {line}\n" for line in text.splitlines()).encode(errors="replace")
    if target:
        try:
            append(target, data)
            return
        except OSError as error:
            if target not in _lost:
                _lost.add(target)
                data = f"fpgart: FPGART_LOG={target} cannot be written: {error.strerror}\n".encode() + data
    with suppress(OSError):  # stderr may be closed or full
        os.write(2, data)


def error(failure: CLError, call: str = "") -> None:
    """Logs an error that the host gets. It is shown if FPGART_LOG is set."""
    if config.LOG.value:
        _write(f"{call}{': ' if call else ''}{failure.name}: {failure}")


def note(text: str) -> None:
    """Logs a fact that is shown if FPGART_LOG is set."""
    if config.LOG.value:
        _write(text)


def warning(text: str) -> None:
    """Logs a fact that is always shown."""
    _write(text)


def bug(where: str, failure: BaseException | None = None) -> None:
    """Logs a bug of the driver, or of a host's Python function: `failure`, or the exception that is being handled."""
    import traceback  # rarely needed

    lines = traceback.format_exception(failure or sys.exc_info()[1])
    _write(f"{where}; this is a bug of the driver\n" + "".join(lines))
