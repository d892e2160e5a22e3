# SPDX-License-Identifier: Apache-2.0
"""FPGART_LIVE: a running host answers what its boards are doing (`fpgart top`).

Each host has a named pipe in a folder that only its user can enter. A client writes a line with a random word, and
finds the answer in a file of that name there. Without a question, a thread sleeps.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from select import POLLIN, poll
from typing import Any

from fpgart.base.output_file import runtime_folder

DIGITS = frozenset("0123456789abcdef")
QUESTION_LENGTH = 16
END = b"end\n"
LONGEST = 4096
"""The bytes that are read at once."""

Snapshot = dict[str, Any]


class Live:
    """The host's side: a thread that answers with the result of `describe`."""

    def __init__(self, describe: Callable[[], Snapshot]) -> None:
        """Raises OSError if no pipe can be created in the folder."""
        self._describe = describe
        self._process = os.getpid()
        self._folder = runtime_folder()
        self._path = os.path.join(self._folder, f"host-{self._process}")
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # left by a process of that number that was killed
        os.mkfifo(self._path, 0o600)
        self._pipe = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._identity = _identity(self._pipe)
        self._thread = threading.Thread(target=self._answer_all, name="fpgart live", daemon=True)

    def start(self) -> None:
        """Raises RuntimeError if the system creates no thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops answering. A child of fork() changes nothing: pipe and thread are its parent's."""
        if os.getpid() != self._process:
            return
        if self._thread.is_alive() and put(self._path, END):
            self._thread.join()
        with suppress(FileNotFoundError):
            os.unlink(self._path)

    def _answer_all(self) -> None:
        """Answers until it has to end, or the host has closed the pipe, as hosts do that close all descriptors.

        It reads only when there is a question and the pipe is still its own, because the host may give the number to
        another file.
        """
        rest = b""
        questions = poll()
        questions.register(self._pipe, POLLIN)
        while questions.poll() and _identity(self._pipe) == self._identity:
            *lines, rest = (rest + os.read(self._pipe, LONGEST)).split(b"\n")
            for line in lines:
                if line + b"\n" == END:
                    return
                word = line.decode("ascii", errors="replace")
                if len(word) == QUESTION_LENGTH and DIGITS.issuperset(word):
                    self._answer(os.path.join(self._folder, word))
            rest = rest[-LONGEST:]

    def _answer(self, path: str) -> None:
        """Writes the whole answer or nothing: the file gets its name when it is complete."""
        import json  # not imported by hosts that get no question

        data = json.dumps(self._describe()).encode()
        with suppress(OSError):  # the client reports that there is no answer
            file = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with open(file, "wb") as out:
                out.write(data)
            os.rename(f"{path}.new", path)


def _identity(file: int) -> tuple[int, int]:
    """Returns device and number of the file behind a descriptor; (0, 0) if it is closed."""
    try:
        facts = os.fstat(file)
    except OSError:
        return 0, 0
    return facts.st_dev, facts.st_ino


def put(path: str, words: bytes) -> bool:
    """Writes to a pipe that has a reader; False if it has none, is no pipe, or is full."""
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return stat.S_ISFIFO(os.fstat(pipe).st_mode) and os.write(pipe, words) == len(words)
    except OSError:
        return False
    finally:
        os.close(pipe)
