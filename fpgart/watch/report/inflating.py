# SPDX-License-Identifier: Apache-2.0
"""Reading of a trace that may be compressed, and may have been truncated anywhere."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO

GZIP = b"\x1f\x8b"
FORMAT = 31
"""Selects the format of gzip in zlib."""
PIECE = 1 << 20
MOST_GROWTH = 1 << 35
"""The most bytes of a decompressed trace."""


class Reader:
    """The bytes of a file, decompressed if they begin as gzip's do. Raises ValueError if they are damaged."""

    def __init__(self, file: BinaryIO, tell: Callable[[int], None]) -> None:
        """`tell` gets the number of bytes of each piece of the file."""
        self._file = file
        self._tell = tell
        self._buffer = file.read(len(GZIP))
        self._inflate = zlib.decompressobj(FORMAT) if self._buffer == GZIP else None
        self._made = 0
        if self._inflate is not None:
            self._buffer = self._inflate.decompress(self._buffer)  # its first two bytes give no output yet

    def line(self, most: int) -> bytes:
        """Returns the bytes up to the next newline, or `most` bytes."""
        while b"\n" not in self._buffer and len(self._buffer) < most and self._fill():
            pass
        end = self._buffer.find(b"\n") + 1 or len(self._buffer)
        return self._take(min(end, most))

    def read(self) -> bytes:
        """Returns the next bytes; none at the end."""
        if not self._buffer:
            self._fill()
        return self._take(len(self._buffer))

    def _take(self, count: int) -> bytes:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _fill(self) -> bool:
        """Reads a piece of the file; true if there are more bytes."""
        if self._inflate is None:
            piece = self._file.read(PIECE)
            self._tell(len(piece))
            self._buffer += piece
            return bool(piece)
        return self._decompress(self._inflate)

    def _decompress(self, inflate: zlib._Decompress) -> bool:
        while True:
            given = inflate.unconsumed_tail
            if not given:
                given = self._file.read(PIECE)
                self._tell(len(given))
            if not given or inflate.eof:
                return False
            try:
                made = inflate.decompress(given, PIECE)
            except zlib.error as error:
                raise ValueError(f"it is damaged: {error}") from None
            self._made += len(made)
            if self._made > MOST_GROWTH:
                raise ValueError(f"its decompressed size exceeds {MOST_GROWTH} bytes")
            self._buffer += made
            if made:
                return True
