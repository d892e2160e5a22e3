# SPDX-License-Identifier: Apache-2.0
"""Commands that the host did not enqueue, each in a queue of its own."""

from __future__ import annotations

from fpgart.runtime.commands.programming import PROGRAM_COMMAND, ProgramDevice
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import auto_queue
from fpgart.runtime.programs.program import Program


def program_device(context: Context, device: Device, program: Program, *, unless_loaded: bool = False) -> None:
    """Load `program` now, or only if it is not there then, and return when it is there. Raises CLError."""
    operation = ProgramDevice(device, program, unless_loaded=unless_loaded)
    auto_queue(context, device).run(PROGRAM_COMMAND, operation, blocking=True)
