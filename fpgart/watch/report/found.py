# SPDX-License-Identifier: Apache-2.0
"""A collection of advice: equal pieces are one, with the sum of their savings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fpgart.watch.report.costs import Costs
from fpgart.watch.report.model import Advice
from fpgart.watch.report.sites import Sites
from fpgart.watch.report.trace_events import Args, Takes

THE_BUFFER = "{buffer}"
THE_ALLOCATION = "{allocation}"
MOST_NAMED = 6
Saving = tuple[int, int, int]
"""Nanoseconds, the place of the call, and the operation, as for add()."""


NO_ARGS: Args = {}


@dataclass(slots=True)
class EventTaker:
    """Finds advice in the events of a trace, in the order of time; costs and sites are those of the whole trace."""

    _found: Found
    _costs: Costs
    _sites: Sites

    def takes(self) -> Takes:
        raise NotImplementedError

    def finish(self) -> None:
        """Adds the advice that depends on all events; by default there is none."""


class Found:
    """The advice so far, by its words; {buffer} and {allocation} in them stand for all concerned."""

    def __init__(self) -> None:
        self._advice: dict[str, Advice] = {}
        self._by_operation: dict[int, int] = {}
        """The most nanoseconds that advice saves of each operation."""
        self.savings = 0
        """The nanoseconds on the board that all advice saves."""

    def add(
        self,
        words: str,
        size: int = 0,
        buffers: tuple[int, ...] = (),
        *,
        nanoseconds: int = 0,
        args: Args = NO_ARGS,
        noun: str = "copy",
        measured: bool = False,
        hint: bool = False,
        operation: int = 0,
    ) -> None:
        """Counts one `noun` to avoid: its bytes and time, and the buffers concerned.

        `args`: the arguments of its event, with the place of its call. `operation`: the operation that would take less
        time, if not that of `args`; other advice on it does not count twice.
        """
        if not measured and noun != "programming":
            self._count(operation or args.get("operation", 0), nanoseconds)
        found = self._of(words, noun, measured=measured, hint=hint)
        found.copies += 1
        found.bytes += size
        found.nanoseconds += nanoseconds
        found.buffers += [number for number in buffers if number not in found.buffers[-len(buffers) :]]
        site = args.get("site", 0)
        if site:
            found.sites[site] = found.sites.get(site, 0) + 1

    def add_each(self, words: str, savings: Sequence[Saving], *, noun: str) -> None:
        """Adds savings to the item of advice with these words, which concerns no buffers."""
        found = self._of(words, noun)
        found.copies += len(savings)
        for nanoseconds, site, operation in savings:
            self._count(operation, nanoseconds)
            found.nanoseconds += nanoseconds
            if site:
                found.sites[site] = found.sites.get(site, 0) + 1

    def _of(self, words: str, noun: str, *, measured: bool = False, hint: bool = False) -> Advice:
        found = self._advice.get(words)
        if found is None:
            found = self._advice[words] = Advice(words, noun=noun, measured=measured, hint=hint)
        return found

    def _count(self, operation: int, nanoseconds: int) -> None:
        before = self._by_operation.get(operation, 0) if operation else 0
        if nanoseconds > before:
            self.savings += nanoseconds - before
            if operation:
                self._by_operation[operation] = nanoseconds

    def advice(self) -> list[Advice]:
        """Returns the advice that saves most time of the board first, then most bytes; last what the run measured."""
        for words, found in self._advice.items():
            found.buffers = list(dict.fromkeys(found.buffers))
            found.words = words.replace(THE_BUFFER, _which("buffer", found.buffers))
            found.words = found.words.replace(THE_ALLOCATION, _which("allocation", found.buffers))
        return sorted(self._advice.values(), key=lambda advice: (advice.measured, -advice.nanoseconds, -advice.bytes))


def migration_of(args: Args) -> int:
    """Returns a number for the migration of one buffer, of which an operation may have several."""
    return -(int(args.get("operation", 0)) << 32 | int(args["buffer"]))


def _which(noun: str, numbers: list[int]) -> str:
    """Returns `buffer 1`, or `each of buffers 1, 2, 3`."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    return f"each of {noun}s {named(numbers)}"


def named(numbers: list[int]) -> str:
    """Returns `1, 2, 3`, and how many more."""
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"{', '.join(map(str, numbers[:MOST_NAMED]))}{more}"
