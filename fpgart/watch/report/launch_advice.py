# SPDX-License-Identifier: Apache-2.0
"""Advice on kernels that are launched again and again with less work than a launch costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from fpgart.watch.report.found import EventTaker, Saving
from fpgart.watch.report.trace_events import Args, Takes

MANY = 10
"""The least number of launches that advice reports."""


@dataclass(slots=True)
class Launches:
    """Launches of one kernel on one device, and the time that their work takes."""

    work: int = 0
    each: list[Saving] = field(default_factory=list)


@dataclass(slots=True)
class LaunchAdviser(EventTaker):
    """Takes the events of a trace. Kernels of one work-item are left out: the length of their loops is unknown."""

    _tiny: dict[tuple[int, str], Launches] = field(default_factory=dict)

    def takes(self) -> Takes:
        return {"device kernel": self._launched}

    def _launched(self, event: Args) -> None:
        args = event["args"]
        if prod(args.get("global", (1,))) == 1:
            return
        work, latency = self._costs.kernel(args), self._costs.launch(args["device"])
        if work < latency:
            key = args["device"], args["kernel"]
            launches = self._tiny.get(key)
            if launches is None:
                launches = self._tiny[key] = Launches()
            launches.work += work
            launches.each.append((latency, args.get("site", 0), args.get("operation", 0)))

    def finish(self) -> None:
        for (device, kernel), launches in self._tiny.items():
            count, latency = len(launches.each), self._costs.launch(device)
            if count < MANY:
                continue
            words = (
                f"give kernel '{kernel}' more work per launch (a larger ND-range, or a loop inside it): "
                f"each does {launches.work / count / 1000:.2f} us of work, and a launch costs {latency / 1000:g} us"
            )
            self._found.add_each(words, launches.each[1:], noun="launch")
