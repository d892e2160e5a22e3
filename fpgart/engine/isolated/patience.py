# SPDX-License-Identifier: Apache-2.0
"""The time limit of a kernel in a board process, and what ends the kernel."""

from __future__ import annotations

import select
import socket
from time import monotonic

from fpgart._native import lib
from fpgart.base import config
from fpgart.engine.isolated.process import BoardProcess

LOOK_EVERY_MS = 50
"""The interval, in milliseconds, at which a wait for a message checks whether the kernel has to end."""


class Patience:
    """The time limit of a kernel that begins when this is created.

    Its methods raise OSError if the board process dies, also if it is stopped because the kernel has to end.
    """

    __slots__ = ("_end", "_process", "interrupted")

    def __init__(self, process: BoardProcess) -> None:
        self._process = process
        self.interrupted = int(lib.interrupts())
        """The number of interrupts of the host before the kernel began."""
        seconds = config.KERNEL_TIMEOUT.value
        self._end = monotonic() + seconds if seconds else None

    def left_ms(self) -> int:
        """Returns the milliseconds that are left; 0 for no limit."""
        return max(1, int((self._end - monotonic()) * 1000)) if self._end is not None else 0

    def has_answered(self, outcome: int) -> bool:
        """True if a wait of lanes.h is over. Stops the process if the kernel has to end."""
        if outcome == lib.LANE_ANSWERED:
            return True
        if outcome == lib.LANE_LATE:
            seconds, name = config.KERNEL_TIMEOUT.value, config.KERNEL_TIMEOUT.name
            self._process.stop(f"ran longer than {seconds:g} s ({name}) and was stopped")
        if outcome != lib.LANE_INTERRUPTED:
            raise ConnectionResetError("the board process has died")
        if lib.interrupts() != self.interrupted:
            self._process.stop("was stopped by Ctrl-C")
        return False

    def await_message(self, connection: socket.socket) -> None:
        """Waits until the connection can be read."""
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        while not poll.poll(LOOK_EVERY_MS):
            if self._end is not None and monotonic() >= self._end:
                self.has_answered(lib.LANE_LATE)
            self.has_answered(lib.LANE_INTERRUPTED)
