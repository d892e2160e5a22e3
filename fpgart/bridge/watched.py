# SPDX-License-Identifier: Apache-2.0
"""The launches that C carries while a trace is written, or while checks are on (icd/entry/watched.c).

C notes each call and each launch. Other calls of the host, freed memory and a thread of the driver have the notes read,
many at once, so that no Python runs when a launch is enqueued.
"""

from __future__ import annotations

import threading
from time import sleep
from typing import TYPE_CHECKING, Any

from _fpgart_icd import ffi, lib

from fpgart._native import ffi as native_ffi
from fpgart.base import log
from fpgart.base.notices import NOTICES
from fpgart.bridge.arguments import arguments_of
from fpgart.bridge.handles import reap, seen

if TYPE_CHECKING:
    from fpgart.runtime.memory.device import Device
    from fpgart.runtime.programs.kernel import Argument, Kernel
    from fpgart.runtime.scheduling.event import Event
    from fpgart.watch.trace.launches import LaunchEvents, Place, Ran
    from fpgart.watch.trace.timeline import Form

MOST = 256
"""The number of launches whose notes are read at once."""
PLACE = slice(ffi.offsetof("struct fpgart_launch", "type"), ffi.offsetof("struct fpgart_launch", "queue"))
"""The bytes of a note that say where the call came from. Both are read when `is_called` is 1."""
TICK_S = 0.02
"""A note is read so long after a call or an end, at the latest, if the host makes no other call."""


Run = tuple[Any, int]
"""Pointers to launches that differ in numbers and times only, and how many they are."""


class LaunchWatcher:
    """Is told of the launches that C carries."""

    def called(self, runs: list[Run]) -> None:
        """Is told of launches when the host has enqueued them, in this order."""

    def ended(self, runs: list[Run]) -> None:
        """Is told of launches that have ended."""

    def prepares(self, device: Device, kernel: Kernel) -> bool:
        """True if Python has to prepare something for each launch of the kernel with its present arguments."""
        return False


class LaunchNotes:
    """Reads the notes of launches, and tells the watchers: a trace, checks, or both."""

    def __init__(self) -> None:
        self.watchers: list[LaunchWatcher] = []
        self._how = self._around = 0
        self._found = ffi.new("struct fpgart_launch *[]", MOST)
        self._lock = threading.RLock()
        self._reads = False
        self._closed = False

    def tell(self, watcher: LaunchWatcher, how: int, around: int = 0) -> None:
        """Tells a watcher, and lets C carry launches although entry points are watched.

        `how`, `around`: as in icd/entry/watched.h.
        """
        self._how |= how
        self._around |= around
        lib.fpgart_watch_launches(self._how, self._around)
        if not self.watchers:
            threading.Thread(target=self._tick, daemon=True).start()
        self.watchers.append(watcher)

    def read(self) -> None:
        """Reads the notes of all calls, and of launches whose ends are known.

        The buffers that these hold are released later.
        """
        if not lib.fpgart_launches_left():
            return
        with self._lock:
            if self._reads:  # what is read here frees memory
                return
            self._reads = True
            try:
                self._read_all()
            except BaseException:
                log.bug("launches cannot be watched")
            finally:
                self._reads = False

    def close(self) -> None:
        """Reads what is left. C carries no more launches."""
        self._closed = True
        lib.fpgart_watch_launches(lib.FPGART_UNWATCHED, 0)
        self._look()
        reap()  # watchers learn of what the launches held

    def _look(self) -> None:
        """Asks the engine for ends, and reads the notes."""
        if lib.fpgart_launches_left():
            lib.fpgart_note_ends(False)
            lib.core_settle()
            self.read()

    def _tick(self) -> None:
        while not self._closed:
            sleep(TICK_S)
            self._look()

    def _read_all(self) -> None:
        found = self._found
        while count := lib.fpgart_take_calls(MOST, found):
            runs = runs_of(found, count)
            for watcher in self.watchers:
                watcher.called(runs)
        while count := lib.fpgart_take_launches(MOST, found):
            try:
                runs = runs_of(found, count)
                for watcher in self.watchers:
                    watcher.ended(runs)
            finally:
                lib.fpgart_launches_written(count, found)


NOTES = LaunchNotes()


class TracedLaunches(LaunchWatcher):
    """Writes the lines of launches that C carries."""

    def __init__(self, events: LaunchEvents) -> None:
        self._events = events
        self._lines = ffi.new("char[]", 0)

    def called(self, runs: list[Run]) -> None:
        lines = []
        for launches, count in runs:
            launch = launches[0]
            if launch.is_served:  # the entry point writes the line
                continue
            form = self._events.call(place_key(launch), lambda: (launch.thread, place_of(launch)))
            lines.append(self._filled(form, launches, count, ffi.NULL))
        self._events.write(b"".join(lines))

    def ended(self, runs: list[Run]) -> None:
        lines = []
        for launches, count in runs:
            launch = launches[0]
            if launch.has_run:  # else Python has run it, or nobody has
                key = b"%b%b%d" % (
                    place_key(launch),
                    ffi.unpack(ffi.cast("char *", launch.key), launch.key_size),
                    launch.status,
                )
                form = self._events.run(key, lambda: (place_of(launch), launch_of(launch)))
                lines.append(self._filled(form, launches, count, self._events.operations(count)))
        self._events.write(b"".join(lines))

    def _filled(self, form: Form, launches: Any, count: int, operations: Any) -> bytes:
        """Returns the lines of launches that are alike."""
        most = count * (len(form.text) + form.places * lib.FPGART_MOST_DIGITS + len(b",\n"))
        if most > len(self._lines):
            self._lines = ffi.new("char[]", most)
        text, begin = form.text, self._events.begin
        size = lib.fpgart_fill_lines(text, len(text), begin, count, launches, operations, self._lines)
        lines: bytes = ffi.buffer(self._lines, size)[:]
        return lines


def runs_of(launches: Any, count: int) -> list[Run]:
    """Divides `count` launches into runs of those that are alike."""
    runs = []
    first = 0
    while first < count:
        alike = int(launches[first].alike)
        runs.append((launches + first, alike))
        first += alike
    return runs


def place_key(launch: Any) -> bytes:
    """Returns bytes that are the same for launches of one type from one place and thread."""
    key: bytes = ffi.buffer(launch)[PLACE]
    return key


def place_of(launch: Any) -> Place:
    """Returns the type of a launch's command, and the frames of its call."""
    return launch.type, tuple(ffi.unpack(launch.frames, launch.frame_count))


def launch_of(launch: Any) -> Ran:
    """Returns what a launch was: its objects, which it holds."""
    from fpgart.engine.interface import SIZES
    from fpgart.runtime.commands.launch import LaunchKernel
    from fpgart.runtime.memory.usm_use import UsmUse
    from fpgart.watch.trace.launches import Ran

    queue, kernel = seen(launch.queue), seen(launch.kernel)
    assert queue is not None
    assert kernel is not None
    carried = native_ffi.cast("struct carried *", launch.carried)
    laid_out = native_ffi.cast("struct argument *", carried.more)
    buffers = [(seen(launch.uses[i].buffer), int(launch.uses[i].at)) for i in range(launch.buffers)]
    arguments: list[Argument] = [each for each in arguments_of(carried, buffers) if each is not None]
    sizes = SIZES.pack(*carried.sizes)
    indexed = sorted((index, buffer) for buffer, index in buffers)
    made = LaunchKernel(
        kernel, queue.device, arguments, indexed, int(carried.dimensions), sizes, bool(carried.has_local)
    )
    if len(kernel.context.usm):
        made.usm = UsmUse([], kernel.indirect)
    return Ran(queue, made, [int(laid_out[index].value) for index, _ in indexed], int(launch.status))


def may_show(device: Device, kernel: Kernel) -> bool:
    """True if watchers need no more of a launch of the kernel than what C notes of it."""
    if not device.board.is_fpga or kernel.program.on(device).identity not in device.loaded:
        return False
    if any(watcher.prepares(device, kernel) for watcher in NOTES.watchers):
        return False
    usm = kernel.context.usm
    pointers = (argument[2] for argument in kernel.arguments if argument is not None)
    return not any(isinstance(pointer, int) and usm.find(pointer) is not None for pointer in pointers)


def tell_carried() -> None:
    """Tells watchers that C carries the launch for which Python has found the facts."""
    for listener in NOTICES.command_carried:
        listener(lib.fpgart_last_launch())


def tell_handed_over(command: int, event: Event) -> None:
    """Tells watchers which launch Python runs, if C has noted it."""
    launch = lib.fpgart_launch_of(ffi.cast("struct core_command *", command))
    if launch == ffi.NULL:
        return
    from fpgart.watch.names import LAUNCHES

    kind, frames = place_of(launch)
    for listener in NOTICES.command_handed_over:
        listener(event, int(launch.number), LAUNCHES[kind], frames)
