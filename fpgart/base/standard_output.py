# SPDX-License-Identifier: Apache-2.0
"""Ends a program of the package whose standard output is closed, full, or a pipe without a reader.

The shell gets one line on stderr and a status that is not 0, because output is incomplete. There is no line if a reader
has closed its pipe: it has read as much as it wants.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DESCRIPTOR = 1
FAILED = 1


class OutputLost(BaseException):
    """Standard output cannot be written. It is no Exception, so that commands' handlers for files do not catch it."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reader_is_gone = error.errno == errno.EPIPE


class _Output(io.RawIOBase):
    """The descriptor of standard output; a write that fails raises OutputLost."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return DESCRIPTOR

    def isatty(self) -> bool:
        return os.isatty(DESCRIPTOR)

    def write(self, data: ReadableBuffer) -> int:
        try:
            return os.write(DESCRIPTOR, data)
        except OSError as error:
            raise OutputLost(error) from None


def end_with(tool: str, work: Callable[[], int | None]) -> None:
    """Runs `work` for the program `tool`, and exits with the status that it returns."""
    before = sys.stdout
    if before is None or before is sys.__stdout__:  # not while tests capture it
        encoding = before.encoding if before is not None else "utf-8"
        raw = io.BufferedWriter(_Output())
        sys.stdout = io.TextIOWrapper(raw, encoding, "surrogateescape", line_buffering=raw.isatty())
    try:
        try:
            status = work()
        finally:
            sys.stdout.flush()
    except OutputLost as lost:
        status = FAILED
        if not lost.reader_is_gone:
            with suppress(OSError):
                print(f"{tool}: standard output cannot be written: {lost}", file=sys.stderr, flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), DESCRIPTOR)  # for what is still buffered
    sys.exit(status)
