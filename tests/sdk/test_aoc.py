"""`aoc`: options as Intel's compiler spells them, steps, boards, and the page of -report."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from processes import fpgart

from fpgart.aocx import container as sections
from fpgart.aocx.checks import check
from fpgart.aocx.compiler import Options, compile_source
from fpgart.aocx.container import Container
from fpgart.aocx.report import read
from fpgart.aocx.steps import STEP
from fpgart.aocx.units import with_carets
from fpgart.board.catalogue import describe
from fpgart.board.description import BoardDescription
from fpgart.board.xml_elements import BoardSpecError
from fpgart.engine.interface import Engine
from fpgart.runtime.programs.loading import from_binary
from fpgart.sdk import aocl
from fpgart.sdk.aoc_options import Last, UsageError, changes_nothing, read_command_line
from fpgart.sdk.board_packages import BoardPackage

ADD = "kernel void add(global int *x, int n) { for (int i = 0; i < n; i++) x[i] += ONE; }\n"
OF_HARDWARE_BUILDS = """
-v -g -g0 -W -Werror -profile=all -fp-relaxed -fpc -ffp-contract=fast -ffp-reassociate -seed=3 -seed 4 -fmax=300
-parallel=8 -incremental -incremental=aggressive -high-effort -fast-compile -const-cache-bytes=1024 -global-ring
-duplicate-ring -num-reorder=2 -fast-emulator -legacy-emulator -march=simulator -opt-arg=--x -bsp-flow=flat -clock=200
-no-hardware-kernel-invocation-queue -rtl k.aoco -L lib -l x.aoclib
"""
UNSET = ("AOCL_BOARD_PACKAGE_ROOT", "FPGART_BOARD")
PACKAGE = """<board_env version="20.4" name="mine"><hardware dir="hardware" default="tall"/></board_env>"""
SPEC = """<board version="20.4" name="tall"><global_mem name="MEM">
<interface name="i" port="p0" type="slave" width="512" maxburst="16" address="0x0" size="0x40000000" latency="240"/>
<interface name="i" port="p1" type="slave" width="512" maxburst="16" address="0x40000000" size="0x40000000"/>
</global_mem></board>"""


@pytest.fixture
def source(engine: Engine, tmp_path: Path) -> Path:
    file = tmp_path / "device" / "add.cl"
    file.parent.mkdir()
    file.write_text(ADD)
    return file


def aoc(folder: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in UNSET}
    return fpgart("aoc", *words, cwd=folder, env={**variables, **environment})


def compiled(folder: Path, *words: object, **environment: str) -> str:
    """Returns the output of `aoc`, which must succeed."""
    result = aoc(folder, *words, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def refused(folder: Path, *words: object, status: int = 1, **environment: str) -> str:
    """Returns what `aoc` says on its standard error, which must fail."""
    result = aoc(folder, *words, **environment)
    assert result.returncode == status, result.stderr
    return result.stderr


# The command line


@pytest.mark.parametrize("words", [["-board=x"], ["--board=x"], ["-board", "x"], ["--board", "x"]])
def test_a_value_follows_an_equals_sign_or_a_blank(words: list[str]) -> None:
    assert read_command_line([*words, "k.cl"]).board == "x"


@pytest.mark.parametrize(
    ("words", "memories"),
    [
        (["-no-interleaving=default", "k.cl"], ["default"]),
        (["-no-interleaving", "default", "k.cl"], ["default"]),
        (["-no-interleaving", "k.cl"], ["all"]),
        (["k.cl", "--no-interleaving"], ["all"]),
        (["-no-interleaving=DDR", "-no-interleaving=HBM", "k.cl"], ["DDR", "HBM"]),
    ],
)
def test_memories_are_named_for_separate_banks(words: list[str], memories: list[str]) -> None:
    made = read_command_line(words)
    assert made.separate == memories
    assert made.sources == [Path("k.cl")]


def test_a_memory_that_the_board_does_not_have_is_told(source: Path, tmp_path: Path) -> None:
    said = refused(tmp_path, source, "-DONE=1", "-board=a10_ref", "-no-interleaving=HBM", status=2)
    assert "-no-interleaving=HBM: board 'a10_ref' has DDR" in said


@pytest.mark.parametrize("words", [["-I=inc"], ["-I", "inc"], ["-Iinc"]])
def test_folders_of_headers_are_spelt_in_three_ways(words: list[str]) -> None:
    assert read_command_line([*words, "k.cl"]).compiler == ["-Iinc"]


def test_the_options_of_hardware_builds_are_taken_and_told_once() -> None:
    made = read_command_line(OF_HARDWARE_BUILDS.split())
    assert made.last is Last.EARLY
    assert made.compiler == ["-w", "-Werror"]
    assert made.sources == [Path("k.aoco")]
    told = changes_nothing(made)
    assert "-seed=4" in told
    assert "-fp-relaxed" in told
    assert not {"-g", "-g0", "-fast-emulator"} & set(told)


@pytest.mark.parametrize(
    ("word", "said"),
    [("-bord=x", "-bord=x is not an option of aoc; did you mean -board"), ("-board", "-board needs a value")],
    ids=["misspelt", "without its value"],
)
def test_an_option_that_is_wrong_is_told(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_command_line(["k.cl", word])


# Where files go


@pytest.mark.parametrize("name", ["", "."])
def test_an_output_has_a_name(source: Path, tmp_path: Path, name: str) -> None:
    result = aoc(tmp_path, source, "-o", name)
    assert (result.returncode, result.stderr) == (2, "aoc: -o needs the name of a file\n")


@pytest.mark.parametrize("options", [(), ("-c",)])
def test_a_source_is_not_overwritten(source: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    result = aoc(tmp_path, *options, source, "-o", "device/../device/add.cl")
    assert result.returncode == 2
    assert result.stderr == "aoc: -o device/../device/add.cl is a file that is compiled: name another one\n"
    assert source.read_text() == ADD


def test_without_a_name_the_working_folder_gets_the_container(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, "device/add.cl", "-DONE=1")
    assert (tmp_path / "add.aocx").exists()
    assert [file.name for file in source.parent.iterdir()] == ["add.cl"]


@pytest.mark.parametrize(
    ("words", "made"),
    [((), "out/add.aocx"), (("-c",), "out/add.aoco"), (("-rtl",), "out/add.aocr"), (("-report",), "out/add.aocx")],
)
def test_a_name_without_an_ending_gets_that_of_the_step(
    source: Path, tmp_path: Path, words: tuple[str, ...], made: str
) -> None:
    (tmp_path / "out" / "add").mkdir(parents=True)
    compiled(tmp_path, *words, source, "-DONE=1", "-o", "out/add")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.glob("out/add.*")] == [made]
    assert (tmp_path / "out" / "add" / "reports" / "report.html").exists() == ("-report" in words)


def test_an_object_specification_becomes_the_object_that_aocl_makes_of_it(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "f.cl").write_text("int f(int a) { return a; }")
    (tmp_path / "f.xml").write_text('<EFI_SPEC><C_MODEL><FILE name="f.cl"/></C_MODEL></EFI_SPEC>')
    compiled(tmp_path, "-c", "f.xml", "-o", "obj/f.aoco")
    assert aocl.run(["library", "hdl-comp-pkg", str(tmp_path / "f.xml"), "-o", str(tmp_path / "wanted.aoco")]) == 0
    assert (tmp_path / "obj" / "f.aoco").read_bytes() == (tmp_path / "wanted.aoco").read_bytes()


def test_an_object_specification_is_no_program(tmp_path: Path) -> None:
    assert "f.xml is the specification of a library: -c" in refused(tmp_path, "f.xml", status=2)


def test_missing_folders_are_made(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, source, "-DONE=1", "-o", "bin/emulated/add.aocx")
    assert (tmp_path / "bin" / "emulated" / "add.aocx").exists()


def test_a_place_that_cannot_be_written_is_one_sentence(source: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").write_text("a file")
    assert refused(tmp_path, source, "-DONE=1", "-o", "bin/add.aocx") == "aoc: bin/add.aocx: File exists\n"


def test_a_source_that_is_not_there_is_one_sentence(engine: Engine, tmp_path: Path) -> None:
    assert refused(tmp_path, "none.cl") == "aoc: none.cl: No such file or directory\n"


# Steps


def test_one_step_and_three_give_the_same_container(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, source, "-DONE=2", "-board=a10_ref", "-no-interleaving=default", "-o", "one.aocx")
    compiled(tmp_path, "-c", source, "-DONE=2", "-board=a10_ref", "-no-interleaving=default")
    compiled(tmp_path, "-rtl", "add.aoco")
    compiled(tmp_path, "add.aocr", "-o", "three.aocx")
    assert (tmp_path / "three.aocx").read_bytes() == (tmp_path / "one.aocx").read_bytes()


def test_an_object_is_linked_without_the_later_step(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, "-c", source, "-DONE=2", "-o", "obj/add.aoco")
    compiled(tmp_path, "obj/add.aoco", "-board=usm_s10")
    (kernel,) = check(Container.read(tmp_path / "add.aocx"), describe("usm_s10")).kernels
    assert kernel.name == "add"


def test_an_early_container_is_not_loaded(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, "-rtl", source, "-DONE=1")
    made = Container.read(tmp_path / "add.aocr")
    assert sections.AUTODISCOVERY in made
    assert sections.BOARD_IMAGE not in made


def test_errors_come_with_the_first_step(source: Path, tmp_path: Path) -> None:
    said = refused(tmp_path, "-c", source)
    assert "add.cl:1:" in said
    assert "ONE" in said
    assert not (tmp_path / "add.aoco").exists()


def test_what_the_last_step_has_made_is_no_input(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, source, "-DONE=1")
    said = refused(tmp_path, "add.aocx", "-o", "other.aocx", status=2)
    assert said == "aoc: add.aocx is already compiled: name a .cl, .aoco or .aocr file\n"


def test_a_later_step_refuses_another_board(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, "-c", source, "-DONE=1", "-board=hetero")
    assert "compiled for board 'hetero', not for 'a10_ref'" in refused(tmp_path, "add.aoco", "-board=a10_ref", status=2)


@pytest.mark.parametrize(
    ("contents", "words"),
    [({".acl.board": b"x"}, "no .aoco or .aocr of this compiler"), ({STEP: b"{}"}, "aoc: x.aoco is damaged")],
    ids=["of another compiler", "damaged"],
)
def test_an_object_that_cannot_be_used_is_told(
    engine: Engine, tmp_path: Path, contents: dict[str, bytes], words: str
) -> None:
    (tmp_path / "x.aoco").write_bytes(Container(contents).encode())
    assert words in refused(tmp_path, "x.aoco")


def test_several_sources_make_one_program(source: Path, tmp_path: Path) -> None:
    (tmp_path / "common.h").write_text("#ifndef COMMON\n#define COMMON\ntypedef struct { int x; } pair;\n#endif\n")
    for name in ("a", "b"):
        text = f'#include "common.h"\nkernel void {name}(global pair *p) {{ p[0].x = 1; }}\n'
        (tmp_path / f"{name}.cl").write_text(text)
    compiled(tmp_path, "a.cl", "b.cl")
    made = check(Container.read(tmp_path / "b.aocx"), describe("usm_s10"))
    assert [kernel.name for kernel in made.kernels] == ["a", "b"]


def test_files_have_functions_of_their_own_and_share_channels(source: Path, tmp_path: Path) -> None:
    common = "#pragma OPENCL EXTENSION cl_intel_channels : enable\nchannel int line __attribute__((depth({})));\n"
    step = "static int step(int x) {{ return x + {}; }}\n"
    (tmp_path / "a.cl").write_text(
        (common + step).format(4, 1) + "kernel void a(global int *p) { write_channel_intel(line, step(p[0])); }\n"
    )
    (tmp_path / "b.cl").write_text(
        (common + step).format(1, 2) + "kernel void b(global int *p) { p[0] = step(read_channel_intel(line)); }\n"
    )
    compiled(tmp_path, "a.cl", "b.cl", "-o", "k.aocx")
    assert [kernel.name for kernel in check(Container.read(tmp_path / "k.aocx"), describe("usm_s10")).kernels] == [
        "a",
        "b",
    ]


HEADER = "typedef struct { int x; } pair;\n#define ONE 1\nint twice(int x) { return 2 * x; }\n"
USE = '#include "common.h"\nkernel void {name}(global pair *p) {{ p[0].x = twice(ONE); }}\n'


@pytest.mark.parametrize("guard", [("#ifndef COMMON\n#define COMMON\n", "#endif\n"), ("", "")])
def test_objects_that_include_the_same_header_are_linked(source: Path, tmp_path: Path, guard: tuple[str, str]) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "common.h").write_text(guard[0] + HEADER + guard[1])
    for name in ("a", "b"):
        (tmp_path / f"{name}.cl").write_text(USE.format(name=name).replace('"common.h"', "<common.h>"))
    compiled(tmp_path, "a.cl", "b.cl", "-Iinc", "-o", "one.aocx")
    compiled(tmp_path, "-c", "a.cl", "b.cl", "-Iinc")
    for file in ("inc/common.h", "a.cl", "b.cl"):
        (tmp_path / file).unlink()
    compiled(tmp_path, "a.aoco", "b.aoco", "-o", "two.aocx")
    assert (tmp_path / "two.aocx").read_bytes() == (tmp_path / "one.aocx").read_bytes()


def test_each_object_keeps_its_macros(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.cl").write_text("kernel void NAME(global int *x) { x[0] = 1; }\n")
        compiled(tmp_path, "-c", f"{name}.cl", f"-DNAME=run_{name}")
    compiled(tmp_path, "a.aoco", "b.aoco", "-o", "k.aocx")
    made = check(Container.read(tmp_path / "k.aocx"), describe("usm_s10"))
    assert [kernel.name for kernel in made.kernels] == ["run_a", "run_b"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_library_is_named_to_the_compiler_or_when_objects_are_linked(
    source: Path, tmp_path: Path, at_once: bool
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "add.cl").write_text("int rtl_add(int a, int b) { return a + b; }\n")
    for name in ("a", "b"):
        text = f"int rtl_add(int, int);\nkernel void {name}(global int *x) {{ x[0] = rtl_add(x[0], 2); }}\n"
        (tmp_path / f"{name}.cl").write_text(text)
    library = ("-L", "lib", "-l", "add.cl")
    compiled(tmp_path, "-c", "a.cl", "b.cl", *(library if at_once else ()))
    said = compiled(tmp_path, "a.aoco", "b.aoco", "-o", "k.aocx", *(() if at_once else library))
    assert "changes nothing" not in said
    assert Container.read(tmp_path / "k.aocx").text(sections.SOURCE).count("int rtl_add(int a, int b)") == 1


def test_an_error_that_shows_when_objects_are_linked_has_its_line(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.cl").write_text("\nkernel void same(global int *x) { x[0] = 1; }\n")
        compiled(tmp_path, "-c", f"{name}.cl")
    said = refused(tmp_path, "a.aoco", "b.aoco")
    assert "b.cl:2:13: error: redefinition of 'same'" in said
    assert "    kernel void same(global int *x)" in said


def test_an_error_in_a_macro_of_the_compilers_is_shown_where_the_file_uses_it() -> None:
    log = "error: k.cl:2:5 <Spelling=/cache/tempfile.cl:14:28>: bit sizes greater than 128 are not supported"
    assert with_carets(log, {"k.cl": "\nint ap_int<129> a;\n"}) == (
        "k.cl:2:5: error: bit sizes greater than 128 are not supported\n    int ap_int<129> a;\n        ^"
    )


@pytest.mark.parametrize("step", [(), ("-c",)])
def test_a_header_that_is_not_there_is_told_with_its_line(source: Path, tmp_path: Path, step: tuple[str, ...]) -> None:
    (tmp_path / "inc.h").write_text("\n#include <none.h>\n")
    (tmp_path / "k.cl").write_text('#include "inc.h"\nkernel void k() {}\n')
    said = refused(tmp_path, "k.cl", *step)
    assert said == "inc.h:2:1: error: 'none.h' file not found\n    #include <none.h>\n    ^\n"


def test_warnings_are_told_once(source: Path, tmp_path: Path) -> None:
    (tmp_path / "w.cl").write_text("kernel void k(global int *x) { x[0] = x[1] / 0; }\n")
    assert "w.cl:1:44: warning: division by zero" in compiled(tmp_path, "-c", "w.cl")
    assert "warning: " not in compiled(tmp_path, "w.aoco")


# Boards


def test_the_boards_name_is_a_macro(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("#ifndef AOCL_BOARD_a10_ref\n#error other\n#endif\nkernel void k() {}\n")
    compiled(tmp_path, "k.cl", "-board=a10_ref")
    refused(tmp_path, "k.cl", "-board=hetero")


@pytest.mark.parametrize("board", ["usm_s10", "hetero", "a10_ref", "k2h"])
def test_what_is_compiled_for_the_emulator_loads_on_every_board(engine: Engine, board: str) -> None:
    from machine import Machine

    source = 'kernel void k(global __attribute__((buffer_location("DDR"))) int *x) { x[0] = 1; }'
    made = compile_source(source, describe("hetero"), Options(emulator=True), engine)
    machine = Machine(board)
    machine.platform._engine = engine
    program = from_binary(machine.context, machine.devices, made.encode())
    known = [memory.name for memory in machine.devices[0].board.memories]
    (argument,) = program.interfaces()["k"].arguments
    assert argument.buffer_location == ("DDR" if "DDR" in known else "")


@pytest.mark.parametrize("board", ["k2h", "k2h_low"])
def test_what_is_compiled_for_a_dsp_is_loaded_by_it(engine: Engine, board: str) -> None:
    made = compile_source("kernel void k(global int *x) {}", describe(board), Options(), engine)
    assert [kernel.name for kernel in check(made, describe(board)).kernels] == ["k"]


def test_an_unknown_board_is_told_with_what_to_do(source: Path, tmp_path: Path) -> None:
    said = refused(tmp_path, source, "-DONE=1", "-board=p520", status=2)
    assert "-board=p520: not one of a10_ref" in said
    assert "-board-package" in said


@pytest.mark.parametrize(
    ("words", "variables", "told"),
    [
        (("-board=p520",), {}, "AOCL_BOARD_PACKAGE_ROOT (which is not set)"),
        (("-board=p520",), {"AOCL_BOARD_PACKAGE_ROOT": "/none"}, "(which is '/none', where there is no board_env.xml)"),
        (("-board-package=",), {}, "is AOCL_BOARD_PACKAGE_ROOT, or your variable for it, not set?"),
    ],
)
def test_the_variable_that_a_board_package_needs_is_told_by_its_name(
    source: Path, tmp_path: Path, words: tuple[str, ...], variables: dict[str, str], told: str
) -> None:
    assert told in refused(tmp_path, source, "-DONE=1", *words, status=2, **variables)


def test_the_board_of_the_environment_takes_the_place_of_one_that_is_not_here(source: Path, tmp_path: Path) -> None:
    said = compiled(tmp_path, source, "-DONE=1", "-board=p520", FPGART_BOARD="a10_ref")
    assert "note: board 'p520' is not available; 'a10_ref' replaces it" in said
    assert Container.read(tmp_path / "add.aocx").text(sections.BOARD) == "a10_ref"


def test_for_the_emulator_any_boards_name_will_do(source: Path, tmp_path: Path) -> None:
    said = compiled(tmp_path, source, "-DONE=1", "-board=p520", "-march=emulator")
    assert "board 'p520' is not available" in said
    assert "-march" not in said
    assert Container.read(tmp_path / "add.aocx").text(sections.BOARD) == sections.EMULATOR_BOARD


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "bsp"
    (root / "hardware" / "tall").mkdir(parents=True)
    (root / "board_env.xml").write_text(PACKAGE)
    (root / "hardware" / "tall" / "board_spec.xml").write_text(SPEC)
    return root


def test_a_package_that_names_no_folder_of_boards_is_refused(package: Path) -> None:
    (package / "board_env.xml").write_text('<board_env version="20.4" name="mine"/>')
    with pytest.raises(BoardSpecError, match="there is no element 'hardware'"):
        BoardPackage.read(package)


def read_board(package: Path) -> BoardDescription:
    return describe(str(package / "hardware" / "tall" / "board_spec.xml"))


@pytest.mark.parametrize("named", [True, False])
def test_boards_of_a_package_are_compiled_for(source: Path, package: Path, tmp_path: Path, named: bool) -> None:
    if named:
        compiled(tmp_path, source, "-DONE=1", f"-board-package={package}", "-board=tall")
    else:
        compiled(tmp_path, source, "-DONE=1", AOCL_BOARD_PACKAGE_ROOT=str(package))
    made = check(Container.read(tmp_path / "add.aocx"), read_board(package))
    assert made.memories[0].name == "MEM"


def test_the_list_of_boards_marks_the_default(package: Path, tmp_path: Path) -> None:
    said = compiled(tmp_path, "-list-boards", AOCL_BOARD_PACKAGE_ROOT=str(package))
    assert said.startswith("Board list:\n")
    assert f"  tall (default)\n     Board Package: {package}\n" in said
    assert "  usm_s10\n" in said


def test_the_version_is_that_of_a_release(tmp_path: Path) -> None:
    assert "64-Bit Offline Compiler\nVersion 20.4.0 Build" in compiled(tmp_path, "-version")


# The page of -report


def test_loops_are_found_with_nesting_pragmas_and_places() -> None:
    found = read(
        '#line 1 "k.cl"\n'
        "void f(int n) { while (n) n--; }\n"
        "kernel void k(int n) {\n"
        "  #pragma unroll 4\n"
        "  for (int i = 0; i < n; i++)\n"
        "    for (int j = 0; j < n; j++) { f(j); }\n"
        "  do { n--; } while (n > 4);\n"
        "  while (n) { n--; } // for (;;)\n"
        "}\n"
    )
    assert [(str(loop.place), loop.function, loop.nesting, loop.pragmas) for loop in found.loops] == [
        ("k.cl:1", "f", 1, ()),
        ("k.cl:4", "k", 1, ("unroll 4",)),
        ("k.cl:5", "k", 2, ()),
        ("k.cl:6", "k", 1, ()),
        ("k.cl:7", "k", 1, ()),
    ]
    assert found.loops[1].head == "for (int i = 0; i < n; i++)"


def test_channels_and_local_memories_are_found_as_they_are_declared() -> None:
    found = read(
        "channel float4 c[2] __attribute__((depth(8)));\nchannel int d;\n"
        "kernel void k() { local int __attribute__((numbanks(2))) tile[4][4];\n}\n"
    )
    assert [(c.declaration, c.depth) for c in found.channels] == [("float4 c[2]", "8"), ("int d", "")]
    assert [(m.function, m.declaration.split()) for m in found.memories] == [("k", ["int", "tile[4][4]"])]


def test_the_report_shows_what_macros_make_and_not_what_conditions_leave_out(source: Path, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(
        "#define EACH(i, n) for (int i = 0; i < n; i++)\n#if 0\nkernel void no() { while (1); }\n#endif\n"
        "kernel void k(global int *x) {\n  EACH(i, 4) x[i] = i;\n}\n"
    )
    compiled(tmp_path, "k.cl", "-report")
    page = (tmp_path / "k" / "reports" / "report.html").read_text()
    assert "<code>k.cl:6</code>" in page
    assert "while" not in page


def test_the_report_is_a_page_in_the_work_folder(source: Path, tmp_path: Path) -> None:
    compiled(tmp_path, source, "-DONE=1", "-report", "-o", "bin/add.aocx")
    page = (tmp_path / "bin" / "add" / "reports" / "report.html").read_text()
    assert "<h3><code>add</code></h3>" in page
    assert "kernel add" in page
    assert "for (int i = 0; i &lt; n; i++)" in page
