# SPDX-License-Identifier: Apache-2.0
"""The end of a board process, and the sentences that describe it."""

from __future__ import annotations

import os
import signal

from fpgart.base.errors import OutOfResources
from fpgart.base.named_tuples import NamedTuple
from fpgart.engine.interface import ARGUMENT, POINTER
from fpgart.kernels.interface import KernelInterface

NEAR = 1 << 38
"""Bytes around the start of an argument within which a message gives an address as a distance from that start."""
STACK_BELOW, STACK_ABOVE = 1 << 20, 1 << 30
"""Bytes below and above a stack pointer within which an address counts as one of the stack."""
SI_KERNEL = 0x80
PROGRAM_ERRORS = ("SIGSEGV", "SIGBUS")
NOT_ENDED_BY_ITSELF = "SIGKILL"


class BoardLost(OutOfResources):
    """Raised if the board process died while a command ran in it."""


class Loss(NamedTuple):
    """The end of a board process. `stopped`: why the driver stopped it. `address`, `stack`: from the crash handler."""

    status: int | None
    """The status that wait() gives; None if it is unknown."""
    stopped: str = ""
    signal: int = 0
    code: int = 0
    address: int = 0
    stack: int = 0

    @property
    def on_stack(self) -> bool:
        """True if a thread has used up its stack."""
        return bool(self.stack) and self._reached and -STACK_BELOW < self.address - self.stack < STACK_ABOVE

    @property
    def _reached(self) -> bool:
        """True if `address` is the address that an instruction accessed."""
        return name_of(self.signal) in PROGRAM_ERRORS and 0 < self.code != SI_KERNEL

    def words(self, image: bytes | memoryview, interface: KernelInterface | None) -> str:
        """Returns the predicate of a sentence about the kernel that was launched with these arguments."""
        if self.stopped:
            return self.stopped
        if self.signal and self.on_stack:
            return f"overflowed its stack, or ran past a private array ({name_of(self.signal)})"
        if self.signal and self._reached:
            return f"accessed {self.address:#x} ({name_of(self.signal)}), {place_of(self.address, image, interface)}"
        if self.signal and self.code == SI_KERNEL:
            return f"accessed an invalid or misaligned address ({name_of(self.signal)})"
        if self.signal:
            return f"crashed the board process with {name_of(self.signal)}"
        return f"lost its board process, which {self.ending}"

    @property
    def ending(self) -> str:
        """The predicate of a sentence about the process."""
        if self.stopped:
            return f"was stopped: a kernel {self.stopped}"
        if self.signal:
            return f"died of {name_of(self.signal)}"
        if self.status is None:
            return "ended for an unknown reason"
        if os.WIFSIGNALED(self.status):
            name = name_of(os.WTERMSIG(self.status))
            hint = ", as the system does when memory runs out" if name == NOT_ENDED_BY_ITSELF else ""
            return f"was killed by {name}{hint}"
        return f"exited with status {os.WEXITSTATUS(self.status)}"


def name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def place_of(address: int, image: bytes | memoryview, interface: KernelInterface | None) -> str:
    """Describes an address by its distance to an argument of a launch."""
    if address < 4096:
        return "a NULL pointer"
    near: tuple[int, int] | None = None
    for index in range(len(interface.arguments) if interface is not None else 0):
        kind, _, value = ARGUMENT.unpack_from(image, ARGUMENT.size * index)
        distance = address - value
        if kind == POINTER and abs(distance) < NEAR and (near is None or abs(distance) < abs(near[1])):
            near = index, distance
    if near is None or interface is None:
        return "which is outside the memory that kernels can access"
    index, distance = near
    where = f"{distance} bytes past" if distance >= 0 else f"{-distance} bytes before"
    return f"{where} the start of what argument {index} ('{interface.arguments[index].name}') points to"
