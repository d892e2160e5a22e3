"""Programs in Python whose calls C may carry out by itself: what they print has to be the same where Python does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import processes
from processes import fpgart

PROGRAMS = Path(__file__).parent / "programs"


def output(program: str, *options: str, arguments: tuple[str, ...] = ()) -> str:
    """Returns the output of a program. If calls are traced, Python handles all of them."""
    return processes.output(fpgart("run", *options, "--", sys.executable, PROGRAMS / program, *arguments))


def same_output(program: str, trace: Path, *options: str, arguments: tuple[str, ...] = ()) -> str:
    """Returns the output of a program; it is the same with a trace, where Python handles all calls."""
    by_python = output(program, *options, "--trace", str(trace), arguments=arguments)
    assert output(program, *options, arguments=arguments) == by_python
    return by_python


def calls_in(trace: Path) -> list[str]:
    """Returns the names of the host's calls in a trace."""
    return [event["name"] for event in json.loads(trace.read_text()) if event.get("cat") == "api"]
