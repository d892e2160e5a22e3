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

SOURCES = (".cpp", ".cc", ".cxx", ".c++", ".C", ".cp", ".CPP", ".CXX", ".c")
MOST_FILES = 100
"""The most response files that may name each other; more count as a circle."""


class Wanted(enum.Enum):
    PROGRAM = enum.auto()
    OBJECTS = enum.auto()
    ASSEMBLY = enum.auto()
    """Of the host's code."""
    NOTHING = enum.auto()
    """Only errors and warnings."""
    TEXT = enum.auto()
    """The output of the host's preprocessor, or make's dependencies."""
    EARLY_IMAGE = enum.auto()
    """A static library for a later link, and the report."""
    IMAGE = enum.auto()
    """The same without the report."""


ENDS = {"-MM": Wanted.TEXT, "-M": Wanted.TEXT, "-E": Wanted.TEXT,
        "-fsyntax-only": Wanted.NOTHING, "-S": Wanted.ASSEMBLY, "-c": Wanted.OBJECTS}  # fmt: skip
"""The options that end the compilation before the link, the earliest end first."""
ENDINGS = {Wanted.OBJECTS: ".o", Wanted.ASSEMBLY: ".s"}
"""The endings of outputs, of which there is one for each source."""


@dataclass
class CommandLine:
    wanted: Wanted = Wanted.PROGRAM
    end: str = ""
    """The first option of ENDS that was given."""
    language: str = ""
    """The language of the inputs that follow (-x); empty if their names tell it."""
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
    division: str = "off"
    """The division of kernels into device images: none, as on a board, so that they share pipes and variables."""
    dependencies: Path | None = None
    """The file of make's dependencies (-MF)."""
    verbose: bool = False

    def output_of(self, source: Path) -> Path:
        return self.output or Path(source.stem + ENDINGS[self.wanted])

    def dependencies_of(self, source: Path) -> Path | None:
        """Returns the file of make's dependencies for a source; None if there is none."""
        if self.dependencies is not None or not DEPENDENCIES_TOO.intersection(self.host):
            return self.dependencies
        return self.output.with_suffix(".d") if self.output and len(self.sources) == 1 else Path(source.stem + ".d")

    def dependency_options(self, source: Path, file: Path) -> list[str]:
        """Returns options that write make's dependencies into a file, with the output as their target."""
        if self.end not in DEPENDENCIES and not DEPENDENCIES_TOO.intersection(self.host):
            return []
        words = ["-MF", str(file)] if self.dependencies_of(source) is not None else []
        if not {"-MT", "-MQ"}.intersection(self.host):
            output = self.output if self.output and self.end not in DEPENDENCIES else source.stem + ".o"
            words += ["-MQ", str(output)]
        return words


DEPENDENCIES = ("-M", "-MM")
DEPENDENCIES_TOO = {"-MD", "-MMD"}
BOTH_NEXT = ("-I", "-D", "-U", "-isystem", "-iquote", "-include", "-idirafter")
HOST_NEXT = ("-MT", "-MQ", "-Xclang", "-mllvm", "-arch", "-target", "--param")
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
                  "-qopt-report", "-qoverride-limits", "-ax", "-ipo", "-flto", "-static-intel", "-shared-intel",
                  "-x")  # fmt: skip
LANGUAGE = ("-xc", "-xnone")
"""The first letters of options for the language; -xHost and others with a capital letter name processors."""
DIVISION = "-fsycl-device-code-split"
DIVISIONS = {"per_kernel": "per_kernel", "per_source": "per_source", "off": "off", "auto": "off"}
"""The values of that option: Intel's, and those of the device compiler."""
OF_BACKENDS = ("-Xsycl-target-backend", "-Xsycl-target-frontend", "-Xsycl-target-linker")
FOR_SYCL = ("-fsycl", "-fno-sycl", FOR_FPGAS, "-Xs", "-qactypes", "-Qactypes", "-reuse-exe=")
"""Options that clang++ does not know."""
QUERIES = ("-###", "-dump", "-print-", "--print-")
"""Questions about the host's compiler, which need no source."""
FP_MODELS = {"precise": "-ffp-model=precise", "fast": "-ffp-model=fast", "strict": "-ffp-model=strict"}
TARGETS_HERE = ("spir64", "spir64-unknown-unknown", "spir64_fpga", "spir64_fpga-unknown-unknown")
INSTEAD = "without this option, icpx makes a program for the emulator and the boards of fpgart"
BOARD_FLAGS = ("-Xshardware", "-Xssimulation")


def is_query(words: Iterable[str]) -> bool:
    """True if the words ask for facts of the host's compiler, as CMake, libtool and others do."""
    given = list(words)
    return any(word.startswith(QUERIES) for word in given) or (
        "-v" in given and all(word.startswith("-") for word in given)
    )


def of_host(words: Iterable[str]) -> list[str]:
    """Returns the words without those that are for device code."""
    return [word for word in words if not word.startswith(FOR_SYCL)]


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
    made.wanted = ENDS.get(made.end, made.wanted)
    _check(made)
    return made


def _value(word: str, name: str, rest: deque[str]) -> str:
    """Returns an option's value, from its own word or the next one."""
    if len(word) > len(name):
        return word[len(name) :]
    if not rest:
        raise UsageError(f"{word} needs a value")
    return rest.popleft()


def _read(made: CommandLine, word: str, rest: deque[str]) -> None:
    if word == "-":
        raise UsageError("-: sources with kernels are read from files only, not from standard input")
    if not word.startswith("-"):
        if made.language or word.endswith(SOURCES):
            made.sources.append(Path(word))
        else:
            made.inputs.append(word)
    elif word in ENDS:
        made.end = next(end for end in ENDS if end in (word, made.end))
    elif word == "-x" or word.startswith(LANGUAGE):
        _language(made, _value(word, "-x", rest))
    elif word == "-o" or (word.startswith("-o") and not word.startswith("-openmp")):
        made.output = Path(_value(word, "-o", rest))
    elif word.startswith("-Xs"):
        _hardware(made, word, rest)
    elif word.startswith("-fsycl-link"):
        _link(made, word)
    elif word.startswith("-fsycl-host-compiler="):
        made.host_compiler = word.partition("=")[2]
    elif word.startswith(("-fp-model", "-fp:")):
        _fp_model(made, word, rest)
    elif word in ("-v", "--verbose"):
        made.verbose = True
        made.host.append("-v")
    else:
        _read_other(made, word, rest)


def _read_other(made: CommandLine, word: str, rest: deque[str]) -> None:
    """Reads options that are passed to a compiler or the linker, or have no effect here."""
    if word.startswith("-fsycl-targets="):
        _targets(word)
    elif word == FOR_FPGAS:
        made.common.append(ONE_KERNEL)
    elif word.startswith(DIVISION):
        _division(made, word)
    elif word.startswith(WITHOUT_EFFECT):
        return
    elif name := next((name for name in BOTH_NEXT if word.startswith(name)), ""):
        made.common += [name, _value(word, name, rest)]
    elif word.startswith("-MF"):
        made.dependencies = Path(_value(word, "-MF", rest))
    elif word in HOST_NEXT:
        made.host += [word, _value(word, word, rest)]
    elif name := next((name for name in LINKER_NEXT if word.startswith(name)), ""):
        made.inputs += [name, _value(word, name, rest)] if word == name else [word]
    elif word.startswith(LINKER):
        made.inputs.append(word)
    elif word.startswith(BOTH):
        made.common.append(word)
    else:
        if word.startswith("-W") and not word.startswith(("-Wp,", "-Wa,")):
            made.device.append(word)
        made.host.append(word)


def _language(made: CommandLine, name: str) -> None:
    if name not in ("c++", "none"):
        raise UsageError(f"-x {name}: with -fsycl, icpx compiles c++ only; compile this source without -fsycl")
    made.language = name if name != "none" else ""


def _link(made: CommandLine, word: str) -> None:
    kinds = {"": Wanted.EARLY_IMAGE, "early": Wanted.EARLY_IMAGE, "image": Wanted.IMAGE}
    kind = word.removeprefix("-fsycl-link").removeprefix("=")
    if kind not in kinds:
        raise UsageError(f"{word}: not one of early, image")
    made.wanted = kinds[kind]


def _division(made: CommandLine, word: str) -> None:
    value = word.removeprefix(DIVISION).removeprefix("=") if word != DIVISION else "auto"
    if value not in DIVISIONS:
        raise UsageError(f"{word}: not one of {', '.join(DIVISIONS)}")
    made.division = DIVISIONS[value]


def _hardware(made: CommandLine, word: str, rest: deque[str]) -> None:
    """Reads -Xs<option>, -Xs <option> and -Xsycl-target-backend <option>."""
    if word != "-Xs" and not word.startswith(OF_BACKENDS):
        made.hardware.append(word)
        return
    if not rest:
        raise UsageError(f"{word} needs a value")
    value = rest.popleft()
    made.hardware += ["-Xs" + each.removeprefix("-").removeprefix("Xs") for each in value.split()]


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
        if word in BOARD_FLAGS and made.wanted in (Wanted.PROGRAM, Wanted.IMAGE):
            raise UsageError(f"{word} makes hardware or its simulation, which needs Intel's compiler; {INSTEAD}")
    if "-emit-llvm" in made.host:
        raise UsageError("-emit-llvm: icpx makes objects with code for the host and devices only")
    if not (made.sources or made.inputs):
        raise UsageError("no input files")
    _check_files(made)


def _check_files(made: CommandLine) -> None:
    output = made.output
    if output is not None:
        if made.end and made.wanted is not Wanted.NOTHING and len(made.sources) > 1:
            raise UsageError(f"-o {output} is one file, but {made.end} makes {len(made.sources)}, one for each source")
        if output.is_dir() or not output.parent.is_dir():
            why = "this is a folder" if output.is_dir() else f"there is no folder {output.parent}"
            raise UsageError(f"-o {output}: {why}")
    for source in made.sources:
        if not source.is_file():
            raise UsageError(f"{source}: {'this is a folder' if source.is_dir() else 'no such file'}")
        if not os.access(source, os.R_OK):
            raise UsageError(f"{source}: this file cannot be read")
        if output is not None and output.exists() and output.samefile(source):
            raise UsageError(f"-o {output}: the output would replace this source")
