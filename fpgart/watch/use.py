# SPDX-License-Identifier: Apache-2.0
"""FPGART_USE_FILE: a file that shows if a program ran any kernel on a board (`fpgart run --require-use`)."""

from __future__ import annotations

import os

from fpgart.base import log
from fpgart.base.notices import NOTICES
from fpgart.base.output_file import open_output
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.scheduling.event import Event


class Use:
    """Appends a line to a file when the process has run its first kernel; then stops listening.

    The line is there from that moment on, so that a host that crashes later has still used the board.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._path = path
        os.close(self._open())

    def _open(self) -> int:
        return open_output(self._path)

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        launch = running_kernel(operation)
        if status < 0 or launch is None:
            return
        NOTICES.silence(self)
        device = launch.device
        line = f"{os.getpid()} {launch.kernel.name} on device {device.id} ({device.board.name})\n"
        try:
            descriptor = self._open()
            try:
                os.write(descriptor, line.encode(errors="replace"))
            finally:
                os.close(descriptor)
        except OSError as error:
            log.warning(f"{self._path}: {error.strerror}: the use of a board cannot be recorded")
