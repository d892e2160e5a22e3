# SPDX-License-Identifier: Apache-2.0
"""Requests to running hosts for what their boards are doing (fpgart/watch/live.py)."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress

from fpgart.base.output_file import runtime_folder
from fpgart.watch import live

PIPE = re.compile(r"host-(\d+)")
PATIENCE_S = 2.0
"""Seconds to wait for an answer: a host can be stopped, or its interpreter busy."""


def hosts() -> list[int]:
    """Returns the processes of this user that answer, in ascending order; removes the pipes of ended processes."""
    found = []
    with suppress(OSError):
        where = runtime_folder()
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


def ask(process: int, patience_s: float = PATIENCE_S) -> live.Snapshot | None:
    """Returns a host's answer; None if there is none. Raises OSError if there is no folder for the question."""
    where, word = runtime_folder(), secrets.token_hex(8)
    answer = os.path.join(where, word)
    if not live.put(os.path.join(where, f"host-{process}"), f"{word}\n".encode()):
        return None
    return _answer_in(answer, process, patience_s)


def _answer_in(answer: str, process: int, patience_s: float) -> live.Snapshot | None:
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
            snapshot: live.Snapshot = json.load(found)
        return snapshot
    return None


def _pauses(patience_s: float) -> Iterator[float]:
    """Yields the pauses between looks for an answer, short ones first, so that quick answers are seen quickly."""
    end, pause = time.monotonic() + patience_s, 0.001
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, 0.05)
