# SPDX-License-Identifier: Apache-2.0
"""The differences between the reports of two runs: movements, times by the model, and advice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from enum import Enum

from fpgart.base.sizes import in_words
from fpgart.watch.report.model import Advice, Report
from fpgart.watch.report.text import places_in_words, saved
from fpgart.watch.report.verdict import total_of

NUMBERS = re.compile(r"\d+(\.\d+)?")
BUFFERS = re.compile(r"(each of )?\b(buffer|allocation)s? \d+(, \d+)*( and \d+ more)?")


class Unit(Enum):
    BYTES = "bytes"
    NANOSECONDS = "nanoseconds"
    TIMES = "times"

    def words(self, number: int) -> str:
        match self:
            case Unit.BYTES:
                return in_words(number)
            case Unit.NANOSECONDS:
                return f"{number / 1e6:,.3f} ms"
        return f"{number:,}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of both runs, 0 if a run does not have it."""

    what: str
    unit: Unit
    before: int
    after: int

    @property
    def percent(self) -> float:
        """The growth from the first to the second run; infinity if only the second has the figure."""
        if self.before:
            return 100 * (self.after - self.before) / self.before
        return float("inf") if self.after else 0.0

    @property
    def change(self) -> str:
        """The change in words: `+12.5 %`, `new`, `gone`."""
        if not self.before:
            return "new"
        return "gone" if not self.after else f"{self.percent:+.1f} %"


@dataclass(slots=True)
class Difference:
    figures: list[Figure] = field(default_factory=list)
    """The figures that differ, the largest growth first."""
    new_advice: list[Advice] = field(default_factory=list)
    old_advice: list[Advice] = field(default_factory=list)
    """Advice of the first run that the second does not have."""
    warnings: list[str] = field(default_factory=list)
    timed: bool = True
    """True if both runs have the model's times, so that these were compared, too."""
    complete: bool = True
    """False if the second trace has not all of its run."""

    @property
    def sameness(self) -> str:
        """The words for two runs without a figure that differs."""
        return "the same bytes, launches and times" if self.timed else "the same bytes and launches"

    def exceeds(self, percent: float) -> bool:
        """True if a figure grew by more than that, or there is new advice that is no hint and was not measured.

        It is also true if the second trace is incomplete, because the figures of the whole run are not known.
        """
        grown = any(figure.percent > percent for figure in self.figures)
        advised = any(not advice.measured and not advice.hint for advice in self.new_advice)
        return grown or advised or not self.complete


def between(before: Report, after: Report, *, gate: bool = False) -> Difference:
    """Returns the differences; times only if both runs have the model's (FPGART_TIME=model).

    `gate`: only differences that follow from the host's calls, so that two runs of one host are equal: no times, and no
    advice that depends on them.
    """
    first, second = dict(_figures(before)), dict(_figures(after))
    modelled = bool(before.modelled) and bool(after.modelled) and not gate
    warnings = list(_warnings(before, after, timed=not gate))
    found = Difference(warnings=warnings, timed=modelled, complete=after.whole)
    for key in dict.fromkeys([*first, *second]):
        what, unit = key
        figure = Figure(what, unit, first.get(key, 0), second.get(key, 0))
        if figure.before != figure.after and (modelled or unit is not Unit.NANOSECONDS):
            found.figures.append(figure)
    found.figures.sort(key=lambda figure: (-figure.percent, -abs(figure.after - figure.before)))
    found.new_advice, found.old_advice = _beyond(after, before), _beyond(before, after)
    return _repeatable(found) if gate else found


def _repeatable(found: Difference) -> Difference:
    """Returns the differences without what differs from run to run: numbers of buffers, and orders of threads."""
    found.figures.sort(key=lambda figure: figure.what)
    found.new_advice, found.old_advice = (
        sorted(
            (replace(a, words=BUFFERS.sub("a buffer", a.words), buffers=[], places=sorted(a.places)) for a in advice),
            key=lambda a: (a.words, a.places),
        )
        for advice in ([a for a in found.new_advice if a.certain], [a for a in found.old_advice if a.certain])
    )
    return found


def _figures(report: Report) -> Iterator[tuple[tuple[str, Unit], int]]:
    if report.modelled:
        whole = total_of(report) if report.activities else report.modelled_nanoseconds
        yield (f"simulated time, without {report.loading}", Unit.NANOSECONDS), whole
    for (device, name), made in report.modelled.items():
        yield (f"device {device}: {name}, in all", Unit.NANOSECONDS), made.nanoseconds
    for (device, name), traffic in report.traffic.items():
        what = report.movement(device, name)
        yield (f"device {device}: {what}, calls", Unit.TIMES), traffic.calls
        yield (f"device {device}: {what}", Unit.BYTES), traffic.bytes
    for (device, name), runs in report.kernels.items():
        yield (f"device {device}: kernel {name}, launches", Unit.TIMES), runs.launches
    for device in sorted({device for device, _ in report.programmed}):
        count = sum(1 for each, _ in report.programmed if each == device)
        yield (f"device {device}: {'programs loaded' if device in report.dsps else 'programmed'}", Unit.TIMES), count
    yield ("calls with errors", Unit.TIMES), sum(report.errors.values())


def _beyond(one: Report, other: Report) -> list[Advice]:
    """Returns advice of one run that the other has not, apart from buffers' numbers and amounts."""
    known = {_kind(advice) for advice in other.advice}
    return [advice for advice in one.advice if _kind(advice) not in known]


def _kind(advice: Advice) -> str:
    return NUMBERS.sub("#", advice.words.replace("each of buffers", "buffer").split(" at ")[0])


def _warnings(before: Report, after: Report, *, timed: bool) -> Iterator[str]:
    named = (("first", before), ("second", after))
    for name, report in named:
        if not report.whole:
            yield f"the {name} trace is incomplete: the process was killed or is still running"
    for name, report in named:
        if timed and not report.modelled:
            yield f"the {name} trace has no simulated time (fpgart run --time model): no times are compared"
    if before.boards != after.boards:
        yield "the boards differ: " + " and ".join(", ".join(r.boards.values()) or "none" for r in (before, after))


def as_text(found: Difference) -> str:
    lines = [f"note: {words}" for words in found.warnings]
    width = max((len(figure.what) for figure in found.figures), default=0)
    for figure in found.figures:
        before, after = figure.unit.words(figure.before), figure.unit.words(figure.after)
        lines.append(f"{figure.what:<{width}}  {before:>14} -> {after:>14}  {figure.change}")
    if not found.figures:
        lines.append(found.sameness)
    for heading, advice in (("new advice", found.new_advice), ("followed advice", found.old_advice)):
        lines += ["", heading] if advice else []
        for each in advice:
            lines += [f"  {each.words}: {saved(each)}", *(f"    {place}" for place in places_in_words(each))]
    return "\n".join(lines) + "\n"


def as_markdown(found: Difference) -> str:
    """Returns the differences for the comment of a pull request."""
    lines = [f"> {words}" for words in found.warnings]
    lines += [""] if lines else []
    if found.figures:
        lines += ["| | before | after | change |", "|---|---:|---:|---:|"]
        for figure in found.figures:
            before, after = figure.unit.words(figure.before), figure.unit.words(figure.after)
            strong = "**" if figure.percent > 0 else ""
            lines.append(f"| {_escaped(figure.what)} | {before} | {after} | {strong}{figure.change}{strong} |")
    else:
        lines.append(f"{found.sameness.capitalize()}.")
    for heading, advice in (("New advice", found.new_advice), ("Followed advice", found.old_advice)):
        lines += ["", f"**{heading}**", ""] if advice else []
        for each in advice:
            places = "".join(f"<br>`{place}`" for place in places_in_words(each))
            lines.append(f"- {_escaped(each.words)}: {saved(each)}{places}")
    return "\n".join(lines) + "\n"


def _escaped(words: str) -> str:
    """Escapes the characters that Markdown interprets."""
    return re.sub(r"([\\`*_|<>])", r"\\\1", words)


def as_json(found: Difference) -> str:
    facts = {
        "figures": [
            {"what": f.what, "unit": f.unit.value, "before": f.before, "after": f.after, "change": f.change}
            for f in found.figures
        ],
        "new_advice": [asdict(advice) for advice in found.new_advice],
        "followed_advice": [asdict(advice) for advice in found.old_advice],
        "notes": found.warnings,
    }
    return json.dumps(facts, indent=2) + "\n"
