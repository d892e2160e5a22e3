# SPDX-License-Identifier: Apache-2.0
"""The passes over one source: the device's code, the host's code, and the registration of the first with the second."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fpgart.icpx.command_line import DEPENDENCIES, DIVISION, CommandLine
from fpgart.icpx.device_compilers import BITCODE, DeviceCompiler
from fpgart.icpx.errors import IcpxError, PassFailed
from fpgart.icpx.images import DeviceImage
from fpgart.icpx.pieces import INSTALL, OWN_HEADERS, SYCL_RUNTIME, SYCL_VERSION, SyclRuntime
from fpgart.icpx.programs import run
from fpgart.icpx.registration import registration_of
from fpgart.icpx.specialization import with_constants

EMULATOR_CLOCK = Path(__file__).with_name("emulator_clock.c")
LANGUAGE = ("-x", "c++")
OF_PROPERTIES = re.compile(r"get_spec_constant_symbolic_ID_impl<|__sycl_(?:device_global|host_pipe)_registration::")
"""Parts of the footer of sources with specialization constants, device globals or host pipes."""
UNDEFINED = "warning: Undefined function "
HEADER = "integration.h"
FOOTER = "integration_footer.h"
UNNAMED = "KernelInfoData<"
"""Part of the header of a source whose kernels have no names of their own."""
OTHER_SIZE = "Unexpected kernel lambda size"
ATTRIBUTE_ARGUMENTS = "fpgart/attribute_arguments.hpp"
ERROR = re.compile(r"^(.*?:\d+):\d+: (?:fatal )?error: ", re.MULTILINE)
REQUESTED_BY = re.compile(r"^(.*?:\d+):\d+: note: in instantiation of .* requested here$", re.MULTILINE)


@dataclass(frozen=True)
class Tools:
    runtime: SyclRuntime
    device: DeviceCompiler
    host: Path
    ac_types: Path | None
    copies: Path
    """The folder of headers that replace the runtime's own."""

    @property
    def headers(self) -> list[str]:
        """The options for the folders that both compilers search behind the program's own."""
        folders = [OWN_HEADERS, self.copies, *([self.ac_types] if self.ac_types is not None else [])]
        return [word for folder in folders for word in ("-isystem", str(folder))]


@dataclass(frozen=True)
class Source:
    """A source, and the private folder for the output."""

    path: Path
    folder: Path

    @property
    def beside(self) -> list[str]:
        """The options by which `#include "..."` finds files beside the source."""
        return ["-iquote", str(self.path.parent)]

    @property
    def header(self) -> Path:
        return self.folder / HEADER

    @property
    def footer(self) -> Path:
        return self.folder / FOOTER

    @property
    def dependencies(self) -> Path:
        return self.folder / "host.d"


def both_passes(source: Source, asked: CommandLine, tools: Tools) -> tuple[Path, Path]:
    """Returns the bitcode of a source's kernels and functions, and the object of its host's code.

    The device compiler captures constants that attributes name. If that changes a kernel's size against the host's, a
    second device pass avoids it.
    """
    bitcode = device_pass(source, asked, tools)
    try:
        return bitcode, host_pass(source, asked, tools)
    except PassFailed as failed:
        if OTHER_SIZE not in str(failed):
            raise
    bitcode = device_pass(source, asked, tools, "-include", ATTRIBUTE_ARGUMENTS)
    try:
        return bitcode, host_pass(source, asked, tools)
    except PassFailed as failed:
        raise explained(failed, source) from None


def device_pass(source: Source, asked: CommandLine, tools: Tools, *more: str) -> Path:
    """Compiles the source's device code, and the headers for its host pass; returns the first as bitcode.

    The compiler's log is printed, except for functions without a body, which another source may define.
    """
    words = [
        *asked.common, *source.beside, *tools.headers, *asked.device, *LANGUAGE,
        "-include", "sycl/__spirv/spirv_ops.hpp", *more,
        "-fcomplex-arithmetic=improved",  # without functions of a library that engines do not have
        "-Xclang", f"-fsycl-int-header={source.header}",
        "-Xclang", f"-fsycl-int-footer={source.footer}",
    ]  # fmt: skip
    try:
        said = tools.device.compile(source.path, source.folder, words, asked.verbose)
    except PassFailed as failed:
        if not ERROR.search(str(failed)):  # the device of the documented extension refuses the kernels
            refuse_undescribed(source, tools)
        raise
    sys.stderr.writelines(line for line in said if UNDEFINED not in line)
    refuse_undescribed(source, tools)
    return source.folder / BITCODE


def refuse_undescribed(source: Source, tools: Tools) -> None:
    """Raises IcpxError for a source that needs properties of images, if the device compiler does not tell them."""
    footer = source.footer.read_text(errors="replace") if source.footer.exists() else ""
    if not tools.device.has_properties and OF_PROPERTIES.search(footer):
        raise IcpxError(
            f"{source.path}: the documented interface of {SYCL_RUNTIME} {tools.runtime.version} does not describe "
            f"specialization constants, device globals and host pipes; {SYCL_VERSION} works with them: {INSTALL}"
        )


def link_pass(bitcodes: Sequence[Path], folder: Path, asked: CommandLine, tools: Tools) -> list[DeviceImage]:
    """Links device code of several sources, and returns its images: one, unless the command line has it divided."""
    empty, made = folder / "device.cpp", folder / "linked"
    empty.touch()
    made.mkdir()
    inputs = [word for path in bitcodes for word in ("-Xclang", "-mlink-bitcode-file", "-Xclang", str(path))]
    once = ["-Xclang", "-disable-llvm-passes"]  # the code was optimised in each source's own pass
    words = [f"{DIVISION}={asked.division}", *asked.device, *inputs, *once]
    said, images = tools.device.link(empty, made, words, asked.verbose)
    sys.stderr.writelines(said)
    return [with_constants(image) for image in images]


def host_pass(source: Source, asked: CommandLine, tools: Tools) -> Path:
    """Returns the host's code: an object, or what else the command line asks for.

    Its warnings are those of the device pass, which has read the same text.
    """
    text = source.path
    if source.footer.exists() and source.footer.stat().st_size:
        text = source.folder / "host.cpp"
        text.write_bytes(b"".join(include(file) for file in (source.path, source.footer)))
    unnamed = UNNAMED in source.header.read_text(errors="replace")
    more = ["-include", str(source.header)]
    more += ["-Xclang", "-fsycl-is-host", "-D__SYCL_UNNAMED_LAMBDA__=1"] if unnamed else []
    return run_host_compiler(source, text, more, asked, tools)


def include(file: Path) -> bytes:
    """Returns the line that includes a file, whose path may contain quotes."""
    path = os.fsencode(file)
    return b"#include <%s>\n" % path if b'"' in path else b'#include "%s"\n' % path


def run_host_compiler(source: Source, text: Path, more: Sequence[str], asked: CommandLine, tools: Tools) -> Path:
    """Compiles a text as a source's code for the host, up to where the command line ends; returns the output."""
    made = source.folder / "host.o"
    standard = [] if any(word.startswith("-std=") for word in asked.common) else ["-std=c++17"]
    said = run(
        [
            str(tools.host), *standard, *asked.common, *source.beside, *more,
            *tools.headers, "-isystem", str(tools.runtime.headers),
            *(["-O2"] if not any(word.startswith("-O") for word in asked.host) else []),
            *asked.host, *asked.dependency_options(source.path, source.dependencies),
            "-w", asked.end or "-c", *LANGUAGE, str(text), "-o", str(made),
        ],
        asked.verbose,
    )  # fmt: skip
    if asked.verbose:
        sys.stderr.write(said)  # CMake looks for the folders of headers here
    for file in (made,) if asked.end in DEPENDENCIES else (source.dependencies,):
        if file.exists():
            forget_temporary(file, tools.copies.parent)
    return made


def explained(failed: PassFailed, source: Source) -> PassFailed:
    """Returns the host compiler's error; for a kernel of another size, with its line and the remedy."""
    words = str(failed)
    if OTHER_SIZE not in words:
        return failed
    at = words.index(OTHER_SIZE)
    begin = next((found for found in reversed(list(ERROR.finditer(words, 0, at)))), None)
    lines = [found[1] for found in REQUESTED_BY.finditer(words, at)]
    own = next((line for line in lines if "/sycl/" not in line), begin[1] if begin else str(source.path))
    return PassFailed(
        f"{own}: error: the host compiler and the device compiler lay the captures of this kernel out differently; "
        "cure: declare the constants that it uses `static constexpr`, or use a named function object as kernel\n"
    )


def forget_temporary(dependencies: Path, folder: Path) -> None:
    """Removes the files of the private folder from make's dependencies: they do not exist when make runs."""
    text = dependencies.read_text(errors="surrogateescape")
    written = re.sub(r"([ #])", r"\\\1", str(folder)).replace("$", "$$")
    kept = re.sub(rf"(?:\\\n)?[ \t]*{re.escape(written)}/[^\s:]*(?::[ \t]*(?=\n|$))?", "", text)
    dependencies.write_text(kept, errors="surrogateescape")


def clock_pass(folder: Path, asked: CommandLine, tools: Tools) -> Path:
    """Returns the object with the clock that Intel's emulator lacks."""
    made = folder / "emulator_clock.o"
    run([str(tools.host), "-x", "c", "-fPIC", "-O1", "-c", str(EMULATOR_CLOCK), "-o", str(made)], asked.verbose)
    return made


def registration_pass(images: Sequence[DeviceImage], folder: Path, asked: CommandLine, tools: Tools) -> Path:
    """Returns the object that contains the images, and registers them."""
    source, made = folder / "registration.c", folder / "registration.o"
    source.write_text(registration_of(images))
    run([str(tools.host), "-x", "c", "-fPIC", "-O1", "-c", str(source), "-o", str(made)], asked.verbose)
    return made
