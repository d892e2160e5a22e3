# SPDX-License-Identifier: Apache-2.0
"""The file of a trace: one per process, written at once; compressed where its name ends in .gz."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import zlib
from contextlib import suppress
from itertools import count

from fpgart.base import log
from fpgart.base.output_file import KeptOutput, open_output

COMPRESSED = ".gz"
MAGIC = b"\x1f\x8b"
GZIP = 31
"""Selects the format of gzip in zlib."""
FIRST_BYTES = 256
"""The line that names the run lies within these bytes of a trace."""


class TraceFile:
    """A JSON array on disk, open from the first line to the last."""

    def __init__(self, path: str, run: str) -> None:
        """Opens `path`, or the next free name. Raises OSError if the file cannot be written."""
        descriptor, self.path = open_unshared(path, run)
        self._file: KeptOutput | None = KeptOutput(descriptor)
        self._compress = zlib.compressobj(wbits=GZIP) if self.path.endswith(COMPRESSED) else None
        self._lock = threading.RLock()
        """Compressed lines have to be written in the order in which they were compressed."""
        self.write(b"[\n")
        os.register_at_fork(after_in_child=self._close)  # it belongs to the parent

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    @property
    def is_open(self) -> bool:
        """True while lines are written."""
        return self._file is not None

    def append(self, line: str) -> None:
        self.write(f"{line},\n".encode())

    def close(self, line: str) -> None:
        """Writes the last element and the bracket that ends the array."""
        self.write(f"{line}\n]\n".encode(), last=True)

    def write(self, lines: bytes, *, last: bool = False) -> None:
        """Writes lines at once. A full disk ends the trace; the host's calls continue without it."""
        if self._file is not None:  # a child of fork() does not wait for a thread of its parent
            with self._lock:
                self._write_next(lines, last=last)

    def _write_next(self, line: bytes, *, last: bool) -> None:
        if self._file is None:
            return
        if self._compress is not None:  # flushed data can be read even if the file is cut off later
            how = zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH
            line = self._compress.compress(line) + self._compress.flush(how)
        try:
            missing = len(line) - self._file.write(line)
            reason = "the file cannot be written any more" if missing else ""
        except OSError as error:
            reason = error.strerror or str(error)
        if reason:
            self._file = None
            log.warning(f"the trace ends here: {reason}")
        elif last:  # before another thread can write
            self._close()


def open_unshared(path: str, run: str) -> tuple[int, str]:
    """Opens an empty file that no other process writes, and returns it with its path: `path`, or the next free name.

    A trace belongs to its process while that runs. Processes of the same `run` also keep each other's finished traces.
    Raises OSError.
    """
    base, ending = os.path.splitext(path)
    for number in count(1):
        name = path if number == 1 else f"{base}.{number}{ending}"
        file = open_output(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            break
        if locked(file) and not of_run(file, run):
            os.ftruncate(file, 0)
            break
        os.close(file)
    if number > 1:
        log.warning(f"{path} is the trace of another process; process {os.getpid()} writes {name}")
    return file, name


def locked(file: int) -> bool:
    """Locks the file until this process ends; false if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def of_run(file: int, run: str) -> bool:
    """True if a process of this run of `fpgart run` began the trace in the file."""
    first = os.pread(file, FIRST_BYTES, 0)
    if first.startswith(MAGIC):
        with suppress(zlib.error):
            first = zlib.decompressobj(GZIP).decompress(first)
    return bool(run) and f'"run": "{run}"'.encode() in first
