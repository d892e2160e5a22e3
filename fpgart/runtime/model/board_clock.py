# SPDX-License-Identifier: Apache-2.0
"""Schedules the steps of commands on a board's links, banks and pipelines in the simulated clock (docs/time.md)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from fpgart.base import config
from fpgart.board.timing import Bank, Pace
from fpgart.kernels.loops.loop_tree import UncountableError
from fpgart.runtime.memory.block_copy import CHUNK
from fpgart.runtime.memory.device import Device
from fpgart.runtime.model.kernel_planning import jump_of
from fpgart.runtime.model.steps import Movement, Programming, Run, Spot, Step
from fpgart.runtime.model.streaming import ChannelTime, Deeper, Group, OpenLaunch, Talking, steps_of
from fpgart.runtime.model.timeline import Timeline

WRITE, READ, COPY = "PCIe write", "PCIe read", "copy engine"
HOST_WRITE, HOST_READ = "write by the host", "read by the host"
CALLS, PIPELINE, PROGRAMMING = "MMD calls", "pipeline", "programming"
MEMORY_LATENCY, CABLE_LATENCY = "memory latency", "cable latency"


@dataclass(slots=True)
class StepTime:
    """The times of a step in the simulated clock, in nanoseconds. `bound` names the resource that limits it.

    `busy`: by resource of `device`, how long the step occupies it. `banks`: by bank, the intervals in which it uses it.
    """

    device: Device
    name: str
    begin: int
    end: int
    bound: str
    size: int = 0
    busy: dict[str, int] = field(default_factory=dict)
    banks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    kernel: str = ""
    program: str = ""
    uncounted: bool = False
    """True for a kernel with loops whose iterations are unknown: it may take any longer time."""
    channels: list[ChannelTime] = field(default_factory=list)
    deeper: Deeper | None = None
    """Depths of channels with which the kernels that ran together would end earlier. It is set on the last of them."""
    patterns: list[PatternTime] = field(default_factory=list)
    untold: str = ""
    """The reason why the time that a kernel waits at channels is unknown or incomplete; "" otherwise."""


@dataclass(frozen=True, slots=True)
class PatternTime:
    """The cost of accesses that are not sequential, in nanoseconds.

    `takes`: the time of the memory; `sequential`: that of as many sequential bytes; `saved`: what the kernel would
    save.
    """

    array: str
    index: str
    line: int
    stride: int
    size: int
    takes: int
    sequential: int
    saved: int


class BoardClock:
    """The resources of one board: a link for each direction, the banks, and each kernel's hardware or the cores."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pace = Pace(device.board, [memory.interleaved for memory in device.board.memories])
        self.write, self.read = (WRITE, READ) if self.pace.link_rate else (HOST_WRITE, HOST_READ)
        self.to_board = Timeline()
        self.to_host = Timeline() if device.occupancy.full_duplex else self.to_board
        self._banks: defaultdict[Bank, Timeline] = defaultdict(Timeline)
        self._pipelines: defaultdict[str, Timeline] = defaultdict(Timeline)
        self._cores = [Timeline() for _ in range(device.cores)]
        self._floor = 0
        """The end of the last programming; no kernel begins earlier."""
        self._groups: dict[frozenset[str], Group] = {}
        """The groups of kernels that are connected by channels, in the program that is loaded."""

    def bank_name(self, bank: Bank) -> str:
        memory = f"memory '{self.device.board.memories[bank.memory].name}'"
        return f"{memory} bank {bank.number}" if bank.number else memory

    def run(self, step: Run, at: int) -> StepTime:
        """Returns the times of a kernel that is ready at `at`; it begins a launch's latency later or after that."""
        return self._placed(step, max(at + self.device.board.timing.launch_latency, self._floor), None)

    def begin(self, step: Run, at: int, key: Any) -> list[tuple[Any, StepTime]]:
        """Begins a kernel with channels. Returns the launches whose times are known now, with their keys."""
        assert step.talking is not None
        begin = max(at + self.device.board.timing.launch_latency, self._floor, self._pipelines[step.kernel].end)
        pace = self.pace
        pipelined = max(1, pace.pipeline_time(step.work_items, step.width, step.cycles or 1))
        slowest = max(pace.bank_time(step.accesses).values(), default=0)
        scale = max(Fraction(1), Fraction(slowest, pipelined))
        group = self._group_of(step.kernel, step.talking)
        given_up: list[OpenLaunch] = []
        try:
            steps = steps_of(step.talking, step.kernel, step.work_items, step.depth, scale)
        except UncountableError as error:
            given_up = group.give_up(f"{step.kernel}: {error}")
        if group.untold:
            alone = self._placed(replace(step, talking=None, untold=group.untold), begin, None)
            return [*self._ended(given_up), (key, alone)]
        latency = pace.memory_latency(step.accesses)
        return self._ended(group.begin(OpenLaunch(step.kernel, key, step, latency, begin + latency, steps)))

    def release(self) -> list[tuple[Any, StepTime]]:
        """Stops waiting for kernels that were not launched. Returns the launches whose times are known now."""
        return [each for group in self._groups.values() if group.open for each in self._ended(group.release())]

    def _group_of(self, kernel: str, talking: Talking) -> Group:
        kernels = talking.streams.groups[kernel]
        if kernels not in self._groups:
            depths = {name: talking.streams.kernels[name].depth for name in kernels}
            clock = self.device.board.timing.kernel_clock
            self._groups[kernels] = Group(talking.streams, kernels, depths, clock)
        return self._groups[kernels]

    def _ended(self, launches: list[OpenLaunch]) -> list[tuple[Any, StepTime]]:
        found = []
        for launch in launches:
            made = self._placed(launch.step, launch.begin - launch.latency, launch)
            found.append((launch.key, made))
        return found

    def _placed(self, step: Run, begin: int, launch: OpenLaunch | None) -> StepTime:
        """Returns the times of a kernel from `begin` on. `launch` has the time that it takes with its channels."""
        pace = self.pace
        latency, cause = pace.memory_latency(step.accesses), MEMORY_LATENCY
        pipelined, line = pace.pipeline_time(step.work_items, step.width, step.cycles or 1, step.depth), PIPELINE
        if launch is not None and launch.length > pipelined:
            waits = {_wait_in_words(each): each.waited for each in launch.channels if each.kernel == step.kernel}
            longest = max(waits, key=waits.__getitem__, default="")
            if 2 * waits.get(longest, 0) > launch.length:
                line = longest
        cables = {
            f"cable in '{use.channel}'": pace.cable_time(use.channel, use.packet, use.packets) for use in step.uses
        }
        streaming = max([pipelined, launch.length if launch else 0, *cables.values()])
        if cables and streaming > pipelined:
            line = max(cables, key=cables.__getitem__)
        if cables and self.device.board.timing.cable_latency > latency:
            latency, cause = self.device.board.timing.cable_latency, CABLE_LATENCY
        job = Job(latency, streaming, {self: pace.bank_time(step.accesses)})
        begin, end, bank = job.place(self._lines_for(step, begin, latency + streaming), begin)
        bound = cause if 2 * latency > end - begin else bank or line
        size = sum(access.size for access in step.accesses)
        share = Fraction(step.cores, len(self._cores)) if step.cores else 1
        busy = {PIPELINE: int(pipelined * share), **cables, **job.busy(self)}
        made = StepTime(self.device, "kernel", begin, end, bound, size, busy, job.held(self), step.kernel, step.program)
        made.uncounted = step.cycles is None
        made.untold = step.untold
        made.patterns = self._patterns(step, streaming)
        if launch is not None:
            made.channels, made.deeper, made.untold = launch.channels, launch.deeper, launch.note
        return made

    def _lines_for(self, step: Run, at: int, length: int) -> list[Timeline]:
        """Returns what the kernel occupies: its hardware, all cores, or the core that is free first."""
        if not step.cores:
            return [self._pipelines[step.kernel]]
        if step.cores == len(self._cores):
            return self._cores
        return [min(self._cores, key=lambda core: core.free_from(at, length))]

    def _patterns(self, step: Run, streaming: int) -> list[PatternTime]:
        """Returns the cost of its accesses that are not sequential. `streaming`: its time apart from its banks."""
        if not step.patterns:
            return []
        banks = self.pace.bank_time(step.accesses)
        now, found = max([streaming, *banks.values()]), []
        for memory, pattern in step.patterns:
            jump = jump_of(pattern)
            takes = self.pace.jump_time(memory, jump)
            size = pattern.run * pattern.count
            sequential = min(takes, self.pace.run_time(memory, size))
            less = dict(banks)
            for bank, share in self.pace.shares(next(each for each in step.accesses if jump in each.jumps)):
                less[bank] -= int((takes - sequential) * share)
            saved = now - max([streaming, *less.values()])
            words = pattern.array, pattern.index, pattern.line, pattern.stride
            found.append(PatternTime(*words, size, takes, sequential, saved))
        return found

    def program(self, step: Programming, at: int) -> StepTime:
        """Returns the times of a programming, which begins when all else has ended and excludes all else."""
        busy_until = [line.end for line in (self.to_board, self.to_host, *self._pipelines.values(), *self._cores)]
        begin = max(at, *busy_until)
        length = self.device.board.timing.program_time * 1_000_000
        if config.PROGRAM_SECONDS.is_set:
            length = int(config.PROGRAM_SECONDS.value * 1e9)
        end = self._floor = begin + length
        for line in {id(line): line for line in (self.to_board, self.to_host)}.values():
            line.take(begin, end)
        self._pipelines.clear()
        self._groups.clear()
        if step.program.interleaving is not None:
            self.pace = Pace(self.device.board, step.program.interleaving)
        return StepTime(
            self.device, "program", begin, end, PROGRAMMING, len(step.program.image()), {PROGRAMMING: length}
        )

    def latency(self, size: int, count: int) -> int:
        """Returns the nanoseconds that `count` MMD calls of `size` bytes take apart from their data."""
        return self.pace.call_latency(count, count * -(-size // self.device.board.timing.dma_block))

    def bank_line(self, bank: Bank) -> Timeline:
        return self._banks[bank]


def _wait_in_words(time: ChannelTime) -> str:
    return f"channel '{time.channel}'{' full' if time.writing else ' empty'}"


class Job:
    """Work that occupies resources from begin to end, and banks for parts of that time.

    The data begin after `latency` and take `streaming` nanoseconds, or longer if a bank is busy.
    """

    def __init__(self, latency: int, streaming: int, banks: dict[BoardClock, dict[Bank, int]]) -> None:
        self.latency = latency
        self.streaming = streaming
        self.banks = banks
        self._held: dict[BoardClock, dict[str, list[tuple[int, int]]]] = {clock: {} for clock in banks}

    def held(self, clock: BoardClock) -> dict[str, list[tuple[int, int]]]:
        """Returns, for each bank of a board, the intervals in which the job uses it. place() must have been called."""
        return self._held.get(clock, {})

    def busy(self, clock: BoardClock) -> dict[str, int]:
        return {clock.bank_name(bank): time for bank, time in self.banks.get(clock, {}).items()}

    def place(self, held: list[Timeline], at: int) -> tuple[int, int, str]:
        """Reserves all resources from `at` on. Returns begin, end, and the bank that ends last, or ""."""
        begin = at
        while True:
            end, slowest = self._end(begin)
            free = begin
            for line in held:
                free = line.free_from(free, end - begin)
            if free == begin:
                break
            begin = free
        for line in {id(line): line for line in held}.values():
            line.take(begin, end)
        for clock, needs in self.banks.items():
            for bank, time in needs.items():
                line = clock.bank_line(bank)
                parts = line.parts(begin + self.latency, time)
                for part in parts:
                    line.take(*part)
                self._held[clock][clock.bank_name(bank)] = parts
        return begin, end, slowest

    def _end(self, begin: int) -> tuple[int, str]:
        end, slowest = begin + self.latency + self.streaming, ""
        for clock, needs in self.banks.items():
            for bank, time in needs.items():
                parts = clock.bank_line(bank).parts(begin + self.latency, time)
                if parts and parts[-1][1] > end:
                    end, slowest = parts[-1][1], clock.bank_name(bank)
        return end, slowest


class BoardClocks:
    """The clocks of all boards. A copy between two boards needs both."""

    def __init__(self) -> None:
        self._clocks: dict[Device, BoardClock] = {}

    def of(self, device: Device) -> BoardClock:
        clock = self._clocks.get(device)
        if clock is None:
            clock = self._clocks[device] = BoardClock(device)
        return clock

    def place(self, step: Step, at: int) -> list[StepTime]:
        """Returns the times of a step that is ready at `at`, one for each board that it occupies."""
        if isinstance(step, Run):
            return [self.of(step.device).run(step, at)]
        if isinstance(step, Programming):
            return [self.of(step.device).program(step, at)]
        source, target = step.source, step.target
        if source is not None and target is not None:
            if source.device is target.device:
                return [self._copy(step, source, target, at)]
            return self._across(step, source, target, at)
        return [self._transfer(step, at)]

    def begin(self, step: Run, at: int, key: Any) -> list[tuple[Any, StepTime]]:
        """Begins a kernel with channels. Returns the launches whose times are known now, with their keys."""
        return self.of(step.device).begin(step, at, key)

    def release(self, device: Device | None = None) -> list[tuple[Any, StepTime]]:
        """Ends the waiting of launches for kernels that were not launched, on one board or all."""
        clocks = self._clocks.values() if device is None else [self.of(device)]
        return [each for clock in clocks for each in clock.release()]

    def _transfer(self, step: Movement, at: int) -> StepTime:
        """Returns the times of a transfer between host and board."""
        spot = step.target or step.source
        assert spot is not None
        clock = self.of(spot.device)
        line, link = (clock.to_board, clock.write) if step.target else (clock.to_host, clock.read)
        latency = clock.latency(step.size, step.count)
        streaming = clock.pace.link_time(step.bytes)
        job = Job(latency, streaming, {clock: clock.pace.bank_time([step.access(spot)])})
        begin, end, bank = job.place([line], at)
        bound = CALLS if 2 * latency > end - begin else bank or link
        busy = {link: latency + streaming, **job.busy(clock)}
        return StepTime(
            spot.device,
            _name(step, "write" if step.target else "read"),
            begin,
            end,
            bound,
            step.bytes,
            busy,
            job.held(clock),
        )

    def _copy(self, step: Movement, source: Spot, target: Spot, at: int) -> StepTime:
        """Returns the times of a copy within a board, which reads and writes its memory."""
        clock = self.of(source.device)
        latency = clock.latency(step.size, step.count)
        banks = clock.pace.bank_time([step.access(source), step.access(target)])
        job = Job(latency, 0, {clock: banks})
        begin, end, bank = job.place([clock.to_board, clock.to_host], at)
        bound = CALLS if 2 * latency > end - begin else bank
        busy = {COPY: end - begin, **job.busy(clock)}
        return StepTime(source.device, _name(step, "copy"), begin, end, bound, step.bytes, busy, job.held(clock))

    def _across(self, step: Movement, source: Spot, target: Spot, at: int) -> list[StepTime]:
        """Returns the times of a copy between boards. It goes through the host, which writes one piece and reads the
        next.
        """
        giver, taker = self.of(source.device), self.of(target.device)
        sizes = [min(CHUNK, step.size - done) for done in range(0, step.size, CHUNK)]
        latencies = [giver.latency(size, 1) for size in sizes], [taker.latency(size, 1) for size in sizes]
        reads = [latency + _data(giver, source, size) for latency, size in zip(latencies[0], sizes, strict=True)]
        writes = [latency + _data(taker, target, size) for latency, size in zip(latencies[1], sizes, strict=True)]
        together = sum(max(read, write) for read, write in zip(reads[1:], writes, strict=False))
        first = latencies[0][0]
        accesses = {giver: [step.access(source)], taker: [step.access(target)]}
        banks = {clock: clock.pace.bank_time(accesses[clock]) for clock in (giver, taker)}
        job = Job(first, step.count * (reads[0] + together + writes[-1]) - first, banks)
        begin, end, bank = job.place([giver.to_host, taker.to_board], at)
        link, calls = giver.read, sum(latencies[0])
        if sum(writes) > sum(reads):
            link, calls = taker.write, sum(latencies[1])
        bound = CALLS if 2 * calls > max(sum(reads), sum(writes)) else bank or link
        busy = {
            giver: {giver.read: step.count * sum(reads), **job.busy(giver)},
            taker: {taker.write: step.count * sum(writes), **job.busy(taker)},
        }
        return [
            StepTime(clock.device, _name(step, "copy"), begin, end, bound, step.bytes, busy[clock], job.held(clock))
            for clock in (giver, taker)
        ]


def _data(clock: BoardClock, spot: Spot, size: int) -> int:
    """Returns the nanoseconds for the data of one piece if nothing else uses the banks."""
    banks = clock.pace.bank_time([Movement(spot, None, size).access(spot)])
    return max([clock.pace.link_time(size), *banks.values()])


def _name(step: Movement, name: str) -> str:
    return "migration" if step.migration else name
