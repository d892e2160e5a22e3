# SPDX-License-Identifier: Apache-2.0
"""The commands of a board process that C carries (ring.h), and the thread that acts when they cannot go on.

If the board process dies, the commands that ran fail. The others run one by one, in their order, in another process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from fpgart._native import ffi, lib
from fpgart.base import config, log
from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, OutOfResources
from fpgart.engine.interface import KernelLaunch
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.loss import BoardLost
from fpgart.engine.isolated.process import BoardProcess
from fpgart.engine.launches import say_later

if TYPE_CHECKING:
    from fpgart.engine.isolated.kernel import IsolatedKernel, Processes

SIZES = 72
"""Bytes of offset, global and local size."""
INTERRUPTED = "was stopped by Ctrl-C"
OVERWRITTEN = "overwrote memory that the driver and the board process share, and was stopped"
LONGEST_MS = (1 << 32) - 1
MOST_LOSSES = 3
"""If this many launches in a row end a board process, those behind them fail."""


class CarriedCommands:
    """The commands of an isolated engine that C carries. Its creation raises OutOfResources."""

    def __init__(self, engine: Processes) -> None:
        memory = engine.shared
        self._engine = engine
        limit_ms = min(int(config.KERNEL_TIMEOUT.value * 1000), LONGEST_MS)
        self._commands = lib.commands_new(memory.begin, memory.size, limit_ms)
        if self._commands == ffi.NULL:
            raise OutOfResources("there is no memory or no descriptor for carried commands")
        self.address = int(ffi.cast("uintptr_t", self._commands))
        self.lost: list[Callable[[], None]] = []
        """Called when a board process has died: its kernels' numbers are void."""
        self._attaching = threading.Lock()
        self._process: BoardProcess | None = None
        """The board process that has a ring, or has died and left commands."""
        self._number = self.ring = 0
        """The number of the board process among those that had a ring, and the address of the last ring."""
        self._kernels: WeakValueDictionary[int, IsolatedKernel] = WeakValueDictionary()
        try:
            threading.Thread(target=self._watch, daemon=True).start()
        except RuntimeError:
            raise OutOfResources("the system cannot create a thread for carried commands") from None

    def number_of(self, kernel: IsolatedKernel) -> int:
        """Returns the number by which C launches a kernel in the present board process; 0 if none. Raises CLError."""
        process = self._engine.process
        offered = kernel.on(process).offered
        with self._attaching:
            if self._process is None:
                self._attach(process)
            if self._process is not process or not offered:
                return 0
            number = self._number << 32 | offered
            self._kernels[number] = kernel
            return number

    def _attach(self, process: BoardProcess) -> None:
        """Gives C the ring of a board process; C has none if the process dies meanwhile. Raises CLError."""
        ring = self._engine.shared.allocate(int(lib.ring_bytes()))
        if not ring:
            raise OutOfResources("there is no memory for commands on their way to the board process")
        try:
            process.open_ring(ring, lib.commands_bell(self._commands), lib.commands_count(self._commands))
        except (OSError, ProtocolError):  # it has died
            self._engine.shared.free(ring)
            return
        self._number += 1
        self.ring = ring
        self._process = process
        lib.commands_attach(self._commands, ring, self._number, process.life, process.outlet)
        process.ended_hook = partial(self._detach, process, ring)

    def _detach(self, process: BoardProcess, ring: int) -> None:
        """Takes the commands back from the board process, which has ended.

        From then on the watching thread may run them elsewhere, and forget the process.
        """
        ran = ffi.new("uint64_t[]", int(lib.RING_LANES))
        count = ffi.new("uint32_t *")
        lib.commands_detach(self._commands, ran, count)
        for number in ffi.unpack(ran, count[0]):
            if number in self._kernels:
                process.begin(self._kernels[number].name)
        if process.ended_status is not None:
            self._engine.shared.free(ring)
        for tell in self.lost:
            tell()

    def _watch(self) -> None:
        while True:
            try:
                self._act(lib.commands_watch(self._commands))
            except BaseException:
                log.bug("carried commands could not be looked after")

    def _act(self, news: int) -> None:
        process = self._process
        if news == lib.RING_LEFT:
            self._run_left()
        elif process is None:
            return
        elif news == lib.RING_LOST:
            process.ended()
        elif news == lib.RING_LATE:
            seconds, name = config.KERNEL_TIMEOUT.value, config.KERNEL_TIMEOUT.name
            process.stop(f"ran longer than {seconds:g} s ({name}) and was stopped")
        elif news == lib.RING_INTERRUPTED:
            process.stop(INTERRUPTED)
        else:
            process.stop(OVERWRITTEN)

    def _run_left(self) -> None:
        """Ends the commands that the board process does not have.

        A process that dies meanwhile is forgotten the next time: it still has the ring.
        """
        is_attached = bool(lib.commands_are_attached(self._commands))
        process, losses = self._process, 1
        last = process
        left = ffi.new("struct left_command *")
        while lib.commands_left(self._commands, left):
            error: CLError | None = None
            try:
                kernel = self._kernels[int(left.kernel)]
                self._check_rest(kernel, left, last, losses)
                last = self._engine.process
                self._launch(kernel, left)
                losses = 0
            except BoardLost as lost:
                losses += not left.began
                error = lost
            except CLError as failed:
                error = failed
            except BaseException:
                log.bug("a launch that a board process left could not be run")
                error = OutOfResources("a launch could not be run in another board process")
            status, place = (error.status, say_later(error)) if error is not None else (cl.CL_COMPLETE, -1)
            lib.commands_end(self._commands, left.record, status, place)
        with self._attaching:
            if process is not None and not is_attached:
                self._process = None

    @staticmethod
    def _check_rest(kernel: IsolatedKernel, left: Any, process: BoardProcess | None, losses: int) -> None:
        """Raises the error of a command that does not run again. `process`: the last one that had commands."""
        if left.began:
            assert process is not None
            raise kernel.lost(process, image_of(left))
        why = why_the_rest_fails(process, losses)
        if why:
            raise OutOfResources(f"a launch of kernel '{kernel.name}' was not run: {why}")

    @staticmethod
    def _launch(kernel: IsolatedKernel, left: Any) -> None:
        sizes = bytes(ffi.buffer(left.sizes, SIZES))
        kernel.launch(KernelLaunch(image_of(left), left.dimensions, sizes, bool(left.has_local)))


def image_of(left: Any) -> bytes:
    return bytes(ffi.buffer(left.image, left.image_bytes))


def why_the_rest_fails(process: BoardProcess | None, losses: int) -> str:
    """Returns the reason why launches that have not begun run in no other process; "" if they do."""
    if process is None or process.alive:
        return ""
    loss = process.ended()
    if loss.status is None:
        return "it is not known whether the board process that was given it has ended"
    if loss.stopped == OVERWRITTEN:
        return "a kernel overwrote what says which of the launches before it have ended"
    if loss.stopped == INTERRUPTED:
        return "Ctrl-C stopped those before it"
    if losses >= MOST_LOSSES:
        return f"the board process {loss.ending}, {MOST_LOSSES} times in a row"
    return ""
