# SPDX-License-Identifier: Apache-2.0
"""The section of objects and programs that contains the device's code, as bitcode of each source.

Linkers append sections of the same name, so the section of a linked file has the code of all its sources in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import Struct

from fpgart.icpx.errors import IcpxError
from fpgart.icpx.programs import run

SECTION = ".fpgart.sycl"
HEADER = Struct("<8sQ")
MAGIC = b"fpgart\x001"
"""The first bytes of each source's code, in front of its size."""


def add_section(host: Path, bitcode: Path, verbose: bool) -> Path:
    """Writes the object file with the section added; returns its path, which is beside the code."""
    data = bitcode.read_bytes()
    content, made = bitcode.with_suffix(".section"), bitcode.with_suffix(".o")
    content.write_bytes(HEADER.pack(MAGIC, len(data)) + data)
    run(["objcopy", "--add-section", f"{SECTION}={content}", str(host), str(made)], verbose)
    return made


def remove_section(linked: Path, program: Path, verbose: bool) -> None:
    """Writes a linked file without the section, which no program needs."""
    run(["objcopy", "--remove-section", SECTION, str(linked), str(program)], verbose)


def bitcodes_of(linked: Path) -> Iterator[bytes]:
    """Yields the code of each source; raises IcpxError for a section that `icpx` did not make."""
    from elftools.elf.elffile import ELFFile

    with linked.open("rb") as file:
        section = ELFFile(file).get_section_by_name(SECTION)
        data = section.data() if section is not None else b""
    at = 0
    while at < len(data):
        magic, size = HEADER.unpack_from(data.ljust(at + HEADER.size, b"\0"), at)
        at += HEADER.size
        if magic != MAGIC or at + size > len(data):
            raise IcpxError(f"the section {SECTION} of an object is damaged, or another version of icpx made it")
        yield data[at : at + size]
        at += size
