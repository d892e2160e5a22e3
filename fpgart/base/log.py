# SPDX-License-Identifier: Apache-2.0
"""Messages of the driver: errors with words, and tracebacks of its own bugs.

FPGART_LOG=stderr, or a file's path, shows every error the host was given; bugs are always shown.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from fpgart.base import config
from fpgart.base.errors import CLError
from fpgart.base.output_file import open_output

_lost: set[str] = set()
"""Files that could not be written, each complained of once."""


def _write(text: str) -> None:
    """One write per message, so that threads do not mix their lines.

    Raises nothing: a log that cannot be written, on a full disk say, must not fail what it is about.
    """
    target = config.LOG.value
    data = "".join(f"fpgart: {line}\n" for line in text.splitlines()).encode(errors="replace")
    if target and target != "stderr":
        try:
            _append(target, data)
            return
        except OSError as error:
            if target not in _lost:
                _lost.add(target)
                data = f"fpgart: FPGART_LOG={target} cannot be written: {error.strerror}\n".encode() + data
    with suppress(OSError):  # stderr is closed or full: there is nobody left to tell
        os.write(2, data)


def _append(path: str, data: bytes) -> None:
    descriptor = open_output(path)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


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
    import traceback  # at the first bug

    kind, failure, trace = sys.exc_info()
    _write(f"{where}; this is a bug of the driver\n" + "".join(traceback.format_exception(kind, failure, trace)))
