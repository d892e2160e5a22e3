# SPDX-License-Identifier: Apache-2.0
"""Events on tracks: threads of the host, command queues, resources of the simulated clock."""

from __future__ import annotations

import json
import os
import re
import threading
from contextvars import ContextVar
from itertools import count
from time import monotonic_ns, time_ns
from typing import Any

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import GlobalMemory
from fpgart.board.timing import memory_rate, pcie_rate
from fpgart.cluster import launcher
from fpgart.version import __version__
from fpgart.watch.trace.commands import ENQUEUED
from fpgart.watch.trace.file import TraceFile

HOST = 1
FIRST_DEVICE = 2
FIRST_CLOCK = 1000
FIRST_TRACK = 1_000_000
"""The first track of a device that is no queue."""
MOST_COMMAND = 4096
"""The most bytes of a command line in a trace."""
OPERATIONS = count(1)
PLACE = re.compile(r'"\\u0000(\w+)"')
NUMBERS = {"ts": "\1", "dur": "\2", "operation": "\3", ENQUEUED: "\4", "bind_id": "\5"}
"""The bytes of a form at which C fills in numbers (icd/entry/launch_lines.h)."""
NO_OPERATION: tuple[int, int, dict[str, Any]] = (0, 0, {})


class Form(NamedTuple):
    """Lines that are alike but for numbers and times, which C fills in for each launch."""

    text: bytes
    places: int
    """The count of numbers and times in the text."""


def form_of(events: list[dict[str, Any]]) -> Form:
    """Returns the lines of events as a form."""
    text, places = PLACE.subn(lambda found: NUMBERS[found[1]], ",\n".join(map(_with_places, events)))
    return Form(text.encode(), places)


def _with_places(event: dict[str, Any]) -> str:
    """Returns the line of an event with names in place of its numbers and times."""
    args = {name: f"\0{name}" if name in NUMBERS else value for name, value in event["args"].items()}
    lasts = {} if event["name"] == "migration" else {"dur": "\0dur"}
    return json.dumps(event | {"ts": "\0ts", **lasts, "args": args, "bind_id": "\0bind_id"})


class Timeline:
    """Writes events, and the name of each track before its first event."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        run = os.environ.get(config.RUN, "")
        self._file = TraceFile(path, run)
        self.begin = monotonic_ns()
        self._threads: set[int] = set()
        self._queues: set[tuple[int, int]] = set()
        self._tracks: dict[int, dict[str, int]] = {}
        self._operation: ContextVar[tuple[int, int, dict[str, Any]]] = ContextVar("operation", default=NO_OPERATION)
        """Number and queue of the device operation that this thread runs, or works for, and the arguments that name
        its call."""
        facts = {"run": run, "process": os.getpid(), "clock": self.begin, "epoch": time_ns() - monotonic_ns()}
        self._write(self._event("fpgart", "begin", HOST, 0, self.begin, None, facts | of_job() | of_process()))
        self._name(HOST, 0, "process_name", "host")

    def close(self) -> None:
        """Writes the last event."""
        self._file.close(json.dumps(self._event("fpgart", "end", HOST, 0, monotonic_ns(), None, {})))

    def emit(
        self, category: str, name: str, begin: int, duration: int | None, args: dict[str, Any], queue: int = -1
    ) -> None:
        """Writes an event of this thread, or (`queue` 0 or above, `args` with a device) of a command queue."""
        process, track = (
            self._thread(threading.get_native_id()) if queue < 0 else self._queue(int(args["device"]), queue)
        )
        self._write(self._event(category, name, process, track, begin, duration, args))

    def mark(self, category: str, name: str, args: dict[str, Any], queue: int = -1) -> None:
        """Writes an event without a duration, now."""
        self.emit(category, name, monotonic_ns(), None, args, queue)

    def call_form(self, name: str, thread: int, args: dict[str, Any]) -> Form:
        """Returns the form of calls of a thread that enqueue launches. `args`: those they share."""
        return form_of([self._event("api", name, *self._thread(thread), 0, 0, args | {ENQUEUED: 0})])

    def queue_form(self, queue: int, events: list[tuple[str, dict[str, Any]]]) -> Form:
        """Returns the form of launches in a queue. `events`: the name and the arguments of each, with a device.

        Migrations among them were not needed, and took no time.
        """
        track = self._queue(int(events[0][1]["device"]), queue)
        return form_of([self._event("device", name, *track, 0, 0, args) for name, args in events])

    def write(self, lines: bytes) -> None:
        """Writes whole lines, at once."""
        if lines:
            self._file.write(lines)

    def emit_simulated(
        self, name: str, device: int, board: BoardDescription, lane: str, begin: int, end: int, args: dict[str, Any]
    ) -> None:
        """Writes a step of the simulated clock, on the track of a resource of the device (`lane`)."""
        process = FIRST_CLOCK + device
        if process not in self._tracks:
            self._name(process, 0, "process_name", f"device {device}: {board.name}, simulated time")
        track = self._track(process, lane, 1)
        self._write(self._event("time", name, process, track, self.begin + begin, end - begin, args))

    def emit_on(
        self, category: str, name: str, device: int, track: str, begin: int, duration: int, args: dict[str, Any]
    ) -> None:
        """Writes an event on a track of a device that belongs to no queue."""
        process = FIRST_DEVICE + device
        number = self._track(process, track, FIRST_TRACK)
        self._write(self._event(category, name, process, number, begin, duration, args))

    def emit_level(self, category: str, name: str, device: int, at: int, args: dict[str, int]) -> None:
        """Writes values that last until the next event of this name."""
        event = self._event(category, name, FIRST_DEVICE + device, 0, at, None, args)
        del event["s"]
        self._write(event | {"ph": "C"})

    def introduce(self, device: int, board: BoardDescription) -> None:
        """Names a device's tracks, and describes its board."""
        self._name(FIRST_DEVICE + device, 0, "process_name", f"device {device}: {board.name}")
        memories = [
            {
                "name": m.name, "begin": hex(m.begin), "size": m.size, "banks": m.banks,
                "interleaved": m.interleaved, "buffers": m.is_device_private, "bandwidth": m.max_bandwidth,
                "largest_region": m.largest_region, **rates(m, board.timing.kernel_clock),
            }
            for m in board.memories
        ]  # fmt: skip
        facts = {"device": device, "board": board.name, "memories": memories, "timing": timing_of(board)}
        facts["fpga"] = board.is_fpga
        self._write(self._event("fpgart", "board", HOST, 0, self.begin, None, facts))

    # The operation of a thread

    def begin_operation(self, queue: int, of_command: dict[str, Any]) -> None:
        """Attributes the following events of this thread to a new device operation of a command queue.

        `of_command`: the arguments with the place of the host's command.
        """
        self._operation.set((next(OPERATIONS), queue, of_command))

    def end_operation(self) -> tuple[int, int]:
        """Ends the operation of this thread; returns its number and queue."""
        ended = self.operation()
        self._operation.set(NO_OPERATION)
        return ended

    def operation(self) -> tuple[int, int]:
        """Returns number and queue of the operation that this thread works for; number 0 for none."""
        return self._operation.get()[:2]

    def of_command(self) -> dict[str, Any]:
        """Returns the arguments with the place of that operation's command in the host's code."""
        return self._operation.get()[2]

    def of_operation(self) -> dict[str, Any]:
        """Returns the argument that names that operation, in events for which it is optional."""
        number, _ = self.operation()
        return {"operation": number} if number else {}

    # Lines

    def _event(
        self, category: str, name: str, process: int, track: int, begin: int, duration: int | None, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Returns an event. `begin` and `duration` are in nanoseconds; the format has microseconds."""
        event: dict[str, Any] = {"name": name, "cat": category, "pid": process, "tid": track}
        event["ts"] = round((begin - self.begin) / 1000, 3)
        if duration is None:
            event |= {"ph": "i", "s": "t"}
        else:
            event |= {"ph": "X", "dur": round(duration / 1000, 3)}
        event["args"] = args
        if ENQUEUED in args and category != "time":  # an arrow in Perfetto, from the call to what it enqueued
            event |= {"bind_id": hex(args[ENQUEUED]), "flow_out" if category == "api" else "flow_in": True}
        return event

    def _write(self, event: dict[str, Any]) -> None:
        if self._file.is_open:
            self._file.append(json.dumps(event))

    # Tracks

    def _name(self, process: int, track: int, kind: str, name: str) -> None:
        self._write({"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}})

    def _thread(self, track: int) -> tuple[int, int]:
        if track not in self._threads:
            self._threads.add(track)
            self._name(HOST, track, "thread_name", name_of_thread(track))
        return HOST, track

    def _queue(self, device: int, queue: int) -> tuple[int, int]:
        process = FIRST_DEVICE + device
        if (process, queue) not in self._queues:
            self._queues.add((process, queue))
            self._name(process, queue, "thread_name", f"queue {queue}" if queue else "auto_queue")
        return process, queue

    def _track(self, process: int, name: str, first: int) -> int:
        """Returns the number of a track; those of a process are numbered from `first` on."""
        tracks = self._tracks.setdefault(process, {})
        if name not in tracks:
            tracks[name] = first + len(tracks)
            self._name(process, tracks[name], "thread_name", name)
        return tracks[name]


def rates(memory: GlobalMemory, kernel_clock: int) -> dict[str, int]:
    """Returns a memory's figures for the model of time: bytes per second of one bank, and of all banks together."""
    return {
        "bank_rate": int(memory_rate(memory, False, kernel_clock)),
        "rate": int(memory_rate(memory, True, kernel_clock)),
    }


def timing_of(board: BoardDescription) -> dict[str, int]:
    """Returns a board's figures for the model of time.

    They are bytes per second of its link (0: none), nanoseconds, bytes and MHz.
    """
    timing = board.timing
    programming = timing.program_time * 1_000_000
    if config.PROGRAM_SECONDS.is_set:
        programming = int(config.PROGRAM_SECONDS.value * 1e9)
    return {
        "link": 0 if board.unified_memory else int(pcie_rate(timing)),
        "mmd_latency": timing.mmd_latency,
        "dma_latency": timing.dma_latency,
        "dma_block": timing.dma_block,
        "launch_latency": timing.launch_latency,
        "kernel_clock": timing.kernel_clock,
        "programming": programming,
    }


def of_job() -> dict[str, Any]:
    """Returns the facts that distinguish the processes of a job; {} for a single process."""
    place = launcher.place()
    return {"rank": place.rank, "job": place.job, "machine": place.machine} if place.size > 1 else {}


def of_process() -> dict[str, Any]:
    """Returns the facts of the run in a report: the command line, the version of fpgart, the machine."""
    return {"command": command_line(), "version": __version__, "computer": computer()}


def command_line() -> list[str]:
    """Returns the host's command line, as the system has it."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read(MOST_COMMAND).removesuffix(b"\0").split(b"\0")
            return [word.decode(errors="replace") for word in words]
    except OSError:
        return []


def computer() -> str:
    """Returns `x86_64, 8 processors, Linux 6.1.0`."""
    system = os.uname()
    return f"{system.machine}, {os.cpu_count()} processors, {system.sysname} {system.release}"


def name_of_thread(number: int) -> str:
    """Returns the system's name of a thread.

    Python's `threading` would keep an object for each of the host's threads.
    """
    if number == os.getpid():
        return "main thread"
    try:
        with open(f"/proc/self/task/{number}/comm", errors="replace") as file:
            return f"{file.read().strip()} {number}"
    except OSError:
        return f"thread {number}"
