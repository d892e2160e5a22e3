# SPDX-License-Identifier: Apache-2.0
"""Constant expressions in attributes and pragmas (preprocessing/expressions.py, attribute_numbers.py)."""

from __future__ import annotations

from struct import iter_unpack

import pytest
from constant_expressions import DECLARATIONS, expressions
from machine import Machine
from test_kernel_language import built, ints, launched

from fpgart.base.errors import BuildProgramFailure
from fpgart.kernels.attribute_numbers import with_numbers
from fpgart.kernels.declarations import Declarations
from fpgart.kernels.functions import plain_text
from fpgart.kernels.opencl_c import kernel_attributes
from fpgart.kernels.preprocessing.expressions import Parser, evaluate
from fpgart.kernels.preprocessing.literals import Value
from fpgart.kernels.preprocessing.tokens import tokens_of
from fpgart.kernels.signs import PreprocessorError

SEED, COUNT, REFUSED = 32, 200, 2
"""Of the expressions that are compared with the engine's compiler, and how many refusals of it are tried."""
MANY, SEEDS = 1000, (1, 2, 3, 4)


def value(expression: str) -> Value:
    """The value and the type, behind DECLARATIONS."""
    names = Declarations(DECLARATIONS).before(len(DECLARATIONS))
    tokens = [token.text for token in tokens_of(expression)]
    parser = Parser(tokens, names)
    found = parser.expression()
    assert parser.index == len(tokens)
    return found


def program_with(rows: list[str], columns: int) -> str:
    """A program that stores the numbers of these rows, `columns` in each."""
    return (
        f"{DECLARATIONS}constant ulong table[] = {{\n{NEXT.join(rows)}}};\n"
        f"kernel void k(global ulong *x) {{ for (int i = 0; i < {columns * len(rows)}; i++) x[i] = table[i]; }}"
    )


NEXT = ",\n"


def table(found: list[str]) -> str:
    """A program that stores, for each expression, its value, the size of its type, and whether that type has a sign."""
    return program_with([f"(ulong)({each}), sizeof({each}), (__typeof__({each}))-1 < 1" for each in found], 3)


def split_by_value(seed: int, count: int) -> tuple[dict[str, Value], list[str]]:
    """Random expressions with their values, and those that have none."""
    known: dict[str, Value] = {}
    refused = []
    for each in expressions(seed, count):
        try:
            known[each] = value(each)
        except ValueError:
            refused.append(each)
    return known, refused


def compare(board: Machine, seed: int, count: int) -> None:
    """Compares all expressions with the engine's compiler: values and types in one program, refusals in another."""
    known, refused = split_by_value(seed, count)
    assert len(known) + len(refused) == count
    program = program_with([f"__builtin_constant_p({each})" for each in refused], 1)
    constants = launched(board, built(board, program), bytes(8 * len(refused)), "k")
    assert [each for each, row in zip(refused, iter_unpack("Q", constants), strict=True) if row != (0,)] == []
    answer = launched(board, built(board, table(list(known))), bytes(24 * len(known)), "k")
    rows = zip(known.items(), iter_unpack("3Q", answer), strict=True)
    wrong = {
        each: (found, row)
        for (each, found), row in rows
        if row != (int(found.number) % (1 << 64), found.type.size, found.type.signed)
    }
    assert wrong == {}


def test_random_expressions_are_what_the_engines_compiler_makes_of_them(board: Machine) -> None:
    compare(board, SEED, COUNT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_thousand_random_expressions_are_what_the_engines_compiler_makes_of_them(board: Machine, seed: int) -> None:
    compare(board, seed, MANY)


def test_the_engines_compiler_refuses_the_expressions_that_have_no_value(board: Machine) -> None:
    _, refused = split_by_value(SEED, COUNT)
    assert len(refused) >= REFUSED
    assert all("/" in each or "%" in each for each in refused)
    for each in refused[:REFUSED]:
        with pytest.raises(BuildProgramFailure):
            built(board, table([each]))


VALUES = [
    ("256/16", 16),
    ("1 ? 2 : 1/0", 2),
    ("0 && 1/0", 0),
    ("-1 > 0u", 1),
    ("2147483647 + 1", -(1 << 31)),
    ("1 << 33", 2),
    ("'\\xff'", -1),
    ("'ab'", 24930),
    ("(uchar)300", 44),
    ("(int)2.9f + sizeof(float3)", 18),
    ("~0u >> 28", 15),
    ("(bool)8 + (bool)0.5f", 2),
    ("(uchar)300.5f + (uchar)-1.5", 255),
    ("0b101 + 010 + 0x10", 29),
    ("sizeof(packet)", 48),
    ("sizeof(union either)", 32),
    ("sizeof(int *) + sizeof 1.0f", 12),
    ("BLUE * SIZE", 49 * 42),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_an_expression_has_the_value_that_c_gives_it(expression: str, expected: int) -> None:
    assert value(expression).number == expected


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("1 / 0", "divides by zero"),
        ("unknown", "'unknown' is not a constant"),
        ("0x1ffffffffffffffff", "more than 64 bits"),
        ("1.5f | 1", "floating-point operand"),
        ("sizeof(struct none)", "the size of 'struct none' is not known"),
        ("(float4)1", "not arithmetic"),
        ("''", "not a character"),
        ("(1", "a parenthesis|too early"),
    ],
)
def test_what_has_no_value_is_told(expression: str, why: str) -> None:
    with pytest.raises((ValueError, IndexError), match=why):
        value(expression)


@pytest.mark.parametrize(("condition", "holds"), [("-1 > 0u", 1), ("1 << 40 > 0", 1), ("1 || 1 / 0", 1), ("sizeof", 0)])
def test_conditions_of_the_preprocessor_have_64_bits_and_no_names(condition: str, holds: int) -> None:
    assert evaluate([token.text for token in tokens_of(condition)]) == holds


UNITS = """
#define R 2
#define C 2
#define UNITS(n) __attribute__((num_compute_units(n)))
enum {{ ROWS = R, COLUMNS }};
channel int c[R * C];
__attribute__((max_global_work_dim(0))) __attribute__((autorun)) {units}
kernel void unit(void) {{ write_channel_intel(c[get_compute_id(0)], 101 * get_compute_id(0)); }}
kernel void k(global int *x) {{
    #pragma unroll
    for (int i = 0; i < R * C; i++) x[i] = read_channel_intel(c[i]);
}}
"""


@pytest.mark.parametrize(
    "units",
    ["__attribute__((num_compute_units(R*C)))", "UNITS(1 << R)", "__attribute__((__num_compute_units__(COLUMNS + 1)))",
     "__attribute__((num_compute_units((int)sizeof(int))))", "__attribute__((num_compute_units(0x4)))"],
)  # fmt: skip
def test_an_expression_says_how_many_units_run(board: Machine, units: str) -> None:
    assert ints(board, UNITS.format(units=units), 0, 0, 0, 0) == [0, 101, 202, 303]


NAMED = "\nenum { ROWS = 3 }; constant int K = 5; typedef struct { int a[4]; } T;\n"
ATTRIBUTES = [
    ("num_compute_units(ROWS * 2, 1)", "num_compute_units", (6, 1)),
    ("num_simd_work_items(ROWS + 1)", "num_simd_work_items", (4,)),
    ("max_work_group_size(1, 1, (256 / 16))", "max_work_group_size", (1, 1, 16)),
    ("max_work_group_size(sizeof(T) * 2)", "max_work_group_size", (32,)),
    ("max_global_work_dim(K > 4 ? 0 : 3)", "max_global_work_dim", (0,)),
    ("uses_global_work_offset(!K)", "uses_global_work_offset", (0,)),
]


@pytest.mark.parametrize(("attribute", "name", "numbers"), ATTRIBUTES)
def test_the_numbers_of_an_attribute_are_the_values_of_its_expressions(
    attribute: str, name: str, numbers: tuple[int, ...]
) -> None:
    found = kernel_attributes(f"{NAMED}__attribute__(({attribute})) kernel void k() {{}}")
    assert found == {"k": {name: numbers}}


def test_a_declaration_gives_its_attributes_to_the_definition() -> None:
    source = "__attribute__((num_simd_work_items(4))) kernel void k(int n); kernel void k(int n) {}"
    assert kernel_attributes(source) == {"k": {"num_simd_work_items": (4,)}}


@pytest.mark.parametrize(
    ("pragma", "written"),
    [
        ("unroll N", "unroll 3"),
        ("unroll(N + 1)", "unroll 4"),
        ("unroll", "unroll"),
        ("ii sizeof(int)", "ii 4"),
        ("ivdep array(x) safelen(N << 1)", "ivdep array(x) safelen(6)"),
        ("max_concurrency 0x10", "max_concurrency 16"),
        ("loop_coalesce N;", "loop_coalesce 3"),
    ],
)
def test_the_number_of_a_pragma_is_the_value_of_its_expression(pragma: str, written: str) -> None:
    text = plain_text(f"kernel void k(int n) {{\nconst int N = 3;\n#pragma {pragma}\nfor (;;);\n}}")
    assert f"#pragma {written}\n" in text


def test_a_name_ends_with_its_block() -> None:
    source = "kernel void k() { enum { N = 3 }; }\nkernel void l() {\n#pragma unroll N\nfor (;;); }"
    with pytest.raises(PreprocessorError, match="'N' is not a constant"):
        with_numbers(source)


REFUSALS = [
    ("#define U\n__attribute__((num_compute_units(U))) kernel void k() {}", 2, "num_compute_units(): it has 0 numbers"),
    ("\n\n__attribute__((num_compute_units(n)))\nkernel void k(int n) {}", 3, "num_compute_units(n): 'n'"),
    ("__attribute__((num_compute_units(1 / 0))) kernel void k() {}", 1, "num_compute_units(1 / 0): it divides by zero"),
    ("__attribute__((num_compute_units(2 - 2))) kernel void k() {}", 1, "num_compute_units(2 - 2): its value 0 is not"),
    ("__attribute__((num_simd_work_items)) kernel void k() {}", 1, "num_simd_work_items(): it has 0 numbers"),
    ("__attribute__((max_global_work_dim(1.5f))) kernel void k() {}", 1, "max_global_work_dim(1.5f): 1.5 is not an"),
    ("\nkernel void k(int n) {\n#pragma unroll n\nfor (int i = 0; i < n; i++); }", 3, "#pragma unroll n: 'n'"),
    ("kernel void k(int n) {\n#pragma ii n\nfor (int i = 0; i < n; i++); }", 2, "#pragma ii n: 'n' is not a constant"),
    ("kernel void k(int n) {\n#pragma ivdep safelen(n)\nfor (;;); }", 2, "safelen(n): 'n' is not a constant"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "words"), REFUSALS)
def test_an_argument_that_is_no_constant_is_an_error_of_the_build_with_its_line(
    board: Machine, source: str, line: int, words: str
) -> None:
    with pytest.raises(BuildProgramFailure) as caught:
        built(board, source)
    assert f"program.cl:{line}:1: error: {words}" in str(caught.value)


def test_programs_without_such_attributes_are_not_preprocessed(board: Machine) -> None:
    source = "__attribute__((reqd_work_group_size(1, 1, 1))) kernel void k(global int *x) { x[0] = __LINE__; }"
    assert ints(board, source, 0) == [1]
