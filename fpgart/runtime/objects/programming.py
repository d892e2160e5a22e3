# SPDX-License-Identifier: Apache-2.0
"""Commands that the host did not enqueue, each in a queue of its own."""

from __future__ import annotations

from fpgart.runtime.commands.programming import PROGRAM_COMMAND, ProgramDevice
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.queue import auto_queue
from fpgart.runtime.programs.program import Program


def program_device(context: Context, device: Device, program: Program) -> None:
    """Load `program` now and return when it is there. Raises CLError."""
    auto_queue(context, device).run(PROGRAM_COMMAND, ProgramDevice(device, program), blocking=True)
