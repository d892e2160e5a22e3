# SPDX-License-Identifier: Apache-2.0
"""Advice on copies of unified shared memory that another order of calls saves.

Only copies to, from or on a board count: the others cost no transfer. A kernel with indirect access (each kernel of
SYCL) counts as a use and a change of every allocation of that kind, so that no advice concerns a copy that such a
kernel may need.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fpgart.watch.report.found import THE_ALLOCATION, EventTaker
from fpgart.watch.report.trace_events import Args, Takes

Range = tuple[int, int]

WRITTEN_TWICE = f"{THE_ALLOCATION} is written again before anything used it: omit the first write"
READ_TWICE = f"{THE_ALLOCATION} is read again although nothing changed it: keep the data of the first read"
STAGED = f"copy from the host directly to the memory that {THE_ALLOCATION} is only copied to"


@dataclass(slots=True)
class Contents:
    """The uses of a device allocation's contents, by offset and size in bytes."""

    written: set[Range] = field(default_factory=set)
    """Ranges that the host wrote and nothing has used since."""
    read: set[Range] = field(default_factory=set)
    """Ranges that the host read and nothing has changed since."""
    passed_on: int = 0
    """Bytes that the host wrote and then copied to another allocation of the board, once."""
    used: bool = False
    """True if anything else used the contents."""

    def touched(self) -> None:
        """Forgets earlier uses: a kernel may have read and changed the contents."""
        self.written.clear()
        self.read.clear()
        self.used = True


@dataclass(slots=True)
class UsmAdviser(EventTaker):
    _args: Args = field(default_factory=dict)
    """The arguments of the event at hand."""
    _on_board: dict[int, Contents] = field(default_factory=dict)

    def takes(self) -> Takes:
        return {
            "usm allocate": self._allocated,
            "usm free": self._freed,
            "device kernel": self._kernel,
            "device transfer": self._transfer,
        }

    def _allocated(self, event: Args) -> None:
        args = event["args"]
        if args["kind"] == "device":
            self._on_board[args["allocation"]] = Contents()

    def _add(self, words: str, size: int, number: int) -> None:
        cost = self._costs.transfer(self._args.get("device", 0), size)
        self._found.add(words, size, (number,), nanoseconds=cost, args=self._args)

    def _kernel(self, event: Args) -> None:
        if not self._on_board:
            return
        args = event["args"]
        everything = "device" in args.get("indirect", ())
        for number in list(self._on_board) if everything else args.get("allocations", ()):
            if number in self._on_board:
                self._on_board[number].touched()

    def _transfer(self, event: Args) -> None:
        if not self._on_board:
            return
        args = self._args = event["args"]
        target = self._on_board.get(args.get("allocation", 0))
        source = self._on_board.get(args.get("source", 0))
        size = args.get("size", 0)
        if source is not None:
            part = (args.get("source_offset", 0), size)
            if target is None:
                self._read(source, part, args["source"])
            else:
                self._copied(source, part)
        if target is not None:
            self._write(target, (args.get("offset", 0), size), args["allocation"], from_host=source is None)

    def _read(self, source: Contents, part: Range, number: int) -> None:
        if part in source.read:
            self._add(READ_TWICE, part[1], number)
        source.read.add(part)
        source.written.clear()
        source.used = True

    def _copied(self, source: Contents, part: Range) -> None:
        if part in source.written and not source.passed_on:
            source.passed_on = part[1]
        else:
            source.used = True
        source.written.discard(part)

    def _write(self, target: Contents, part: Range, number: int, *, from_host: bool) -> None:
        if part in target.written:
            self._add(WRITTEN_TWICE, part[1], number)
        target.read.clear()
        if from_host:
            target.written.add(part)
        else:
            target.written.discard(part)

    def _freed(self, event: Args) -> None:
        args = self._args = event["args"]
        number = args["allocation"]
        contents = self._on_board.pop(number, None) if args["kind"] == "device" else None
        if contents is not None and contents.passed_on and not contents.used:
            self._add(STAGED, contents.passed_on, number)
