# SPDX-License-Identifier: Apache-2.0
"""Loading a program onto a board by itself: the first binary eagerly, or because the host asks for it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from fpgart.runtime.device import Device, Direction
from fpgart.runtime.event import Event, Operation

if TYPE_CHECKING:
    from fpgart.runtime.program import Program

PROGRAM_COMMAND = 0x1210  # the runtime's own command type


def load_onto(device: Device, program: Program) -> None:
    """Program the board; its memory keeps its contents."""
    device.mmd.program(program.image())
    device.loaded = program.identity
    device.knows_memories = True


class ProgramDevice:
    """Programming excludes everything else on the board."""

    __slots__ = ("device", "program")
    name = "program"
    direction = Direction.BOTH

    def __init__(self, device: Device, program: Program) -> None:
        self.device = device
        self.program = program

    @property
    def place(self) -> OrderedDict[Event, None]:
        return self.device.ready_kernels

    def claim(self) -> bool:
        device = self.device
        if device.programming or device.launches or device.moving:
            return False
        device.programming = True
        return True

    def release(self, following: Operation | None) -> None:
        self.device.programming = False

    def run(self) -> None:
        load_onto(self.device, self.program)


def program_device(device: Device, program: Program) -> None:
    """Load `program` now and return when it is there. Raises CLError."""
    program.context.auto_queue_of(device).run(PROGRAM_COMMAND, ProgramDevice(device, program), blocking=True)
