# SPDX-License-Identifier: Apache-2.0
"""Advice on channels that are too shallow for kernels that work in bursts: both sides wait by turns."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fpgart.base.ranges import joined
from fpgart.watch.intervals import Span, covered
from fpgart.watch.report.found import EventTaker
from fpgart.watch.report.trace_events import SYCL, Args, Takes

LEAST_US = 100.0
"""The least time of waits that advice reports. Shorter ones may come from the threads that pass packets on this
machine."""
LEAST_TOTAL_US = 20_000.0
LEAST_SHARE = 0.1
"""The least share of waits in the time from the first wait to write to the last."""


@dataclass(slots=True)
class Waits:
    """The kernels that waited for one channel, and the times in microseconds."""

    capacity: int = 0
    writers: set[str] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    full: list[Span] = field(default_factory=list)
    empty: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class ChannelAdviser(EventTaker):
    """Takes the events of a trace: the model's results for other depths, or without these the waits of the run.

    Channels at which only one side waits get no advice: the other side is slower, and no depth changes that.
    """

    _channels: defaultdict[tuple[int, str], Waits] = field(default_factory=lambda: defaultdict(Waits))
    _modelled: dict[tuple[int, str], int | None] = field(default_factory=dict)
    """The declared depths of channels in the model of time."""
    _deeper: list[tuple[int, Args, bool]] = field(default_factory=list)
    """The model's results for other depths, by device; true for a SYCL program."""

    def takes(self) -> Takes:
        return {"time": self._modelled_step, "channel stall": self._stalled}

    def _stalled(self, event: Args) -> None:
        if event["dur"] < LEAST_US:
            return
        args, begin = event["args"], float(event["ts"])
        waits = self._channels[args["device"], args["channel"]]
        waits.capacity = args["capacity"]
        (waits.writers if args["writing"] else waits.readers).add(args["kernel"])
        (waits.full if args["writing"] else waits.empty).append((begin, begin + float(event["dur"])))

    def _modelled_step(self, event: Args) -> None:
        args = event["args"]
        device = args["device"]
        for each in args.get("channels", ()):
            self._modelled[device, each["channel"]] = each["depth"]
        if "deeper" in args:
            self._deeper.append((device, args["deeper"], SYCL in args))

    def _advise(self, device: int, deeper: Args, is_sycl: bool) -> None:
        noun, how = ("pipe", "the parameter min_capacity") if is_sycl else ("channel", "__attribute__((depth(N)))")
        depths = [
            f"{noun} '{name}' {self._modelled.get((device, name)) or 1} packets deep, which should be {depth}"
            for name, depth in deeper["depths"].items()
        ]
        words = (
            f"make {noun}s of device {device} deeper ({how}): {'; '.join(depths)}; the kernels at "
            "their ends work in bursts and wait for each other by turns"
        )
        self._found.add(words, nanoseconds=deeper["saved"], noun="time")

    def finish(self) -> None:
        for device, deeper, is_sycl in self._deeper:
            self._advise(device, deeper, is_sycl)
        known = {(device, name.partition("[")[0]) for device, name in self._modelled}
        for (device, channel), waits in self._channels.items():
            if (device, channel.partition("[")[0]) in known:
                continue
            full, empty = joined(waits.full), joined(waits.empty)
            if not full or not empty:
                continue
            window = full[0][0], full[-1][1]
            both = together(full, empty)
            wrote, read = sum(end - begin for begin, end in full) - both, covered(empty, 0, window) - both
            saved = min(wrote, read)
            if saved < max(LEAST_TOTAL_US, LEAST_SHARE * (window[1] - window[0])):
                continue
            words = (
                f"make channel '{channel}' of device {device} deeper than {waits.capacity}, such as "
                f"__attribute__((depth({2 * waits.capacity}))), and compare: {_named(waits.writers)} waited "
                f"{wrote / 1000:.3f} ms while it was full, and in turn {_named(waits.readers)} waited "
                f"{read / 1000:.3f} ms while it was empty; more depth saves at most the shorter of the two"
            )
            self._found.add(words, nanoseconds=int(saved * 1000), noun="time", measured=True)


def together(some: list[Span], others: list[Span]) -> float:
    """Returns the time that is in both lists, each of which is sorted and without overlaps.

    A channel is never full and empty: a thread that waits while the other side waits has its packet or its room, and
    waits for a processor of this machine.
    """
    total, at = 0.0, 0
    for begin, end in some:
        while at < len(others) and others[at][1] <= begin:
            at += 1
        total += covered(others, at, (begin, end))
    return total


def _named(kernels: set[str]) -> str:
    return " and ".join(f"'{name}'" for name in sorted(kernels))
