# SPDX-License-Identifier: Apache-2.0
"""`clocl`, TI's offline compiler: it writes a program binary (.out), a C header (.dsp_h), or an object (.obj)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from fpgart.aocx.compiler import Options
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.steps import Step, joined, object_of, unit_of
from fpgart.aocx.units import check_text, compile_text, embedded, preprocessed, read_unit
from fpgart.base import config
from fpgart.base.standard_output import end_with
from fpgart.board.catalogue import describe
from fpgart.board.keystone import partition
from fpgart.engine.choice import choose_engine
from fpgart.sdk.aoc import tell_warnings
from fpgart.sdk.ending import status_of
from fpgart.version import __version__

DEFAULT_BOARD = "k2h"
BYTES_PER_LINE = 16
HELP = """\
Usage: clocl [options] <OpenCL C file> [<link files>]

  -h, --help      print this text
  -v, --verbose   print each step
  -k, --keep      accepted; there are no temporary files to keep
  -g, --debug     accepted; kernels run with the debug information of the engine's compiler
  -t, --txt       also write a C header with the binary, <file>.dsp_h
  -l, --lib       stop after compilation, with <file>.obj
  -a              accepted; buffer arguments may always overlap
  --version       print the version

  -D<name>[=<value>], -I<folder>, -w, -Werror, -cl-...   OpenCL build options

Link files are objects that `clocl -l` made. Output files go into the working folder.
"""
SWITCHES = {
    "-v": "verbose", "--verbose": "verbose", "-t": "text", "--txt": "text", "-l": "object", "--lib": "object",
    "-h": "help", "--help": "help", "--version": "version", "-k": "", "--keep": "", "-g": "", "--debug": "", "-a": "",
}  # fmt: skip


class ClOclUsageError(Exception):
    """Raised for an argument that `clocl` does not take; the sentence names it."""


@dataclass
class CommandLine:
    switches: set[str] = field(default_factory=set)
    compiler: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @classmethod
    def read(cls, words: list[str]) -> CommandLine:
        """Reads the words; raises ClOclUsageError."""
        made = cls()
        rest = iter(words)
        for word in rest:
            if word in SWITCHES:
                made.switches.add(SWITCHES[word])
            elif word in ("-D", "-I"):
                made.compiler.append(word + next(rest, ""))
            elif word.startswith(("-D", "-I", "-cl-")) or word in ("-w", "-Werror"):
                made.compiler.append(word)
            elif word.startswith("-"):
                raise ClOclUsageError(f"{word} is not an option of clocl")
            else:
                made.files.append(Path(word))
        return made


def run(words: list[str]) -> int:
    """Runs the command; exit status 0, 1 with the compiler's log on stderr, 2 for an invalid command line."""
    return status_of("clocl", lambda: answer(words), (ClOclUsageError,), at_last="Compilation failed")


def answer(words: list[str]) -> None:
    """Does the work of the command line; raises the errors that status_of() reports."""
    asked = CommandLine.read(words)
    if "help" in asked.switches or not words:
        click.echo(HELP, nl=False)
    elif "version" in asked.switches:
        click.echo(f"clocl of fpgart {__version__}, in the place of TI's OpenCL compiler 1.2.0")
    elif not asked.files:
        raise ClOclUsageError("nothing to compile: name an OpenCL C file")
    else:
        compile_all(asked)


def compile_all(asked: CommandLine) -> None:
    """Writes the files; raises CompileError, AocxError or OSError.

    A binary is for every board, as TI's is for every partition of the memory.
    """
    source, *linked = asked.files
    board = describe(next((name for name in config.BOARD.value if partition.is_one(name)), DEFAULT_BOARD))
    engine = choose_engine()
    unit = read_unit([source], Options(tuple(asked.compiler), emulator=True))
    if "object" in asked.switches:
        unit = embedded(unit, board, engine)
        check_text(preprocessed(unit, board, engine), board, engine, tell_warnings)
        _write(asked, source.stem + ".obj", object_of(unit, board.name, ()).encode())
        return
    parts = [(file.name, unit_of(*_object(file), str(file))) for file in linked]
    text = preprocessed(joined([*parts, (source.name, unit)]), board, engine)
    made = compile_text(text, board, engine, tell_warnings).encode()
    _write(asked, source.stem + ".out", made)
    if "text" in asked.switches:
        _write(asked, source.stem + ".dsp_h", as_header(source.stem, made).encode())


def _object(file: Path) -> tuple[Container, Step]:
    """Reads an object of `clocl -l`; raises AocxError for code of the DSP, which cannot run here."""
    try:
        container = Container.read(file)
        return container, Step.of(container, str(file))
    except AocxError:
        raise AocxError(
            f"{file} is not an object of `clocl -l`; code for the DSP itself cannot run here: write it in OpenCL C"
        ) from None


def _write(asked: CommandLine, name: str, data: bytes) -> None:
    Path(name).write_bytes(data)
    if "verbose" in asked.switches:
        click.echo(f"clocl: {name} written, {len(data)} bytes")


def as_header(stem: str, data: bytes) -> str:
    """Returns the bytes as an initialised C array and their number, named after the source."""
    name = "".join(character if f"_{character}".isidentifier() else "_" for character in stem)
    name = name if name.isidentifier() else f"_{name}"  # it began with a digit
    rows = ",\n    ".join(_rows(data))
    return f"unsigned int {name}_dsp_bin_len = {len(data)};\nchar {name}_dsp_bin[] = {{\n    {rows}\n}};\n"


def _rows(data: bytes) -> Iterator[str]:
    """Yields the lines of the array; bytes above 127 are negative, as in a char, because C++ refuses narrowing."""
    for begin in range(0, len(data), BYTES_PER_LINE):
        yield ", ".join(str(byte - 256 if byte > 127 else byte) for byte in data[begin : begin + BYTES_PER_LINE])


def main() -> None:
    end_with("clocl", lambda: run(sys.argv[1:]))
