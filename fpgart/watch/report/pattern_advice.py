# SPDX-License-Identifier: Apache-2.0
"""Advice on accesses of kernels to memory that are not one after the other, by the model of time."""

from __future__ import annotations

from fpgart.base.sizes import in_words
from fpgart.watch.report.found import EventTaker
from fpgart.watch.report.trace_events import Args, Takes


class PatternAdviser(EventTaker):
    """Takes the events of a trace; only the simulated clock gives advice."""

    def takes(self) -> Takes:
        return {"time": self._modelled}

    def _modelled(self, event: Args) -> None:
        args = event["args"]
        for each in args.get("patterns", ()):
            if each["saved"] > 0:
                self._found.add(_in_words(args["kernel"], each), nanoseconds=each["saved"], noun="time")


def _in_words(kernel: str, each: Args) -> str:
    stride = each["stride"]
    how = f"in strides of {in_words(stride)}" if stride else "at addresses that come from memory"
    share = 100 * each["sequential"] / max(1, each["takes"])
    cure = (
        "let the innermost loop or neighbouring work-items go from one element to the next" if stride else "sort them"
    )
    line = f", line {each['line']} of its program" if each["line"] else ""
    return (
        f"kernel '{kernel}'{line}: {each['array']}[{each['index']}] is accessed {how}, "
        f"which has {share:.0f} % of the memory's bandwidth: {cure}, or copy blocks into local memory first"
    )
