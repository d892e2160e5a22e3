"""Programs in Python whose calls C may carry out by itself: what they print has to be the same where Python does."""

from __future__ import annotations

import sys
from pathlib import Path

import processes
from processes import fpgart

PROGRAMS = Path(__file__).parent / "programs"


def output(program: str, *options: str, arguments: tuple[str, ...] = ()) -> str:
    """Returns the output of a program. If calls are traced, Python handles all of them."""
    return processes.output(fpgart("run", *options, "--", sys.executable, PROGRAMS / program, *arguments))
