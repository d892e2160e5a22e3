# SPDX-License-Identifier: Apache-2.0
"""Collects pieces of advice: equal ones are one, with what they save in all."""

from __future__ import annotations

from fpgart.watch.report.model import Advice

THE_BUFFER = "{buffer}"
THE_ALLOCATION = "{allocation}"
MOST_NAMED = 6


class Found:
    """The advice that was found so far, by its words; {buffer} and {allocation} in them stand for all concerned."""

    def __init__(self) -> None:
        self._advice: dict[str, Advice] = {}

    def add(
        self,
        words: str,
        size: int = 0,
        buffers: tuple[int, ...] = (),
        *,
        nanoseconds: int = 0,
        site: int = 0,
        noun: str = "copy",
        measured: bool = False,
        hint: bool = False,
    ) -> None:
        """Count one `noun` that is to be avoided: its bytes and time, the buffers concerned, the place of its call."""
        found = self._advice.setdefault(words, Advice(words, noun=noun, measured=measured, hint=hint))
        found.copies += 1
        found.bytes += size
        found.nanoseconds += nanoseconds
        found.buffers += [number for number in buffers if number not in found.buffers[-len(buffers) :]]
        if site:
            found.sites[site] = found.sites.get(site, 0) + 1

    def advice(self) -> list[Advice]:
        """What saves most time of the board first, then what saves most bytes; last what was measured in the run."""
        for words, found in self._advice.items():
            found.buffers = list(dict.fromkeys(found.buffers))
            found.words = words.replace(THE_BUFFER, _which("buffer", found.buffers))
            found.words = found.words.replace(THE_ALLOCATION, _which("allocation", found.buffers))
        return sorted(self._advice.values(), key=lambda advice: (advice.measured, -advice.nanoseconds, -advice.bytes))


def _which(noun: str, numbers: list[int]) -> str:
    """`buffer 1`, or `each of buffers 1, 2, 3`."""
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    return f"each of {noun}s {named(numbers)}"


def named(numbers: list[int]) -> str:
    """`1, 2, 3`, and how many more."""
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"{', '.join(map(str, numbers[:MOST_NAMED]))}{more}"
