# SPDX-License-Identifier: Apache-2.0
"""Programs that may hang: run with a limit of time, and ended with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class Unfinished(Exception):
    """A program was ended because its time was up; the sentence says what it did then."""


def status_within(
    seconds: float, command: Sequence[str | Path], environment: Mapping[str, str], folder: Path, output: Path
) -> int:
    """Run a program in a folder, what it prints into a file; gives its status. Raises Unfinished.

    It ends with the thread that called this, also if that is killed.
    """
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *command],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it starts (compilers, children) ends with it
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Unfinished(f"did not end within {seconds:g} s: {activity(process.pid)}") from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def activity(process: int) -> str:
    """What the threads of a process do: one that hangs sleeps, one that is late wants the processor."""
    sleeping = running = ticks = 0
    for thread in Path("/proc", str(process), "task").glob("*/stat"):
        try:
            state, *numbers = thread.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        sleeping += state == "S"
        running += state == "R"
        ticks += int(numbers[10]) + int(numbers[11])
    used = ticks / os.sysconf("SC_CLK_TCK")
    return f"{running} threads run, {sleeping} sleep, after {used:g} s of the processor"


def ending(status: int) -> str:
    """A status in words."""
    return f"signal {-status}" if status < 0 else f"status {status}"
