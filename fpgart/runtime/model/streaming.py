# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels with channels, in simulated time (docs/time.md).

A launch ends when the kernels at the other ends of its channels have done their part, and these may be launched later.
It stays `open` until then, or until its times are asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from fpgart.base.errors import OutOfHostMemory
from fpgart.channels.stream_clock import Process, StreamClock, Wait
from fpgart.kernels.loops.kernel_streams import Streams
from fpgart.kernels.loops.loop_tree import UncountableError
from fpgart.kernels.loops.stream_steps import ENDLESS, UNIT, Step

MOST_STEPS = 4_000_000
"""The steps that are simulated for launches that have all begun; the rest is extrapolated. A step takes about 3 ns."""
MOST_HELD = 262_144
"""The steps of all launches that run or wait; each takes about 200 bytes."""
MOST_TRIED = 300_000
"""The steps of each trial with other depths."""
MOST_TOGETHER = 32
"""Other depths are tried for so many launches together at most."""
NO_PARTNER = "a kernel at its channels was not launched before the host asked for its end"
WORTH = Fraction(1, 50)
"""The part of the time that a depth has to save."""
MOST_COMPARED = 16_384
"""With more steps in the launches together, no other depths are tried. Results are kept with these steps."""
MOST_FULL = 64
"""With more channels that were full, no other depths are tried."""
DEEPEST_TRIED = 1 << 18
"""The largest depth that is tried, in packets: as many as fit into the steps of a trial."""
MOST_NAMED = 8
"""The number of channels whose depths are tried one by one."""


@dataclass(frozen=True, slots=True)
class Talking:
    """The facts about a kernel with channels, and the scalar arguments of its launch."""

    streams: Streams
    scalars: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChannelTime:
    """The time that a kernel spent at a channel during a launch, in nanoseconds of the simulated clock.

    `depth`: as declared; `waited`: in all, between the begin of the first wait (`begin`) and the end of the last.
    """

    channel: str
    kernel: str
    writing: bool
    depth: int | None
    packets: int
    waited: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Deeper:
    """Depths of channels with which launches that ran together would take less, and the nanoseconds saved."""

    depths: tuple[tuple[str, int], ...]
    saved: int


@dataclass(slots=True)
class OpenLaunch:
    """A launch whose data begin at `begin`, `latency` nanoseconds after itself. `key` and `step` are the caller's."""

    kernel: str
    key: Any
    step: Any
    latency: int
    begin: int
    steps: tuple[Step, ...]
    process: Process | None = None
    length: int = 0
    """The duration in nanoseconds, known at the end."""
    channels: list[ChannelTime] = field(default_factory=list)
    deeper: Deeper | None = None
    note: str = ""


class Group:
    """Kernels of a loaded program that are connected by channels, autorun kernels included."""

    def __init__(self, streams: Streams, kernels: frozenset[str], latencies: Mapping[str, int], clock_mhz: int) -> None:
        """`latencies`: by kernel, in cycles."""
        self._streams = streams
        self._mhz = clock_mhz
        self._running: dict[str, OpenLaunch] = {}
        self._waiting: dict[str, deque[OpenLaunch]] = {}
        self._due: deque[str] = deque()
        """Kernels that do not run and have a launch that waits."""
        self._held = 0
        """The steps of the launches that run or wait."""
        self.untold = ""
        """The reason why the steps of one of its kernels are unknown: then no launch waits for others."""
        self._together: list[OpenLaunch] = []
        """The launches that have begun since none ran."""
        self._autorun: dict[str, tuple[tuple[Step, ...], ...]] = {}
        for name in sorted(kernels & streams.autorun.keys()):
            try:
                self._autorun[name] = tuple(streams.running(name, latencies[name]))
            except UncountableError as error:
                self.untold = f"{name}: {error}"
        self._new_clock()

    def _new_clock(self) -> None:
        self._clock = StreamClock(self._streams.capacity)
        self._own: dict[str, list[Process]] = {}
        self._told: dict[tuple[str, str, bool], Wait] = {}

    def units(self, nanoseconds: int) -> int:
        return nanoseconds * self._mhz * UNIT // 1000

    def nanoseconds(self, units: int) -> int:
        """Returns the nanoseconds for `units`, rounded up."""
        return -(-units * 1000 // (self._mhz * UNIT))

    @property
    def open(self) -> bool:
        return bool(self._running)

    def begin(self, launch: OpenLaunch) -> list[OpenLaunch]:
        """Adds a launch. Returns those whose end is known now."""
        waiting = self._waiting.setdefault(launch.kernel, deque())
        if not waiting and launch.kernel not in self._running:
            self._due.append(launch.kernel)
        waiting.append(launch)
        self._held += len(launch.steps)
        if self._held > MOST_HELD:
            return self.give_up(f"launches that wait for each other have more than {MOST_HELD:,} steps")
        try:
            return self._run()
        except OutOfHostMemory as error:
            return self.give_up(str(error))

    def give_up(self, why: str) -> list[OpenLaunch]:
        """Simulates no more waits, for the reason `why`. Returns the open launches, without waits."""
        self.untold = why
        found = [*self._running.values(), *(launch for waiting in self._waiting.values() for launch in waiting)]
        for launch in found:
            launch.note, launch.channels = why, []
        self._running.clear()
        self._waiting.clear()
        self._due.clear()
        self._held = 0
        return found

    def _forget_running(self) -> None:
        """Drops the launches that run, whose ends are known, so that the next ones of their kernels begin."""
        self._held -= sum(len(launch.steps) for launch in self._running.values())
        self._due += [kernel for kernel in self._running if self._waiting.get(kernel)]
        self._running.clear()
        self._together.clear()
        self._new_clock()

    def release(self) -> list[OpenLaunch]:
        """Ends the waiting of launches for kernels that were not launched."""
        found = list(self._running.values())
        for launch in found:
            self._extend(launch, Fraction(1))
            launch.note = NO_PARTNER
        self._forget_running()
        return found + (self._run() if found else [])

    def _run(self) -> list[OpenLaunch]:
        found: list[OpenLaunch] = []
        while True:
            self._begin_waiting()
            if not self._running:
                return found
            if self._clock.run(MOST_STEPS // 2):
                ended = self._take_ended()
                for launch in ended:
                    self._end(launch)
                if not ended:
                    return found
            else:
                ended = self._run_on()
            found += ended

    def _begin_waiting(self) -> None:
        """Begins the launches that are due. Raises OutOfHostMemory; the launch keeps waiting then."""
        while self._due:
            kernel = self._due[0]
            launch = self._waiting[kernel][0]
            begin = self.units(launch.begin)
            if not self._own:
                self._own = {
                    name: [self._clock.start(steps, begin) for steps in units] for name, units in self._autorun.items()
                }
            launch.process = self._clock.start(launch.steps, begin)
            self._due.popleft()
            self._running[kernel] = self._waiting[kernel].popleft()
            self._together.append(launch)

    def _take_ended(self) -> list[OpenLaunch]:
        """Returns the launches that have ended, in the order of their begins."""
        ended = {id(process) for process in self._clock.take_ended()}
        return [launch for launch in self._running.values() if id(launch.process) in ended] if ended else []

    def _at(self, launch: OpenLaunch) -> tuple[bool, int, int]:
        assert launch.process is not None
        return self._clock.at(launch.process)

    def _end(self, launch: OpenLaunch) -> None:
        assert launch.process is not None
        del self._running[launch.kernel]
        self._held -= len(launch.steps)
        if self._waiting[launch.kernel]:
            self._due.append(launch.kernel)
        launch.length = self.nanoseconds(self._at(launch)[1] - launch.process.begin)
        launch.channels = self._channels(launch)
        self._clock.remove(launch.process)
        self._delay_next(launch)
        if not self._running:
            together, self._together = self._together, []
            launch.deeper = self._try_depths(together)

    def _channels(self, launch: OpenLaunch) -> list[ChannelTime]:
        """Returns the times at the launch's channels, and those of autorun kernels since the last call."""
        assert launch.process is not None
        found = [self._time(launch.kernel, *key, wait) for key, wait in self._clock.waits(launch.process).items()]
        for name, units in self._own.items():
            for process in units:
                for (channel, writing), wait in self._clock.waits(process).items():
                    before = self._told.get((name, channel, writing), Wait())
                    self._told[name, channel, writing] = wait
                    since = Wait(
                        wait.total - before.total, max(wait.begin, before.end), wait.end, wait.packets - before.packets
                    )
                    if since.packets:
                        found.append(self._time(name, channel, writing, since))
        return found

    def _time(self, kernel: str, channel: str, writing: bool, wait: Wait) -> ChannelTime:
        depth = self._streams.depth(channel)
        begin, end = self.nanoseconds(wait.begin), self.nanoseconds(wait.end)
        return ChannelTime(channel, kernel, writing, depth, wait.packets, self.nanoseconds(wait.total), begin, end)

    def _run_on(self) -> list[OpenLaunch]:
        """Runs through more steps and extrapolates the rest from them.

        Returns the launches whose end is known by that; none if no step is left.
        """
        before = {kernel: self._at(launch) for kernel, launch in self._running.items()}
        if self._clock.run(MOST_STEPS - MOST_STEPS // 2):
            return []
        found = list(self._running.values())
        for launch in found:
            ended, at, passed = self._at(launch)
            _, at_before, passed_before = before[launch.kernel]
            went = passed - passed_before
            self._extend(launch, Fraction(at - at_before, went) if went and not ended else Fraction(1))
            launch.note = f"after {MOST_STEPS:,} steps the rest was taken to go on in the same way"
        self._forget_running()
        return found

    def _extend(self, launch: OpenLaunch, pace: Fraction) -> None:
        """Ends a launch: its rest takes `pace` times what it takes without waits."""
        assert launch.process is not None
        _, at, passed = self._at(launch)
        left = launch.process.length - passed
        launch.length = self.nanoseconds(at - launch.process.begin + -(-left * pace.numerator // pace.denominator))
        launch.channels = self._channels(launch)
        self._delay_next(launch)

    def _delay_next(self, launch: OpenLaunch) -> None:
        """Delays the kernel's next launch, because its hardware runs one at a time."""
        waiting = self._waiting.get(launch.kernel)
        if waiting:
            waiting[0].begin = max(waiting[0].begin, launch.begin + launch.length + waiting[0].latency)

    # Depths

    def _try_depths(self, launches: list[OpenLaunch]) -> Deeper | None:
        """Returns the depths with which launches that have ended would have ended earlier; None if they save little."""
        times = [each for launch in launches for each in launch.channels if each.waited]
        full = tuple(sorted({each.channel for each in times if each.writing}))
        if not full or all(each.writing for each in times):
            return None
        if len(launches) > MOST_TOGETHER or len(full) > MOST_FULL:
            return None
        first = min(self.units(launch.begin) for launch in launches)
        if sum(len(launch.steps) for launch in launches) > MOST_COMPARED:
            return None
        plays = tuple((launch.kernel, launch.steps, self.units(launch.begin) - first) for launch in launches)
        own = tuple(steps for units in self._autorun.values() for steps in units)
        capacities = tuple((name, self._streams.capacity(name)) for name in sorted(_channels_of(plays, own)))
        try:
            found = _better(plays, own, capacities, full)
        except OutOfHostMemory:
            return None
        return None if found is None else Deeper(found[0], self.nanoseconds(found[1]))


Plays = tuple[tuple[str, tuple[Step, ...], int], ...]


def _channels_of(plays: Plays, own: tuple[tuple[Step, ...], ...]) -> set[str]:
    processes = [*(steps for _, steps, _ in plays), *own]
    return {step.channel for steps in processes for step in steps if step.channel}


@lru_cache(maxsize=64)
def _better(
    plays: Plays, own: tuple[tuple[Step, ...], ...], capacities: tuple[tuple[str, int], ...], full: tuple[str, ...]
) -> tuple[tuple[tuple[str, int], ...], int] | None:
    """Returns depths for some of the channels that were full, and the units that they save."""
    given = dict(capacities)
    now = _length(plays, own, given)
    best = _length(plays, own, {**given, **dict.fromkeys(full, DEEPEST_TRIED)})
    if now is None or best is None or (now - best) < WORTH * now:
        return None
    factor, enough = 1, best + (now - best) // 10
    tried, took = given, now
    while took > enough and factor < DEEPEST_TRIED:
        factor *= 2
        tried = given | {name: min(given[name] * factor, DEEPEST_TRIED) for name in full}
        took = _length(plays, own, tried) or now
    for name in full[:MOST_NAMED]:
        without = _length(plays, own, tried | {name: given[name]})
        if without is not None and without <= took:
            tried = tried | {name: given[name]}
    changed = tuple((name, tried[name]) for name in full if tried[name] != given[name])
    return (changed, now - took) if changed else None


def _length(plays: Plays, own: tuple[tuple[Step, ...], ...], capacities: Mapping[str, int]) -> int | None:
    """Returns the units from the first begin to the last end; None if that takes too many steps."""
    clock = StreamClock(capacities.__getitem__)
    for steps in own:
        clock.start(steps, 0)
    processes: dict[str, Process] = {}
    ends: dict[str, int] = {}
    waiting = deque(plays)
    last = 0
    while waiting or processes:
        for _ in range(len(waiting)):
            kernel, steps, begin = waiting.popleft()
            if kernel in processes:
                waiting.append((kernel, steps, begin))
            else:
                processes[kernel] = clock.start(steps, max(begin, ends.get(kernel, 0)))
        if not clock.run(MOST_TRIED):
            return None
        ended = [(name, process) for name, process in processes.items() if clock.at(process)[0]]
        if not ended:
            return None
        for name, process in ended:
            ends[name] = clock.at(process)[1]
            last = max(last, ends[name])
            clock.remove(process)
            del processes[name]
    return last


def steps_of(talking: Talking, kernel: str, work_items: int, latency: int, scale: Fraction) -> tuple[Step, ...]:
    """Returns the steps of a launch. Raises UncountableError, also for a kernel that never ends."""
    made = talking.streams.process(kernel, talking.scalars, work_items, latency, scale)
    if any(step.first == ENDLESS for step in made):
        raise UncountableError("it never ends")
    return made
