# SPDX-License-Identifier: Apache-2.0
"""The command line of `icpx`: the options for the device, the host and the linker."""

from __future__ import annotations

import enum
import os
import shlex
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fpgart.icpx.errors import UsageError

SOURCES = (".cpp", ".cc", ".cxx", ".c++", ".C", ".cp")
MOST_FILES = 100
"""The most response files that may name each other; more count as a circle."""


class Wanted(enum.Enum):
    """The kind of output."""

    OBJECTS = enum.auto()
    PROGRAM = enum.auto()
    EARLY_IMAGE = enum.auto()


@dataclass
class CommandLine:
    """The command line of `icpx`."""

    wanted: Wanted = Wanted.PROGRAM
    output: Path | None = None
    host_compiler: str = ""
    sources: list[Path] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    """Objects, libraries and options of the linker, in their order."""
    common: list[str] = field(default_factory=list)
    """Macros, folders, language: for both compilers."""
    device: list[str] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    hardware: list[str] = field(default_factory=list)
    """-Xs...: options for hardware only."""
    dependencies: Path | None = None
    """The file of make's dependencies (-MF)."""
    verbose: bool = False


BOTH_NEXT = ("-I", "-D", "-U", "-isystem", "-iquote", "-include", "-idirafter")
HOST_NEXT = ("-MT", "-MQ", "-x", "-Xclang", "-mllvm", "-arch", "-target", "--param")
LINKER_NEXT = ("-L", "-l", "-Xlinker", "-u", "-T", "-z")
BOTH = ("-std=", "-fbracket-depth", "-fconstexpr-", "-ftemplate-", "-ffp-", "-ffast-math", "-fno-fast-math",
        "-ffinite-math", "-fno-finite-math", "-fsigned-char", "-funsigned-char", "-fms-", "-fno-rtti",
        "-ferror-limit", "-fshort-enums")  # fmt: skip
LINKER = ("-Wl,", "-rdynamic", "-shared", "-static", "-pie", "-no-pie", "-fuse-ld", "-nostdlib", "-nodefaultlibs")
FOR_FPGAS = "-fintelfpga"
ONE_KERNEL = "-D__SYCL_DISABLE_PARALLEL_FOR_RANGE_ROUNDING__"
"""Omits kernels that run a range in rounded steps: Intel's compiler makes none for FPGAs."""
WITHOUT_EFFECT = ("-fsycl", "-fno-sycl-rdc", "-qactypes", "-Qactypes", "-reuse-exe=", "-fsycl-targets=",
                  "-fno-sycl-unnamed-lambda", "-fsycl-unnamed-lambda", "-fsycl-early-optimizations",
                  "-fsycl-max-parallel-link-jobs", "-fsycl-add-default-spec-consts-image",
                  "-qopt-report", "-qoverride-limits", "-ax", "-xHost", "-xCORE", "-xCOMMON", "-ipo")  # fmt: skip
FP_MODELS = {"precise": "-ffp-model=precise", "fast": "-ffp-model=fast", "strict": "-ffp-model=strict"}
TARGETS_HERE = ("spir64", "spir64-unknown-unknown", "spir64_fpga", "spir64_fpga-unknown-unknown")
INSTEAD = "without this option, icpx makes a program for the emulator and the boards of fpgart"
BOARD_FLAGS = ("-Xshardware", "-Xssimulation")


def expanded(words: Iterable[str], depth: int = 0) -> list[str]:
    """Returns the words, with those of each response file (`@file`) in its place. Raises UsageError."""
    found = []
    for word in words:
        if not word.startswith("@") or len(word) == 1:
            found.append(word)
            continue
        if depth > MOST_FILES:
            raise UsageError(f"{word}: response files name each other in a circle")
        try:
            text = Path(word[1:]).read_text(errors="surrogateescape")
        except OSError as error:
            raise UsageError(f"{word}: {error.strerror}") from None
        try:
            found += expanded(shlex.split(text), depth + 1)
        except ValueError as error:
            raise UsageError(f"{word}: {error}") from None
    return found


def read_command_line(words: list[str]) -> CommandLine:
    """Reads the words; raises UsageError."""
    made = CommandLine()
    rest = deque(words)
    while rest:
        _read(made, rest.popleft(), rest)
    _check(made)
    _name_dependencies(made)
    return made


def _name_dependencies(made: CommandLine) -> None:
    """Sets options by which make's dependencies (-MD, -MMD) name the output, not a temporary file."""
    if not {"-MD", "-MMD"}.intersection(made.host) or not made.sources:
        return
    output = made.output or Path(made.sources[0].stem + ".o")
    if made.dependencies is None:
        made.dependencies = output.with_suffix(".d")
        made.host += ["-MF", str(made.dependencies)]
    if not {"-MT", "-MQ"}.intersection(made.host):
        made.host += ["-MT", str(output)]


def _value(word: str, name: str, rest: deque[str]) -> str:
    """Returns an option's value, from its own word or the next one."""
    if len(word) > len(name):
        return word[len(name) :]
    if not rest:
        raise UsageError(f"{word} needs a value")
    return rest.popleft()


def _read(made: CommandLine, word: str, rest: deque[str]) -> None:
    if not word.startswith("-") or word == "-":
        if word.endswith(SOURCES):
            made.sources.append(Path(word))
        else:
            made.inputs.append(word)
    elif word == "-c":
        made.wanted = Wanted.OBJECTS
    elif word == "-o" or (word.startswith("-o") and not word.startswith("-openmp")):
        made.output = Path(_value(word, "-o", rest))
    elif word.startswith("-Xs"):
        made.hardware.append(word if len(word) > 3 else f"-Xs{_value(word, '-Xs', rest)}")
    elif word in ("-fsycl-link", "-fsycl-link=early"):
        made.wanted = Wanted.EARLY_IMAGE
    elif word.startswith("-fsycl-link="):
        raise UsageError(f"{word} makes an image for hardware, which needs Intel's compiler; {INSTEAD}")
    elif word.startswith("-fsycl-host-compiler="):
        made.host_compiler = word.partition("=")[2]
    elif word.startswith(("-fp-model=", "-fp-model", "-fp:")):
        _fp_model(made, word, rest)
    elif word in ("-v", "--verbose"):
        made.verbose = True
    else:
        _read_other(made, word, rest)


def _read_other(made: CommandLine, word: str, rest: deque[str]) -> None:
    """Reads options that are passed to a compiler or the linker, or have no effect here."""
    if word.startswith("-fsycl-targets="):
        _targets(word)
    elif word == FOR_FPGAS:
        made.common.append(ONE_KERNEL)
    elif word.startswith("-fsycl-device-code-split"):
        made.device.append(word)
    elif name := next((name for name in BOTH_NEXT if word.startswith(name)), ""):
        made.common += [name, _value(word, name, rest)]
    elif word == "-MF":
        made.dependencies = Path(_value(word, word, rest))
        made.host += [word, str(made.dependencies)]
    elif word in HOST_NEXT:
        made.host += [word, _value(word, word, rest)]
    elif name := next((name for name in LINKER_NEXT if word.startswith(name)), ""):
        made.inputs += [name, _value(word, name, rest)] if word == name else [word]
    elif word.startswith(LINKER):
        made.inputs.append(word)
    elif word.startswith(BOTH):
        made.common.append(word)
    elif not word.startswith(WITHOUT_EFFECT):
        if word.startswith("-W"):
            made.device.append(word)
        made.host.append(word)


def _fp_model(made: CommandLine, word: str, rest: deque[str]) -> None:
    name = _value(word, "-fp-model" if word.startswith("-fp-model") else "-fp:", rest).lstrip("=")
    if name not in FP_MODELS:
        raise UsageError(f"{word}: not one of {', '.join(FP_MODELS)}")
    made.common.append(FP_MODELS[name])


def _targets(word: str) -> None:
    unknown = [target for target in word.partition("=")[2].split(",") if target not in TARGETS_HERE]
    if unknown:
        raise UsageError(f"-fsycl-targets={unknown[0]}: icpx of fpgart compiles for {' and '.join(TARGETS_HERE[::2])}")


def _check(made: CommandLine) -> None:
    """Checks the command line; raises UsageError."""
    for word in made.hardware:
        if word in BOARD_FLAGS and made.wanted is Wanted.PROGRAM:
            raise UsageError(f"{word} makes hardware or its simulation, which needs Intel's compiler; {INSTEAD}")
    if not (made.sources or made.inputs):
        raise UsageError("no input files")
    if made.wanted is Wanted.OBJECTS and made.output is not None and len(made.sources) > 1:
        raise UsageError(f"-o {made.output} is one file, but -c makes {len(made.sources)}, one for each source")
    if made.output is not None and (made.output.is_dir() or not made.output.parent.is_dir()):
        why = "this is a folder" if made.output.is_dir() else f"there is no folder {made.output.parent}"
        raise UsageError(f"-o {made.output}: {why}")
    for source in made.sources:
        if not source.is_file():
            raise UsageError(f"{source}: {'this is a folder' if source.is_dir() else 'no such file'}")
        if not os.access(source, os.R_OK):
            raise UsageError(f"{source}: this file cannot be read")
