# SPDX-License-Identifier: Apache-2.0
"""Reading files that somebody else may have made: no more bytes than their kind can need, and no endless ones.

Devices, terminals and sockets are refused; a pipe is read as far as its kind may be long.
"""

from __future__ import annotations

import errno
import os
import stat

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PIECE = 1 * MIB
LARGEST_CONTAINER = 1 * GIB
"""Bytes of an .aocx, .aocr or .aoco, of a library and of a program's binary."""
LARGEST_DESCRIPTION = 4 * MIB
"""Bytes of a description in XML: of a board, a partition, a board package or an object specification."""
LARGEST_MANIFEST = 16 * MIB
"""Bytes of what describes a captured launch."""
LARGEST_SOURCE = 64 * MIB
"""Bytes of a file of OpenCL C, and of a program's source or SPIR-V."""
LARGEST_TRACE = 2 * GIB
LONGEST_EVENT = 1 * MIB
"""Characters of a line of a trace."""
LONGEST_OPTIONS = 64 * KIB
"""Characters of the options of a build."""


class TooLarge(OSError):
    """A file that has more bytes than its kind may have, or may have no end."""


def read_input(path: str | os.PathLike[str], most: int) -> bytes:
    """All bytes of a file that has at most `most`. Raises TooLarge, OSError."""
    check_size(path, most)
    data = bytearray()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            data += piece
            if len(data) > most:
                raise _too_large(path, len(data), most)
    return bytes(data)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """The text of such a file; bytes that are no UTF-8 come back as they were when the text is encoded again."""
    return read_input(path, most).decode(errors="surrogateescape")


def check_size(path: str | os.PathLike[str], most: int) -> None:
    """Raises TooLarge for a device, a socket, and a file of more than `most` bytes; OSError where there is none."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
        raise TooLarge(errno.EINVAL, "it is a device or a socket, which may have no end", os.fspath(path))
    if found.st_size > most:
        raise _too_large(path, found.st_size, most)


def _too_large(path: str | os.PathLike[str], size: int, most: int) -> TooLarge:
    return TooLarge(errno.EFBIG, f"it has {size} bytes, of files of its kind at most {most} are read", os.fspath(path))
