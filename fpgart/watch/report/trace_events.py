# SPDX-License-Identifier: Apache-2.0
"""The events of a trace file, in the order in which they began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fpgart.input_file import LARGEST_TRACE, LONGEST_EVENT, check_size
from fpgart.json_input import parse_json

Args = dict[str, Any]


class TraceError(Exception):
    """A file that is no trace of fpgart's; the sentence says why."""


@contextmanager
def of_fpgart(path: Path) -> Iterator[None]:
    """What is read of a trace in here may lack anything: TraceError says what, instead of a traceback."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        raise TraceError(f"{path} has events that this version of fpgart does not write ({words})") from error


def events(path: Path) -> Iterator[Args]:
    """The events of a trace, one per line, without a truncated last line. Raises TraceError, OSError."""
    check_size(path, LARGEST_TRACE)
    with path.open(encoding="ascii", errors="replace") as file:
        if file.readline(LONGEST_EVENT).strip() != "[":
            raise TraceError(f"{path} is not a trace: its first line is not '['")
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_EVENT), ""), 2):
            text = line.strip().rstrip(",")
            if text in ("", "]"):
                continue
            try:
                event = parse_json(text)
            except ValueError:
                if line.endswith("\n"):
                    raise TraceError(f"{path}:{number}: not an event") from None
                if len(line) == LONGEST_EVENT:
                    raise TraceError(
                        f"{path}:{number}: more than {LONGEST_EVENT} characters, so it is not an event"
                    ) from None
                return
            if isinstance(event, dict):
                yield event


def ordered(path: Path) -> list[Args]:
    """The events in the order in which they began; raises TraceError, OSError."""
    with of_fpgart(path):
        return in_order(events(path))


def in_order(unordered: Iterable[Args]) -> list[Args]:
    """Events in the order in which they began."""
    found = sorted(unordered, key=lambda e: float(e.get("ts", 0.0)))
    moved = {e["args"].get("operation") for e in found if e.get("cat") == "mmd"}
    for event in found:
        args = event.get("args", {})
        if args.get("command") in ("MAP_BUFFER", "UNMAP_MEM_OBJECT") and args.get("operation") not in moved:
            args["size"] = 0  # without a call through the MMD, a map or unmap moved nothing
    return found
