"""Programs in Python whose calls C may carry out by itself: what they print has to be the same where Python does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def output(program: str, *options: str, arguments: tuple[str, ...] = ()) -> str:
    """Returns the output of a program. If calls are traced, Python handles all of them."""
    command = [sys.executable, "-m", "fpgart.cli", "run", *options, "--", sys.executable, str(PROGRAMS / program)]
    command += arguments
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout
