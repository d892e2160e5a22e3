"""OpenCL C as compilers for FPGAs take it: each rule with a kernel that runs on a board."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from struct import pack, unpack

import pytest
from compiling import compile_file
from machine import Machine, SetOption

from fpgart.aocx.compiler import CompileError, Options
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.libraries import find_library, models_of
from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, CLError
from fpgart.board.catalogue import describe
from fpgart.engine.interface import BuildFailed
from fpgart.engine.opencl_engine.program import DriverProgram
from fpgart.kernels.constant_macros import NO_INTEGER, constant_macros
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.loading import from_binary
from fpgart.runtime.programs.program import Program
from fpgart.sdk import aocl
from fpgart.sdk.aoc import compile_command


def built(board: Machine, source: str, options: str = "") -> Program:
    program = Program(board.context, board.devices, source=source)
    program.claim(board.devices)
    program.build(board.devices, options)
    return program


def launched(board: Machine, program: Program, data: bytes, *names: str) -> bytes:
    """Returns a buffer's contents after all kernels, each of which has it as argument and a queue of its own."""
    buffer = board.keep(board.buffer(len(data)))
    board.write(buffer, data)
    queues = [CommandQueue(board.context, board.device) for _ in names]
    for queue, name in zip(queues, names, strict=True):
        kernel = Kernel(program, name)
        kernel.set_buffer(0, buffer)
        queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, board.launch_of(kernel))
    for queue in queues:
        queue.finish()
    return board.read(buffer)


def ints(board: Machine, source: str, *values: int, options: str = "", names: tuple[str, ...] = ("k",)) -> list[int]:
    """The same for int, of a program that is built for it."""
    data = pack(f"{len(values)}i", *values)
    return list(unpack(f"{len(values)}i", launched(board, built(board, source, options), data, *names)))


@pytest.mark.parametrize("standard", ["CL1.1", "CL1.2"])
def test_functions_may_be_static_whatever_version_a_program_is_for(board: Machine, standard: str) -> None:
    source = "static int twice(int x) { return 2 * x; } kernel void k(global int *x) { x[0] = twice(x[0]); }"
    assert ints(board, source, 21, options=f"-cl-std={standard}") == [42]


def test_static_functions_are_refused_once_and_then_built_for_a_version_that_has_them(
    board: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    build = DriverProgram._build
    monkeypatch.setattr(DriverProgram, "_build", lambda self, options: asked.append(options) or build(self, options))
    monkeypatch.setattr(board.device.platform.engine, "refusals", set())
    for number, word in enumerate(("static", "static", "inline")):  # which is translated into static functions
        source = f"{word} int f(int x) {{ return x + {number}; }} kernel void k(global int *x) {{ x[0] = f(x[0]); }}"
        assert ints(board, source, 21, options="-cl-std=CL1.1") == [21 + number]
    assert [options.split()[-1] for options in asked] == ["-cl-std=CL1.1", *["-cl-std=CL1.2"] * 3]


def test_a_version_that_the_compiler_refuses_is_refused_once_and_then_replaced(
    board: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PoCL does from 4.0 on."""
    asked = []
    build = DriverProgram._build
    words = "Build option -cl-std specified OpenCL C version 2.0,but device cpu doesn't support that OpenCL C version."

    def refusing(self: DriverProgram, options: str) -> str:
        asked.append(options)
        if "CL2.0" in options:
            raise BuildFailed(BuildProgramFailure.status, words)
        return build(self, options)

    monkeypatch.setattr(DriverProgram, "_build", refusing)
    monkeypatch.setattr(board.device.platform.engine, "refusals", set())
    for number in range(2):
        source = f"kernel void k(global int *x) {{ x[0] += {number}; }}"
        assert ints(board, source, 21, options="-cl-std=CL2.0") == [21 + number]
    assert [options.split()[-1] for options in asked] == ["-cl-std=CL2.0", *["-cl-std=CL3.0"] * 2]


def test_a_program_for_an_old_version_that_is_wrong_otherwise_does_not_build(board: Machine) -> None:
    with pytest.raises(CLError, match="nothing_of_this_name"):
        built(board, "static int f(void) { return nothing_of_this_name; }", "-cl-std=CL1.1")


EXPRESSIONS = [
    # rule, statements before, value of x[0] where x[0] is 5 and x[1] is 7
    ("__fpga_reg keeps a value", "", "__fpga_reg(__fpga_reg(x[0]))", 5),
    ("__burst_coalesced_load", "", "__burst_coalesced_load(&x[0]) + __prefetching_load(x + 1)", 12),
    ("__burst_coalesced_store", "__burst_coalesced_store(&x[1], x[0] * 3);", "x[1]", 15),
    ("__pipelined_load and _store", "__pipelined_store(x + 1, 4);", "__pipelined_load(x + 1)", 4),
    ("a fence of channels", "x[1] = 3; mem_fence(CLK_CHANNEL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", "x[1]", 3),
    ("INTELFPGA_CL", "\n#ifdef INTELFPGA_CL\nx[1] = 1;\n#endif\n", "x[1]", 1),
    ("ALTERA_CL", "\n#if defined(ALTERA_CL)\nx[1] = 2;\n#endif\n", "x[1]", 2),
    ("unroll before no loop", "\n#pragma unroll\nx[1] = 8;", "x[1]", 8),
    ("unroll by a macro", "\n#define U 4\n#pragma unroll U\nfor (int i = 0; i < 8; i++) x[1]++;", "x[1]", 15),
    ("_Pragma", '_Pragma("unroll 3") x[1] = 1;', "x[1]", 1),
    ("unroll_hint before no loop", "__attribute__((opencl_unroll_hint(4))) for (int i = 0; i < 2; i++) x[1]++;",
     "x[1]", 9),
    ("attributes of memories", "int y[4] __attribute__((numbanks(2), bankwidth(8), doublepump)); y[x[0] & 3] = 6;",
     "y[1]", 6),
    ("local variables in inner blocks", "for (int i = 0; i < 3; i++) { local int y[4]; y[i] = i; x[1] += y[i]; }",
     "x[1]", 10),
    ("local variables of any size in inner blocks", "{ local int y[2 * (1 + 1)]; y[3] = 4; x[1] = sizeof(y) + y[3]; }",
     "x[1]", 20),
    ("get_compute_id without compute units", "", "get_compute_id(0)", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "value", "expected"), [e[1:] for e in EXPRESSIONS], ids=[e[0] for e in EXPRESSIONS]
)
def test_words_of_fpga_compilers_have_their_meaning(board: Machine, statements: str, value: str, expected: int) -> None:
    source = f"kernel void k(global int *x) {{ {statements} x[0] = {value}; }}"
    assert ints(board, source, 5, 7)[0] == expected


PROGRAMS = [
    # rule, a program with a kernel k, the numbers that it gets, and options; the first numbers afterwards
    ("integers of any width wrap at that width", """
#include "ihc_apint.h"
typedef ap_uint<3 * 4> twelve;
kernel void k(global int *x) {
    twelve a = x[0]; ap_int<5> b = x[1]; uint3_t c = x[2]; int40_t d = (int40_t)x[3] << 30;
    x[0] = a; x[1] = b; x[2] = c; x[3] = d >> 30;
}""", [4099, 17, 9, 300], "", [3, -15, 1, 300]),
    ("integers whose width is an attribute wrap at that width", """
typedef uint __attribute__((__ap_int(4 + 4))) byte;
kernel void k(global int *x) {
    byte a[3] = {x[0]}; int __attribute__((__ap_int(5))) b = x[1];
    x[0] = a[0]; x[1] = b; x[2] = sizeof(a);
}""", [259, 17, 0], "", [3, -15, 3]),
    ("functions have local variables of their own", """
int inner(int a);
int outer(global int *x, int a) {
    __local int table[4], last; table[a] = x[a]; last = inner(a); return table[a] + last;
}
int inner(int a) { local int table[2][2]; table[1][a & 1] = 10 * a; return table[1][a & 1] + sizeof(table); }
kernel void k(global int *x) { local int mine[2]; mine[1] = outer(x, 1); x[0] = mine[1] + outer(x, 2); }""",
     [0, 3, 4], "", [(3 + 10 + 16) + (4 + 20 + 16)]),
    ("kernels that call kernels have local variables of their own", """
int f(int a) { local int t; t = a; return t; }
kernel void inner(global int *x) { if (x[0]) { local int t; t = f(x[0]); x[0] = t + 1; } }
kernel void k(global int *x) { inner(x); { local int t[2]; t[1] = f(x[0]); x[0] = 10 * t[1]; } }""", [3], "", [40]),
    ("program scope variables are pointers and atomic too", """global int y[2] = {3, 5};
global int *global p[2] = {&y[1],
 &y[0]};
global int *global *global q = &p[0];
global int *global later;
global atomic_int z = ATOMIC_VAR_INIT(7);
kernel void k(global int *x) {
    x[0] = **q; *q = p[1]; x[1] = **q;
    x[2] = later == 0; later = y; x[3] = ++later[1];
    x[4] = atomic_fetch_add(&z, 1); x[5] = atomic_load(&z);
}""", [0] * 6, "-cl-std=CL3.0", [5, 3, 1, 6, 7, 8]),
    ("program scope pointers are declared with other variables", """global int *global p, x = 3, *global q, y[2];
kernel void k(global int *a) { p = &x; q = y; q[1] = *p + 1; a[0] = x; a[1] = y[1]; a[2] = sizeof(p) + sizeof(y); }""",
     [0] * 3, "-cl-std=CL3.0", [3, 4, 16]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "numbers", "options", "expected"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS]
)
def test_programs_mean_what_they_do_elsewhere(
    board: Machine, source: str, numbers: list[int], options: str, expected: list[int]
) -> None:
    assert ints(board, source, *numbers, options=options)[: len(expected)] == expected


def test_numbers_of_address_spaces_are_those_of_the_keywords(board: Machine) -> None:
    source = """
#define TABLE const __attribute__((address_space(16776962))) int *restrict
constant int table[2] = {3, 5};
int of(TABLE t) { return t[1]; }
kernel void k(__attribute__((address_space(16776960))) int *x) {
    local int y[1];
    __attribute((
        address_space(16776961))) int *l = y;
    *l = x[1]; x[0] = of(table) + *l; x[1] = __LINE__;
}"""
    assert ints(board, source, 0, 7) == [12, 9]


@pytest.mark.parametrize("bits", [65, 70, 71, 100, 128])
def test_wide_integers_multiply_divide_and_compare(board: Machine, bits: int) -> None:
    source = f"""
kernel void k(global int *x) {{
    ap_uint<{bits}> a = 1, c; ap_int<{bits}> b = x[0];
    a <<= {bits - 1}; c = a + a; a >>= x[1]; b = b * x[2] / x[3] - 1;
    x[0] = c == 0; x[1] = a >> {bits - 5}; x[2] = b; x[3] = (b < 0) + 2 * (b % 10 == -9);
}}"""
    assert ints(board, source, -1000000, 3, 1000003, 1000) == [1, 2, -1000003001, 1]


def test_half_variables_are_rounded_after_each_operation(board: Machine) -> None:
    source = """
typedef struct { half a; half b; } pair;
half twice(half x) { return x + x; }
kernel void k(global half *x) {
    half a = x[0], b = x[1]; half c[2] = {a, b};
    pair p = {c[0], 1.5h};
    x[2] = a + b; x[3] = twice(sqrt(p.b * 6)); half4 v = vload4(0, x); x[1] = max(v.x, v.y);
}"""
    data = launched(board, built(board, source), pack("4e", 2048, 1, 0, 0), "k")
    assert unpack("4e", data) == (2048, 2048, 2048, 6)


def test_vectors_of_half_and_of_float_are_converted_into_each_other(board: Machine) -> None:
    source = "kernel void k(global half *x) { vstore2(convert_half2(convert_float2(vload2(0, x)) / 4), 1, x); }"
    data = launched(board, built(board, source), pack("4e", 1, 2, 0, 0), "k")
    assert unpack("4e", data) == (1, 2, 0.25, 0.5)


def test_private_arrays_may_be_larger_than_a_threads_stack(board: Machine) -> None:
    source = """
kernel void k(global int *x) {
    int table[6 << 20];
    for (int i = 0; i < 6 << 20; i++) table[i] = i + x[0];
    x[1] = table[x[2]];
}"""
    assert ints(board, source, 5, 0, (6 << 20) - 1)[1] == (6 << 20) + 4


def test_shift_registers_with_unrolled_loops_compile_in_seconds(board: Machine) -> None:
    source = """
#define LENGTH 8192
kernel void k(global int *restrict x) {
    int taps[LENGTH + 1];
    #pragma unroll
    for (int i = 0; i <= LENGTH; i++) taps[i] = 0;
    for (int n = 0; n < LENGTH + 2; n++) {
        #pragma unroll
        for (int i = 0; i < LENGTH; i++) taps[i] = taps[i + 1];
        taps[LENGTH] = n;
        int sum = 0;
        #pragma unroll
        for (int i = 0; i < LENGTH; i += 2) sum += taps[i];
        x[0] = sum;
    }
}"""
    before = os.times().user
    assert ints(board, source, 0) == [sum(range(1, 8193, 2))]
    assert os.times().user - before < 20


CHANNELS = """
#pragma OPENCL EXTENSION cl_intel_channels : enable
#define CHANNEL(type, name, depth_) channel type name __attribute__((depth(depth_)))
#define SEND(...) write_channel_intel(__VA_ARGS__)
typedef struct { long16 wide; half tiny; int pair[2]; } packet;
CHANNEL(packet, data, 4);
__attribute__((depth(2))) channel int back[2];
#ifdef NEVER
channel nothing at_all;
#endif
__attribute__((max_global_work_dim(0)))
kernel void first(global int *restrict x) {
    for (int i = 0; i < 3; i++) {
        packet p; p.wide = (long16)(x[i]); p.tiny = 0.5h; p.pair[1] = i;
        SEND(data, p);
    }
    x[0] = read_channel_altera(back[1]);
}
kernel void second(global int *restrict x) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        packet p = read_channel_intel(data);
        sum += p.wide.sf * (p.pair[1] + 1) * (p.tiny * 2);
    }
    write_channel_altera(back[1], sum);
}
"""


def test_channels_may_come_out_of_macros_and_carry_any_type(board: Machine) -> None:
    assert ints(board, CHANNELS, 1, 2, 3, names=("first", "second"))[0] == 1 + 4 + 9


HIDDEN_DECLARATIONS = [
    ("a header is included in both ways", '#include <links.h>\n#include "links.h"'),
    ("the branches of a condition have more braces than it", """
#ifdef WIDE
void f(global int *x, int y) {
#else
void f(global int *x) {
#endif
    x[0]++;
}
channel int link;"""),
    ("a macro names the header", """
#define LINKS "links.h"
#include LINKS"""),
    ("a comment stands in front of the directive", '/* */ #include /* */ "links.h"'),
    ("the word is continued on another line", "chan\\\nnel int link;"),
    ("a branch that is left out has an apostrophe", """
#if 0
don't {
#endif
channel int link;"""),
]  # fmt: skip


@pytest.mark.parametrize("declaration", [d[1] for d in HIDDEN_DECLARATIONS], ids=[d[0] for d in HIDDEN_DECLARATIONS])
def test_channels_are_found_whatever_hides_their_declarations(board: Machine, tmp_path: Path, declaration: str) -> None:
    (tmp_path / "links.h").write_text("#pragma once\nchannel int link;\n")
    source = f"""{declaration}
kernel void a(global int *x) {{ write_channel_intel(link, x[0] + N); }}
kernel void b(global int *x) {{ x[1] = read_channel_intel(link); }}"""
    assert ints(board, source, 5, 0, options=f"-I {tmp_path} -DN=3", names=("a", "b"))[1] == 8


@pytest.mark.parametrize(
    "declaration",
    [
        "global int y[2 * (1 + 1)];",
        "/* a table */ global int y[4];",
        "__attribute__((aligned(16))) global int y[4];",
        "static volatile global int y[4];",
        "static global const int z = 2; static global int y[2 * 2];",
        "#define SHARED global\nSHARED int y[4];",
        "int global y[4];",
    ],
)
def test_program_scope_variables_are_found_in_any_declaration(board: Machine, declaration: str) -> None:
    source = f"{declaration}\nkernel void k(global int *x) {{ x[0] = ++y[3]; x[1] = sizeof(y); }}"
    assert ints(board, source, 0, 0) == [1, 16]


@pytest.mark.parametrize(
    ("declaration", "body"),
    [
        ("int f(void) { return n; }", "{ int n = 5; n++; } int m = f(); int a, n = 4; x[0] = n + m;"),
        ("int f(int n) { return n + 1; }\nint g(int m, int n);", "int m = f(4) - 1; x[0] = n + m;"),
        ("int f(int *n, uint) { return *n; }", "int a = 4; x[0] = f(&a, n) + n;"),
        ("struct s { int a, n; };", "struct s s = {.n = 3}, *p = &s; x[0] = s.n + p->n - 2 + n;"),
        ("typedef int t;", "t a = n; { t *n = &a; x[0] = *n; } x[0] = x[0] + n * 2 - (n) + 1;"),
        ("struct s { int a; };", "for (int n = 1; n < 5; n++) x[0] = n; x[0] += 3;"),
        ("int f(global int *x, int n) { int a = x[0] * n; return a; }", "x[0] = 2; x[0] = f(x, n) + 1;"),
        ("global int m = 1, *global q;\nint f(int m) { q = &n; return m * *q; }", "x[0] = f(2) + m;"),
    ],
)
def test_names_of_program_scope_variables_may_be_those_of_others(board: Machine, declaration: str, body: str) -> None:
    source = f"global int n = 3;\n{declaration}\nkernel void k(global int *x) {{ {body} }}"
    assert ints(board, source, 0, options="-cl-std=CL3.0") == [7]


@pytest.mark.parametrize(
    ("declaration", "size", "last"),
    [
        ("global int y[] = {1, 2, 3};", 12, 3),
        ("global short y[][2] = {{1, 2}, {3, 4}, {5, 6}};", 12, 6),
        ('global char y[] = "a, b;";', 6, 0),
        ("global int z = ',', y[1] = {';'};", 4, ord(";")),
    ],
)
def test_program_scope_variables_have_the_size_of_their_value(
    board: Machine, declaration: str, size: int, last: int
) -> None:
    use = "*((global __typeof__(y[0]) *)(&y + 1) - 1)" if "][" not in declaration else "y[2][1]"
    source = f"{declaration}\nkernel void k(global int *x) {{ x[0] = sizeof(y); x[1] = {use}; }}"
    assert ints(board, source, 0, 0) == [size, last]


def test_pipes_are_found_where_a_macro_has_the_word_kernel(board: Machine) -> None:
    program = built(
        board, "#define ENTRY kernel\nENTRY void k(global int *x, read_only pipe int p) { read_pipe(p, x); }"
    )
    assert program.interfaces()["k"].arguments[1].type_name == "int"


# I/O channels

IO = """
channel int in __attribute__((depth(4))) __attribute__((io("{folder}/in")));
channel int out __attribute__((io("{folder}/out")));
kernel void k(global int *x) {{
    for (int i = 0; i < x[0]; i++) write_channel_intel(out, read_channel_intel(in) * 2);
}}"""


def test_io_channels_read_and_write_the_files_of_their_names(board: Machine, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(pack("1000i", *range(1000)))
    ints(board, IO.format(folder=tmp_path), 1000)
    assert unpack("1000i", (tmp_path / "out").read_bytes()) == tuple(range(0, 2000, 2))


def test_io_channels_talk_through_named_pipes(board: Machine, tmp_path: Path) -> None:
    for name in ("in", "out"):
        os.mkfifo(tmp_path / name)
    got: list[bytes] = []

    def peer() -> None:
        with (tmp_path / "in").open("wb", buffering=0) as into:
            into.write(pack("i", 21)[:3])  # a packet in pieces
            into.write(pack("i", 21)[3:])
        with (tmp_path / "out").open("rb") as out:
            got.append(out.read(4))

    other = threading.Thread(target=peer, daemon=True)
    other.start()
    ints(board, IO.format(folder=tmp_path), 1)
    other.join()
    assert got == [pack("i", 42)]


def test_a_kernel_that_waits_for_a_file_without_data_is_told_with_its_name(
    board: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FPGART_DEADLOCK_SECONDS", "0.2")
    program = built(board, IO.format(folder=tmp_path))
    kernel, buffer = Kernel(program, "k"), board.keep(board.buffer(4))
    board.write(buffer, pack("i", 1))
    kernel.set_buffer(0, buffer)
    event = board.enqueue(kernel)
    board.queue.finish()
    assert event.status < 0
    assert f", file '{tmp_path}/in': No such file or directory" in capfd.readouterr().err


# Libraries

MODEL = """#include "rtl.h"
int rtl_add(int a, int b) { return a + b; }
"""


def archive(name: str, content: bytes) -> bytes:
    """An archive with one member."""
    header = f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
    return b"!<arch>\n" + header + content + b"\n" * (len(content) % 2)


LIBRARIES = {
    "an archive of objects": ("rtl.aoclib", archive("rtl.aoco", Container({".rtl.c_model": MODEL.encode()}).encode())),
    "an object": ("rtl.aoclib", Container({".acl.c_model": MODEL.encode() + b"\0"}).encode()),
    "a specification": (
        "rtl.xml",
        b'<RTL_SPEC><FUNCTION><C_MODEL><FILE name="model.cl"/></C_MODEL></FUNCTION></RTL_SPEC>',
    ),
    "a source": ("rtl.cl", MODEL.encode()),
}


@pytest.mark.parametrize(("file", "content"), LIBRARIES.values(), ids=LIBRARIES)
def test_functions_of_libraries_run_as_their_models_say(
    board: Machine, tmp_path: Path, file: str, content: bytes
) -> None:
    (tmp_path / "rtl.h").write_text(
        "#ifndef RTL\n#define RTL\ntypedef struct { int x; } seen;\nint rtl_add(int, int);\n#endif\n"
    )
    (tmp_path / "model.cl").write_text(MODEL)
    (tmp_path / file).write_bytes(content)
    (tmp_path / "k.cl").write_text('#include "rtl.h"\nkernel void k(global int *x) { x[0] = rtl_add(x[0], 2); }')
    options = Options(libraries=(f"-L{tmp_path}", f"-l{file}"))
    made = compile_file(tmp_path / "k.cl", describe("usm_s10"), options, board.platform.engine)
    program = from_binary(board.context, board.devices, made.encode())
    assert unpack("i", launched(board, program, pack("i", 40), "k")) == (42,)


def test_a_library_that_aocl_makes_runs_as_its_models_say(board: Machine, tmp_path: Path) -> None:
    for name in ("add", "more"):
        (tmp_path / f"{name}.cl").write_text(f"int {name}(int a, int b) {{ return a + b; }}")
        (tmp_path / f"{name}.xml").write_text(f'<EFI_SPEC><C_MODEL><FILE name="{name}.cl"/></C_MODEL></EFI_SPEC>')
        assert (
            aocl.run(["library", "hdl-comp-pkg", str(tmp_path / f"{name}.xml"), "-o", f"{tmp_path}/{name}.aoco"]) == 0
        )
        (tmp_path / f"{name}.cl").unlink()
    objects = [f"{tmp_path}/{name}.aoco" for name in ("add", "more")]
    create = ["library", "create", "-name", "x", "-vendor", "y", "-version", "1.0"]
    assert aocl.run([*create, "-o", f"{tmp_path}/x.aoclib", *objects]) == 0
    source = "int add(int, int); int more(int, int); kernel void k(global int *x) { x[0] = add(more(x[0], 1), 2); }"
    (tmp_path / "k.cl").write_text(source)
    options = Options(libraries=(f"-L{tmp_path}", "-lx.aoclib"))
    made = compile_file(tmp_path / "k.cl", describe("usm_s10"), options, board.platform.engine)
    program = from_binary(board.context, board.devices, made.encode())
    assert unpack("i", launched(board, program, pack("i", 40), "k")) == (43,)


FILLED = """
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int line __attribute__((depth(2)));
kernel void fill(global int *x) { int n = 0; while (n < 100 && write_channel_nb_intel(line, n)) n++; x[0] = n; }
kernel void drain(global int *x) { x[0] = read_channel_intel(line); }
"""


@pytest.mark.parametrize(("model", "chosen", "packets"), [("strict", None, 2), ("default", None, 2),
                         ("ignore-depth", None, 100), ("strict", "ignoredepth", 100)])  # fmt: skip
def test_channels_are_as_deep_as_the_compilation_says_unless_the_host_chooses(
    board: Machine, tmp_path: Path, set_option: SetOption, model: str, chosen: str | None, packets: int
) -> None:
    set_option(config.CHANNEL_DEPTH, chosen)
    (tmp_path / "k.cl").write_text(FILLED)
    options = [f"{tmp_path}/k.cl", f"-emulator-channel-depth-model={model}", "-o", f"{tmp_path}/k.aocx"]
    assert compile_command(["-march=emulator", *options]) == 0
    program = from_binary(board.context, board.devices, (tmp_path / "k.aocx").read_bytes())
    assert unpack("i", launched(board, program, pack("i", 0), "fill")) == (packets,)


def test_a_specification_without_a_model_makes_no_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.xml").write_text("<EFI_SPEC/>")
    assert aocl.run(["library", "hdl-comp-pkg", str(tmp_path / "x.xml")]) == 1
    assert "x.xml' names no C_MODEL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "library 'x.aoclib' was not found"), (Container({".a": b""}).encode(), "has no model"),
     (b"!<arch>\n" + b"x" * 60, "damaged at byte 8"), (b"<a", "object specification 'x.aoclib'")],
)  # fmt: skip
def test_a_library_that_cannot_be_used_is_told(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "x.aoclib").write_bytes(content)
    with pytest.raises(AocxError, match=words):
        models_of(find_library("x.aoclib", [tmp_path]))


# Containers


def test_a_container_holds_what_its_source_includes(board: Machine, tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/size.h").write_text("#ifndef SIZE_H\n#define SIZE_H\n#if WIDE\n#define SIZE 7\n#endif\n#endif\n")
    (tmp_path / "k.cl").write_text(
        "#include <size.h>\n#include <size.h>\nkernel void k(global int *x) { x[0] = SIZE; }"
    )
    options = Options((f"-I{tmp_path / 'inc'}", "-DWIDE=1"))
    made = compile_file(tmp_path / "k.cl", describe("usm_s10"), options, board.platform.engine)
    (tmp_path / "inc/size.h").unlink()
    program = from_binary(board.context, board.devices, made.encode())
    assert unpack("i", launched(board, program, bytes(4), "k")) == (7,)


def test_thousands_of_includes_take_seconds(board: Machine, tmp_path: Path) -> None:
    for index in range(60):
        text = "".join(f"int f{index}_{i}(int a);\n" for i in range(50))
        (tmp_path / f"h{index}.h").write_text(f"#ifndef H{index}\n#define H{index}\n{text}#endif\n")
    lines = "".join(f'#include "h{i % 60}.h"\n' for i in range(6300))
    (tmp_path / "k.cl").write_text(f"{lines}kernel void k(global int *x) {{ x[0] = 1; }}")
    before = os.times().user
    compile_file(tmp_path / "k.cl", describe("usm_s10"), Options(), board.platform.engine)
    assert os.times().user - before < 10


def test_warnings_that_concern_hardware_are_not_told_and_others_are(board: Machine, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("""
#pragma OPENCL EXTENSION cl_intel_channels : enable
#define VALUE(x) x
kernel __attribute__((max_global_work_dim(0))) __attribute__((stall_free)) void k(global int *x) {
    int y __attribute__((register)); local int z[3] __attribute__((numbanks(4), bankwidth(8)));
    #pragma ii 2
    #pragma loop_coalesce
    for (int i = 0; i < 2; i++) x[i] = 1;
    x[2] = 1 / 0 + VALUE(2);
}""")
    told: list[str] = []
    compile_file(tmp_path / "k.cl", describe("usm_s10"), Options(), board.platform.engine, told.append)
    lines = "".join(told).splitlines()
    assert [line.split(": ")[:2] for line in lines[::3]] == [["k.cl:9:14", "warning"]]
    assert lines[2].index("^") == lines[1].index("/ 0")


NUMBERS = [(name, number) for name, number in constant_macros(double=True).items() if number != NO_INTEGER]
NUMBANKS = "int f(void) { int __attribute__((numbanks(1))) x = 0; return x; }\n"
"""Has the driver preprocess a program."""


@pytest.mark.parametrize("front", ["", NUMBANKS])
@pytest.mark.parametrize(
    "condition",
    ["defined M_PI && defined M_PI_F && !defined M_NOTHING", "INT_MAX == 2147483647 && LONG_MIN < 0 && UCHAR_MAX > 1",
     "defined FLT_MAX && defined MAXFLOAT && defined NULL && defined CLK_LOCAL_MEM_FENCE",
     " && ".join(f"{name} == {number}" for name, number in NUMBERS)],
    ids=["names", "some", "others", "all numbers"],
)  # fmt: skip
def test_conditions_know_the_constants_of_the_language(board: Machine, front: str, condition: str) -> None:
    source = (
        f"{front}\n#if {condition}\n#define Y 1\n#else\n#define Y 2\n#endif\nkernel void k(global int *x) {{ *x = Y; }}"
    )
    assert ints(board, source, 0) == [1]


@pytest.mark.parametrize(
    "hint",
    ["#pragma ivdep \\\n safelen(2)", "/*\n#pragma ii 2 */", "#pragma ivdep /* a comment\n of two lines */"],
)
def test_hints_for_loops_may_be_continued_and_stand_beside_comments(board: Machine, hint: str) -> None:
    source = f"kernel void k(global int *x) {{\n{hint}\nfor (int i = 0; i < 2; i++) x[i] = __LINE__;\n}}"
    assert ints(board, source, 0, 0) == [source[:-2].count("\n") + 1] * 2


def test_an_error_in_a_header_is_told_with_the_headers_name_and_line(board: Machine, tmp_path: Path) -> None:
    (tmp_path / "bad.h").write_text("\n\nint f(int a) { return nonsense; }\n")
    (tmp_path / "k.cl").write_text('#include "bad.h"\nchannel int c;\nkernel void k(void) {}')
    with pytest.raises(CompileError, match=r"bad\.h:3:23: error: use of undeclared identifier 'nonsense'"):
        compile_file(tmp_path / "k.cl", describe("usm_s10"), Options(), board.platform.engine)
