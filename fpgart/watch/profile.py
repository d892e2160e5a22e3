# SPDX-License-Identifier: Apache-2.0
"""Counters per kernel for clGetProfileInfoIntelFPGA and clGetProfileDataDeviceIntelFPGA (profile.mon).

A real board counts stalls and bytes per port. Here launches are counted, and their nanoseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic_ns

from fpgart.base.output_file import open_output
from fpgart.runtime.commands.operation import DeviceOperation, running_kernel
from fpgart.runtime.scheduling.event import COMPLETE, Event

FILE = Path("profile.mon")
SHARED_CONTROL = -1  # the original's value for "not requested"


@dataclass(slots=True)
class Counters:
    """The counters of one kernel on one device; times are those of the host's monotonic clock."""

    launches: int = 0
    busy_ns: int = 0
    begin_ns: int = 0
    end_ns: int = 0


class Profile:
    """Listens to the ends of launches; write() adds lines to profile.mon in the current folder."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Counters] = {}
        self._lock = Lock()

    def operation_ended(self, event: Event, operation: DeviceOperation, begin: int, status: int) -> None:
        launch = running_kernel(operation)
        if launch is None or status < COMPLETE:
            return
        now = monotonic_ns()
        with self._lock:
            counters = self._found.setdefault((launch.device.id, launch.kernel.name), Counters(begin_ns=begin))
            counters.launches += 1
            counters.busy_ns += now - begin
            counters.end_ns = now

    def write(self, device: int, queue: int, kernels: Iterable[str], *, clear: bool = False) -> None:
        """Writes a line per kernel: device, queue, kernel, begin, end, shared control, number of values, values."""
        with self._lock:
            lines = []
            for name in kernels:
                counters = self._found.get((device, name), Counters())
                values = (counters.launches, counters.busy_ns)
                fields = (device, queue, name, counters.begin_ns, counters.end_ns, SHARED_CONTROL, len(values), *values)
                lines.append(",".join(map(str, fields)) + "\n")
                if clear:
                    self._found.pop((device, name), None)
        with os.fdopen(open_output(FILE), "a") as out:
            out.writelines(lines)
