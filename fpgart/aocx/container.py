# SPDX-License-Identifier: Apache-2.0
"""The file format of .aocx and .aocr: an ELF file with named sections and nothing else.

Files of the real compiler are 32-bit little-endian ELF for x86-64 without type or program headers: section 0,
the section names, an unnamed section of 4096 zero bytes, then one PROGBITS section per item at file
offsets that are multiples of 128. Files are written in exactly this form; any ELF file, of 32 or 64 bits, can be read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from fpgart.aocx.errors import AocxError
from fpgart.base.digests import sha1
from fpgart.base.input_file import LARGEST_CONTAINER, read_input

BOARD = ".acl.board"
AUTODISCOVERY = ".acl.autodiscovery"
RANDOM_HASH = ".acl.rand_hash"
SOURCE_HASH = ".acl.hash"
BOARD_SPEC = ".acl.board_spec.xml"
ARGUMENT_INFO = ".acl.kernel_arg_info.xml"
OPTIONS = ".acl.compileoptions"
SOURCE = ".acl.source"
BOARD_IMAGE = ".acl.fpga.bin"
SIMULATOR = ".acl.simulator_object"
EMULATOR_BOARD = "EmulatorDevice"
"""The board's name in containers of -march=emulator, which any board loads."""
EMULATORS = (".acl.emulator_object.linux", ".acl.emulator_object.windows")

MAGIC = b"\x7fELF"
NULL, PROGBITS, STRTAB, NOBITS = 0, 1, 3, 8
STRINGS = 0x20
X86_64 = 62
HEADER = Struct("<16s2H5I6H")
SECTION_HEADER = Struct("<10I")
ALIGNMENT = 128
UNNAMED_BYTES = 4096
LARGEST_OFFSET = 0xFFFFFFFF
SECTION_LIMIT = 0xFEFF


@dataclass(frozen=True, slots=True)
class Container:
    """Named sections, in the order of the file."""

    sections: dict[str, bytes] = field(default_factory=dict)

    def __getitem__(self, name: str) -> bytes:
        """Returns a section's bytes; raises AocxError if there is no such section."""
        found = self.sections.get(name)
        if found is None:
            raise AocxError(f"there is no section {name}")
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.sections

    def text(self, name: str) -> str:
        """Returns a section as text, without NULs and blanks around it."""
        return self[name].decode(errors="surrogateescape").strip("\0 \t\r\n")

    def identity(self) -> str:
        """Returns 40 hexadecimal digits of all sections; the identity itself is left out wherever it occurs.

        This driver's compiler writes them as the random hash. So they also show if a container has been changed.
        """
        digest = sha1()
        current = self.sections.get(RANDOM_HASH, b"")
        for name, data in self.sections.items():
            if name != RANDOM_HASH:
                kept = data.replace(current, b"0" * len(current)) if current else data
                digest.update(b"%s\0%d\0" % (name.encode(errors="surrogateescape"), len(kept)) + kept)
        return digest.hexdigest()

    def encode(self) -> bytes:
        """Returns the file's bytes; the same sections give the same bytes."""
        names, starts = _names(self.sections)
        body = bytearray(HEADER.size)
        table = [_header(0, NULL, 0, 0, 0)]

        def add(name: int, kind: int, flags: int, data: bytes, alignment: int) -> None:
            body.extend(bytes(-len(body) % alignment))
            table.append(_header(name, kind, len(body), len(data), alignment, flags))
            body.extend(data)

        add(starts[".shstrtab"], STRTAB, STRINGS, names, 1)
        add(0, PROGBITS, 0, bytes(UNNAMED_BYTES), ALIGNMENT)
        for name, data in self.sections.items():
            add(starts[name], PROGBITS, 0, data, ALIGNMENT)
        body.extend(bytes(-len(body) % 4))
        if len(body) + SECTION_HEADER.size * len(table) > LARGEST_OFFSET or len(table) > SECTION_LIMIT:
            raise AocxError(f"{len(body)} bytes in {len(table)} sections do not fit into a 32-bit ELF file")
        identification = MAGIC + bytes((1, 1, 1))
        body[: HEADER.size] = HEADER.pack(
            identification.ljust(16, b"\0"),
            *(0, X86_64, 1, 0, 0, len(body), 0),
            *(HEADER.size, 0, 0, SECTION_HEADER.size, len(table), 1),
        )
        return bytes(body) + b"".join(table)

    @classmethod
    def decode(cls, data: bytes) -> Container:
        """Reads a file's bytes; raises AocxError for anything that is not a complete ELF file."""
        sections: dict[str, bytes] = {}
        for name, content in _read_sections(data):
            if name in sections:
                raise AocxError(f"there are two sections {name}")
            sections[name] = content
        return cls(sections)

    @classmethod
    def read(cls, path: Path) -> Container:
        """Reads a file; raises AocxError for one that is no container, OSError for one that cannot be read."""
        return cls.decode(read_input(path, LARGEST_CONTAINER))

    @classmethod
    def read_named(cls, path: Path) -> Container:
        """Does as read(); each error is an AocxError that names the file."""
        try:
            return cls.read(path)
        except OSError as error:
            raise AocxError(f"{path}: {error.strerror}") from None
        except AocxError as error:
            raise AocxError(f"{path}: {error}") from None


def _names(sections: dict[str, bytes]) -> tuple[bytes, dict[str, int]]:
    """Returns the section with the names, and the offset of each name in it."""
    table, starts = bytearray(b"\0"), {}
    for name in (".shstrtab", *sections):
        encoded = name.encode(errors="surrogateescape")
        if not encoded or b"\0" in encoded or name in starts:
            raise AocxError(f"{name!r} cannot be a section's name")
        starts[name] = len(table)
        table += encoded + b"\0"
    return bytes(table), starts


def _header(name: int, kind: int, offset: int, size: int, alignment: int, flags: int = 0) -> bytes:
    return SECTION_HEADER.pack(name, kind, flags, 0, offset & LARGEST_OFFSET, size, 0, 0, alignment, 0)


def _read_sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields name and content of each named section that has content in the file, except the table of names."""
    from elftools.elf.elffile import ELFFile  # its import takes time

    if not data.startswith(MAGIC):
        raise AocxError("this is not an ELF file, and so no .aocx or .aocr")
    try:
        elf = ELFFile(io.BytesIO(data))
        header = elf.header
        offset, count, unit = header.e_shoff, header.e_shnum, header.e_shentsize
        names = header.e_shstrndx
    except Exception as error:  # the parser may raise anything for a damaged header
        raise AocxError(f"the ELF header is damaged or cut off ({error or type(error).__name__})") from None
    wanted = elf.structs.Elf_Shdr.sizeof()
    if not offset or not count or unit != wanted:
        raise AocxError("the file has no table of sections as a container has: it is damaged or something else")
    if offset + count * unit > len(data):
        raise AocxError(
            f"the file is truncated: {len(data)} bytes, its table of sections would end at {offset + count * unit}"
        )
    if names >= count:
        raise AocxError(f"section {names}, which should hold the section names, is not there: the file is damaged")
    table = [_section(elf, data, offset + index * unit, index) for index in range(count)]
    texts = table[names][2]
    for index, (kind, start, content) in enumerate(table):
        if kind != NULL and index != names:
            name = _name_at(texts, start, index)
            if name:
                yield name, content


def _section(elf: object, data: bytes, offset: int, index: int) -> tuple[int, int, bytes]:
    """Returns kind, offset of the name, and content of the section whose header is at `offset`."""
    from elftools.common.utils import struct_parse

    header = struct_parse(elf.structs.Elf_Shdr, io.BytesIO(data), offset)  # type: ignore[attr-defined]
    kind = header["sh_type"]
    kind = {"SHT_NULL": NULL, "SHT_NOBITS": NOBITS}.get(kind, PROGBITS)
    begin, size = header["sh_offset"], header["sh_size"]
    if kind in (NULL, NOBITS):
        return kind, header["sh_name"], b""
    if begin + size > len(data):
        raise AocxError(
            f"the file is truncated or damaged: section {index} would reach from byte {begin} "
            f"to {begin + size}, the file has {len(data)}"
        )
    return kind, header["sh_name"], data[begin : begin + size]


def _name_at(texts: bytes, start: int, index: int) -> str:
    end = texts.find(b"\0", start)
    if start >= len(texts) or end < 0:
        raise AocxError(f"the name of section {index} lies outside of the section names: the file is damaged")
    return texts[start:end].decode(errors="surrogateescape")
