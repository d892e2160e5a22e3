# SPDX-License-Identifier: Apache-2.0
"""Opens the files that options name, safely also in folders in which other users can create files."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

FIRST_FREE = 3
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def open_output(path: str | os.PathLike[str], flags: int = APPEND) -> int:
    """Returns a descriptor for writing, above the standard ones, which a host may have closed. Raises OSError.

    In a folder that everybody can write to, such as /tmp, a link or another user's file is refused.
    """
    descriptor = _open(path, flags)
    if descriptor >= FIRST_FREE:
        return descriptor
    import fcntl  # rarely needed

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    finally:
        os.close(descriptor)


def append(path: str | os.PathLike[str], data: bytes) -> None:
    """Appends bytes to an output file, at once. Raises OSError."""
    descriptor = open_output(path)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """True if both paths lead to one file, or will once it exists."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


class KeptOutput:
    """An output file that stays open while the host runs, which may close the descriptor and reuse its number."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        found = os.fstat(descriptor)
        self._identity = found.st_dev, found.st_ino

    def write(self, data: bytes) -> int:
        """Returns the number of bytes written. Raises OSError, also if the descriptor is another file's."""
        self._check()
        return os.write(self.descriptor, data)

    def close(self) -> None:
        with suppress(OSError):  # it is closed already, or another file
            self._check()
            os.close(self.descriptor)

    def _check(self) -> None:
        found = os.fstat(self.descriptor)
        if (found.st_dev, found.st_ino) != self._identity:
            raise OSError(errno.EBADF, "the program has closed the file and opened another one in its place")


def _open(path: str | os.PathLike[str], flags: int) -> int:
    if not _is_shared(os.path.dirname(path) or "."):
        return os.open(path, flags | os.O_CLOEXEC, 0o644)
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a link in a folder that everybody can write to", path) from None
        raise
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(errno.EPERM, "another user's file in a folder that everybody can write to", path)
    return descriptor


def _is_shared(folder: str) -> bool:
    return bool(os.stat(folder).st_mode & stat.S_IWOTH)


def private_folder(path: str) -> str:
    """Creates a folder that only this user can enter, if it does not exist. Raises OSError for any other folder."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not is_private(path):
        raise OSError(errno.EPERM, "a link, another user's, or open to others", path)
    return path


def runtime_folders() -> list[str]:
    """Returns the possible folders for files of this user's running programs. The first private one is used."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return [*([os.path.join(base, "fpgart")] if base else []), f"/tmp/fpgart-live-{os.geteuid()}"]


def runtime_folder() -> str:
    """Returns the private folder of this user's running programs. Raises OSError if there is none."""
    *before, last = runtime_folders()
    for path in before:
        with suppress(OSError):
            return private_folder(path)
    return private_folder(last)


def is_private(folder: str) -> bool:
    """True for a folder of the user that is no link and closed to all others. Raises OSError."""
    facts = os.lstat(folder)
    return facts.st_uid == os.geteuid() and facts.st_mode & 0o170077 == 0o040000
