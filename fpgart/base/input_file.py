# SPDX-License-Identifier: Apache-2.0
"""Reads files that others may have made: at most as many bytes as their kind needs.

Devices, terminals and sockets are refused. A pipe is read up to the limit of its kind.
"""

from __future__ import annotations

import errno
import os
import stat

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PIECE = 1 * MIB
LARGEST_CONTAINER = 1 * GIB
"""The bytes of an .aocx, .aocr or .aoco, of a library and of a program's binary."""
LARGEST_DESCRIPTION = 4 * MIB
"""The bytes of a description in XML: of a board, a partition, a board package or an object specification."""
LARGEST_MANIFEST = 16 * MIB
"""The bytes of the description of a captured launch."""
LARGEST_SOURCE = 64 * MIB
"""The bytes of a file of OpenCL C, and of a program's source or SPIR-V."""
LARGEST_TRACE = 2 * GIB
LONGEST_EVENT = 1 * MIB
"""The characters of a line of a trace."""
LONGEST_OPTIONS = 64 * KIB
"""The characters of the options of a build."""


class TooLarge(OSError):
    """The error of a file that has more bytes than its kind may have, or may have no end."""


def read_input(path: str | os.PathLike[str], most: int) -> bytes:
    """Returns all bytes of a file that has at most `most`. Raises TooLarge, OSError."""
    check_size(path, most)
    data = bytearray()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            data += piece
            if len(data) > most:
                raise _too_large(path, len(data), most)
    return bytes(data)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Returns the text of such a file. Bytes that are no UTF-8 become surrogates, which encode to the same bytes."""
    return read_input(path, most).decode(errors="surrogateescape")


def check_size(path: str | os.PathLike[str], most: int) -> None:
    """Raises TooLarge for a device, a socket, or a file of more than `most` bytes; OSError if there is no file."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
        raise TooLarge(errno.EINVAL, "it is a device or a socket, which may have no end", os.fspath(path))
    if found.st_size > most:
        raise _too_large(path, found.st_size, most)


def _too_large(path: str | os.PathLike[str], size: int, most: int) -> TooLarge:
    return TooLarge(errno.EFBIG, f"it has {size} bytes, of files of its kind at most {most} are read", os.fspath(path))
