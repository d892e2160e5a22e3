# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels that talk through channels, in simulated time (docs/time.md).

A launch ends when the kernels at the other ends of its channels have done their part; these may be launched later.
So it is `open` until then, or until somebody asks for its times.
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
"""What is run through of launches that have all begun; what is left then goes on as it did. A step takes about 3 ns."""
MOST_HELD = 262_144
"""Steps of all launches that run or wait; some 200 bytes each."""
MOST_TRIED = 300_000
"""Steps of each trial with other depths."""
MOST_TOGETHER = 32
"""Of so many launches together, other depths are tried."""
NO_PARTNER = "a kernel at its channels was not launched before the host asked for its end"
WORTH = Fraction(1, 50)
"""Of the time, that a depth has to save."""
MOST_COMPARED = 16_384
"""Steps of launches together; where there are more, no other depths are tried. What was found is kept with them."""
MOST_FULL = 64
"""Channels that were full; where there are more, no other depths are tried."""
DEEPEST_TRIED = 1 << 18
"""Packets: as many as fit into the steps of a trial."""
MOST_NAMED = 8
"""Channels whose depths are tried one by one."""


@dataclass(frozen=True, slots=True)
class Talking:
    """What is known of a kernel with channels, and of the scalars that its launch has."""

    streams: Streams
    scalars: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChannelTime:
    """What a kernel did at a channel while a launch ran, in nanoseconds of the simulated clock.

    `depth`: as declared; `waited`: in all, from the first wait (`begin`) to the end of the last.
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
    """Depths of channels with which launches that ran together would take less, and how much less, in nanoseconds."""

    depths: tuple[tuple[str, int], ...]
    saved: int


@dataclass(slots=True)
class OpenLaunch:
    """A launch whose data begin at `begin`, `latency` nanoseconds after itself; `key` and `step` are its owner's."""

    kernel: str
    key: Any
    step: Any
    latency: int
    begin: int
    steps: tuple[Step, ...]
    process: Process | None = None
    length: int = 0
    """Nanoseconds; known at the end."""
    channels: list[ChannelTime] = field(default_factory=list)
    deeper: Deeper | None = None
    note: str = ""


class Group:
    """Kernels of a loaded program that are connected through channels, those that run by themselves among them."""

    def __init__(self, streams: Streams, kernels: frozenset[str], latencies: Mapping[str, int], clock_mhz: int) -> None:
        """`latencies`: of kernels, in cycles."""
        self._streams = streams
        self._mhz = clock_mhz
        self._running: dict[str, OpenLaunch] = {}
        self._waiting: dict[str, deque[OpenLaunch]] = {}
        self._due: deque[str] = deque()
        """Kernels that do not run, of which a launch waits."""
        self._held = 0
        """Steps of the launches that run or wait."""
        self.untold = ""
        """Why nobody knows what one of its kernels does: then none waits for others."""
        self._together: list[OpenLaunch] = []
        """What has begun since nothing ran."""
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
        """Rounded up."""
        return -(-units * 1000 // (self._mhz * UNIT))

    @property
    def open(self) -> bool:
        return bool(self._running)

    def begin(self, launch: OpenLaunch) -> list[OpenLaunch]:
        """Add a launch; returns those that have an end now."""
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
        """Nobody waits for others from now on; those that did take what their loops take."""
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
        """Those that run have an end; the next ones of their kernels are due."""
        self._held -= sum(len(launch.steps) for launch in self._running.values())
        self._due += [kernel for kernel in self._running if self._waiting.get(kernel)]
        self._running.clear()
        self._together.clear()
        self._new_clock()

    def release(self) -> list[OpenLaunch]:
        """Those that wait for kernels that were not launched go on without them."""
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
        """Raises OutOfHostMemory; the launch waits on then."""
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
        """Those that have ended, in the order in which they began to run."""
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
        """What it did at its channels, and kernels that run by themselves at theirs since that was told last."""
        assert launch.process is not None
        found = [self._time(launch.kernel, *key, wait) for key, wait in self._clock.waits(launch.process).items()]
        for name, units in self._own.items():
            for process in units:
                for (channel, writing), wait in self._clock.waits(process).items():
                    before = self._told.get((name, channel, writing), Wait())
                    self._told[name, channel, writing] = wait
                    since = Wait(
                        wait.total - before.total,
                        max(wait.begin, before.end),
                        wait.end,
                        wait.packets - before.packets,
                    )
                    if since.packets:
                        found.append(self._time(name, channel, writing, since))
        return found

    def _time(self, kernel: str, channel: str, writing: bool, wait: Wait) -> ChannelTime:
        depth = self._streams.depth(channel)
        begin, end = self.nanoseconds(wait.begin), self.nanoseconds(wait.end)
        return ChannelTime(channel, kernel, writing, depth, wait.packets, self.nanoseconds(wait.total), begin, end)

    def _run_on(self) -> list[OpenLaunch]:
        """Many steps are left: run through as many again, and take it that the rest goes on like these.

        Returns those that have an end by that; none, if no step is left now.
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
        """What is left of a launch takes `pace` times what it takes without waits."""
        assert launch.process is not None
        _, at, passed = self._at(launch)
        left = launch.process.length - passed
        launch.length = self.nanoseconds(at - launch.process.begin + -(-left * pace.numerator // pace.denominator))
        launch.channels = self._channels(launch)
        self._delay_next(launch)

    def _delay_next(self, launch: OpenLaunch) -> None:
        """A kernel's hardware runs one launch at a time."""
        waiting = self._waiting.get(launch.kernel)
        if waiting:
            waiting[0].begin = max(waiting[0].begin, launch.begin + launch.length + waiting[0].latency)

    # Depths

    def _try_depths(self, launches: list[OpenLaunch]) -> Deeper | None:
        """Which depths would have let launches end earlier that have all ended; None if none, or not by much."""
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
    """Depths for some of the channels that were full, and the units that they save."""
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
    """Units from the first begin to the last end; None if that takes too many steps."""
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
    """Those of a launch. Raises UncountableError, also for a kernel that never ends."""
    made = talking.streams.process(kernel, talking.scalars, work_items, latency, scale)
    if any(step.first == ENDLESS for step in made):
        raise UncountableError("it never ends")
    return made
