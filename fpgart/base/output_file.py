# SPDX-License-Identifier: Apache-2.0
"""Opening the files that options name, also where other users of the machine can put names of their own."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

FIRST_FREE = 3
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def open_output(path: str | os.PathLike[str], flags: int = APPEND) -> int:
    """A descriptor of a file to write to, above the three standard ones, which a host may have closed. Raises OSError.

    In a folder that everybody can write to, such as /tmp, neither a link nor another user's file is taken.
    """
    descriptor = _open(path, flags)
    if descriptor >= FIRST_FREE:
        return descriptor
    import fcntl  # hardly ever needed

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    finally:
        os.close(descriptor)


class KeptOutput:
    """An output file that stays open while the host runs, which may close its descriptor and use the number anew."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        found = os.fstat(descriptor)
        self._identity = found.st_dev, found.st_ino

    def write(self, data: bytes) -> int:
        """How many bytes were written; raises OSError, also where the descriptor leads to another file now."""
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
    """A folder that only this user can enter, made if need be; not those above it. Raises OSError for any other."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    if not is_private(path):
        raise OSError(errno.EPERM, "a link, another user's, or open to others", path)
    return path


def runtime_folders() -> list[str]:
    """Where what running programs of this user have for each other may be; the first that is private is it."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return [*([os.path.join(base, "fpgart")] if base else []), f"/tmp/fpgart-live-{os.geteuid()}"]


def runtime_folder() -> str:
    """The private folder of this user's running programs. Raises OSError where none is that only they can enter."""
    *before, last = runtime_folders()
    for path in before:
        with suppress(OSError):
            return private_folder(path)
    return private_folder(last)


def is_private(folder: str) -> bool:
    """Whether it is the user's, no link, and closed to all others. Raises OSError."""
    facts = os.lstat(folder)
    return facts.st_uid == os.geteuid() and facts.st_mode & 0o170077 == 0o040000
