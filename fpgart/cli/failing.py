# SPDX-License-Identifier: Apache-2.0
"""`fpgart errors`: finds the failures of OpenCL calls that a host does not handle.

The host runs once as usual, while its calls are listed (FPGART_CALLS), and once again, which shows the parts of its
output that vary. Then it runs once for each call, which fails in that run (FPGART_FAULTS, docs/faults.md).
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from fpgart.board.fault_rules import STATUSES
from fpgart.cli.running import FOUND, RunError, environment, found, run_captured
from fpgart.watch.words import times

CHANGES = re.compile(rb"0x[0-9a-f]+|\d+")
NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
TELLS = re.compile(r"err|fail|warn|cannot|could not|unable|invalid|out of|\bcl_|\bcl[A-Z]", re.IGNORECASE)
LOSES_NOTHING = re.compile(r"cl(Get|Retain|Release|Flush|Unload|Set\w*Callback)")
"""Calls whose failure does not affect a host's results."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a host made: the `nth` of its process; `failed` if it failed on request."""

    nth: int
    name: str
    place: str
    failed: bool = False

    @property
    def words(self) -> str:
        return f"call {self.nth}, {self.name}" + (f", {self.place}" if self.place else "")


@dataclass(frozen=True, slots=True)
class Run:
    status: int | None
    """None: it did not end in time."""
    output: bytes
    errors: bytes
    calls: tuple[Call, ...]

    @property
    def failed(self) -> Call | None:
        """The call that was made to fail, if the run reached it."""
        return next((call for call in self.calls if call.failed), None)

    @property
    def ending(self) -> str:
        if self.status is None:
            return "did not end in time"
        if self.status >= 0:
            return f"exit status {self.status}"
        return f"crashed: signal {-self.status} ({signal.strsignal(-self.status)})"


class Failing:
    """Runs a host again and again, and judges its handling of failures."""

    def __init__(self, program: tuple[str, ...], extra: dict[str, str], status: str, seconds: float) -> None:
        """`status` is that of the calls that fail. Raises RunError if there is no such program."""
        self._program = program
        self._extra = extra
        self._status = status
        self._number = re.compile(rf"(?<!\d){STATUSES[status]}(?!\d)")
        self.seconds = seconds
        """The time limit of a run."""
        self._path = found(program[0], environment(extra))
        self.usual = self.run()
        if self.usual.status != 0:
            raise RunError(f"{program[0]}: {self.usual.ending}, although no call fails")
        self._usual_forms = {NUMBER.sub("#", line.decode(errors="replace")) for line in _lines(self.usual)}
        self._same = self._comparison(self.run())

    def run(self, nth: int = 0) -> Run:
        """Runs the host; the `nth` call of each process fails, none for 0."""
        with tempfile.TemporaryDirectory(prefix="fpgart-run-") as folder:
            calls = Path(folder) / "calls"
            asked = {**self._extra, "FPGART_CALLS": str(calls)}
            if nth:
                given = [asked.get("FPGART_FAULTS") or os.environ.get("FPGART_FAULTS", "")]
                asked["FPGART_FAULTS"] = "; ".join(filter(None, [*given, f"api:*:{self._status}:{nth}"]))
            command = [self._path, *self._program[1:]]
            status, output, errors = run_captured(command, environment(asked), self.seconds)
            return Run(status, output, errors, tuple(_calls(calls)))

    def _comparison(self, again: Run) -> Callable[[bytes], bytes]:
        """Returns a function for the common part of two usual runs' outputs: all, all but numbers, or none."""
        common: tuple[Callable[[bytes], bytes], ...] = (bytes, lambda text: CHANGES.sub(b"#", text))
        for kept in common:
            if kept(self.usual.output) == kept(again.output) and kept(self.usual.errors) == kept(again.errors):
                return kept
        return lambda text: b""

    def mistake(self, run: Run) -> str:
        """Returns the mistake in the host's handling of a failed call; "" for none."""
        call = run.failed
        if run.status is None or run.status < 0:
            return run.ending
        if call is None or run.status != 0:
            return ""
        if _count(run.calls, call.name) > _count(self.usual.calls, call.name):  # the host has repeated it
            return ""
        same_output = self._same(run.output) == self._same(self.usual.output)
        if same_output and self._same(run.errors) == self._same(self.usual.errors):
            return "" if LOSES_NOTHING.match(call.name) else "exit status 0, as if the call had not failed"
        told = self._new_lines(run)
        if any(map(self._tells, told)):
            return ""
        return f"exit status 0, and the output differs without an error: {told[0]}" if told else ""

    def _tells(self, line: str) -> bool:
        """True if a new line mentions an error.

        The number of the status does, but not as a result: in a line that the host usually writes with other numbers.
        """
        return bool(
            TELLS.search(line) or (self._number.search(line) and NUMBER.sub("#", line) not in self._usual_forms)
        )

    def _new_lines(self, run: Run) -> list[str]:
        usual = {self._same(line) for line in _lines(self.usual)}
        return [line.decode(errors="replace") for line in _lines(run) if self._same(line) not in usual]


def _lines(run: Run) -> list[bytes]:
    return (run.output + b"\n" + run.errors).splitlines()


def _count(calls: tuple[Call, ...], name: str) -> int:
    return sum(call.name == name for call in calls)


def _calls(file: Path) -> Iterator[Call]:
    """Yields the calls in the list that a run has written. The number of a call counts the calls of its process."""
    counts: Counter[int] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        with suppress(json.JSONDecodeError):  # a process that ends may write part of a line
            facts = json.loads(line)
            counts[facts["process"]] += 1
            yield Call(counts[facts["process"]], facts["call"], facts["place"], "fault" in facts)


def chosen(calls: tuple[Call, ...], per_place: int) -> list[Call]:
    """Returns one call of each number, and at most `per_place` calls of a function from one place; 0: all."""
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[int, Call] = {}
    for call in calls:
        seen[call.name, call.place] += 1
        if not per_place or seen[call.name, call.place] <= per_place:
            found.setdefault(call.nth, call)
    return [found[nth] for nth in sorted(found)]


def explore(program: tuple[str, ...], extra: dict[str, str], status: str, per_place: int, seconds: float) -> int:
    """Runs the host once for each of its calls and prints the failures that it does not handle.

    Returns the exit status of the command. Raises RunError.
    """
    failing = Failing(program, extra, status, seconds)
    calls = chosen(failing.usual.calls, per_place)
    places = len({(call.name, call.place) for call in calls})
    click.echo(f"{times(len(failing.usual.calls), 'call')}; {times(len(calls), 'run')} for {times(places, 'place')}")
    endings: Counter[str] = Counter()
    for call in calls:
        run = failing.run(call.nth)
        mistake = failing.mistake(run)
        if mistake:
            click.echo(f"{(run.failed or call).words}: {mistake}")
        endings["not survived" if mistake else _in_short(run)] += 1
    click.echo(", ".join(f"{count} {words}" for words, count in endings.most_common()))
    return FOUND if endings["not survived"] else 0


def _in_short(run: Run) -> str:
    if run.failed is None:
        return "without a failure, because the call was not reached"
    return "ended with an error" if run.status else "went on"
