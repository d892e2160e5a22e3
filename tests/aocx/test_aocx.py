"""Program containers: autodiscovery, ELF, the compiler, and the checks when one is loaded."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from compiling import compile_file
from effort import EFFORT
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import fpgart

from fpgart.aocx import container as sections
from fpgart.aocx import system as s
from fpgart.aocx.autodiscovery import AutodiscoveryError, parse, to_section
from fpgart.aocx.autodiscovery import format as written
from fpgart.aocx.autodiscovery.tokens import Reader
from fpgart.aocx.checks import check
from fpgart.aocx.compiler import CompileError, Options, compile_source, memories_of
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.base.errors import InvalidBinary
from fpgart.board.catalogue import describe
from fpgart.engine.interface import Engine
from fpgart.kernels.opencl_c import kernel_attributes
from fpgart.runtime.objects.context import Context
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.loading import from_binaries, from_binary

EXAMPLE = """
23 28 0123456789abcdef0123456789abcdef01234567 simk10 0  1 14 DDR 2 2 24 1 2 0 2147483648 2147483648 4294967296 0 - 0 -
0 0  1  0 0  1  0 0  0
1 68 vadd 0 256 1 0 0 1 0 1 0  4  10 2 1 8 1024 0 0 a int* 0 0  10 2 1 8 1024 0 0 b int* 0 0
10 2 1 8 1024 0 0 c int* 0 0  10 0 0 4 4 0 0 n int 0 0  0 0  0 0  0 0 0  1 2147483647  3 1 0 0
"""
VADD = s.Autodiscovery(
    "0123456789abcdef0123456789abcdef01234567",
    "simk10",
    (s.Memory("DDR", (s.Interface(0, 1 << 31), s.Interface(1 << 31, 1 << 32)), config_address=24),),
    (
        s.DescribedKernel(
            "vadd",
            (
                *(
                    s.Argument(s.AddressSpace.GLOBAL, s.Category.MEMORY, 8, 1024, name=name, type_name="int*")
                    for name in "abc"
                ),
                s.Argument(s.AddressSpace.NONE, s.Category.VALUE, 4, 4, name="n", type_name="int"),
            ),
            work_group_invariant=True,
        ),
    ),
)
SOURCE = """
__attribute__((max_global_work_dim(0)))
kernel void copy(global const int *restrict a, global int *restrict b, int n)
{ for (int i = 0; i < n; i++) b[i] = a[i]; }
__attribute__((num_simd_work_items(2))) __attribute__((reqd_work_group_size(4, 1, 1)))
kernel void scale(global float4 *x, float4 f, local float *tmp) { x[get_global_id(0)] *= f; }
"""


@pytest.fixture(scope="module")
def made(engine: Engine) -> Container:
    return compile_source(SOURCE, describe("hetero"), Options(("-DX=1",)), engine)


# Autodiscovery


def test_the_worked_example_is_read_as_described() -> None:
    assert parse(EXAMPLE) == VADD


def test_the_worked_example_is_written_byte_for_byte() -> None:
    assert written(VADD) == " ".join(EXAMPLE.split())


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12).filter(
    lambda name: name not in ("-", "0", "?")
)
small = st.integers(0, 1 << 20)
flags = st.booleans()


@st.composite
def memories(draw: st.DrawFn) -> s.Memory:
    count = draw(st.integers(1, 4))
    begins = draw(st.lists(st.integers(0, 1 << 48), min_size=count, max_size=count))
    ports = tuple(s.Interface(begin, begin + draw(st.integers(1, 1 << 34))) for begin in begins)
    many = count > 1
    return s.Memory(
        draw(names), ports, draw(st.sampled_from(s.MemoryKind)), draw(small) if many else 0,
        draw(flags) if many else True, draw(st.integers(0, 7)), draw(names | st.just("")),
        tuple(draw(st.lists(names, max_size=2))), draw(names | st.just("")),
    )  # fmt: skip


@st.composite
def arguments(draw: st.DrawFn) -> s.Argument:
    space = draw(st.sampled_from(s.AddressSpace))
    local = space is s.AddressSpace.LOCAL
    qualifiers = s.TypeQualifier(draw(st.integers(0, 15)))
    pipe = s.TypeQualifier.PIPE in qualifiers
    return s.Argument(
        space, draw(st.sampled_from(s.Category)), draw(small), draw(small), tuple(draw(st.lists(names, max_size=2))),
        draw(small) if local else 0, draw(small) if local else 0, qualifiers, draw(names | st.just("")) if pipe else "",
        draw(names), draw(names | st.just("")), draw(st.sampled_from(s.Access)), draw(names | st.just("")),
    )  # fmt: skip


@st.composite
def systems(draw: st.DrawFn) -> s.Autodiscovery:
    kernel = st.builds(
        s.DescribedKernel, names, st.lists(arguments(), max_size=3).map(tuple), small, small, small, small, small,
        st.just(True), flags, small, small,
        st.lists(st.builds(s.PrintfFormat, small, st.text(st.characters(max_codepoint=126), min_size=1, max_size=9)),
                 max_size=2).map(tuple),
        st.lists(st.builds(s.LocalSpace, small, small), max_size=2).map(tuple),
        st.tuples(small, small, small), st.lists(small, max_size=3).map(tuple), st.integers(0, 3), flags, flags,
        st.none() | st.builds(s.StreamingControl, names, names),
    )  # fmt: skip
    return s.Autodiscovery(
        "a" * 40, draw(names), tuple(draw(st.lists(memories(), max_size=3))), tuple(draw(st.lists(kernel, max_size=2))),
        draw(flags), tuple(draw(st.lists(st.builds(s.HostPipe, names, flags, flags, small, small), max_size=2))),
        cra_ring_root=draw(flags),
    )  # fmt: skip


@given(systems())
@settings(max_examples=150 * EFFORT, deadline=None)
def test_what_is_written_is_read_back(system: s.Autodiscovery) -> None:
    assert parse(written(system)) == system


@given(st.integers(0, 67), st.sampled_from(["", "x", "-1", "99999999999", "999"]))
def test_a_damaged_string_is_told_with_its_place(index: int, token: str) -> None:
    tokens = EXAMPLE.split()
    tokens[index : index + 1] = [token] if token else []
    refused = ""
    try:
        parse(" ".join(tokens))
    except AutodiscoveryError as error:
        refused = str(error)
    assert not refused or "at byte" in refused


# Containers


@given(st.dictionaries(names.map(lambda n: f".acl.{n}"), st.binary(max_size=300), max_size=6))
@settings(deadline=None)
def test_sections_are_read_back(content: dict[str, bytes]) -> None:
    assert Container.decode(Container(content).encode()).sections == content


def test_the_layout_is_that_of_real_containers(made: Container) -> None:
    data = made.encode()
    assert data[:6] == b"\x7fELF\x01\x01"
    assert (data[16:18], data[18:20]) == (b"\0\0", b"\x3e\0")
    assert list(made.sections)[:2] == [sections.BOARD, sections.AUTODISCOVERY]
    text = made[sections.AUTODISCOVERY]
    assert len(text) % 256 == 0
    assert int(text[-8:], 16) == len(text[:-8].rstrip()) + 1


# The compiler


@pytest.mark.parametrize("length", [1, 246, 247, 248, 249, 256])
def test_the_text_never_runs_into_its_length(length: int) -> None:
    padded = to_section("7" * length)
    assert len(padded) % 256 == 0
    assert padded[:-8].split() == [b"7" * length]
    assert padded[length:-8].isspace()


def test_the_same_input_gives_the_same_bytes(engine: Engine, made: Container) -> None:
    again = compile_source(SOURCE, describe("hetero"), Options(("-DX=1",)), engine)
    assert again.encode() == made.encode()


def test_the_kernels_interfaces_are_written_down(made: Container) -> None:
    copy, scale = parse(made.text(sections.AUTODISCOVERY)).kernels
    assert (copy.name, copy.max_global_work_dim) == ("copy", 0)
    assert [(a.name, a.size, a.space.name) for a in scale.arguments] == [
        ("x", 8, "GLOBAL"),
        ("f", 16, "NONE"),
        ("tmp", 4, "LOCAL"),
    ]
    assert (scale.vector_lanes, scale.required_work_group_size) == (2, (4, 1, 1))
    assert copy.arguments[0].qualifiers == s.TypeQualifier.CONST | s.TypeQualifier.RESTRICT


def test_attributes_are_read_with_macros() -> None:
    source = "#define L 8\n__attribute__((max_work_group_size(L))) kernel void k() {}\nkernel void j() {}"
    assert kernel_attributes(source) == {"k": {"max_work_group_size": (8,)}, "j": {}}


def test_errors_have_file_line_and_caret(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "bad.cl"
    file.write_text("kernel void fine() {}\nkernel void k(global int *x) { x[0] = y; }\n")
    with pytest.raises(CompileError) as caught:
        compile_file(file, describe("usm_s10"), Options(), engine)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("bad.cl:2:39: error: use of undeclared identifier 'y'")
    assert lines[1].strip() == "kernel void k(global int *x) { x[0] = y; }"
    assert lines[2].index("^") == lines[1].index("y;")


def test_headers_beside_the_source_go_into_the_container(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "n.h").write_text("#ifndef N\n#define N 3\n#endif\n")
    (tmp_path / "k.cl").write_text('#include "n.h"\nkernel void k(global int *x) { x[0] = N; }\n')
    made = compile_file(tmp_path / "k.cl", describe("usm_s10"), Options(), engine)
    assert "x[0] = 3;" in made.text(sections.SOURCE)
    assert str(tmp_path) not in made.encode().decode(errors="replace")


def test_a_memory_that_the_board_lacks_is_an_error(engine: Engine) -> None:
    source = 'kernel void k(global __attribute__((buffer_location("HBM"))) int *x) {}'
    with pytest.raises(CompileError, match="memory 'HBM'; board 'usm_s10' has device, host"):
        compile_source(source, describe("usm_s10"), Options(), engine)


# Checks


def changed(container: Container, **contents: bytes) -> Container:
    return Container({**container.sections, **{f".acl.{name}": data for name, data in contents.items()}})


def test_a_container_fits_its_board(made: Container) -> None:
    assert [kernel.name for kernel in check(made, describe("hetero")).kernels] == ["copy", "scale"]


def test_what_does_not_fit_is_told(made: Container) -> None:
    with pytest.raises(AocxError, match="compiled for board 'hetero', this one is 'a10_ref'"):
        check(made, describe("a10_ref"))
    with pytest.raises(AocxError, match="changed since it was compiled"):
        check(changed(made, source=b"other"), describe("hetero"))
    with pytest.raises(AocxError, match="is empty"):
        check(changed(made, **{"fpga.bin": b""}), describe("hetero"))
    with pytest.raises(AocxError, match="a board with 3 global memories, this one has 1"):
        check(changed(made, **{"board": b"a10_ref", "fpga.bin": b"bits"}), describe("a10_ref"))


def context_of(board: str) -> Context:
    from machine import Machine

    return Machine(board).context


def test_a_container_is_loaded_and_given_back_unchanged(made: Container, engine: Engine) -> None:
    context = context_of("hetero")
    context.platform._engine = engine
    data = made.encode()
    program = from_binary(context, context.devices, data)
    assert program.executable
    assert sorted(program.interfaces()) == ["copy", "scale"]
    assert program.binary(context.devices[0]) == data
    assert program.identity == made.text(sections.RANDOM_HASH)


def test_building_a_container_again_does_not_change_what_its_source_is_read_with(
    made: Container, engine: Engine
) -> None:
    context = context_of("hetero")
    context.platform._engine = engine
    program = from_binary(context, context.devices, made.encode())
    program.build(context.devices, "")
    assert program.options == "-DX=1"
    assert program.builds[context.devices[0]].options == ""


@pytest.mark.parametrize("seed", range(120))
def test_a_damaged_file_is_refused_and_never_crashes(made: Container, seed: int) -> None:
    context, chance, data = context_of("hetero"), random.Random(seed), bytearray(made.encode())
    if seed % 3 == 0:
        del data[chance.randrange(len(data)) :]
    for _ in range(chance.randrange(1, 4) if seed % 3 else 0):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    words = identity = ""
    try:
        identity = from_binary(context, context.devices, bytes(data)).identity
    except InvalidBinary as error:
        words = str(error)
    # What is still taken was hit where nothing is: neither in a section nor in its name.
    assert words or identity == made.text(sections.RANDOM_HASH)


# The commands


def test_the_commands_compile_show_check_and_extract(engine: Engine, tmp_path: Path) -> None:
    source, target = tmp_path / "k.cl", tmp_path / "k.aocx"
    source.write_text(SOURCE)
    result = fpgart("aoc", source, "-o", target, "-board=a10_ref", "-march=simulator", "-DX=1", "-report")
    assert result.returncode == 0, result.stderr
    assert "note: -march=simulator has no effect here" in result.stderr
    assert "scale: work-groups of 4 x 1 x 1, 2 lanes" in result.stdout
    assert fpgart("aocx", "show", target).stdout == result.stdout
    assert "fits board 'a10_ref', 2 kernels" in fpgart("aocx", "check", target).stdout
    wrong = fpgart("aocx", "check", target, "--board", "usm_s10")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "fpgart: it was compiled for board 'a10_ref', this one is 'usm_s10'\n",
    )
    assert fpgart("aocx", "extract", target, ".acl.board").stdout == "a10_ref"


def test_the_compile_command_ends_with_1_for_a_wrong_source(engine: Engine, tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text("kernel void k( {")
    result = fpgart("aoc", source, "-o", source.with_suffix(".aocx"))
    assert result.returncode == 1
    assert "k.cl:1:16: error:" in result.stderr
    assert not source.with_suffix(".aocx").exists()


def test_an_option_that_is_none_is_told() -> None:
    result = fpgart("aoc", "k.cl", "-bord=x")
    assert result.returncode == 2
    assert "-bord=x is not an option of aoc" in result.stderr


def test_a_binary_that_interleaves_otherwise_has_the_buffers_saved_and_written_back(engine: Engine) -> None:
    from machine import Machine

    from fpgart.board.catalogue import with_separate_banks
    from fpgart.runtime.objects.programming import program_device

    board = describe("hetero")
    source = "kernel void k(global int *x) {}"
    plain = compile_source(source, board, Options(), engine)
    separate = compile_source(source, with_separate_banks(board, ["DDR"]), Options(), engine)
    machine = Machine(board)
    machine.platform._engine = engine
    buffer = machine.buffer(5000)
    machine.write(buffer, b"kept" * 1250)
    programs = [from_binary(machine.context, machine.devices, c.encode()) for c in (plain, separate)]
    calls = []
    for program in (programs[0], programs[1], programs[1], programs[0]):
        program_device(machine.context, machine.device, program)
        calls.append(dict(machine.calls()))
    assert calls == [
        {"write": (1, 5000)},
        {"write": (2, 10000), "read": (1, 5000)},
        {"write": (2, 10000), "read": (1, 5000)},
        {"write": (3, 15000), "read": (2, 10000)},
    ]
    assert machine.read(buffer) == b"kept" * 1250


def test_each_device_can_have_a_binary_of_its_own(engine: Engine) -> None:
    from machine import Machine

    machine = Machine("a10_ref", "usm_s10")
    machine.platform._engine = engine
    source = "kernel void k(global int *x) { x[0] += ADD; }"
    parts = [
        compile_source(source, describe(board), Options((f"-DADD={add}",)), engine)
        for board, add in (("a10_ref", 1), ("usm_s10", 10))
    ]
    pairs = list(zip(machine.devices, [part.encode() for part in parts], strict=True))
    program = from_binaries(machine.context, pairs)
    assert [program.binary(device) for device in machine.devices] == [data for _, data in pairs]
    kernel, buffer = Kernel(program, "k"), machine.buffer(4)
    machine.write(buffer, bytes(4))
    kernel.set_buffer(0, buffer)
    for device in (0, 1, 0):
        machine.run(kernel, device=device)
    assert machine.read(buffer) == bytes([12, 0, 0, 0])
    for device, part in zip(machine.devices, parts, strict=True):
        assert list(device.loaded) == [part.text(sections.RANDOM_HASH)]


def test_each_device_has_the_kernels_of_its_own_binary(engine: Engine) -> None:
    from machine import Machine

    machine = Machine("a10_ref", "usm_s10")
    machine.platform._engine = engine
    parts = [
        compile_source(f"kernel void {name}(global int *x) {{}}", describe(board), Options(), engine).encode()
        for board, name in (("a10_ref", "k"), ("usm_s10", "other"))
    ]
    program = from_binaries(machine.context, list(zip(machine.devices, parts, strict=True)))
    assert list(program.interfaces()) == ["k", "other"]
    assert [program.has_kernel("other", device) for device in machine.devices] == [False, True]


def kernels_of(source: str, engine: Engine) -> tuple[s.DescribedKernel, ...]:
    made = compile_source(source, describe("usm_s10"), Options(), engine)
    return parse(made.text(sections.AUTODISCOVERY)).kernels


def test_a_structure_passed_by_value_has_its_size_in_the_container(engine: Engine) -> None:
    source = "typedef struct { long x[20]; char y; } big; struct small { short z[3]; };"
    (kernel,) = kernels_of(source + "kernel void k(global long *out, big b, struct small c) {}", engine)
    assert [argument.size for argument in kernel.arguments] == [8, 168, 6]


def test_registers_of_kernels_with_many_bytes_of_arguments_do_not_overlap(engine: Engine) -> None:
    vectors = ", ".join(f"long16 v{index}" for index in range(4))
    first, second = kernels_of(f"kernel void a(global long *out, {vectors}) {{}} kernel void b(int x) {{}}", engine)
    assert first.csr_bytes >= 0x80 + 8 + 4 * 128
    assert second.csr_address == first.csr_address + first.csr_bytes


def test_memories_of_several_banks_have_the_address_of_their_register() -> None:
    board = describe("a10_ref")
    (memory,) = memories_of(board)
    assert (memory.banks, memory.config_address) == (2, board.memories[0].config_addr)
    assert memory.config_address


def test_a_group_has_no_more_tokens_than_the_count_before_it_says() -> None:
    reader = Reader("a b c")
    with reader.fields(1):
        assert reader.more
        reader.text("first")
        assert not reader.more
        with pytest.raises(AutodiscoveryError, match="leaves no room for it"):
            reader.text("second")
