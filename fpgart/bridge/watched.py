# SPDX-License-Identifier: Apache-2.0
"""The launches that C carries while a trace is written (icd/entry/watched.c), for the trace.

C notes each call and each launch. Other calls of the host, freed memory and a thread of the driver have the lines
written for all of them at once, so that no Python runs when a launch is enqueued.
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
from fpgart.bridge.handles import seen

if TYPE_CHECKING:
    from fpgart.runtime.memory.device import Device
    from fpgart.runtime.programs.kernel import Argument, Kernel
    from fpgart.runtime.scheduling.event import Event
    from fpgart.watch.trace.launches import LaunchEvents, Place, Ran

MOST = 256
"""The number of launches whose lines are written at once."""
PLACE = slice(ffi.offsetof("struct fpgart_launch", "type"), ffi.offsetof("struct fpgart_launch", "queue"))
"""The bytes of a note that say where the call came from. Both are read when `is_called` is 1."""
TICK_S = 0.02
"""A launch has its lines so long after its call and its end, at the latest, if the host makes no other call."""


_writers: list[WatchedLaunches] = []


def write_launches() -> None:
    """Writes the lines of launches that have ended, and so releases the buffers that they hold."""
    for writer in _writers:
        writer.write()


class WatchedLaunches:
    """Writes the lines of launches that C carries."""

    def __init__(self, events: LaunchEvents) -> None:
        self._events = events
        self._found = ffi.new("struct fpgart_launch *[]", MOST)
        self._lock = threading.RLock()
        self._writes = False
        self._closed = False

    def begin(self) -> None:
        """Lets C carry launches although entry points are watched."""
        lib.fpgart_watch_launches(1)
        _writers.append(self)
        threading.Thread(target=self._tick, daemon=True).start()

    def write(self) -> None:
        """Writes the lines of all calls, and of launches whose ends are known."""
        if not lib.fpgart_launches_left():
            return
        with self._lock:
            if self._writes:  # what is written here frees memory
                return
            self._writes = True
            try:
                self._write_all()
            except BaseException:
                log.bug("launches cannot be traced")
            finally:
                self._writes = False

    def close(self) -> None:
        """Writes what is left. C carries no more launches."""
        self._closed = True
        lib.fpgart_watch_launches(0)
        self._look()

    def _look(self) -> None:
        """Asks the engine for ends, and writes their lines."""
        if lib.fpgart_launches_left():
            lib.fpgart_note_ends()
            lib.fpgart_settle_ends()
            self.write()

    def _tick(self) -> None:
        while not self._closed:
            sleep(TICK_S)
            self._look()

    def _write_all(self) -> None:
        found, events = self._found, self._events
        while count := lib.fpgart_take_calls(MOST, found):
            events.write([line for index in range(count) for line in self._call(found[index])])
        while count := lib.fpgart_take_launches(MOST, found):
            try:
                lines = [line for index in range(count) for line in self._run(found[index])]
                events.write(lines)
            finally:
                lib.fpgart_launches_written(count, found)

    def _call(self, launch: Any) -> list[str]:
        times = launch.number, launch.begin, launch.duration
        return self._events.call(place_key(launch), times, lambda: (launch.thread, place_of(launch)))

    def _run(self, launch: Any) -> list[str]:
        """Returns the lines of a launch; none if Python has run it, or if it has not run."""
        if not launch.has_run:
            return []
        key = place_key(launch) + ffi.buffer(ffi.cast("char *", launch.key), launch.key_size)[:]
        begin = launch.start
        times = launch.number, begin, launch.end - begin
        return self._events.run(key, times, lambda: (place_of(launch), launch_of(launch)))


def place_key(launch: Any) -> bytes:
    """Returns bytes that are the same for launches of one type from one place and thread."""
    return bytes(ffi.buffer(launch)[PLACE])


def place_of(launch: Any) -> Place:
    """Returns the type of a launch's command, and the frames of its call."""
    return launch.type, tuple(ffi.unpack(launch.frames, launch.frame_count))


def launch_of(launch: Any) -> Ran:
    """Returns what a launch was: its objects, which it holds."""
    from fpgart.runtime.commands.launch import LaunchKernel
    from fpgart.runtime.memory.usm_use import UsmUse
    from fpgart.runtime.programs.kernel import SIZES
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
    """True if the trace can describe a launch of the kernel by what C notes of it."""
    if device.board.own is not None or kernel.program.on(device).identity not in device.loaded:
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
    from fpgart.watch.trace.launches import CALLS

    kind, frames = place_of(launch)
    for listener in NOTICES.command_handed_over:
        listener(event, int(launch.number), CALLS[kind], frames)
