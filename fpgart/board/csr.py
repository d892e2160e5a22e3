# SPDX-License-Identifier: Apache-2.0
"""The registers of a board's kernel interface, at the offsets of boards whose kernels were built since 2023.

What a host does with them: it reads the version and the ROM (which memories there are), chooses with SEGMENT which
4096 bytes of all kernels' registers are in the WINDOW, writes the invocation image of a kernel there, starts it, and
after the interrupt reads how often it has finished.
"""

from __future__ import annotations

from fpgart.board.invocation import FIXED

VERSION = 0x0
SEGMENT = 0x20
RESET = 0x30
WINDOW, WINDOW_BYTES = 0x1000, 0x1000
ROM, ROM_BYTES = 0x2000, 4096
VERSION_ID = 0xA0C00001
"""That of interfaces whose ROM is at ROM and has ROM_BYTES."""

# Of each kernel, from where its registers begin
STATUS = 0x0
START = 0x8
PROFILE_DATA, PROFILE_END = 0x18, 0x30
FINISH_COUNTER = 0x30
"""Reading it takes the count away, and the bit DONE."""
IMAGE = 0x38
ARGUMENTS = IMAGE + FIXED.size

KERNEL_VERSION = 5
VERSION_SHIFT = 16
DONE = 1 << 1
RUNNING = 1 << 15

UNIT = 256


def register_bytes(argument_bytes: int) -> int:
    """Bytes of a kernel's registers, with room for its arguments."""
    return -(-(ARGUMENTS + argument_bytes) // UNIT) * UNIT
