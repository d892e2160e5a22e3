# SPDX-License-Identifier: Apache-2.0
"""Reading of a trace that may be compressed, and may have been truncated anywhere."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from io import BufferedReader

GZIP = b"\x1f\x8b"
PIECE = 1 << 20
MOST_GROWTH = 1 << 35
"""The most bytes of a decompressed trace."""


class Reader:
    """The bytes of a file, decompressed if they begin as gzip's do. Raises ValueError if they are damaged."""

    def __init__(self, file: BufferedReader, tell: Callable[[int], None]) -> None:
        """`tell` gets the number of bytes of each piece of the file, unless that is a pipe."""
        self._file = file
        self._tell = tell
        self._told = self._made = 0
        self._inflated = gzip.GzipFile(fileobj=file) if file.peek(len(GZIP)).startswith(GZIP) else None

    def line(self, most: int) -> bytes:
        """Returns the bytes up to the next newline, or `most` bytes."""
        return self._next(self._inflated.readline if self._inflated is not None else self._file.readline, most)

    def read(self) -> bytes:
        """Returns the next bytes; none at the end."""
        return self._next(self._inflated.read1 if self._inflated is not None else self._file.read, PIECE)

    def _next(self, read: Callable[[int], bytes], most: int) -> bytes:
        try:
            found = read(most)
        except EOFError:  # the file is truncated
            found = b""
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"it is damaged: {error}") from None
        self._made += len(found)
        if self._made > MOST_GROWTH:
            raise ValueError(f"its decompressed size exceeds {MOST_GROWTH} bytes")
        if self._file.seekable():
            at = self._file.tell()
            self._tell(at - self._told)
            self._told = at
        return found
