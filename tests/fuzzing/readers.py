"""Everything that reads what somebody else may have made: good inputs, the words of the grammar, and the refusals."""

from __future__ import annotations

import functools
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from struct import pack

from fpgart.aocx import container as sections
from fpgart.aocx.autodiscovery import format as written
from fpgart.aocx.autodiscovery import parse as parse_autodiscovery
from fpgart.aocx.binary import LENGTH, SIGNATURE, ProgramBinary
from fpgart.aocx.checks import check
from fpgart.aocx.compiler import Options, memories_of
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.interfaces import interfaces_of
from fpgart.aocx.libraries import archive, models_of
from fpgart.aocx.steps import Step, object_of, unit_of
from fpgart.aocx.system import AddressSpace, Argument, Autodiscovery, Category, DescribedKernel, PrintfFormat
from fpgart.aocx.units import Unit, given_headers
from fpgart.base import config, option_paths
from fpgart.base.errors import CLError
from fpgart.base.input_file import LONGEST_OPTIONS
from fpgart.base.json_input import parse_json
from fpgart.board import fault_rules
from fpgart.board.catalogue import FOLDER, describe
from fpgart.board.keystone import partition
from fpgart.board.xml_elements import BoardSpecError
from fpgart.channels import network
from fpgart.engine.opencl_engine.binary import LOWERED, with_notes, without_notes
from fpgart.kernels import call_graph, file_scope, lowering, opencl_c, polling, spirv
from fpgart.kernels.compiler_options import CompilerOptions
from fpgart.kernels.dialect import Compiler, predefined_macros, translate
from fpgart.kernels.fpga_spirv import kernels_with_pipes, variables_of_host
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, PipeArgument
from fpgart.kernels.loops.access_patterns import patterns
from fpgart.kernels.loops.dependences import broken_promises
from fpgart.kernels.loops.kernel_loops import kernel_loops
from fpgart.kernels.loops.kernel_streams import kernel_streams
from fpgart.kernels.loops.loop_tree import UncountableError
from fpgart.kernels.preprocessing.files import Embedded, Input, Inside
from fpgart.kernels.signs import PreprocessorError
from fpgart.kernels.spirv_facts import read_facts
from fpgart.kernels.spirv_kernels import hardware, imports, interfaces
from fpgart.sdk.aoc_options import UsageError, read_command_line
from fpgart.sdk.board_packages import BoardPackage
from fpgart.watch import report
from fpgart.watch.captured import (
    ArgumentKind,
    CapturedArgument,
    CapturedLaunch,
    CapturedMemory,
    CapturedProgram,
    ProgramKind,
)
from fpgart.watch.debug_info import Module

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = Path(__file__).resolve().parent / "corpus"
BOARD = "hetero"
XML = (b"<board>", b"</board>", b"<a b='c'/>", b"&amp;", b"&#0;", b"&lol;", b"<![CDATA[", b"<!--", b"-->", b"<?xml ?>",
       b"<!DOCTYPE a [<!ENTITY a '&b;&b;'>]>", b"name=", b"size=", b"address=", b"0x")  # fmt: skip
JSON = (b"[", b"]", b"{", b"}", b":", b",", b"null", b"true", b"-0", b"1e400", b'""', b'"a"', b"[]", b"{}", b"\\u0000",
        b"NaN", b"Infinity")  # fmt: skip
OPENCL_C = (
    b"kernel void k(", b"global int *", b"channel int c", b"pipe int p", b"__attribute__((", b"))", b"#",
    b"#define A(x) x ## x", b"#define A A B\n", b"#define B A A\n", b"#if ", b"#else\n", b"#endif\n", b"##", b"\\\n",
    b'#include "x"\n', b"#include_next <y>\n", b"#pragma unroll 3\n", b"__VA_ARGS__", b"/*", b"*/", b"//", b"'", b'"',
    b"?", b":", b"defined(", b"<<", b"/ 0", b"global", b"local int x[2];", b"for (int i = 0; i < 9; i++) ", b"__LINE__",
    b"\n#line 4000000000\n", b"ap_int<3>", b"{", b"}", b";", b"(", b")", b"[", b"]", b",", b"struct s { int a; };",
    b"typedef", b"half",
)  # fmt: skip


LOOPS = (
    b"for (int i = 0; i < n; i++) ", b"while (1) ", b"if (n > 3) ", b"else ", b"switch (n)", b"break;", b"a[i * n + ",
    b"#pragma unroll\n", b"#pragma ii 3\n", b"#pragma ivdep\n", b"__attribute__((opencl_unroll_hint(",
    b"get_global_id(0)", b"get_compute_id(0)", b"write_channel_intel(other, ", b"read_channel_intel(link[",
    b"write_pipe(", b"int m = n + ", b"const int m = 0xffffffffffffffffffff;", b"++", b"&n", b"drain(", b"return;",
    b"kernel void f(int n) {",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reader:
    """`read` may raise what `refusals` names, and nothing else; `words` are of the grammar."""

    read: Callable[[bytes], object]
    corpus: Callable[[], list[bytes]]
    refusals: tuple[type[BaseException], ...]
    words: tuple[bytes, ...] = ()


# Containers


@functools.cache
def real_board() -> Container:
    """Returns a container as a compiler for hardware makes it, as far as hosts read it."""
    pointer = Argument(AddressSpace.GLOBAL, Category.MEMORY, 8, 1024, ("DDR",), name="a", type_name="float4*")
    value = Argument(AddressSpace.NONE, Category.VALUE, 4, 4, name="n", type_name="int")
    scratch = Argument(AddressSpace.LOCAL, Category.MEMORY, 4, 4, (), 1, 1024, name="t", type_name="int*")
    kernels = (
        DescribedKernel("vadd", (pointer, replace(pointer, name="b"), value), work_group_invariant=True),
        DescribedKernel("sum", (scratch, pointer), printf_formats=(PrintfFormat(0, "%d \\ \n"),)),
    )
    system = Autodiscovery("0" * 40, BOARD, memories_of(describe(BOARD)), kernels)
    texts = {
        sections.BOARD: BOARD,
        sections.AUTODISCOVERY: written(system),
        sections.RANDOM_HASH: "0" * 40,
        sections.OPTIONS: "-DX=1",
        sections.BOARD_IMAGE: "what a board understands",
    }
    return Container({name: text.encode() for name, text in texts.items()})


def containers() -> list[bytes]:
    return [real_board().encode(), Container({"a": b"", ".b": b"12"}).encode()]


def read_container(data: bytes) -> None:
    container = Container.decode(data)
    container.identity()
    interfaces_of(container)
    check(container, describe(BOARD))


def autodiscoveries() -> list[bytes]:
    return [real_board()[sections.AUTODISCOVERY]]


def binaries() -> list[bytes]:
    pipe = ArgumentInterface("p", "int", 0, 0, 0, "", PipeArgument("int", True, False, True, 3))
    kernels = [KernelInterface("k", (pipe, ArgumentInterface("x", "int*", 1, 2, 3, "DDR")), "a", (4, 1, 1))]
    made = [
        ProgramBinary("engine 1", 4, "-DA", kernels, listing, {}, {}, b"payload")
        for listing in (None, "kernel void k()")
    ]
    return [binary.encode()[len(SIGNATURE) + 32 :] for binary in made]


def read_binary(body: bytes) -> None:
    """With the checksum that an author would not forget."""
    ProgramBinary.decode(SIGNATURE + sha256(body).digest() + body)


def notes() -> list[bytes]:
    network.table(lowering.TABLE)  # else the first notes that are read decide where it is
    made = lowering.lower((CORPUS / "channels.cl").read_text())
    assert made is not None
    return [with_notes(b"binary", made)[len(LOWERED) :]]


def read_notes(data: bytes) -> None:
    without_notes(LOWERED + data)


def objects() -> list[bytes]:
    """The section of an object that has its files, and the one that says how it was made."""
    texts = {"h.h": "#define A 1\n"}
    among = Embedded(texts, {"a.cl": {'"h.h"': "h.h"}}, given_headers())
    source = Input("a.cl", '#include "h.h"\nkernel void k(void) {}', among, ("B=2",), Inside(among, "a.cl"))
    made = object_of(Unit((source,), (), Options(("-g",), ("-v",), True, ("-lx",))), BOARD, ("DDR",))
    return [made.encode()]


def read_object(data: bytes) -> None:
    container = Container.decode(data)
    unit = unit_of(container, Step.of(container, "file"), "file")
    for each in unit.inputs:
        header = each.headers.find("h.h", each.place)
        if header is not None:
            each.headers.text(header)


def libraries() -> list[bytes]:
    object_ = Container({".a.c_model": b"int f(int a) { return a; }"}).encode()
    specification = b"<RTL_SPEC><FUNCTION name='f'><C_MODEL><FILE name='f.cl'/></C_MODEL></FUNCTION></RTL_SPEC>"
    return [archive({"a.o": object_, "b.cl": b"int g(void);"}), specification, archive({"x.xml": specification})]


def read_library(data: bytes) -> None:
    with file_of(data, "library.a") as path:
        path.with_name("f.cl").write_text("int f(int a) { return a; }")
        models_of(path)


# Boards


def boards() -> list[bytes]:
    return [file.read_bytes() for file in sorted(Path(FOLDER).glob("*.xml"))]


def read_board(data: bytes) -> None:
    with file_of(data, "board_spec.xml") as path:
        describe(str(path)).memory_system()


def partitions() -> list[bytes]:
    return [file.read_bytes() for file in sorted(partition.FOLDER.glob("*.xml"))]


def read_partition(data: bytes) -> None:
    partition.parse(data, "file").description().memory_system()


def read_package(data: bytes) -> None:
    with file_of(data, "board_env.xml") as path:
        spec = path.parent / "hardware" / "b" / "board_spec.xml"
        spec.parent.mkdir(parents=True, exist_ok=True)
        spec.touch()
        BoardPackage.read(path.parent)


# Programs


def sources() -> list[bytes]:
    return [file.read_bytes() for file in sorted((CORPUS / "channels.cl", *ROOT.glob("examples/*/**/*.cl")))]


def macros(options: str) -> dict[str, str]:
    return predefined_macros("OpenCL 3.0", "cl_khr_fp64 cl_khr_fp16", options)


def read_source(data: bytes) -> None:
    source = data.decode(errors="surrogateescape")
    for everything in (False, True):
        translate(source, "-DN=3", {}, Compiler(macros, lowering.TABLE, half=False), everything=everything)


def read_declarations(data: bytes) -> None:
    source = data.decode(errors="surrogateescape")
    opencl_c.buffer_locations(source, "-DN=3")
    opencl_c.kernel_attributes(source, "-DN=3")
    opencl_c.attribute_words(source, "-DN=3")
    opencl_c.argument_uses(source)
    call_graph.CallGraph(source).names_used("drain")
    polling.Polling(f"volatile int again;\n{source}", "").may_include("drain")
    file_scope.without_clashes([source.split("\n"), source.split("\n")])


def looping_sources() -> list[bytes]:
    """The sources without what only an engine's headers have, so that the preprocessor can read them by itself."""
    return [re.sub(rb"(?m)^#include.*$", b"", data) for data in sources()]


def read_loops(data: bytes) -> None:
    """As the model of time and the checks do for a program and a launch of each of its kernels."""
    source = data.decode(errors="surrogateescape")
    broken_promises(source)
    streams = kernel_streams(source)
    for name, loops in (streams.kernels or kernel_loops(source)).items():
        numbers = dict.fromkeys(loops.parameters, 7)
        loops.cycles(numbers)
        patterns(loops, numbers, 64)
        if name in streams.groups and name not in streams.untold:
            with suppress(UncountableError):
                streams.process(name, numbers, 4, 3, Fraction(5, 4))
                if name in streams.autorun:
                    list(streams.running(name, 3))


def modules() -> list[bytes]:
    sys.path.insert(0, str(ROOT / "conformance"))
    from spirv_module import scale_and_add  # type: ignore[import-not-found]

    made: bytes = scale_and_add()
    return [made]


def read_il(data: bytes) -> None:
    """As the driver, its emulator and reports do for a program."""
    module = spirv.Module(data)
    interfaces(module), hardware(module), imports(module)
    kernels_with_pipes(module), variables_of_host(module)
    read_facts(module)


def read_options(data: bytes) -> None:
    text = data.decode(errors="surrogateescape")[:LONGEST_OPTIONS]  # the API refuses longer ones
    translate("kernel void k(global int *x) {}", text, {}, Compiler(macros, None, half=True))
    CompilerOptions.read(text)
    opencl_c.buffer_locations("kernel void k(global int *x) {}", text)
    call_graph.CallGraph("kernel void k(global int *x) {}", text).names_used("k")


def command_lines() -> list[bytes]:
    return [
        b"-board=hetero\0-DX=1\0-I.\0-march=emulator\0a.cl\0-o\0x.aocx",
        b"-c\0-l\0x\0-Lfolder\0-no-interleaving=default\0--report\0-v",
    ]


def read_words(data: bytes) -> None:
    read_command_line(data.decode(errors="surrogateescape").split("\0"))


# What watches


def traces() -> list[bytes]:
    return [(CORPUS / name).read_bytes() for name in ("fpga.json", "keystone.json")]


def read_trace(data: bytes) -> None:
    with file_of(data, "trace.json") as path, report.of_fpgart(path):
        events = report.ordered(path)
        found = report.of(events)
        report.as_text(found)
        report.as_json(found)
        show_tables(found)


def read_page(data: bytes) -> None:
    from fpgart.watch.page import as_html

    with file_of(data, "trace.json") as path, report.of_fpgart(path):
        events = report.ordered(path)
        as_html(report.of(events), events, "title")


def show_tables(found: report.Report) -> None:
    from rich.console import Console

    from fpgart.cli.tables import show

    show(found, Console(file=io.StringIO()))


def captures() -> list[bytes]:
    launch = CapturedLaunch(
        "k", 1, "hetero", "pocl 3.1", CapturedProgram(ProgramKind.SOURCE, "program.cl", "-DA", "/tmp"),
        [0, 0], [8, 8], [4, 4],
        [CapturedArgument(ArgumentKind.MEMORY, "x", "float4*", 64, 0, 0),
         CapturedArgument(ArgumentKind.VALUE, "n", "int", 4, value="01000000")],
        [CapturedMemory("buffer 1", 64, 0x7F0000000000, True, "0.before.bin", "0.after.bin")], 0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        launch.save(Path(folder))
        return [(Path(folder) / "launch.json").read_bytes()]


def executables() -> list[bytes]:
    return [(CORPUS / "inlined.elf").read_bytes()]


def read_executable(data: bytes) -> None:
    with file_of(data, "library.so") as path:
        module = Module(str(path))
        for address in (0x1119, 0x1130, 0x1141):
            module.places(address)


# Options


def read_variables(data: bytes) -> None:
    """The text as the value of each option."""
    text = data.decode(errors="surrogateescape").replace("\0", "")
    for option in config.OPTIONS.values():
        try:
            option.read(option_paths.absolute(text, option.holds, "/folder"))
        except ValueError:
            continue


VALUES = [b"a10_ref,./x/board_spec.xml", b"1G", b"add:1-3,*:2", b"usm,order", b"0.25", b"+k2h", b"12", b"stderr"]
FAULTS = [
    b"write:fail:nth=3; read,copy:delay=5ms:every=10; kernel:hang:name=vadd:limit=2s; seed=7",
    b"alloc:fail:total=64M:device=1; read:ecc=correctable:fraction=0.5:times=3",
]
RULES = (
    b":",
    b";",
    b",",
    b"=",
    b"fail",
    b"delay=",
    b"ecc=",
    b"nth=",
    b"seed=",
    b"fraction=",
    b"limit=",
    b"9e99s",
    b"M",
)


@contextmanager
def file_of(data: bytes, name: str) -> Iterator[Path]:
    """A file of these bytes; removed at the end, with what is beside it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


NUMBERS = tuple(pack("<I", number) for number in (0, 6, 0x7FFFFFFF, 0xFFFFFFFF, 0x00010000, 0xFFFF0005))
TOKENS = (b" 0 ", b" 1 ", b" 4294967295 ", b" - ", b" \\0a ", b" 0x10 ")
BUILD_OPTIONS = [b'-DA=1 -D B="x y" -I. -I /x -cl-std=CL2.0 -cl-fast-relaxed-math -w', b"-DF(x)=x+x -g -Werror"]
READERS: dict[str, Reader] = {
    "container": Reader(read_container, containers, (AocxError,), (sections.MAGIC, b".acl.board\0", *NUMBERS)),
    "autodiscovery": Reader(
        lambda data: parse_autodiscovery(data.decode(errors="surrogateescape")), autodiscoveries, (AocxError,), TOKENS
    ),
    "binary": Reader(read_binary, binaries, (CLError,), (*JSON, LENGTH.pack(9))),
    "notes": Reader(read_notes, notes, (CLError,), JSON),
    "object": Reader(read_object, objects, (AocxError,), (*JSON, *NUMBERS)),
    "library": Reader(read_library, libraries, (AocxError, OSError), (*XML, b"!<arch>\n", b"<FILE name='f.cl'/>")),
    "board": Reader(read_board, boards, (BoardSpecError,), XML),
    "partition": Reader(read_partition, partitions, (BoardSpecError,), (*XML, b"8:0000:0000", b"A000:0000")),
    "package": Reader(read_package, lambda: [b'<board_env version="1"><hardware dir="hardware" default="b"/>'
                                             b'<platform name="linux64"/></board_env>'], (BoardSpecError,), XML),
    "source": Reader(read_source, sources, (PreprocessorError, lowering.LoweringError, OSError), OPENCL_C),
    "declarations": Reader(read_declarations, sources, (), OPENCL_C),
    "loops": Reader(read_loops, looping_sources, (), (*OPENCL_C, *LOOPS)),
    "options": Reader(read_options, lambda: BUILD_OPTIONS, (PreprocessorError, lowering.LoweringError, OSError),
                      (b"-D", b"-I", b"-cl-std=CL", b"=", b'"', b"'", b"\\", b" ")),
    "il": Reader(read_il, modules, (), NUMBERS),
    "aoc": Reader(read_words, command_lines, (UsageError,), (b"-", b"--", b"\0", b"=", b"-board", b"-march=", b"-l")),
    "trace": Reader(read_trace, traces, (report.TraceError,), JSON),
    "page": Reader(read_page, traces, (report.TraceError,), JSON),
    "capture": Reader(CapturedLaunch.decode, captures, (ValueError,), JSON),
    "json": Reader(parse_json, captures, (ValueError,), JSON),
    "executable": Reader(read_executable, executables, (Exception,), NUMBERS),
    "variables": Reader(read_variables, lambda: VALUES, (), (b",", b":", b"-", b"*", b"/", b"G", b"+")),
    "faults": Reader(lambda data: fault_rules.parse(data.decode(errors="surrogateescape")), lambda: FAULTS,
                     (fault_rules.FaultSyntaxError,), RULES),
}  # fmt: skip
