# SPDX-License-Identifier: Apache-2.0
"""The end of a program of the package whose standard output is closed, full, or a pipe that nobody reads.

The shell has to learn that not all was written: one line on stderr and a status that is not 0. A reader that closes
its pipe has what it wanted: then there is no line.
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
    """Standard output cannot be written. No `except OSError` of a command, which is about files, catches it."""

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
    """Do the work of the program `tool`, and end the process with the status that it returns."""
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
