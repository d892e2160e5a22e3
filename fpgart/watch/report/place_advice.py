# SPDX-License-Identifier: Apache-2.0
"""Advice on buffers that launches send back and forth between memories or boards."""

from __future__ import annotations

from dataclasses import dataclass, field

from fpgart.watch.report.found import THE_BUFFER, EventTaker, migration_of
from fpgart.watch.report.trace_events import SYCL, Args, Takes

AGAIN = 2
"""Returns to a place where the buffer was before, from which on it goes back and forth."""


@dataclass(slots=True)
class MigratingBuffer:
    """The migrations of one buffer for launches; `needs`: by place, the argument that needs it there."""

    returns: int = 0
    visited: set[str] = field(default_factory=set)
    needs: dict[str, str] = field(default_factory=dict)
    moves: list[Args] = field(default_factory=list)
    stays: set[tuple[str, str, str]] = field(default_factory=set)
    """The source, target and reason of migrations that are known and moved nothing."""


@dataclass(slots=True)
class PlaceAdviser(EventTaker):
    _buffers: dict[int, MigratingBuffer] = field(default_factory=dict)

    def takes(self) -> Takes:
        return {"device migration": self._migrated}

    def _migrated(self, event: Args) -> None:
        args = event["args"]
        if not args.get("reason", "").startswith("argument") or args["to"] == "host":
            return
        buffer = self._buffers.get(args["buffer"])
        if buffer is None:
            buffer = self._buffers[args["buffer"]] = MigratingBuffer()
        move = args["from"], args["to"], args["reason"]
        if args["skipped"] and move in buffer.stays:
            return
        source, target = _place(args["from"]), _place(args["to"])
        buffer.needs.setdefault(target, args["reason"])
        buffer.visited.add(source)
        if args["skipped"] or source == "host":
            buffer.stays.add(move)
            return
        if target in buffer.visited:
            buffer.returns += 1
        buffer.visited.add(target)
        buffer.moves.append(args)

    def finish(self) -> None:
        for number, buffer in self._buffers.items():
            if buffer.returns < AGAIN:
                continue
            words = _words(buffer.needs, in_sycl=SYCL in buffer.moves[0])
            for args in buffer.moves[1:]:
                cost = self._costs.copy(args["device"], args["size"])
                operation = migration_of(args)
                self._found.add(words, args["size"], (number,), nanoseconds=cost, args=args, operation=operation)


def _place(words: str) -> str:
    """Returns `device 0, DDR` of `device 0, DDR at 0x1000`."""
    return words.rsplit(" at ", 1)[0]


def _words(needs: dict[str, str], *, in_sycl: bool) -> str:
    devices = {place.split(",")[0] for place in needs}
    told = ", ".join(f"{reason} needs it in {place}" for place, reason in needs.items())
    if len(devices) > 1:
        return f"launch the kernels that use {THE_BUFFER} on one device, or keep a copy on each: {told}"
    which = f"all accessors to {THE_BUFFER}" if in_sycl else f"the arguments that {THE_BUFFER} is set to"
    return f"give {which} the same buffer_location, or keep a buffer in each memory; it moves back and forth: {told}"
