# SPDX-License-Identifier: Apache-2.0
"""The channel operations of kernels, found in their source: for the model of time (docs/time.md).

A kernel whose loops can be counted and which uses its channels in every iteration, whatever the data, becomes a
process: steps for channels/stream_clock.c. Any other kernel, and those that share a channel with it, have a reason
instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

from fpgart.kernels.functions import Function, functions_in, plain_text
from fpgart.kernels.loops.kernel_loops import KernelLoops, loops_of
from fpgart.kernels.loops.loop_scan import TALKING
from fpgart.kernels.loops.loop_tree import UncountableError, talks
from fpgart.kernels.loops.stream_steps import Step, StepWriter
from fpgart.kernels.opencl_c import autorun_units
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.source_text import DIRECTIVE, NAME, NAME_AND_SIZES, attributes_of, blank, split, without_attributes

MOST_UNITS = 256
"""The most compute units of autorun kernels, in all."""
MOST_STEPS = 65_536
"""The most steps of the compute units of autorun kernels, in all."""
DEEPEST_CHANNEL = 1 << 20
"""Packets of the deepest channel that is modelled; further depth makes no practical difference."""
STATEMENT = re.compile(r"[;{}]")
CHANNEL = re.compile(r"\bchannel\b")
OUTSIDE = frozenset(("io", "intel_host_accessible"))


@dataclass(frozen=True, slots=True)
class Channel:
    """The declaration of a channel or an array of channels. `outside`: no kernel uses its other end."""

    depth: int | None
    outside: bool


@dataclass(frozen=True, slots=True)
class Streams:
    """The kernels of a program that use channels. `untold`: by kernel, the reason if its use of them is unknown."""

    channels: Mapping[str, Channel]
    kernels: Mapping[str, KernelLoops]
    autorun: Mapping[str, tuple[int, ...]]
    """By autorun kernel, its compute units in each dimension."""
    groups: Mapping[str, frozenset[str]]
    """By kernel with channels, all kernels that channels connect it with, and itself."""
    untold: Mapping[str, str]

    def capacity(self, channel: str) -> int:
        """Returns how many packets a channel (`c[3]`) holds: one if it has no depth."""
        depth = self.channels[channel.partition("[")[0]].depth
        return min(max(1, depth or 0), DEEPEST_CHANNEL)

    def depth(self, channel: str) -> int | None:
        return self.channels[channel.partition("[")[0]].depth

    def process(
        self, kernel: str, arguments: Mapping[str, int], work_items: int, latency: int, scale: Fraction
    ) -> tuple[Step, ...]:
        """Returns the steps of a launch. Raises UncountableError.

        `latency` is the number of cycles from the begin of an iteration to its write, and from that of the last one to
        the end. `scale` stretches the cycles of a kernel whose memory is slower than its pipeline.
        """
        loops = self.kernels[kernel]
        return StepWriter(loops, loops.names(arguments), latency, scale).steps(work_items)

    def running(self, kernel: str, latency: int) -> Iterator[tuple[Step, ...]]:
        """Yields the steps of each compute unit of an autorun kernel. Raises UncountableError."""
        loops = self.kernels[kernel]
        made = 0
        for place in product(*map(range, self.autorun[kernel])):
            steps = StepWriter(loops, loops.names({}), latency, Fraction(1), place).steps(1)
            made += len(steps)
            if made > MOST_STEPS:
                raise UncountableError(f"its units take more than {MOST_STEPS:,} steps")
            yield steps


NOTHING = Streams({}, {}, {}, {}, {})


def kernel_streams(source: str, options: str = "") -> Streams:
    """Reads a whole program; NOTHING if no kernel uses channels, or if the preprocessor needs headers of the host."""
    if "channel" not in source:
        return NOTHING
    text = plain_text(source, options)
    found = list(functions_in(text))
    kernels = loops_of(found)
    talking = {function.name: function for function in found if TALKING.search(function.body)}
    if not talking:
        return NOTHING
    channels = dict(_channels(blank(DIRECTIVE, text)))
    used = _used(kernels, channels, talking)
    units = autorun_units(text) if "autorun" in text else {}
    autorun = {name: each for name, each in units.items() if used.get(name)}
    return connected(kernels, channels, used, autorun)


def connected(
    kernels: Mapping[str, KernelLoops],
    channels: Mapping[str, Channel],
    used: Mapping[str, frozenset[str]],
    autorun: Mapping[str, tuple[int, ...]],
) -> Streams:
    """Returns the kernels of a program; `used` are the channels that each uses, as far as that is known."""
    groups = _groups({name: names for name, names in used.items() if names})
    alone = {name: why for name in groups if (why := _untold(kernels[name], used[name], channels))}
    alone |= _shared(kernels, groups)
    if sum(map(prod, autorun.values())) > MOST_UNITS:
        alone |= dict.fromkeys(autorun, f"more than {MOST_UNITS} units run by themselves")
    first: dict[frozenset[str], str] = {}
    for name in sorted(alone):
        first.setdefault(groups[name], f"{name}: {alone[name]}")
    untold = {name: first[group] for name, group in groups.items() if group in first}
    return Streams(channels, kernels, autorun, groups, untold)


def _channels(text: str) -> Iterator[tuple[str, Channel]]:
    """Yields the channels that a text without directives declares, by name."""
    begin = 0
    for mark in STATEMENT.finditer(text):
        statement = text[begin : mark.start()]
        begin = mark.end()
        if mark[0] != ";" or CHANNEL.search(statement) is None:
            continue
        shared = attributes_of(statement[: statement.find("channel")])
        for declarator in split(statement):
            parsed = NAME_AND_SIZES.fullmatch(without_attributes(declarator).strip())
            if parsed is not None:
                attributes = shared | attributes_of(declarator)
                depth = constant(attributes["depth"], {}) if "depth" in attributes else None
                yield parsed["name"], Channel(depth, not OUTSIDE.isdisjoint(attributes))


def _used(
    kernels: Mapping[str, KernelLoops], channels: Mapping[str, Channel], talking: Mapping[str, Function]
) -> dict[str, frozenset[str]]:
    """Returns the channels that kernels use: from their loops or, if these cannot be counted, from their text.

    An array of channels counts as one.
    """

    def named_in(text: str) -> frozenset[str]:
        return frozenset(name for name in NAME.findall(text) if name in channels)

    @cache
    def everywhere() -> frozenset[str]:  # one set, which many kernels may share
        return frozenset().union(*(named_in(function.body) for function in talking.values()))

    found: dict[str, frozenset[str]] = {}
    for kernel, loops in kernels.items():
        talks_of = list(talks(loops.body or ()))
        named = frozenset(talk.array for talk in talks_of)
        if any(talk.untold for talk in talks_of):  # calls in functions included
            found[kernel] = everywhere()
        elif kernel in talking and (loops.body is None or not named <= channels.keys()):
            found[kernel] = named_in(talking[kernel].body)
        else:
            found[kernel] = named.intersection(channels)
    return found


def _groups(used: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Returns, by kernel, the kernels that channels connect it with; connected kernels share one set."""
    alike: dict[frozenset[str], list[str]] = {}
    for kernel, channels in used.items():
        alike.setdefault(channels, []).append(kernel)
    by_channel: dict[str, list[frozenset[str]]] = {}
    for channels in alike:
        for channel in channels:
            by_channel.setdefault(channel, []).append(channels)
    groups: dict[str, frozenset[str]] = {}
    while alike:
        kernels, waiting = list[str](), [next(iter(alike))]
        while waiting:
            channels = waiting.pop()
            if channels in alike:
                kernels += alike.pop(channels)
                waiting += [other for channel in channels for other in by_channel.pop(channel, ())]
        groups |= dict.fromkeys(kernels, frozenset(kernels))
    return groups


def _untold(loops: KernelLoops, used: Set[str], channels: Mapping[str, Channel]) -> str:
    """Returns why a kernel's use of channels is unknown; "" if it is known."""
    if loops.body is None:
        return f"its loops cannot be counted: {loops.uncounted}"
    why = [talk.untold for talk in talks(loops.body) if talk.untold]
    named = {talk.array for talk in talks(loops.body) if not talk.untold}
    unknown = sorted(named - channels.keys())
    if unknown:
        return f"the declaration of channel '{unknown[0]}' is not understood"
    if why:
        return why[0]
    outside = sorted(name for name in used if channels[name].outside)
    return f"channel '{outside[0]}' leads out of the program" if outside else ""


def _shared(kernels: Mapping[str, KernelLoops], groups: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Returns, by kernel, the channels whose same end another kernel uses, so that their order is unknown."""
    ends: dict[tuple[str, bool], str] = {}
    found = {}
    for kernel in sorted(groups):
        for talk in talks(kernels[kernel].body or ()):
            other = ends.setdefault((talk.channel, talk.writing), kernel)
            if other != kernel and talk.channel:
                found[kernel] = f"'{other}' is at the same end of channel '{talk.channel}'"
    return found
