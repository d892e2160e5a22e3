# SPDX-License-Identifier: Apache-2.0
"""The processes of kernels with channels in simulated time (channels/stream_clock.c)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fpgart._native import ffi, lib
from fpgart.base.errors import OutOfHostMemory
from fpgart.kernels.loops.stream_steps import Step, unstalled


@dataclass(slots=True)
class Wait:
    """The waits of a process at one end of a channel: in all, from the first to the last; units of time."""

    total: int = 0
    begin: int = 0
    end: int = 0
    packets: int = 0

    def add(self, other: Wait) -> None:
        if other.total and not self.total:
            self.begin = other.begin
        elif other.total:
            self.begin = min(self.begin, other.begin)
        self.total += other.total
        self.end = max(self.end, other.end)
        self.packets += other.packets


class Process:
    """Steps that run in a clock from `begin` on, in units of time. `length`: their time without any wait."""

    def __init__(self, number: int, steps: tuple[Step, ...], begin: int) -> None:
        self.number = number
        self.begin = begin
        self.length = unstalled(steps)
        self.talks = [
            (index, (step.channel, step.kind == lib.STREAM_WRITE)) for index, step in enumerate(steps) if step.channel
        ]
        """The steps that use channels, by number: the channel, and true if the step writes."""


class StreamClock:
    """Channels and processes; `capacity` returns how many packets a channel holds. Raises OutOfHostMemory."""

    def __init__(self, capacity: Callable[[str], int]) -> None:
        self._capacity = capacity
        self._channels: dict[str, int] = {}
        self._processes: dict[int, Process] = {}
        self._ended: list[Process] = []
        handle = lib.stream_clock_new()
        if handle == ffi.NULL:
            raise OutOfHostMemory("no room for the clock of channels")
        self._handle = ffi.gc(handle, lib.stream_clock_free)

    def _channel(self, name: str) -> int:
        if name not in self._channels:
            number = int(lib.stream_clock_channel(self._handle, self._capacity(name)))
            if number < 0:
                raise OutOfHostMemory(f"no room for channel '{name}' in simulated time")
            self._channels[name] = number
        return self._channels[name]

    def start(self, steps: tuple[Step, ...], begin: int) -> Process:
        """Starts a process at `begin`."""
        code = [(s.kind, self._channel(s.channel) if s.channel else s.first, s.second) for s in steps]
        number = int(lib.stream_clock_process(self._handle, ffi.new("struct stream_step[]", code), len(code), begin))
        if number < 0:
            raise OutOfHostMemory(f"no room for a process of {len(code)} steps in simulated time")
        self._processes[number] = Process(number, steps, begin)
        return self._processes[number]

    def run(self, most: int) -> bool:
        """Runs until all processes have ended or wait for others; false if that takes more than `most` steps."""
        left = int(lib.stream_clock_run(self._handle, most))
        while (number := int(lib.stream_clock_ended(self._handle))) >= 0:
            self._ended.append(self._processes[number])
        return left > 0

    def take_ended(self) -> list[Process]:
        """Returns the processes that have ended since the last call."""
        found, self._ended = self._ended, []
        return found

    @property
    def looks(self) -> int:
        """The number of times that it resumed a process."""
        return int(lib.stream_clock_looks(self._handle))

    def at(self, process: Process) -> tuple[bool, int, int]:
        """Returns whether the process has ended, its place, and the part of its length that has passed."""
        at, passed = ffi.new("int64_t *"), ffi.new("int64_t *")
        ended = bool(lib.stream_clock_at(self._handle, process.number, at, passed))
        return ended, int(at[0]), int(passed[0]) - process.begin

    def waits(self, process: Process) -> dict[tuple[str, bool], Wait]:
        """Returns its waits by channel, and true for waits to write."""
        found: dict[tuple[str, bool], Wait] = {}
        read = ffi.new("struct stream_wait *")
        for index, key in process.talks:
            lib.stream_clock_waits(self._handle, process.number, index, read)
            found.setdefault(key, Wait()).add(Wait(read.total, read.begin, read.end, read.packets))
        return found

    def remove(self, process: Process) -> None:
        """Removes a process that has ended, and is not queried again."""
        lib.stream_clock_remove(self._handle, process.number)
        del self._processes[process.number]
