# SPDX-License-Identifier: Apache-2.0
"""The first two sentences of a report: where the time goes, and what following the advice gains.

Programming is not counted: it takes seconds, once, and would hide all else.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from fpgart.watch.family import COMPILER
from fpgart.watch.intervals import Interval, owned
from fpgart.watch.report.model import PROGRAM, Advice, Modelled, Report
from fpgart.watch.report.trace_events import Args, Take, Takes
from fpgart.watch.words import times

KERNELS, COPIES, LINK, HOST = "kernels", "copies on the board", "the link", "the host"
APART = (PROGRAM, COMPILER)
"""Activities that take long, once, and do not count in the total. Boards do not compile."""
RANKS = {KERNELS: 0, PROGRAM: 1, COPIES: 2, LINK: 3, COMPILER: 4}
MMD = {"aocl_mmd_write": LINK, "aocl_mmd_read": LINK, "aocl_mmd_copy": COPIES, "aocl_mmd_program": PROGRAM}
STEPS = {"write": LINK, "read": LINK, "copy": COPIES, "migration": LINK, "program": PROGRAM}
MOST_ITEMS = 5
MOST_LIKE = 6
VARIABLE = re.compile(r"'[^']*'|\d+(?:\.\d+)?(?:, \d+)*(?: and \d+ more)?")
"""The parts in which equal items differ: names and numbers."""


@dataclass(slots=True)
class TimeSpent:
    """Takes the events of a trace; the simulated clock's times if the trace has them, else measured ones."""

    _real: list[Interval] = field(default_factory=list)
    _simulated: list[Interval] = field(default_factory=list)
    _queued: int | None = None

    def takes(self) -> Takes:
        """Returns the functions for the events that count."""
        return {
            "time": self._simulated_step,
            "device kernel": self._counted(KERNELS),
            "engine": self._counted(COMPILER),
            "usm migrate": self._counted(LINK),
            **{f"mmd {name}": self._counted(kind) for name, kind in MMD.items()},
        }

    def _simulated_step(self, event: Args) -> None:
        args = event["args"]
        kind = KERNELS if "kernel" in args else STEPS.get(event["name"], LINK)
        self._simulated.append((args["begin"], args["end"], RANKS[kind], kind))
        self._queued = args["queued"] if self._queued is None else min(self._queued, args["queued"])

    def _counted(self, kind: str) -> Take:
        """Returns a function that takes events whose time is of this kind."""
        rank, add = RANKS[kind], self._real.append

        def take(event: Args) -> None:
            begin = round(event["ts"] * 1000)
            add((begin, begin + round(event["dur"] * 1000), rank, kind))

        return take

    def finish(self, report: Report, began: float | None) -> None:
        """Puts the sums into a report; `began`: when the host enqueued its first command, in microseconds."""
        intervals = self._simulated or self._real
        if not intervals:
            return
        first = min(interval[0] for interval in intervals)
        if self._simulated:
            first = min(first, self._queued or 0)
        elif began is not None:
            first = min(first, round(began * 1000))
        total = max(interval[1] for interval in intervals) - first
        report.activities = {kind: round(duration) for kind, duration in owned(intervals).items()}
        report.activities[HOST] = max(0, total - sum(report.activities.values()))
        whole = total_of(report)
        for advice in report.advice if self._simulated else ():
            if not advice.measured and advice.noun != "programming" and whole:
                advice.share = advice.nanoseconds / whole


def total_of(report: Report) -> int:
    """Returns the nanoseconds from the first command to the last end, without programming and the engine's compiler."""
    return sum(duration for kind, duration in report.activities.items() if kind not in APART)


def verdict(report: Report) -> list[str]:
    """Returns two sentences; only the first if nothing ran."""
    if not report.activities:
        return ["No command ran on a board."]
    return [_where(report), _gain(report)]


def _where(report: Report) -> str:
    total = total_of(report)
    least = total / 200  # less is rounded to 0 %
    shares = sorted(
        ((duration, kind) for kind, duration in report.activities.items() if kind not in APART and duration > least),
        reverse=True,
    )
    parts = [f"{100 * duration / max(1, total):.0f} % {kind}{_bound(report, kind)}" for duration, kind in shares]
    clock = "on the board (simulated)" if report.modelled else "on this computer"
    names = {PROGRAM: report.loading, COMPILER: COMPILER}
    others = [
        f"{names[kind]} apart: {in_ms(duration)}" for kind in APART if (duration := report.activities.get(kind, 0))
    ]
    apart = "".join(f"; {words}" for words in others)
    return f"{in_ms(total)} {clock}: {', '.join(parts) or 'nothing'}{apart}."


def _bound(report: Report, kind: str) -> str:
    """Returns the resource that bounds most of the time of kernels in the simulated clock."""
    if kind != KERNELS or not report.modelled:
        return ""
    weights: Counter[str] = Counter()
    for (_, name), modelled in report.modelled.items():
        if name.startswith("kernel "):
            weights.update(_weights(modelled))
    bound = max(weights, key=lambda name: (weights[name], name), default="")
    return f", bound by {'their pipelines' if bound == 'pipeline' else bound}" if bound else ""


def _weights(modelled: Modelled) -> dict[str, int]:
    count = max(1, sum(modelled.bounds.values()))
    return {bound: modelled.nanoseconds * number // count for bound, number in modelled.bounds.items()}


def _gain(report: Report) -> str:
    items = folded(report.advice)
    if not items and not report.heap_advice:
        return "There is no advice: nothing to avoid was found."
    gains = [item for item in items if item.nanoseconds and not item.first.measured]
    if not gains and not report.savings:
        number = times(len(items) + len(report.heap_advice), "item")
        return f"There is advice ({number}), but how much time it saves on the board is not known."
    total = total_of(report)
    has_share = report.modelled and 0 < report.savings <= total  # what overlaps may save more than the whole
    share = f" ({100 * report.savings / total:.0f} %)" if has_share else ""
    programming = sum(item.nanoseconds for item in items if item.first.noun == "programming")
    apart = f", and {in_ms(programming)} of programming" if programming else ""
    best = max(gains, key=lambda item: item.nanoseconds)
    most = f"; most of it: {_short(best)}" if len(gains) > 1 else f": {_short(best)}"
    return f"Following the advice saves {in_ms(report.savings)}{share} on the board{apart}{most}."


def _short(item: Item) -> str:
    return item.first.words.partition(":")[0]


def in_ms(nanoseconds: int) -> str:
    """Returns the time in milliseconds, with three digits."""
    milliseconds = nanoseconds / 1e6
    return f"{milliseconds:,.0f} ms" if milliseconds >= 100 else f"{milliseconds:.3g} ms"


@dataclass(slots=True)
class Item:
    """Pieces of advice that are equal but for names and numbers, the one that saves most first."""

    all: list[Advice]

    @property
    def first(self) -> Advice:
        return self.all[0]

    @property
    def nanoseconds(self) -> int:
        return sum(advice.nanoseconds for advice in self.all)

    @property
    def words(self) -> str:
        """The first in words, and the names and numbers of the others."""
        likes = [_what_differs(each.words, self.first.words) for each in self.all[1:]]
        if not likes:
            return self.first.words
        more = f" and {len(likes) - MOST_LIKE} more" if len(likes) > MOST_LIKE else ""
        return f"{self.first.words}; likewise for {'; '.join(likes[:MOST_LIKE])}{more}"

    def summed(self) -> Advice:
        """Returns one piece of advice with the words of all."""
        places = Counter(place for advice in self.all for place in advice.places)
        return Advice(
            self.words,
            sum(advice.copies for advice in self.all),
            sum(advice.bytes for advice in self.all),
            noun=self.first.noun,
            nanoseconds=self.nanoseconds,
            measured=self.first.measured,
            hint=self.first.hint,
            share=sum(advice.share for advice in self.all),
            places=[place for place, _ in places.most_common()],
        )


def _what_differs(words: str, others: str) -> str:
    pairs = zip(VARIABLE.findall(words), VARIABLE.findall(others), strict=True)
    return " ".join(dict.fromkeys(one for one, other in pairs if one != other))


def folded(advice: list[Advice]) -> list[Item]:
    """Returns equal advice as one item, the largest saving first; last advice that was measured in the run."""
    items: dict[tuple[str, str], Item] = {}
    for each in advice:
        items.setdefault((VARIABLE.sub("#", each.words), each.noun), Item([])).all.append(each)
    return sorted(items.values(), key=lambda item: (item.first.measured, -item.nanoseconds))
