# SPDX-License-Identifier: Apache-2.0
"""The registers of a board's kernel interface, at the offsets of boards whose kernels were built since 2023.

A host reads the version and the ROM, which lists the memories. With SEGMENT it selects which 4096 bytes of all kernels'
registers are in the WINDOW. There it writes the invocation image of a kernel and starts it; after the interrupt it
reads how often the kernel has finished.
"""

from __future__ import annotations

from fpgart.board.invocation import FIXED

VERSION = 0x0
SEGMENT = 0x20
RESET = 0x30
WINDOW, WINDOW_BYTES = 0x1000, 0x1000
ROM, ROM_BYTES = 0x2000, 4096
VERSION_ID = 0xA0C00001
"""The version of interfaces whose ROM is at ROM and has ROM_BYTES."""

# Offsets in the registers of each kernel
STATUS = 0x0
START = 0x8
PROFILE_DATA, PROFILE_END = 0x18, 0x30
FINISH_COUNTER = 0x30
"""Reading it resets the count and the bit DONE."""
IMAGE = 0x38
ARGUMENTS = IMAGE + FIXED.size

KERNEL_VERSION = 5
VERSION_SHIFT = 16
DONE = 1 << 1
RUNNING = 1 << 15

UNIT = 256


def register_bytes(argument_bytes: int) -> int:
    """Returns the size of a kernel's registers with its arguments, in bytes."""
    return -(-(ARGUMENTS + argument_bytes) // UNIT) * UNIT
