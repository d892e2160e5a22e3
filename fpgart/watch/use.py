# SPDX-License-Identifier: Apache-2.0
"""FPGART_USE_FILE: a file that shows if a program ran any kernel on a board (`fpgart run --require-use`)."""

from __future__ import annotations

import os

from fpgart.base import log
from fpgart.base.notices import NOTICES
from fpgart.base.output_file import append
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.scheduling.event import Event


class Use:
    """Appends a line to a file when the process has run its first kernel; then stops listening.

    The line is there from that moment on, so that a host that crashes later has still used the board.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be written."""
        self._path = path
        append(path, b"")

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        launch = running_kernel(operation)
        if status < 0 or launch is None:
            return
        NOTICES.silence(self)
        device = launch.device
        line = f"{os.getpid()} {launch.kernel.name} on device {device.id} ({device.board.name})\n"
        try:
            append(self._path, line.encode(errors="replace"))
        except OSError as error:
            log.warning(f"{self._path}: {error.strerror}: the use of a board cannot be recorded")
