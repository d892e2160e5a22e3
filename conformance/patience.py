# SPDX-License-Identifier: Apache-2.0
"""Programs that may hang: run with a limit of time, and ended with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def status_within(
    seconds: float, command: Sequence[str | Path], environment: Mapping[str, str], folder: Path, output: Path
) -> int | None:
    """Run a program in a folder, what it prints into a file; gives its status, None if it did not end in time."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
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
            return None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def ending(status: int) -> str:
    """A status in words."""
    return f"signal {-status}" if status < 0 else f"status {status}"
