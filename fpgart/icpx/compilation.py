# SPDX-License-Identifier: Apache-2.0
"""`icpx`: compiles and links the sources of a command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fpgart.icpx.command_line import DIVISION, ENDINGS, CommandLine, Wanted, of_host
from fpgart.icpx.device_compilers import device_compiler
from fpgart.icpx.device_sections import add_section, bitcodes_of, remove_section
from fpgart.icpx.errors import IcpxError
from fpgart.icpx.headers import write_headers
from fpgart.icpx.images import DeviceImage
from fpgart.icpx.outputs import write_output
from fpgart.icpx.passes import Source, Tools, both_passes, clock_pass, link_pass, registration_pass, run_host_compiler
from fpgart.icpx.pieces import ac_types, host_compiler, sycl_runtime
from fpgart.icpx.private_folder import private_folder
from fpgart.icpx.programs import run
from fpgart.kernels.cpp_names import MANGLED, kernel_name
from fpgart.kernels.fpga_spirv import pipes
from fpgart.kernels.spirv import Module
from fpgart.kernels.spirv_kernels import imports

SAMPLE = """\
#include <sycl/sycl.hpp>
int main() {
  sycl::queue().single_task<class Sample>([] {});
}
"""
ANONYMOUS = "_GLOBAL__N_"
OF_ENGINES = "__"
"""Part of the names of C++ functions that engines provide."""


def find_tools(folder: Path, asked: str = "", verbose: bool = False) -> Tools:
    """Finds the tools, and writes headers into `folder`, which must be private. Raises IcpxError, PassFailed.

    `asked` names the compiler for the host; "" leaves the choice to this function.
    """
    runtime = sycl_runtime()
    ac, host = ac_types(), host_compiler(asked)
    device = device_compiler(runtime, host, folder, verbose)
    return Tools(runtime, device, host, ac, write_headers(runtime, ac, folder))


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
        tools = find_tools(folder, asked.host_compiler, asked.verbose)
        made = [_compile(path, folder / str(number), asked, tools) for number, path in enumerate(asked.sources)]
        if asked.wanted is Wanted.PROGRAM:
            link_program([*made, clock_pass(folder, asked, tools)], folder, asked, tools)
        elif asked.wanted in (Wanted.EARLY_IMAGE, Wanted.IMAGE):
            return early_image(made, folder, asked, tools)
        return []


def _compile(path: Path, folder: Path, asked: CommandLine, tools: Tools) -> Path:
    """Compiles a source in a new folder, and writes the output if there is one for each source."""
    folder.mkdir()
    source = Source(path.absolute(), folder)
    if asked.wanted is Wanted.TEXT:
        made = run_host_compiler(source, source.path, [], asked, tools)
    elif asked.wanted is Wanted.ASSEMBLY or asked.wanted is Wanted.NOTHING:
        made = both_passes(source, asked, tools)[1]
    else:
        made = compile_source(source, asked, tools)
    if asked.wanted in ENDINGS or (asked.wanted is Wanted.TEXT and asked.output):
        write_output(made, asked.output_of(path))
    elif asked.wanted is Wanted.TEXT and made.exists():
        sys.stdout.buffer.write(made.read_bytes())
    if (dependencies := asked.dependencies_of(path)) is not None:
        write_output(source.dependencies, dependencies)
    return made


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
    warn_of_undefined(images)
    if images:
        said = link([*objects, registration_pass(images, folder, asked, tools)], linked, asked, tools)
    sys.stderr.write(said)
    program = folder / "without_section"
    remove_section(linked, program, asked.verbose)
    write_output(program, asked.output or Path("a.out"))


def device_link(linked: Path, folder: Path, asked: CommandLine, tools: Tools) -> list[DeviceImage]:
    """Returns the images of a file's device code, which is that of all its sources."""
    codes = []
    for number, bitcode in enumerate(bitcodes_of(linked)):
        codes.append(folder / f"{number}.bc")
        codes[-1].write_bytes(bitcode)
    images = link_pass(codes, folder, asked, tools) if codes else []
    check_pipes(images)
    return images


def check_pipes(images: Sequence[DeviceImage]) -> None:
    """Raises IcpxError for a pipe of two images: the kernels at its ends would wait for each other without end."""
    if len(images) < 2:
        return
    kernels: dict[str, str] = {}
    for image in images:
        for pipe in pipes(Module(image.code.read_bytes())):
            if ANONYMOUS in pipe.name or not pipe.kernels:
                continue  # a name that two sources may have for two pipes, or the pipe of no kernel
            if pipe.name in kernels:
                ends = f"{kernel_name(kernels[pipe.name])} and {kernel_name(pipe.kernels[0])}"
                raise IcpxError(f"kernels of two device images, {ends}, share a pipe: link without {DIVISION}")
            kernels[pipe.name] = pipe.kernels[0]


def warn_of_undefined(images: Sequence[DeviceImage]) -> None:
    """Names C++ functions that no source defines on stderr; the emulator finds those of the C library itself."""
    named = {name for image in images for name in imports(Module(image.code.read_bytes()))}
    names = {name for name in named if name.startswith(MANGLED) and OF_ENGINES not in name}
    for name in sorted(names):
        what = f"no source defines {kernel_name(name)} for devices (SYCL_EXTERNAL), which a kernel calls"
        print(f"icpx: warning: {what}: such a program cannot start its kernels", file=sys.stderr)


def early_image(objects: Sequence[Path], folder: Path, asked: CommandLine, tools: Tools) -> list[bytes]:
    """Writes a static library of the host's and the device's code; returns the device's as SPIR-V."""
    merged = folder / "early.o"
    words = [*map(str, objects), *asked.inputs]
    if all(word.endswith(".a") for word in words):
        words = ["-Wl,--whole-archive", *words]  # nothing else would ask for what they contain
    run([str(tools.host), "-r", "-nostdlib", *words, "-o", str(merged)], asked.verbose)
    images = device_link(merged, folder, asked, tools)
    if not images:
        raise IcpxError("-fsycl-link: there is no kernel in the sources and objects")
    library = folder / "early.a"
    run(["ar", "rcs", str(library), str(merged)], asked.verbose)
    write_output(library, asked.output or Path("a.a"))
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
    os.execv(compiler, [str(compiler), *of_host(words)])
