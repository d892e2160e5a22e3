# SPDX-License-Identifier: Apache-2.0
"""Transfers that a board does while the host goes on: those with an operation's number."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fpgart.board.mmd import StatusHandler

SHORT = 1 << 20
"""The bytes that a board moves in about the time that a thread takes to start."""
PATIENCE_S = 0.001
"""The longest time that a call of wait() takes."""


class InFlight:
    """Runs each long transfer on a thread, as a board's DMA engine works beside the processor.

    Any thread may call the methods.
    """

    def __init__(self) -> None:
        self._ended = threading.Condition()
        self._has_ended = False
        """True if a transfer has ended since the last call of wait()."""
        self.handler: StatusHandler = ignored
        """Called on the transfer's thread with the operation's number, and None or the error that it ended with."""

    def start(self, operation: int, transfer: Callable[[], None], size: int) -> None:
        """Starts a transfer of `size` bytes.

        It has ended when this returns if it is short, or if the system cannot create a thread.
        """
        if size <= SHORT:
            self._run(operation, transfer)
            return
        from contextvars import copy_context  # few boards carry transfers out by themselves

        context = copy_context()
        worker = threading.Thread(
            target=context.run, args=(self._run, operation, transfer), name="fpgart DMA", daemon=True
        )
        try:
            worker.start()
        except RuntimeError:
            self._run(operation, transfer)

    def _run(self, operation: int, transfer: Callable[[], None]) -> None:
        error: Exception | None = None
        try:
            transfer()
        except Exception as failure:
            error = failure
        try:
            self.handler(operation, error)
        finally:
            del error  # or it and this frame would hold each other, and the transfer with them
            with self._ended:
                self._has_ended = True
                self._ended.notify_all()

    def wait(self) -> bool:
        """Sleeps up to PATIENCE_S until a transfer ends. Returns True if one has ended since the last call."""
        with self._ended:
            if not self._has_ended:
                self._ended.wait(PATIENCE_S)
            progress, self._has_ended = self._has_ended, False
            return progress


def ignored(operation: int, error: Exception | None) -> None:
    """Does nothing: the handler before one is set."""
