# SPDX-License-Identifier: Apache-2.0
"""`aocl`, the utility of Intel's SDK: flags for hosts, boards, and looking into containers.

Commands that need hardware print a message, with exit status 0 if scripts continue after them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from fpgart._native import ffi
from fpgart.aocx import container as sections
from fpgart.aocx import libraries
from fpgart.aocx.checks import check
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError, of_file
from fpgart.base.config import OptionError
from fpgart.base.input_file import LARGEST_CONTAINER, read_input
from fpgart.base.sizes import in_words
from fpgart.base.standard_output import end_with
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.catalogue import chosen_names, describe
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import GlobalMemory
from fpgart.board.mmd import BoardError, Mmd
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.sdk import folder as sdk
from fpgart.version import __version__
from fpgart.watch.words import times

LIBRARIES = "-lalteracl -lOpenCL"
RULE = "-" * 68
FOR_HARDWARE = ("flash", "install", "uninstall", "initialize")
ONLY_FOR_HARDWARE = "Nothing to do: simulated boards need no driver, flash memory or initialisation.\n"
TESTED_BYTES = 1 << 20
ARM = ("--arm", "-arm")
MAKEFILE = """\
# A host in C++: `aocl` prints the flags for compiling and linking it.
AOCL_COMPILE_CONFIG := $(shell aocl compile-config)
AOCL_LINK_CONFIG := $(shell aocl link-config)

host_prog : host_prog.o
\t$(CXX) -o host_prog host_prog.o $(AOCL_LINK_CONFIG)

host_prog.o : host_prog.cpp
\t$(CXX) -c host_prog.cpp $(AOCL_COMPILE_CONFIG)
"""


class AoclError(Exception):
    """Raised if a command cannot be done; the sentence says why."""


class AoclUsageError(AoclError):
    """Raised for an invalid command line."""


Command = Callable[[list[str]], str]


def root() -> Path:
    """Returns the SDK folder that the program lies in, or else the user's own."""
    return sdk.named_root() or sdk.lay_out(sdk.default_root())


# Flags


def compile_config(words: list[str]) -> str:
    # The blank ends the path for scripts that split at blanks only.
    return f"-I{sdk.include_folder(root())} \n"


def link_config(words: list[str]) -> str:
    return f"-L{sdk.library_folder(root())} {LIBRARIES}\n"


def version(words: list[str]) -> str:
    release = sdk.INTEL_VERSION
    return (
        f"aocl {release}.0 (fpgart {__version__}, in the place of Intel(R) FPGA SDK for OpenCL(TM), "
        f"Version {release} Build 0)\n"
    )


# Boards


def boards() -> dict[str, BoardDescription]:
    """Returns the boards of FPGART_BOARD by the names that Intel's tools give them; raises AoclError."""
    try:
        return {f"acl{index}": describe(name) for index, name in enumerate(chosen_names())}
    except (BoardSpecError, OptionError) as error:
        raise AoclError(str(error)) from None


def board_of(name: str) -> BoardDescription:
    """Returns a board; raises AoclError for an unknown device."""
    found = boards()
    if name not in found:
        raise AoclError(f"no device {name}; the devices are {', '.join(found)} (FPGART_BOARD names the boards)")
    return found[name]


def list_devices(words: list[str]) -> str:
    return "".join(_device(name, board, "Uninitialized") for name, board in boards().items())


def diagnose(words: list[str]) -> str:
    """Lists all devices if none is named; writes and reads the memories of those that are named."""
    found = boards()
    if not words or words[0].startswith("-"):
        listed = "".join(_device(name, board, "Passed") + "\nDIAGNOSTIC_PASSED\n" for name, board in found.items())
        return (
            f"{listed}{RULE}\n\n"
            'Call "aocl diagnose <device-names>" to test the memories of devices\n'
            'Call "aocl diagnose all" to test those of all devices\n'
        )
    chosen = list(found) if words[0] == "all" else words
    return "".join(_test(name, board_of(name)) for name in chosen)


def _device(name: str, board: BoardDescription, status: str) -> str:
    return (
        f"{RULE}\nDevice Name:\n{name}\n\n"
        f"BSP Install Location:\n{root() / 'board' / board.name}\n\n"
        f"Vendor: {board.vendor}\n\n"
        f"Physical Dev Name   Status            Information\n\n"
        f"{'fpgart_' + board.name:<20}{status:<18}simulated by fpgart {__version__}\n"
        f"{'':<38}PCIe Gen{board.timing.pcie_generation} x{board.timing.pcie_lanes}, {_memories(board)}\n"
    )


def _memories(board: BoardDescription) -> str:
    return ", ".join(f"{memory.name} {in_words(memory.size)}" for memory in board.memories)


def _test(name: str, board: BoardDescription) -> str:
    mmd = SimulatedBoard(board)
    lines = [f"Testing the memories of device {name} (board '{board.name}')"]
    try:
        mmd.open()
        for memory in board.device_private:
            size = sum(_written_and_read(mmd, address) for address in _addresses(memory))
            lines.append(f"  {memory.name}: {in_words(size)} written and read back at its start, middle and end")
    except BoardError as error:
        raise AoclError(f"{name}: {error}\nDIAGNOSTIC_FAILED") from None
    finally:
        mmd.close()
    return "\n".join([*lines, "", "DIAGNOSTIC_PASSED", ""])


def _addresses(memory: GlobalMemory) -> Iterator[int]:
    for begin in (memory.usable_begin, (memory.begin + memory.end) // 2, memory.end - TESTED_BYTES):
        yield max(memory.usable_begin, begin)


def _written_and_read(mmd: Mmd, address: int) -> int:
    """Writes and reads memory; returns the number of bytes. Raises BoardError if they differ."""
    pattern = os.urandom(4096) * (TESTED_BYTES // 4096)
    out, back = ffi.from_buffer(pattern), bytearray(TESTED_BYTES)
    mmd.write(int(ffi.cast("uintptr_t", out)), address, TESTED_BYTES)
    mmd.read(address, int(ffi.cast("uintptr_t", ffi.from_buffer(back))), TESTED_BYTES)
    if back != pattern:
        raise BoardError(f"memory at {address:#x} does not hold the bytes that were written")
    return TESTED_BYTES


def program(words: list[str]) -> str:
    """Checks that a container would be loaded; simulated boards are programmed by the host that uses them."""
    device, file = _operands(words, 2, "program <device> <file.aocx>")
    system = check(Container.read_named(Path(file)), board_of(device))
    return (
        f"aocl program: {file} fits {device}, {times(len(system.kernels), 'kernel')}. A simulated board lives as long "
        f"as the host that uses it: the host's clCreateProgramWithBinary programs it.\nProgram succeed.\n"
    )


# Containers


def hash_of(words: list[str]) -> str:
    [file] = _operands(words, 1, "hash <file.aocx>")
    return Container.read_named(Path(file)).text(sections.SOURCE_HASH) + "\n"


def env(words: list[str]) -> str:
    """Returns the settings with which a container was compiled, in lines NAME=VALUE."""
    [file] = _operands(words, 1, "env <file.aocx>")
    container = Container.read_named(Path(file))
    options = container.text(sections.OPTIONS) if sections.OPTIONS in container else ""
    return (
        f"INPUT_ARGS={options}\nACL_VERSION={sdk.INTEL_VERSION}\nOPERATING_SYSTEM=linux\n"
        f"BOARD={container.text(sections.BOARD)}\nCOMPILER=fpgart {__version__}\n"
    )


BINEDIT = "binedit <file> create | list | exists|print|get|add|set|update <section> [<file>]"


def binedit(words: list[str]) -> str:
    """Shows a container, or changes its sections."""
    if len(words) < 2:
        raise AoclUsageError(BINEDIT)
    file, action, *rest = words
    if action == "create":
        Path(file).write_bytes(Container().encode())
        return ""
    container = Container.read_named(Path(file))
    if action == "list":
        header = f"{file}:\n"
        return header + "".join(f"  {name}, {len(data)} bytes\n" for name, data in container.sections.items())
    if not rest or len(rest) != (2 if action in ("get", "add", "set", "update") else 1):
        raise AoclUsageError(BINEDIT)
    return _edit(Path(file), container, action, rest[0], Path(rest[-1]))


def _edit(file: Path, container: Container, action: str, section: str, other: Path) -> str:
    present = section in container
    if action == "add" and present:
        raise AoclError(f"{file} already has a section {section}: `set` or `update` changes it")
    if action not in ("add", "set") and not present:
        raise AoclError(f"{file} has no section {section}")
    if action == "print":
        return container[section].decode(errors="replace")
    if action == "get":
        other.write_bytes(container[section])
    elif action in ("add", "set", "update"):
        file.write_bytes(Container({**container.sections, section: read_input(other, LARGEST_CONTAINER)}).encode())
    elif action != "exists":
        raise AoclUsageError(BINEDIT)
    return ""


LIBRARY = "library hdl-comp-pkg <spec.xml> [-o <file.aoco>] | create [-name <name>] [-o <file.aoclib>] <file.aoco> ..."
OF_LIBRARIES = ("-name", "-vendor", "-version", "-o")
"""Options with a value; only two of them have an effect."""


def library(words: list[str]) -> str:
    """Makes objects of functions that are circuits on a board, and archives of such objects."""
    action, *rest = words or [""]
    given, files = _named_values(rest)
    if action == "hdl-comp-pkg" and len(files) == 1:
        _write(Path(given.get("-o", files[0].with_suffix(".aoco").name)), libraries.packaged(files[0]).encode())
    elif action == "create" and files:
        members = {file.name: read_input(file, LARGEST_CONTAINER) for file in files}
        _write(Path(given.get("-o", given.get("-name", "lib") + ".aoclib")), libraries.archive(members))
    else:
        raise AoclUsageError(LIBRARY)
    return ""


def _named_values(words: list[str]) -> tuple[dict[str, str], list[Path]]:
    """Returns options with their values, and files; raises AoclUsageError."""
    given, files = {}, []
    rest = iter(words)
    for word in rest:
        if word in OF_LIBRARIES:
            given[word] = next(rest, "")
        elif word.startswith("-"):
            raise AoclUsageError(LIBRARY)
        else:
            files.append(Path(word))
    return given, files


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _operands(words: list[str], count: int, form: str) -> list[str]:
    if len(words) != count:
        raise AoclUsageError(form)
    return words


# The command


def help_text(words: list[str]) -> str:
    lines = [f"aocl {sdk.INTEL_VERSION}: the subcommands of Intel's utility", ""]
    lines += [f"  {name:<18} {sentence}" for name, (_, sentence) in COMMANDS.items()]
    return "\n".join(lines) + "\n"


COMMANDS: dict[str, tuple[Command, str]] = {
    "compile-config": (compile_config, "flags for compiling hosts"),
    "link-config": (link_config, "flags and libraries for linking hosts"),
    "linkflags": (link_config, "the same"),
    "ldflags": (lambda words: f"-L{sdk.library_folder(root())}\n", "the flags of link-config"),
    "ldlibs": (lambda words: f"{LIBRARIES}\n", "the libraries of link-config"),
    "makefile": (lambda words: MAKEFILE, "an example Makefile"),
    "example-makefile": (lambda words: MAKEFILE, "the same"),
    "version": (version, "the release"),
    "list-devices": (list_devices, "boards that a host finds"),
    "diagnose": (diagnose, "the same; with [acl0|all]: write and read their memories"),
    "program": (program, "acl0 <file.aocx>: whether the board would load it"),
    "hash": (hash_of, "<file.aocx>: the hash of source, board and options"),
    "env": (env, "<file.aocx>: the options that it was compiled with"),
    "binedit": (binedit, "<file> list, print, get, exists, add, set, update, create: its sections"),
    "library": (library, "hdl-comp-pkg, create: libraries of specifications and their models, for aoc -l"),
    **dict.fromkeys(FOR_HARDWARE, (lambda words: ONLY_FOR_HARDWARE, "nothing to do here")),
    "help": (help_text, "this"),
}


def run(words: list[str]) -> int:
    """Runs a command; exit status 0, 1 with a sentence on stderr, 2 for an invalid command line."""
    name, *rest = words or ["help"]
    command, _ = COMMANDS.get(name.removeprefix("--"), (None, ""))
    if command is None:
        click.echo(f"aocl: no subcommand {name}; `aocl help` lists them", err=True)
        return 2
    arm = [word for word in rest if word in ARM]
    if arm:
        click.echo(f"aocl: note: {arm[0]} is ignored, hosts run on this machine", err=True)
    try:
        click.echo(command([word for word in rest if word not in ARM]), nl=False)
    except AoclUsageError as error:
        click.echo(f"usage: aocl {error}", err=True)
        return 2
    except (AoclError, AocxError, sdk.SdkError) as error:
        click.echo(f"aocl: {error}", err=True)
        return 1
    except OSError as error:
        click.echo(f"aocl: {of_file(error)}", err=True)
        return 1
    return 0


def main() -> None:
    end_with("aocl", lambda: run(sys.argv[1:]))
