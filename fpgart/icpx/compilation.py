# SPDX-License-Identifier: Apache-2.0
"""`icpx`: compiles and links the sources of a command line."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from fpgart.icpx.command_line import CommandLine, Wanted
from fpgart.icpx.headers import write_headers
from fpgart.icpx.passes import Source, Tools, both_passes, clock_pass, registration_pass, run
from fpgart.icpx.pieces import ac_types, host_compiler, sycl_runtime

SAMPLE = """\
#include <sycl/sycl.hpp>
int main() {
  sycl::queue().single_task<class Sample>([] {});
}
"""


def find_tools(folder: Path, asked: str = "") -> Tools:
    """Returns the tools; `asked` names a compiler for the host, `folder` is private. Raises IcpxError."""
    runtime = sycl_runtime()
    return Tools(runtime, host_compiler(asked), ac_types(), write_headers(runtime, folder))


def compile_sample() -> Tools:
    """Checks that the compilers work together; returns them. Raises IcpxError, PassFailed, OSError."""
    with tempfile.TemporaryDirectory(prefix="icpx-") as folder:
        tools = find_tools(Path(folder))
        path = Path(folder) / "sample.cpp"
        path.write_text(SAMPLE)
        compile_source(Source(path, Path(folder)), CommandLine(), tools)
        return tools


def compile_all(asked: CommandLine) -> None:
    """Writes the output, and removes all temporary files. Raises IcpxError, PassFailed or OSError."""
    with tempfile.TemporaryDirectory(prefix="icpx-") as folder:
        tools = find_tools(Path(folder), asked.host_compiler)
        objects = []
        for number, path in enumerate(asked.sources):
            place = Path(folder) / str(number)
            place.mkdir()
            made = compile_source(Source(path.absolute(), place), asked, tools)
            if asked.wanted is Wanted.OBJECTS:
                merge(made, asked.output or Path(path.stem + ".o"), asked)
            objects += made
        if asked.wanted is Wanted.PROGRAM:
            link([*objects, clock_pass(Path(folder), asked, tools)], asked, tools)


def compile_source(source: Source, asked: CommandLine, tools: Tools) -> list[Path]:
    """Returns the objects of a source: the host's code and, if it has kernels, their registration."""
    images, host = both_passes(source, asked, tools)
    objects = [host]
    if images:
        objects.append(registration_pass(images, source.folder, asked, tools))
    return objects


def merge(objects: list[Path], output: Path, asked: CommandLine) -> None:
    """Merges several objects into one."""
    run(["ld", "-r", *map(str, objects), "-o", str(output)], asked.verbose)


def link(objects: list[Path], asked: CommandLine, tools: Tools) -> None:
    """Links the program."""
    libraries = str(tools.runtime.libraries)
    said = run(
        [
            str(tools.host), *asked.host, *map(str, objects), *asked.inputs,
            f"-L{libraries}", "-lsycl", f"-Wl,-rpath,{libraries}", "-pthread", "-ldl",
            "-o", str(asked.output or Path("a.out")),
        ],
        asked.verbose,
    )  # fmt: skip
    sys.stderr.write(said)


def become_host_compiler(words: list[str]) -> None:
    """Replaces this process by clang++, for sources without device code."""
    compiler = host_compiler()
    left = [word for word in words if not word.lower().startswith(("-qactypes", "-fno-sycl", "-fsycl-host-compiler="))]
    os.execv(compiler, [str(compiler), *left])
