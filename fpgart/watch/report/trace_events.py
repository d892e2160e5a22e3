# SPDX-License-Identifier: Apache-2.0
"""The events of a trace file, in the order in which they began."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fpgart.base.input_file import LARGEST_TRACE, LONGEST_EVENT, check_size
from fpgart.base.json_input import fastest, parse_json
from fpgart.base.user_error import UserError
from fpgart.kernels.cpp_names import SYMBOL, with_kernel_names
from fpgart.watch.report.inflating import Reader

Args = dict[str, Any]
Take = Callable[[Args], None]
"""Takes an event."""
Takes = Mapping[str, Take]
"""The functions for the events of a category, as in `usm`, or of a category and a name, as in `device kernel`."""
Tell = Callable[[int], None]
parse_whole = fastest()
NO_EVENT = frozenset(("", "]"))
OF_KERNELS = frozenset(("device", "engine", "time", "usm", "placing"))
"""The categories of events that name a kernel."""
NAMING = ("kernel", "reason", "argument", "bound", "channels", "deeper", "untold")
"""The facts of an event that name a kernel, or contain its name."""
SYCL = "sycl"
"""The fact that a SYCL kernel was renamed in an event."""
MAPPING = frozenset(("MAP_BUFFER", "UNMAP_MEM_OBJECT"))


def ignore(size: int) -> None:
    """Ignores the numbers of bytes."""


def taken_by(takes: Iterable[Takes], category: str, name: str) -> list[Take]:
    """Returns the functions for events of a category and a name, in their order."""
    return [each[key] for each in takes for key in (category, f"{category} {name}") if key in each]


class TraceError(UserError):
    """Raised for a file that is no trace of fpgart's; the sentence says why."""


@contextmanager
def of_fpgart(path: Path) -> Iterator[None]:
    """Raises TraceError, instead of an error with a traceback, if the events of a trace lack facts."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
        raise TraceError(f"{path} has events that this version of fpgart does not write ({words})") from error


def events(path: Path, tell: Tell = ignore) -> Iterator[Args]:
    """Yields the events of a trace, one per line, without a truncated last line. Raises TraceError, OSError.

    `tell` gets the number of bytes of each piece that was read.
    """
    check_size(path, LARGEST_TRACE)
    with path.open("rb") as file:
        reader = Reader(file, tell)
        if _of(path, lambda: reader.line(LONGEST_EVENT)).strip() != b"[":
            raise TraceError(f"{path} is not a trace: its first line is not '['")
        number, rest = 2, b""
        while piece := _of(path, reader.read):
            end = piece.rfind(b"\n")
            whole, rest = (rest + piece[:end], piece[end + 1 :]) if end >= 0 else (b"", rest + piece)
            if end >= 0:
                yield from _parsed(path, whole, number)
                number += whole.count(b"\n") + 1
            if len(rest) >= LONGEST_EVENT:
                words = f"more than {LONGEST_EVENT} characters, so it is not an event"
                raise TraceError(f"{path}:{number}: {words}")
        event = _last(rest.decode("ascii", "replace"))
        if isinstance(event, dict):
            yield event


def _of(path: Path, read: Callable[[], bytes]) -> bytes:
    """Returns the result of `read`. Raises TraceError if the file is compressed and damaged."""
    try:
        return read()
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from None


def _parsed(path: Path, lines: bytes, number: int) -> Iterable[Args]:
    """Returns the events of whole lines, the first of which has that number. Raises TraceError."""
    body = lines.rstrip().removesuffix(b"]").rstrip().removesuffix(b",")
    try:
        found = parse_whole(b"[%b]" % body) if body.isascii() else []  # parsing line by line takes five times as long
    except (ValueError, RecursionError):
        found = []
    if len(found) == body.count(b"\n") + 1 and set(map(type, found)) == {dict}:
        events: list[Args] = found
        return events
    return _line_by_line(path, lines.decode("ascii", "replace"), number)


def _line_by_line(path: Path, text: str, number: int) -> Iterator[Args]:
    """Yields the events of lines among which some may be no events, or may be blank."""
    for index, line in enumerate(text.split("\n")):
        text = line.strip().rstrip(",")
        if text in NO_EVENT:
            continue
        try:
            event = parse_json(text)
        except ValueError:
            raise TraceError(f"{path}:{number + index}: not an event") from None
        if isinstance(event, dict):
            yield event


def _last(line: str) -> Any:
    """Returns the event of a last line without its end; None if it is truncated."""
    try:
        return parse_json(line.strip().rstrip(","))
    except ValueError:
        return None


def ordered(path: Path, tell: Tell = ignore) -> list[Args]:
    """Returns the events in the order of their begins; raises TraceError, OSError. `tell` as in events()."""
    with of_fpgart(path), without_collector():
        return in_order(events(path, tell))


@contextmanager
def without_collector() -> Iterator[None]:
    """Disables the garbage collector for code that makes very many objects, none of which is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_names(fact: Any) -> Any:
    """Returns a fact with the names of the source for kernels and pipes."""
    match fact:
        case str():
            return with_kernel_names(fact)
        case list():
            return [_with_names(each) for each in fact]
        case dict():
            return {_with_names(name): _with_names(each) for name, each in fact.items()}
    return fact


def in_order(unordered: Iterable[Args]) -> list[Args]:
    """Returns events in the order of their begins; SYCL kernels have the names of the source in them."""
    found: list[Args] = []
    begins: list[float] = []
    mapping: list[Args] = []
    moved: set[int] = set()
    for event in unordered:  # all at once, while the event is in the processor's cache
        found.append(event)
        begins.append(event.get("ts", 0.0))
        category = event.get("cat")
        if category in OF_KERNELS:
            args = event["args"]
            for fact in NAMING:
                if fact in args and SYMBOL.search(str(args[fact])):
                    args[fact] = _with_names(args[fact])
                    args[SYCL] = True
        if category == "device" and event["args"].get("command") in MAPPING:
            mapping.append(event["args"])
        elif category == "mmd":
            moved.add(event["args"].get("operation"))
    for args in mapping:
        if args.get("operation") not in moved:
            args["size"] = 0  # without a call through the MMD, a map or unmap moved nothing
    return [found[index] for index in sorted(range(len(found)), key=begins.__getitem__)]
