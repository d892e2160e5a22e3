# SPDX-License-Identifier: Apache-2.0
"""Programs boards with commands that the host did not enqueue, each in a queue of its own."""

from __future__ import annotations

from fpgart.runtime.commands.programming import PROGRAM_COMMAND, ProgramDevice
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import auto_queue
from fpgart.runtime.programs.program import Program


def program_device(context: Context, device: Device, program: Program) -> None:
    """Returns when the board holds `program`; loads it, unless a launch has done so meanwhile. Raises CLError."""
    operation = ProgramDevice(device, program)
    auto_queue(context, device).run(PROGRAM_COMMAND, operation, blocking=True)
