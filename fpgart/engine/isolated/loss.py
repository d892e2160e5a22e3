# SPDX-License-Identifier: Apache-2.0
"""What became of a board process, and the words for it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from struct import Struct

from fpgart.engine.interface import POINTER, KernelInterface
from fpgart.errors import OutOfResources

ENTRY = Struct("<IIQ")
"""An argument as pack_arguments() lays it out: kind, size, value."""
NEAR = 1 << 38
"""Bytes behind the begin of what an argument points to within which an address is told as an offset from there."""
STACK_BELOW, STACK_ABOVE = 1 << 20, 1 << 30
"""Bytes before and behind a stack pointer within which an address was meant to be on the stack."""
SI_KERNEL = 0x80
PROGRAM_ERRORS = ("SIGSEGV", "SIGBUS")
NOT_ENDED_BY_ITSELF = "SIGKILL"


class BoardLost(OutOfResources):
    """The board process died while a command was in it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """How it ended. `stopped`: why the driver ended it, if it did; `address` and `stack` where a crash told them."""

    status: int | None
    """As wait() gives it; None where nobody knows."""
    stopped: str = ""
    signal: int = 0
    code: int = 0
    address: int = 0
    stack: int = 0

    @property
    def on_stack(self) -> bool:
        """Whether a thread has used up its stack."""
        return bool(self.stack) and self._reached and -STACK_BELOW < self.address - self.stack < STACK_ABOVE

    @property
    def _reached(self) -> bool:
        """Whether `address` is what an instruction wanted to reach."""
        return name_of(self.signal) in PROGRAM_ERRORS and 0 < self.code != SI_KERNEL

    def words(self, image: bytes | memoryview, interface: KernelInterface | None) -> str:
        """What happened, of a kernel that was launched with these arguments."""
        if self.stopped:
            return self.stopped
        if self.signal and self.on_stack:
            return f"used up its stack, or left a private array ({name_of(self.signal)})"
        if self.signal and self._reached:
            return f"touched {self.address:#x} ({name_of(self.signal)}), {place_of(self.address, image, interface)}"
        if self.signal and self.code == SI_KERNEL:
            return f"touched an address that no processor takes, or not for what was there ({name_of(self.signal)})"
        if self.signal:
            return f"made the board process die of {name_of(self.signal)}"
        return f"lost its board process, which {self.ending}"

    @property
    def ending(self) -> str:
        """What became of the process."""
        if self.stopped:
            return f"was ended: a kernel {self.stopped}"
        if self.signal:
            return f"died of {name_of(self.signal)}"
        if self.status is None:
            return "ended, nobody knows how"
        if os.WIFSIGNALED(self.status):
            name = name_of(os.WTERMSIG(self.status))
            hint = ", as the system does when memory is used up" if name == NOT_ENDED_BY_ITSELF else ""
            return f"was ended by {name}{hint}"
        return f"ended by itself with status {os.WEXITSTATUS(self.status)}"


def name_of(number: int) -> str:
    """A signal's name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def place_of(address: int, image: bytes | memoryview, interface: KernelInterface | None) -> str:
    """Where an address is, seen from the arguments of a launch."""
    if address < 4096:
        return "where nothing is: a NULL pointer"
    near: tuple[int, int] | None = None
    for index in range(len(interface.arguments) if interface is not None else 0):
        kind, _, value = ENTRY.unpack_from(image, ENTRY.size * index)
        distance = address - value
        if kind == POINTER and abs(distance) < NEAR and (near is None or abs(distance) < abs(near[1])):
            near = index, distance
    if near is None or interface is None:
        return "which is in no memory of the board or of the host"
    index, distance = near
    where = f"{distance} bytes behind" if distance >= 0 else f"{-distance} bytes before"
    return f"{where} the begin of what argument {index} ('{interface.arguments[index].name}') points to"
