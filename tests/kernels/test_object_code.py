"""Local variables of kernels, counted in the intermediate code of an engine's objects."""

from __future__ import annotations

import random
from struct import Struct

import pytest

from fpgart.base import opencl as cl
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import BuiltProgram
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.object_code import intermediate_code, local_variables
from fpgart.engine.opencl_engine.program import DriverProgram
from fpgart.kernels import bitcode

DECLARED = {
    "int own[256]": 1024,
    "char own[7]": 7,
    "float3 own[5]": 80,
    "double16 own[3]": 384,
    "ulong own[2][3][4]": 192,
    "struct { global int *a[3]; char b; } own[3]": 96,
    "struct { char a; long b; short c; } own[4]": 96,
    "struct __attribute__((packed)) { char a; long b; short c; } own[4]": 44,
    "struct { char a[3]; struct { short b; float4 c; } d; } own[2]": 96,
    "union { char a[5]; int b; } own[4]": 32,
    "struct point { int x, y; } own[3]": 24,
}


@pytest.fixture(scope="module")
def engine() -> OpenCLEngine:
    found = choose_engine()
    if not isinstance(found, OpenCLEngine) or not found.driver.gives_objects:
        pytest.skip("PoCL is not the engine")
    return found


def kernel(name: str, declaration: str) -> str:
    """A kernel whose local variable `own` no compiler can do without."""
    return (
        f"kernel void {name}(global uchar *x) {{ local {declaration}; volatile local uchar *y = (local uchar *)&own;"
        " y[get_local_id(0)] = x[0]; barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = y[0]; }\n"
    )


def built(engine: OpenCLEngine, source: str) -> DriverProgram:
    program = engine.from_source(source)
    program.build("")
    assert isinstance(program, DriverProgram)
    return program


def code_of(program: DriverProgram) -> bytes:
    assert program.objects is not None
    return intermediate_code(program.objects.objects[0])


def answered(program: BuiltProgram, name: str) -> int:
    """Returns the size of local memory that the engine's kernel reports."""
    return int(Struct("Q").unpack(program.kernel(name).work_group_info(cl.CL_KERNEL_LOCAL_MEM_SIZE))[0])


def test_variables_have_their_types_sizes(engine: OpenCLEngine) -> None:
    source = "".join(kernel(f"k{index}", each) for index, each in enumerate(DECLARED))
    program = built(engine, source)
    counted = {each: program.local_variables(f"k{index}") for index, each in enumerate(DECLARED)}
    assert counted == DECLARED
    assert counted == {each: answered(program, f"k{index}") for index, each in enumerate(DECLARED)}


def test_only_a_kernels_own_variables_count(engine: OpenCLEngine) -> None:
    constants = "constant int k_table[5] = {1, 2, 3, 4, 5}; kernel void none(global int *x)"
    constants += " { const int four[4] = {9, 8, 7, 6}; x[0] = k_table[x[0] & 3] + four[x[1] & 3]; }\n"
    program = built(engine, kernel("k", "int own[8]") + kernel("k_more", "int own[4]") + constants)
    names = ("k", "k_more", "none", "nothing_of_this_name")
    assert [program.local_variables(each) for each in names] == [32, 16, 0, 0]


def test_a_linked_and_a_loaded_program_have_those_of_their_parts(engine: OpenCLEngine) -> None:
    parts = [engine.from_source(kernel(name, f"int own[{count}]")) for name, count in (("a", 16), ("b", 32))]
    for part in parts:
        part.compile("", {})
    linked, _ = engine.link("", parts)
    loaded = engine.from_binary(linked.binary())
    loaded.build("")
    assert [[answered(each, name) for name in "ab"] for each in (linked, loaded)] == [[64, 128]] * 2


def test_code_that_ends_early_is_refused(engine: OpenCLEngine) -> None:
    code = code_of(built(engine, kernel("k", "int own[256]")))
    for length in range(0, len(code) - 64, 7):
        try:
            assert all(each.size <= 1024 for each in bitcode.global_variables(code[:length]))
        except bitcode.Damaged:
            continue
    with pytest.raises(bitcode.Damaged):
        list(bitcode.global_variables(code[: len(code) // 8]))
    damaged = b"/program.bc\x40\0\0\0" + code[:64]
    assert local_variables([damaged], "k") == 0


def test_damaged_code_is_read_or_refused(engine: OpenCLEngine) -> None:
    code = code_of(built(engine, kernel("k", "int own[256]")))
    chance = random.Random(31)
    refused = 0
    for _ in range(500):
        damaged = bytearray(code)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(4, len(code))] = chance.randrange(256)
        try:
            list(bitcode.global_variables(bytes(damaged)))
        except bitcode.Damaged:
            refused += 1
    assert 0 < refused < 500
