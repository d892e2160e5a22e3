# SPDX-License-Identifier: Apache-2.0
"""FPGART_LIVE: a running host answers what its boards are doing (`fpgart top`).

Each host has a named pipe in a folder that only its user can enter. Who wants to know writes a line with a word of
its own choosing, and finds the answer in a file of that name there. Without a question a thread sleeps in read().
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from fpgart.output_file import private_folder

QUESTION = re.compile(r"[0-9a-f]{16}")
PIPE = re.compile(r"host-(\d+)")
END = b"end\n"
PATIENCE_S = 2.0
"""How long an answer may take: a host can be stopped, or its interpreter busy."""

Snapshot = dict[str, Any]


def folders() -> list[str]:
    """Where the private folder of this user's hosts may be; the first that is private is it."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return [*([os.path.join(base, "fpgart")] if base else []), f"/tmp/fpgart-live-{os.geteuid()}"]


def folder() -> str:
    """The private folder of this user's hosts. Raises OSError where there is none that nobody else can enter."""
    *before, last = folders()
    for path in before:
        with suppress(OSError):
            return private_folder(path)
    return private_folder(last)


class Live:
    """The host's side: a thread that answers with what `describe` returns."""

    def __init__(self, describe: Callable[[], Snapshot]) -> None:
        """Raises OSError when nothing can be written where others would ask."""
        self._describe = describe
        self._process = os.getpid()
        self._folder = folder()
        self._path = os.path.join(self._folder, f"host-{self._process}")
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # of a process of that number that was killed
        os.mkfifo(self._path, 0o600)
        self._pipe = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._thread = threading.Thread(target=self._answer_all, name="fpgart live", daemon=True)

    def start(self) -> None:
        """Raises RuntimeError where the system gives no thread."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more. The child of a fork leaves all to its parent."""
        if os.getpid() != self._process:
            return
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        if self._thread.is_alive():
            os.write(self._pipe, END)
            self._thread.join()

    def _answer_all(self) -> None:
        with open(self._pipe, "rb", closefd=False) as lines:
            for line in lines:
                if line == END:
                    return
                word = line.decode("ascii", errors="replace").strip()
                if QUESTION.fullmatch(word):
                    self._answer(os.path.join(self._folder, word))

    def _answer(self, path: str) -> None:
        """All of it or nothing: the file gets its name when it is whole."""
        data = json.dumps(self._describe()).encode()
        with suppress(OSError):  # who asked sees no answer, and says so
            file = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with open(file, "wb") as out:
                out.write(data)
            os.rename(f"{path}.new", path)


# The asking side


def hosts() -> list[int]:
    """The processes of this user that can be asked, oldest number first; pipes of those that are gone are removed."""
    found = []
    with suppress(OSError):
        where = folder()
        for name in os.listdir(where):
            match = PIPE.fullmatch(name)
            if match is None:
                continue
            if os.path.exists(f"/proc/{match[1]}"):
                found.append(int(match[1]))
            else:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(where, name))
    return sorted(found)


def ask(process: int, patience_s: float = PATIENCE_S) -> Snapshot | None:
    """What a host answers; None where it does not. Raises OSError where there is no folder to ask in."""
    where, word = folder(), secrets.token_hex(8)
    answer = os.path.join(where, word)
    try:
        pipe = os.open(
            os.path.join(where, f"host-{process}"), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        )
    except OSError:
        return None
    try:
        if not stat.S_ISFIFO(os.fstat(pipe).st_mode):
            return None
        os.write(pipe, f"{word}\n".encode())
    except OSError:  # full: it has not answered for long
        return None
    finally:
        os.close(pipe)
    return _answer_in(answer, process, patience_s)


def _answer_in(answer: str, process: int, patience_s: float) -> Snapshot | None:
    for pause in _pauses(patience_s):
        try:
            file = os.open(answer, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            if not os.path.exists(f"/proc/{process}"):
                return None
            time.sleep(pause)
            continue
        os.unlink(answer)
        with open(file, "rb") as found:
            snapshot: Snapshot = json.load(found)
        return snapshot
    return None


def _pauses(patience_s: float) -> Iterator[float]:
    """How long to sleep between looks, so that it stays cheap and quick answers are seen quickly."""
    end, pause = time.monotonic() + patience_s, 0.001
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, 0.05)
