# SPDX-License-Identifier: Apache-2.0
"""Programs of an engine that is a few lines of Python: binaries by device, linking, the library of programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Boards, Machine, machine_of

from fpgart.aocx.binary import ProgramBinary
from fpgart.aocx.container import Container
from fpgart.base import opencl as cl
from fpgart.base.errors import BuildProgramFailure, InvalidBinary, LinkProgramFailure
from fpgart.engine.interface import BuildFailed
from fpgart.kernels.interface import ArgumentInterface, KernelInterface
from fpgart.runtime.objects.programming import program_device
from fpgart.runtime.programs import library
from fpgart.runtime.programs import program as program_module
from fpgart.runtime.programs.binaries import check_binary
from fpgart.runtime.programs.build import Build, first_error
from fpgart.runtime.programs.compiler_mode import CompilerMode
from fpgart.runtime.programs.linking import link
from fpgart.runtime.programs.loading import from_binaries, from_binary
from fpgart.runtime.programs.local_memory import engine_local_memory
from fpgart.runtime.programs.program import Program
from fpgart.runtime.programs.work_groups import engine_limits

ONE = "kernel void one(global int *x) { x[0] = 1; }"
TWO = "kernel void two(global int *x) { x[0] = 2; }"
BROKEN = "#error nothing here"


@dataclass
class Made:
    """A program of the engine: its kernels are those that the text names."""

    text: str
    options: list[str] = field(default_factory=list)

    def build(self, options: str) -> str:
        self.options.append(options)
        if self.text == BROKEN:
            raise BuildFailed(BuildProgramFailure.status, "1 warning\nerror: #error nothing here\nerror: and more")
        return "built"

    def compile(self, options: str, headers: Mapping[str, object]) -> str:
        return self.build(options)

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        argument = ArgumentInterface("x", "int*", cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, 0, 0)
        names = re.findall(r"kernel void (\w+)", self.text)
        return {name: KernelInterface(name, (argument,)) for name in names}

    def kernel(self, name: str) -> object:
        return object()

    def binary(self) -> bytes:
        return self.text.encode()

    def network(self, plugs: object) -> None:
        return None


class Engine:
    name, version, mirrors = "few lines", "1", None

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers

    def device_info(self, query: int) -> bytes:
        return next((answer for name, answer in self.answers.items() if getattr(cl, name) == query), b"")

    def from_source(self, source: str) -> Made:
        return Made(source)

    def from_binary(self, binary: bytes) -> Made:
        return Made(binary.decode())

    def link(self, options: str, programs: list[Made]) -> tuple[Made, str]:
        if not programs:
            raise BuildFailed(LinkProgramFailure.status, "ld: nothing\nerror: no program")
        return Made("\n".join(program.text for program in programs)), "linked"


@pytest.fixture
def engined() -> Iterator[Boards]:
    """Machines of the given boards, with this engine."""
    open_ones: list[Iterator[Machine]] = []

    def make(*boards: str) -> Machine:
        open_ones.append(machine_of(*boards))
        machine = next(open_ones[-1])
        engine: Any = Engine()
        machine.platform._engine = engine
        return machine

    yield make
    for each in open_ones:
        next(each, None)


@pytest.fixture
def a10_ref(engined: Boards) -> Machine:
    return engined("a10_ref")


@pytest.fixture
def two_boards(engined: Boards) -> Machine:
    return engined("a10_ref", "hetero")


def built(machine: Machine, source: str, options: str = "", device: int | None = None) -> Program:
    devices = machine.devices if device is None else [machine.devices[device]]
    program = Program(machine.context, devices, source=source)
    program.claim(devices)
    program.build(devices, options)
    return program


class SeenAtOnce(dict[Any, Build]):
    """The builds of a program, beside a thread that asks for its kernels and identity as soon as one is a success."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.builds)
        self._program = program
        self.seen: list[tuple[set[str], bool]] = []

    def __setitem__(self, device: Any, build: Build) -> None:
        super().__setitem__(device, build)
        if build.status == cl.CL_BUILD_SUCCESS:
            program = self._program
            self.seen.append((set(program.interfaces()), build.options in program.identity))


def test_a_build_that_succeeds_shows_nothing_of_the_build_before_it(
    engined: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = engined("usm_s10")
    program = built(machine, ONE, "-D OLD")
    monkeypatch.setattr(program_module, "sha1", lambda text: SimpleNamespace(hexdigest=lambda: str(text)))
    assert set(program.interfaces()) == {"one"}
    assert "-D OLD" in program.identity
    program.source = TWO
    program.builds = builds = SeenAtOnce(program)
    program.claim(machine.devices)
    program.build(machine.devices, "-D NEW")
    assert builds.seen == [({"two"}, True)]


# By device


def test_a_program_has_the_binary_of_each_device(two_boards: Machine) -> None:
    both = ONE, f"{ONE} // other"
    binaries = [
        built(two_boards, source, device=index).binary(two_boards.devices[index]) for index, source in enumerate(both)
    ]
    program = from_binaries(two_boards.context, list(zip(two_boards.devices, binaries, strict=True)))
    assert program.devices == two_boards.devices
    assert [program.on(device).listing for device in two_boards.devices] == [*both]
    program.claim(program.devices)
    program.build(program.devices, "-w")
    for device, source in zip(two_boards.devices, both, strict=True):
        made: Any = program.on(device).made
        assert (made.text, made.options) == (source, [device.board.build_options("-w")])
        assert program.builds[device] == program.on(device).builds[device]
        assert program.builds[device].status == cl.CL_BUILD_SUCCESS
        assert from_binary(two_boards.context, [device], program.binary(device)).listing == source


@pytest.mark.parametrize("broken", [0, 1])
def test_a_binary_that_does_not_build_leaves_that_of_another_device_built(two_boards: Machine, broken: int) -> None:
    binaries = []
    for index, device in enumerate(two_boards.devices):
        binary = built(two_boards, ONE, device=index).binary(device)
        binaries.append(
            ProgramBinary.decode(binary)._replace(payload=BROKEN.encode()).encode() if index == broken else binary
        )
    program = from_binaries(two_boards.context, list(zip(two_boards.devices, binaries, strict=True)))
    program.claim(program.devices)
    with pytest.raises(BuildProgramFailure):
        program.build(program.devices, "")
    statuses = [program.builds[device].status for device in two_boards.devices]
    assert statuses[broken] == cl.CL_BUILD_ERROR
    assert statuses[1 - broken] == cl.CL_BUILD_SUCCESS


def test_a_binary_is_encoded_once_for_each_build(engined: Boards) -> None:
    machine = engined("a10_ref")
    device = machine.devices[0]
    program = built(machine, ONE)
    binary = program.binary(device)
    assert program.binary(device) is binary
    program.claim([device])
    program.build([device], "-DOTHER")
    assert ProgramBinary.decode(program.binary(device)).options == "-DOTHER"


def test_one_binary_for_two_devices_is_one_program(engined: Boards) -> None:
    machine = engined("a10_ref", "a10_ref")
    binary = built(machine, ONE).binary(machine.devices[0])
    program = from_binaries(machine.context, [(device, binary) for device in machine.devices])
    assert [program.on(device) for device in machine.devices] == [program, program]


def test_binaries_of_one_program_may_have_different_kernels(two_boards: Machine) -> None:
    binaries = [
        built(two_boards, source, device=index).binary(two_boards.devices[index])
        for index, source in enumerate((ONE, TWO))
    ]
    program = from_binaries(two_boards.context, list(zip(two_boards.devices, binaries, strict=True)))
    program.claim(program.devices)
    program.build(program.devices, "")
    assert list(program.interfaces()) == ["one", "two"]
    has = [[program.has_kernel(name, device) for device in two_boards.devices] for name in ("one", "two")]
    assert has == [[True, False], [False, True]]


def test_a_build_for_one_device_leaves_that_of_another_as_it_is(engined: Boards) -> None:
    machine = engined("a10_ref", "a10_ref")
    program, (first, second) = Program(machine.context, machine.devices, source=ONE), machine.devices
    for device, options in ((first, "-DX=1"), (second, "-DX=2"), (first, "-DX=3")):
        program.claim([device])
        program.build([device], options)
    assert [program.on(device).options for device in machine.devices] == ["-DX=3", "-DX=2"]
    assert program.on(first).made is not program.on(second).made
    assert program.on(first).identity != program.on(second).identity
    program.claim(machine.devices)
    program.build(machine.devices, "-DX=4")
    assert [program.on(device) for device in machine.devices] == [program, program]


def test_kernels_are_not_looked_up_in_what_is_being_built_again(
    engined: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = engined("a10_ref", "a10_ref")
    program, (first, second) = Program(machine.context, machine.devices, source=ONE), machine.devices
    for device in (first, second):
        program.claim([device])
        program.build([device], "")
    asked: list[object] = []
    kernels = Made.kernels

    def look_up(made: Made, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        asked.append(made)
        return kernels(made, known)

    def build(made: Made, options: str) -> str:
        assert list(program.interfaces()) == ["one"]
        return "built"

    monkeypatch.setattr(Made, "kernels", look_up)
    monkeypatch.setattr(Made, "build", build)
    program.claim([second])
    program.build([second], "-DX=2")
    assert asked == [program.on(first).made]
    assert program.on(first) is not program.on(second)


def test_boards_with_other_macros_have_programs_of_their_own(engined: Boards) -> None:
    machine = engined("a10_ref", "k2h", "a10_ref")
    program = built(machine, ONE)
    made: list[Any] = [program.on(device).made for device in machine.devices]
    assert made[0] is made[2]
    for each, device in zip(made, machine.devices, strict=True):
        assert each.options == [device.board.build_options("")]


@pytest.mark.parametrize(("board", "knows"), [("a10_ref", False), ("k2h", True)])
def test_a_device_that_keeps_programs_in_its_memory_knows_them(engined: Boards, board: str, knows: bool) -> None:
    machine = engined(board)
    program = built(machine, ONE)
    assert machine.device.programs.all() == [program] * knows


def test_a_program_is_loaded_when_that_was_asked_for_and_returned(a10_ref: Machine) -> None:
    program = built(a10_ref, ONE)
    assert program.identity not in a10_ref.device.loaded
    program_device(a10_ref.context, a10_ref.device, program)
    assert program.identity in a10_ref.device.loaded


# Linking


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("-cl-fast-relaxed-math", cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE),
        ("-create-library -w", cl.CL_PROGRAM_BINARY_TYPE_LIBRARY),
    ],
)
def test_what_was_linked_is_an_executable_or_a_library_with_all_its_parts(
    two_boards: Machine, options: str, kind: int
) -> None:
    parts = [built(two_boards, source) for source in (ONE, TWO)]
    program, failure = link(two_boards.context, two_boards.devices, options, parts)
    assert failure is None
    assert program.linked
    assert program.devices == two_boards.devices
    for build in program.builds.values():
        assert (build.status, build.options, build.log, build.kind) == (cl.CL_BUILD_SUCCESS, options, "linked", kind)
    assert program.listing == f"{ONE}\n{TWO}"
    made: Any = program.made
    assert made.text == f"{ONE}\n{TWO}"


def test_the_listing_of_what_was_linked_is_unknown_where_that_of_a_part_is(a10_ref: Machine) -> None:
    made: Any = Made(TWO)
    unknown = Program(a10_ref.context, a10_ref.devices, made=made)
    program, _ = link(a10_ref.context, a10_ref.devices, "", [built(a10_ref, ONE), unknown])
    assert unknown.listing is None
    assert program.listing is None
    assert link(a10_ref.context, a10_ref.devices, "", [built(a10_ref, "")])[0].listing == ""


def test_what_does_not_link_is_a_program_with_the_log(a10_ref: Machine) -> None:
    program, failure = link(a10_ref.context, a10_ref.devices, "-w", [])
    assert isinstance(failure, LinkProgramFailure)
    assert str(failure) == "the programs do not link: error: no program"
    assert program.linked
    build = program.builds[a10_ref.device]
    assert (build.status, build.options, build.log) == (cl.CL_BUILD_ERROR, "-w", "ld: nothing\nerror: no program")


# Builds


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("note: one\nx.cl:1: Error: two\nerror: three\nfour", "x.cl:1: Error: two"),
        ("one\ntwo", "one"),
        ("", "the compiler gave no reason"),
    ],
)
def test_the_first_line_of_a_log_that_names_an_error_says_why(log: str, line: str) -> None:
    assert first_error(log) == line


def test_the_options_of_a_program_are_those_of_its_last_build(a10_ref: Machine) -> None:
    program = built(a10_ref, ONE, "-DA=1")
    assert program.options == "-DA=1"
    program.build(a10_ref.devices, "-DA=2")
    assert program.options == "-DA=2"


def test_a_container_keeps_the_options_that_it_was_made_with(a10_ref: Machine) -> None:
    program = from_binary(a10_ref.context, a10_ref.devices, container_for(a10_ref, ("-DA=1",)))
    program.claim(a10_ref.devices)
    program.build(a10_ref.devices, "-DA=2")
    assert program.options == "-DA=1"


def test_a_source_that_does_not_build_says_why_and_keeps_the_log(a10_ref: Machine) -> None:
    program = Program(a10_ref.context, a10_ref.devices, source=BROKEN)
    program.claim(a10_ref.devices)
    with pytest.raises(BuildProgramFailure, match=r"^the program does not build: error: #error nothing here$"):
        program.build(a10_ref.devices, "-w")
    build = program.builds[a10_ref.device]
    assert (build.status, build.options, build.kind) == (cl.CL_BUILD_ERROR, "-w", cl.CL_PROGRAM_BINARY_TYPE_NONE)
    assert build.log.splitlines()[-1] == "error: and more"


# Binaries


def test_bytes_of_clGetProgramInfo_are_a_binary_for_any_board(two_boards: Machine) -> None:
    binary = built(two_boards, ONE).binary(two_boards.devices[0])
    for device in two_boards.devices:
        check_binary(device, binary)
    with pytest.raises(InvalidBinary, match="checksum"):
        check_binary(two_boards.device, binary[:-1])
    with pytest.raises(InvalidBinary, match="signature is missing"):
        check_binary(two_boards.device, b"nothing")


def container_for(machine: Machine, options: tuple[str, ...] = ()) -> bytes:
    from fpgart.aocx.compiler import Options, compile_source

    return compile_source(ONE, machine.device.board, Options(options), machine.platform.engine).encode()


def test_a_container_is_a_binary_for_the_board_that_it_was_made_for(two_boards: Machine) -> None:
    data = container_for(two_boards)
    check_binary(two_boards.devices[0], data)
    with pytest.raises(InvalidBinary, match="a10_ref"):
        check_binary(two_boards.devices[1], data)
    with pytest.raises(InvalidBinary):
        check_binary(two_boards.devices[0], data[:-100])


def test_a_program_from_source_is_not_linked_from_others(engined: Boards) -> None:
    assert not built(engined("a10_ref"), ONE).linked


# Local memory


@pytest.mark.parametrize(("answer", "size"), [((1 << 20).to_bytes(8, "little"), 1 << 20), (b"", 32768)])
def test_local_memory_has_the_size_that_the_engine_says_or_else_the_least_of_opencl(answer: bytes, size: int) -> None:
    engine: Any = Engine(CL_DEVICE_LOCAL_MEM_SIZE=answer)
    assert engine_local_memory(engine) == size


# The library


def test_compiler_modes_have_the_numbers_of_the_extension() -> None:
    names = ["OFFLINE", "CREATE_LIBRARY", "USE_LIBRARY", "PRELOADED", "ONLINE", "SPLIT_KERNEL"]
    assert [(mode.name, mode.value) for mode in CompilerMode] == [(name, number) for number, name in enumerate(names)]


def test_a_program_of_the_library_is_in_a_folder_of_its_digits(engined: Boards) -> None:
    board = engined("a10_ref").device.board
    folder = library.folder_of("/root", board, "-w", ONE)
    assert re.fullmatch(r"/root/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{36}", str(folder))
    others = [library.folder_of("/root", board, "-x", ONE), library.folder_of("/root", board, "-w", TWO)]
    assert len({folder, *others}) == 3
    assert library.folder_of("", board, "-w", ONE) == Path("aocl_program_library", *folder.parts[-3:])


def test_a_program_that_is_built_into_the_library_is_there_for_the_contexts_first_device(
    two_boards: Machine, tmp_path: Path
) -> None:
    context: Any = two_boards.context
    context.compiler_mode, context.library_root = CompilerMode.CREATE_LIBRARY.value, str(tmp_path)
    built(two_boards, ONE, "-DA=1")
    folder = library.folder_of(str(tmp_path), two_boards.devices[0].board, "-DA=1", ONE)
    assert {file.name: file.read_text() for file in folder.iterdir() if file.suffix != ".aocx"} == {
        "kernels.cl": ONE,
        "build.cmd": "fpgart aoc kernels.cl -board=a10_ref -DA=1\n",
        "build.log": "",
    }
    data = (folder / "kernels.aocx").read_bytes()
    assert Container.decode(data).text(".acl.board") == "a10_ref"
    context.compiler_mode = CompilerMode.USE_LIBRARY.value
    assert built(two_boards, ONE, "-DA=1", device=0).binary(two_boards.device) == data


def test_what_the_library_cannot_keep_or_has_not_is_told(a10_ref: Machine, tmp_path: Path) -> None:
    board, engine = a10_ref.device.board, a10_ref.platform.engine
    (tmp_path / "file").touch()
    with pytest.raises(BuildFailed) as kept:
        library.create(str(tmp_path / "file"), board, "", ONE, engine)
    assert kept.value.log.startswith("the program library: ")
    with pytest.raises(BuildFailed) as compiled:
        library.create(str(tmp_path), board, "", BROKEN, engine)
    assert "error: #error nothing here" in compiled.value.log
    with pytest.raises(BuildFailed) as looked_for:
        library.load(str(tmp_path), board, "", TWO)
    assert "is not there: compile the program into the library first" in looked_for.value.log


# Limits of the engine


def test_an_engine_that_says_no_limits_has_those_of_4096_work_items() -> None:
    silent: Any = Engine()
    assert engine_limits(silent) == (4096, (4096,) * 3)
    told: Any = Engine(
        CL_DEVICE_MAX_WORK_GROUP_SIZE=(512).to_bytes(8, "little"),
        CL_DEVICE_MAX_WORK_ITEM_SIZES=b"".join(size.to_bytes(8, "little") for size in (512, 256, 64)),
    )
    assert engine_limits(told) == (512, (512, 256, 64))


@pytest.mark.parametrize(
    ("source", "polls"),
    [
        (ONE, False),
        ("kernel void f(global int *x, local int *y) { barrier(CLK_LOCAL_MEM_FENCE); }", False),
        ("kernel void f(global volatile int *x) { while (!x[0]); }", True),
        ("kernel void f(global int *x) { while (!atomic_add(x, 0)); }", True),
        ("kernel void f(global int *x) { while (!x[0]) barrier(CLK_GLOBAL_MEM_FENCE); }", True),
        ("kernel void f(global int *x) { while (!x[0]) mem_fence(1); }", True),
        ('kernel void f(global int *x) { while (!x[0]) asm(""); }', True),
        ('kernel void g();\n  #include "g.cl"\n', True),
        ("kernel void f(global int *x) { atomic_inc(x); }", False),
        (
            "kernel void f(global int *x, int n) { for (int i = get_global_id(0); i < n; i += 2 * n) atomic_inc(x); }",
            False,
        ),
        ("kernel void f(global int *x, int n) { for (int i = 0; i < n * 4 - 1; ++i) atomic_inc(x); }", False),
        ("kernel void f(global int *x) { for (;;) if (atomic_inc(x)) return; }", True),
        ("kernel void f(global volatile int *x) { for (int i = 0; i < *x; i++); }", True),
        ("kernel void f(global int *x, int n) { for (int i = 0; i < n && atomic_or(x, 0); i++); }", True),
        ("kernel void f(global int *x, int n) { for (int i = 0; i < n; i += atomic_or(x, 0)); }", True),
        ("#define N (*x)\nkernel void f(global int *x) { for (int i = 0; i < N; i++) atomic_inc(x); }", True),
        (
            "#define N 4u\n#define M (N*2)\nkernel void f(global int *x) { for (int i = 0; i < M; i++) atom_inc(x); }",
            False,
        ),
        ("kernel void f(volatile global int *x, int n) { for (int i = 0; i < n; i++) x[0] = i; }", False),
        ("global volatile int y, n;\nkernel void f(global int *x) { for (int i = 0; i < n; i++) x[0] = i; }", True),
        (
            "typedef volatile int t;\nglobal t n;\nvoid f(global int *x) { for (int i = 0; i < n; i++) *x = i; }",
            True,
        ),
        (
            "struct s { volatile int n; };\nvoid f(struct s y) { for (int i = 0; i < y.n; i++); }",
            True,
        ),
        ("kernel void f(global int *x) { again: if (!atomic_or(x, 0)) goto again; }", True),
    ],
)
def test_a_kernel_may_poll_unless_its_source_shows_that_it_does_not(a10_ref: Machine, source: str, polls: bool) -> None:
    assert Program(a10_ref.context, a10_ref.devices, source=source).may_poll() == polls


def test_a_kernel_may_poll_if_the_options_say_so_or_the_source_is_unknown(a10_ref: Machine) -> None:
    program = Program(
        a10_ref.context, a10_ref.devices, source=f"{ONE}\nvoid waits(MODE global int *x) {{ while (*x) ; }}"
    )
    assert not program.may_poll()
    program.build(a10_ref.devices, "-DMODE=volatile")
    assert program.may_poll()
    counting = f"{ONE}\nvoid waits(global volatile int *x) {{ for (int i = 0; i < LIMIT; i++); }}"
    for limit, polls in (("4", False), ("(*x)", True)):
        program = Program(a10_ref.context, a10_ref.devices, source=counting)
        program.build(a10_ref.devices, f"-DLIMIT={limit}")
        assert program.may_poll() == polls
    assert Program(a10_ref.context, a10_ref.devices, il=b"\3\2\43\7").may_poll()
