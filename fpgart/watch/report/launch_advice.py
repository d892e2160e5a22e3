# SPDX-License-Identifier: Apache-2.0
"""Advice on kernels that are launched again and again with less work than a launch costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from fpgart.watch.report.costs import Costs
from fpgart.watch.report.found import Found
from fpgart.watch.report.trace_events import Args

MANY = 10
"""Launches from which on they are worth a word."""


@dataclass(slots=True)
class Launches:
    """Launches of one kernel on one device, and the time that their work takes."""

    work: int = 0
    sites: list[tuple[int, int]] = field(default_factory=list)
    """The place of the call and the operation of each."""


class LaunchAdviser:
    """Takes the events of a trace. Kernels of one work-item are left out: nobody knows how long their loops are."""

    CATEGORIES: ClassVar[tuple[str, ...]] = ("device kernel",)

    def __init__(self, found: Found, costs: Costs) -> None:
        self._found = found
        self._costs = costs
        self._tiny: dict[tuple[int, str], Launches] = {}

    def take(self, event: Args) -> None:
        args = event.get("args", {})
        if event.get("cat") != "device" or event["name"] != "kernel" or prod(args.get("global", (1,))) == 1:
            return
        work = self._costs.kernel(args)
        if work < self._costs.launch(args["device"]):
            launches = self._tiny.setdefault((args["device"], args["kernel"]), Launches())
            launches.work += work
            launches.sites.append((args.get("site", 0), args.get("operation", 0)))

    def finish(self) -> None:
        for (device, kernel), launches in self._tiny.items():
            count, latency = len(launches.sites), self._costs.launch(device)
            if count < MANY:
                continue
            words = (
                f"give kernel '{kernel}' more work per launch (a larger ND-range, or a loop inside it): "
                f"each does {launches.work / count / 1000:.2f} us of work, and a launch costs {latency / 1000:g} us"
            )
            for site, operation in launches.sites[1:]:
                self._found.add(words, nanoseconds=latency, site=site, noun="launch", operation=operation)
