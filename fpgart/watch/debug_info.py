# SPDX-License-Identifier: Apache-2.0
"""Finds the files, lines and functions of addresses in this process: /proc/self/maps, symbol tables, DWARF.

It serves the end of a process, and hangs, and is not fast: each module is read once, at the first query for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from struct import iter_unpack
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.dwarf.descriptions import describe_form_class
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from fpgart.kernels.cpp_names import plain
from fpgart.watch.code_location import CodeLocation
from fpgart.watch.modules import Modules

C_LIBRARY = ("libc.so", "libc-")
SILENT = ("libOpenCL.so", "libfpgart", "_native.", "libsycl.so", "libur_", *C_LIBRARY, "libpthread", "ld-linux", "ld-")
"""Modules whose frames are left out: loaders, this driver, the SYCL runtime, the start of a program."""
WRAPPERS = {"opencl.hpp", "cl2.hpp", "cl.hpp"}
"""Headers whose functions only call OpenCL."""
SYCL_HEADERS = "/include/sycl/"
FUNCTION = 2
"""The type of a symbol that is a function (STT_FUNC)."""
STARTERS = {"_start", "__libc_start_main", "start_thread", "clone"}


class DebugInfo:
    """The files, functions and lines of this process's code."""

    def __init__(self) -> None:
        self._files = Modules()
        self._modules: dict[str, Module | None] = {}

    def locate(self, address: int) -> list[CodeLocation]:
        """Returns the place of an instruction, as far as it is known; several, innermost first, for inlined functions.

        Empty for code that is not the host's own.
        """
        found = self._files.find(address)
        return self.in_file(*found) if found is not None else [CodeLocation("", 0, "", "", address)]

    def in_c_library(self, address: int) -> bool:
        """True if an instruction is in a function of the C library."""
        found = self._files.find(address)
        return found is not None and Path(found[0]).name.startswith(C_LIBRARY)

    def file_of(self, address: int) -> str:
        """Returns the path of the executable or library that contains an instruction; "" if no file does."""
        found = self._files.find(address)
        return found[0] if found is not None else ""

    def in_file(self, path: str, offset: int) -> list[CodeLocation]:
        """Does as locate(), for a byte of an executable or a library."""
        name = Path(path).name
        if name.startswith(SILENT):
            return []
        module = self._module(path)
        places = module.places(module.virtual(offset)) if module is not None else []
        if not any(place.function or place.line for place in places):
            return [CodeLocation("", 0, "", name, offset)]
        return [place for place in places if not _is_silent(place)]

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            try:
                self._modules[path] = Module(path)
            except (OSError, ELFError):
                self._modules[path] = None
        return self._modules[path]


def _is_silent(place: CodeLocation) -> bool:
    """True for the functions of C++ bindings and of SYCL's headers, and for the start of a program."""
    is_wrapper = Path(place.file).name in WRAPPERS or SYCL_HEADERS in place.file
    return is_wrapper or place.function in STARTERS


class Module:
    """An executable or a shared library. Addresses are those that the file itself uses."""

    def __init__(self, path: str) -> None:
        """Raises OSError, ELFError."""
        self.name = Path(path).name
        with open(path, "rb") as file:
            elf = ELFFile(file)
            self._segments = [
                (segment["p_offset"], segment["p_filesz"], segment["p_vaddr"])
                for segment in elf.iter_segments("PT_LOAD")
            ]
            self._functions = sorted(_functions(elf))
        self._path = path
        self._known: dict[int, list[CodeLocation]] = {}
        self._known_units: dict[int, Unit] = {}

    def virtual(self, offset: int) -> int:
        """Returns the address of a byte of the file."""
        return next((at + offset - begin for begin, size, at in self._segments if 0 <= offset - begin < size), offset)

    def symbol(self, address: int) -> str:
        end = bisect_right(self._functions, address, key=lambda function: function[0])
        if not end:
            return ""
        begin = self._functions[end - 1][0]
        first = bisect_left(self._functions, begin, hi=end, key=lambda function: function[0])
        size, name = max((size, _string(names, at)) for _, size, at, names in self._functions[first:end])
        return plain(name) if address < begin + max(size, 1) else ""

    def places(self, address: int) -> list[CodeLocation]:
        """Returns the function at an address, behind those that were inlined there."""
        if address not in self._known:
            try:
                self._known[address] = self._from_dwarf(address)
            except Exception:  # broken, or newer than pyelftools, which may raise anything; the symbol is enough
                self._known[address] = []
            self._known[address] = self._known[address] or [CodeLocation("", 0, self.symbol(address), self.name)]
        return self._known[address]

    def _from_dwarf(self, address: int) -> list[CodeLocation]:
        for unit in self._units_at(address):
            found = unit.line_of(address)
            if found is not None:
                return self._chain(unit, address, *found)
        return []

    @cached_property
    def _dwarf(self) -> Any:
        """The debug information; None if there is none."""
        with open(self._path, "rb") as file:
            elf = ELFFile(file)
            return elf.get_dwarf_info() if elf.has_dwarf_info() else None

    @cached_property
    def _index(self) -> Any:
        return self._dwarf.get_aranges()

    def _units_at(self, address: int) -> Iterator[Unit]:
        """Yields the compilation units that may contain an address: by the index, or else by their ranges."""
        if self._dwarf is None:
            return
        offset = self._index.cu_offset_at_addr(address) if self._index is not None else None
        if offset is not None:
            yield self._unit(self._dwarf.get_CU_at(offset))
            return
        for each in self._dwarf.iter_CUs():
            unit = self._unit(each)
            if unit.may_contain(address):
                yield unit

    def _unit(self, unit: Any) -> Unit:
        if unit.cu_offset not in self._known_units:
            self._known_units[unit.cu_offset] = Unit(self._dwarf, unit)
        return self._known_units[unit.cu_offset]

    def _chain(self, unit: Unit, address: int, file: str, line: int) -> list[CodeLocation]:
        """Returns the lines of inlined calls, each with the function that contains it."""
        chain = unit.functions_at(address)
        outer = self.symbol(address)
        if not chain:
            return [CodeLocation(file, line, outer, self.name)]
        places = []
        for function, called_file, called_line in reversed(chain):
            places.append(CodeLocation(file, line, function or outer, self.name))
            file, line = called_file, called_line
        return places


def _functions(elf: Any) -> Iterator[tuple[int, int, int, bytes]]:
    """Yields address and size of each function, and where its name is.

    pyelftools makes objects of each symbol, which takes seconds for a large library.
    """
    order = "<" if elf.little_endian else ">"
    for section in elf.iter_sections():
        if not isinstance(section, SymbolTableSection) or section["sh_type"] == "SHT_NOBITS":
            continue
        data, names = section.data(), elf.get_section(section["sh_link"]).data()
        if elf.elfclass == 64:
            symbols = ((name, info, at, size) for name, info, _, _, at, size in iter_unpack(f"{order}IBBHQQ", data))
        else:
            symbols = ((name, info, at, size) for name, at, size, info, _, _ in iter_unpack(f"{order}IIIBBH", data))
        yield from ((at, size, name, names) for name, info, at, size in symbols if info & 15 == FUNCTION and at)


def _string(names: bytes, begin: int) -> str:
    """Returns the name at an offset in a table of strings."""
    return names[begin : names.index(b"\0", begin)].decode(errors="replace")


class Unit:
    def __init__(self, dwarf: Any, unit: Any) -> None:
        self._dwarf = dwarf
        self._unit = unit
        self._top = unit.get_top_DIE()
        self._folder = _text(self._top, "DW_AT_comp_dir")

    def may_contain(self, address: int) -> bool:
        """True if an address is in the unit's code, or if the unit does not say where its code is."""
        known = {"DW_AT_high_pc", "DW_AT_ranges"} & self._top.attributes.keys()
        return not known or self._contains(self._top, address)

    def line_of(self, address: int) -> tuple[str, int] | None:
        found = next((line for begin, end, *line in self._lines if begin <= address < end), None)
        return (self.file(found[0]), found[1]) if found is not None else None

    @cached_property
    def _program(self) -> Any:
        return self._dwarf.line_program_for_CU(self._unit)

    @cached_property
    def _lines(self) -> list[tuple[int, int, int, int]]:
        """Begin and end of the code of each line, the number of the file, and the line."""
        found: list[tuple[int, int, int, int]] = []
        before = None
        for entry in self._program.get_entries() if self._program is not None else ():
            state = entry.state
            if state is None:
                continue
            if before is not None:
                found.append((before.address, state.address, before.file, int(before.line)))
            before = None if state.end_sequence else state
        return found

    def file(self, number: int) -> str:
        """Returns a file's path by its number in the line program."""
        header = self._program.header
        first = 0 if header["version"] >= 5 else 1
        entry = header["file_entry"][number - first]
        folders = header["include_directory"]
        folder = self._folder
        if header["version"] >= 5:
            folder = folders[entry.dir_index].decode(errors="replace")
        elif entry.dir_index:
            folder = folders[entry.dir_index - 1].decode(errors="replace")
        return str(Path(self._folder, folder, entry.name.decode(errors="replace")))

    def functions_at(self, address: int) -> list[tuple[str, str, int]]:
        """Returns the function there and those inlined into it, outermost first, each with the place of its call."""
        chain: list[tuple[str, str, int]] = []
        self._descend(self._top, address, chain)
        return chain

    def _descend(self, die: Any, address: int, chain: list[tuple[str, str, int]]) -> bool:
        for child in die.iter_children():
            function = child.tag in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
            block = child.tag in ("DW_TAG_lexical_block", "DW_TAG_namespace", "DW_TAG_class_type")
            if function and self._contains(child, address):
                number, line = (child.attributes.get(f"DW_AT_call_{what}") for what in ("file", "line"))
                called = (self.file(number.value), int(line.value)) if number and line else ("", 0)
                chain.append((_name(child), *called))
                self._descend(child, address, chain)
                return True
            if block and child.has_children and self._descend(child, address, chain):
                return True
        return False

    def _contains(self, die: Any, address: int) -> bool:
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            end = high.value if describe_form_class(high.form) == "address" else low + high.value
            return bool(low <= address < end)
        if "DW_AT_ranges" in attributes:
            return any(begin <= address < end for begin, end in self._ranges(attributes["DW_AT_ranges"]))
        return False

    def _ranges(self, attribute: Any) -> Iterator[tuple[int, int]]:
        lists = self._dwarf.range_lists()
        if lists is None:
            return
        base = self._top.attributes.get("DW_AT_low_pc")
        start = base.value if base is not None else 0
        for entry in lists.get_range_list_at_offset(attribute.value, self._unit):
            if hasattr(entry, "base_address"):
                start = entry.base_address
            elif getattr(entry, "is_absolute", False):
                yield entry.begin_offset, entry.end_offset
            else:
                yield start + entry.begin_offset, start + entry.end_offset


def _text(die: Any, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return found.value.decode(errors="replace") if found is not None else ""


def _name(die: Any) -> str:
    """Returns a function's name; inlined and out-of-line copies refer to its declaration."""
    for reference in ("", "DW_AT_abstract_origin", "DW_AT_specification"):
        if reference and reference in die.attributes:
            return _name(die.get_DIE_from_attribute(reference))
        if not reference and "DW_AT_name" in die.attributes:
            return _text(die, "DW_AT_name")
    return ""
