# SPDX-License-Identifier: Apache-2.0
"""`icpx`: compiles and links the sources of a command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fpgart.icpx.command_line import CommandLine, Wanted
from fpgart.icpx.device_sections import add_section, bitcodes_of, remove_section
from fpgart.icpx.errors import IcpxError
from fpgart.icpx.headers import write_headers
from fpgart.icpx.images import DeviceImage
from fpgart.icpx.passes import Source, Tools, both_passes, clock_pass, link_pass, registration_pass, run
from fpgart.icpx.pieces import ac_types, host_compiler, sycl_runtime
from fpgart.icpx.private_folder import private_folder

SAMPLE = """\
#include <sycl/sycl.hpp>
int main() {
  sycl::queue().single_task<class Sample>([] {});
}
"""


def find_tools(folder: Path, asked: str = "") -> Tools:
    """Returns the tools; `asked` names a compiler for the host, `folder` is private. Raises IcpxError."""
    runtime = sycl_runtime()
    ac = ac_types()
    return Tools(runtime, host_compiler(asked), ac, write_headers(runtime, ac, folder))


def compile_sample() -> Tools:
    """Checks that the compilers work together; returns them. Raises IcpxError, PassFailed, OSError."""
    with private_folder() as folder:
        tools = find_tools(folder)
        path = folder / "sample.cpp"
        path.write_text(SAMPLE)
        compile_source(Source(path, folder), CommandLine(), tools)
        return tools


def compile_all(asked: CommandLine) -> list[bytes]:
    """Writes the output, and removes all temporary files; returns the SPIR-V of an early image, else none.

    Raises IcpxError, PassFailed or OSError.
    """
    with private_folder() as folder:
        tools = find_tools(folder, asked.host_compiler)
        objects = []
        for number, path in enumerate(asked.sources):
            place = folder / str(number)
            place.mkdir()
            objects.append(compile_source(Source(path.absolute(), place), asked, tools))
            if asked.wanted is Wanted.OBJECTS:
                write_output(objects[-1], asked.output or Path(path.stem + ".o"))
        if asked.wanted is Wanted.PROGRAM:
            link_program([*objects, clock_pass(folder, asked, tools)], folder, asked, tools)
        elif asked.wanted is Wanted.EARLY_IMAGE:
            return early_image(objects, folder, asked, tools)
        return []


def write_output(made: Path, output: Path) -> None:
    """Copies a file to the output; a disk that is full leaves none. Raises IcpxError, or OSError if it cannot begin."""
    data = made.read_bytes()
    with output.open("wb", buffering=0) as file:
        try:
            while data:
                data = data[file.write(data) :]
        except OSError as error:
            if output.is_file():
                output.unlink()
            raise IcpxError(f"{output}: {error.strerror}") from None


def compile_source(source: Source, asked: CommandLine, tools: Tools) -> Path:
    """Returns the object of a source: the host's code, and a section with the device's code."""
    device, host = both_passes(source, asked, tools)
    return add_section(host, device, asked.verbose)


def link_program(objects: Sequence[Path], folder: Path, asked: CommandLine, tools: Tools) -> None:
    """Links the program.

    Only the linker knows which members of static libraries belong to a program, so a program with kernels is linked
    twice: the first time for the device's code, the second time with the images that are made of that code.
    """
    linked = folder / "program"
    said = link(objects, linked, asked, tools)
    images = device_link(linked, folder, asked, tools)
    if images:
        said = link([*objects, registration_pass(images, folder, asked, tools)], linked, asked, tools)
    sys.stderr.write(said)
    remove_section(linked, asked.output or Path("a.out"), asked.verbose)


def device_link(linked: Path, folder: Path, asked: CommandLine, tools: Tools) -> list[DeviceImage]:
    """Returns the images of a file's device code, which is that of all its sources."""
    codes = []
    for number, bitcode in enumerate(bitcodes_of(linked)):
        codes.append(folder / f"{number}.bc")
        codes[-1].write_bytes(bitcode)
    return link_pass(codes, folder, asked, tools) if codes else []


def early_image(objects: Sequence[Path], folder: Path, asked: CommandLine, tools: Tools) -> list[bytes]:
    """Writes a static library of the host's and the device's code; returns the device's as SPIR-V."""
    merged = folder / "early.o"
    files = [word for word in asked.inputs if not word.startswith("-")]
    run(["ld", "-r", *map(str, objects), *files, "-o", str(merged)], asked.verbose)
    images = device_link(merged, folder, asked, tools)
    if not images:
        raise IcpxError("-fsycl-link=early: there is no kernel in the sources and objects")
    output = asked.output or Path("a.a")
    output.unlink(missing_ok=True)
    run(["ar", "rcs", str(output), str(merged)], asked.verbose)
    return [image.code.read_bytes() for image in images]


def link(objects: Sequence[Path], output: Path, asked: CommandLine, tools: Tools) -> str:
    """Links a file; returns the linker's warnings."""
    libraries = str(tools.runtime.libraries)
    return run(
        [
            str(tools.host), *asked.host, *map(str, objects), *asked.inputs,
            f"-L{libraries}", "-lsycl", f"-Wl,-rpath,{libraries}", "-pthread", "-ldl",
            "-o", str(output),
        ],
        asked.verbose,
    )  # fmt: skip


def become_host_compiler(words: list[str]) -> None:
    """Replaces this process by clang++, for sources without device code."""
    compiler = host_compiler()
    left = [word for word in words if not word.lower().startswith(("-qactypes", "-fno-sycl", "-fsycl-host-compiler="))]
    os.execv(compiler, [str(compiler), *left])
