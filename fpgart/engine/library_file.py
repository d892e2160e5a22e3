# SPDX-License-Identifier: Apache-2.0
"""The check of a driver's file before it is opened: the system's loader ends the process if a file is cut off."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from fpgart.base.named_tuples import NamedTuple

HEADER = struct.Struct("<4sBB10xHHI3QI3H")  # of a 64-bit little-endian ELF file, up to e_phnum
SEGMENT = struct.Struct("<IIQQQQQQ")
SHARED = 3
LOADED = 1
# The processors as the system names them, with the numbers that ELF files have for them.
MACHINES = {"i386": 3, "ppc64le": 21, "armv7l": 40, "x86_64": 62, "aarch64": 183, "riscv64": 243}


class Header(NamedTuple):
    """The fields of an ELF file's header."""

    kind: int
    machine: int
    segments: tuple[int, int, int]  # offset, size of one, number

    @property
    def processor(self) -> str:
        """The system's name for the processor that the file is for."""
        names = [name for name, number in MACHINES.items() if number == self.machine]
        return names[0] if names else f"ELF machine {self.machine}"


def header_of(start: bytes) -> Header | None:
    """Returns the header at the start of an ELF file; None if there is none."""
    if len(start) < HEADER.size or start[:4] != b"\x7fELF":
        return None
    _, _, _, kind, machine, _, _, segments, _, _, _, entry, number = HEADER.unpack_from(start)
    return Header(kind, machine, (segments, entry, number))


def why_not_opened(path: Path) -> str:
    """Returns why this process cannot open `path` as a library, in words that follow its name; "" if it can."""
    try:
        with path.open("rb") as file:
            found = header_of(file.read(HEADER.size))
            size = path.stat().st_size
            if found is None:
                return f"is no shared library: it has {size} bytes and does not begin with an ELF header"
            ours = os.uname().machine
            if found.machine != MACHINES.get(ours, found.machine):
                return f"is for another processor: {found.processor}, and this machine is {ours}"
            if found.kind != SHARED:
                return f"is no shared library: its ELF type is {found.kind}, not {SHARED}"
            offset, entry, number = found.segments
            file.seek(offset)
            table = file.read(entry * number)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    ends = [offset + entry * number]
    if len(table) == entry * number and entry >= SEGMENT.size:
        segments = (SEGMENT.unpack_from(table, place) for place in range(0, len(table), entry))
        ends += [start + length for kind, _, start, _, _, length, _, _ in segments if kind == LOADED]
    if max(ends) > size:
        return f"is cut off: it has {size} bytes of the {max(ends)} that its header names; install it again"
    return ""
