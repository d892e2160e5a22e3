# SPDX-License-Identifier: Apache-2.0
"""The questions to a source before it is translated: they may be wrong in one direction only."""

from __future__ import annotations

import re

import pytest
from effort import EFFORT
from hypothesis import given, settings
from hypothesis import strategies as st

from fpgart.base.patterns import Sign
from fpgart.kernels.dialect import has_words_of_fpgas
from fpgart.kernels.local_variables import has_local_variables, with_local_variables
from fpgart.kernels.lowering import lower
from fpgart.kernels.opencl_c import kernel_attributes
from fpgart.kernels.polling import Polling
from fpgart.kernels.signs import LOCAL_DECLARATION, VARIABLE, LoweringError, may_be_lowered
from fpgart.kernels.source_text import bare_code

SIGN = Sign(("half", "full"), r"\n *(?:half|full|empty)\b")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("half", True),
        ("x\n  full;", True),
        ("x half", False),
        ("halves", False),
        ("empty", False),
        ("half of it\nempty", True),
        ("", False),
    ],
)
def test_a_sign_is_in_a_text_with_a_word_in_which_the_expression_matches(text: str, found: bool) -> None:
    assert SIGN.is_in(text) is found


PIECES = (
    "global", "__global", "static", "const", "local", "__local", "channel", "pipe", "kernel", "__kernel", "void", "int",
    "x", "f", "(", ")", "{", "}", "[", "]", ";", ",", "=", "*", "2", "\n", " ", "__attribute__((aligned(8)))",
    "__attribute__", "'{'", '"("', "// {\n", "/* ; */", "#define A {\n", "\\",
)  # fmt: skip
TYPE_FIRST = re.compile(r"(?:\*|\b(?!(?:static|const)\b)\w+)\s*(?:\b(?:static|const)\s+)*\b(?:__)?global\b")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


def is_lowered(text: str) -> bool:
    try:
        return lower(text) is not None
    except LoweringError:
        return True


@settings(max_examples=300 * EFFORT, deadline=None)
@given(TEXTS)
def test_what_is_translated_has_the_signs_of_it(text: str) -> None:
    if {"'", '"', "\\"} & set(text):  # what these hide is found by the compiler's refusal
        return
    if TYPE_FIRST.search(bare_code(text)):  # and so are these
        return
    if is_lowered(text) and text.rstrip().endswith(";"):  # what has no end is the compiler's to report
        assert may_be_lowered(text)


@pytest.mark.parametrize(
    "declaration",
    [
        "global int x;",
        "__global const int x[4] = {1, 2};",
        "static global int x;",
        "const global int x = 1;",
        "extern global int x;",
        "global int x // {one}\n;",
        "const volatile global int x;",
        "__attribute__((aligned(64))) global int x;",
        "global int x[2 * (3 + 1)], y[sizeof(int)];",
        "/* a table */ global int x /* (of one) */ [1]; // of {2}",
        "global int __attribute__((aligned(64))) x = (1 + 2);",
        "__attribute__((a)) channel int x;",
        "int f() { return 1; } global int x;",
        "kernel void k(read_only pipe int p) {}",
    ],
)
def test_declarations_that_are_translated_are_seen(declaration: str) -> None:
    assert is_lowered(declaration)
    assert has_words_of_fpgas(declaration)


@pytest.mark.parametrize(
    "source",
    [
        "kernel void k(\n  global int *x,\n  global int *y)\n{ x[0] = y[0]; }",
        "kernel void k(global int *x)\n{\n  global int *y = x;\n  global int4 *z = (global int4 *)x; }",
        "global int *f(global int *x) { return x; }",
        "void f() { int x = 1; }\n__attribute__((a))\nvoid g() {}",
    ],
)
def test_pointers_to_global_memory_need_no_translator(source: str) -> None:
    assert not may_be_lowered(source)


@pytest.mark.parametrize("piece", ["// a\n", "/* a */", "/ ", "[1]", "[", "__attribute__((a(1)))", "__attribute__(("])
@pytest.mark.parametrize("word", ["global ", "local "])
def test_a_declaration_without_an_end_is_searched_once(word: str, piece: str) -> None:
    text = word + 10_000 * piece + "("
    assert not VARIABLE.is_in(text)
    assert not LOCAL_DECLARATION.is_in(text)


@pytest.mark.parametrize("behind", ["", ";", "(1)", " x;"])
def test_an_attribute_without_its_parentheses_does_not_stop_the_translator(behind: str) -> None:
    assert lower(f"channel int c; __attribute__{behind}") is not None


LOCALS = [
    ("kernel void k() { local int x[4]; x[0] = 1; }", False),
    ("kernel void k() { { local int x[4]; x[0] = 1; } }", True),
    ("kernel void k() { if (1) { int y; } local int x[4]; }", False),
    ("void f() { local int x[4]; x[0] = 1; }", True),
    ("void f() { local int x[2 * (3 + 1)], y[sizeof(int)]; x[0] = 1; }", True),
    ("void f(local int *x) { local int *y = x; }", False),
    ("kernel void k() { printf(\"{\"); local int x[4]; }", False),
    ("kernel void k() { int c = '}'; local int x[4]; } // {", False),
    ("void f() {} kernel void k() { local int x; } void g() { int a; { __local int x; } }", True),
]  # fmt: skip


@pytest.mark.parametrize(("source", "found"), LOCALS)
def test_local_variables_are_found_where_opencl_c_has_none(source: str, found: bool) -> None:
    assert LOCAL_DECLARATION.is_in(source) or not found
    assert has_local_variables(source) is found


def test_brackets_in_literals_close_nothing() -> None:
    source = "void f() { printf(\")}\"); char c = '{'; local int x[4]; x[0] = 1; }\nkernel void k() { f(); }"
    made = with_local_variables(source)
    assert "(__fpgart_locals->x_0)[0] = 1;" in made
    assert "printf(\")}\"); char c = '{'" in made


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (
            "__attribute__((num_simd_work_items(4))) __attribute__((reqd_work_group_size(4, 1, 1))) kernel void k() {}",
            "",
        ),
        ("#define A(x) num_##x\n__attribute__((A(simd_work_items)(4))) kernel void k() {}", ""),
        ("__attribute__((A(4))) kernel void k() {}", "-DA=num_simd_work_items"),
        ("kernel void k() __attribute((num_simd_work_items(4))) {}", ""),
    ],
)
def test_attributes_are_found_however_their_names_are_made(source: str, options: str) -> None:
    assert kernel_attributes(source, options) == {"k": {"num_simd_work_items": (4,)}}


@pytest.mark.parametrize(
    ("source", "polls"),
    [
        ("kernel void k(volatile global int *x) { while (*x) ; }", True),
        ("kernel void k(global int *x) { while (*x) ; }", False),
        ("kernel void k(volatile global int *x) { for (int i = 0; i < 4; i++) *x = i; }", False),
        ("#include <a.h>\nkernel void k() {}", True),
        ("#import <a.h>\nkernel void k() {}", True),
        ("# include_next <a.h>\nkernel void k() {}", True),
        ("kernel void k(global int *x) { while (__atomic_load_n(x, 0)) ; }", True),
        ("kernel void k(global int *x) { while (__sync_fetch_and_add(x, 0)) ; }", True),
        ("kernel void k(__volatile__ global int *x) { while (*x) ; }", True),
        ("// important, plasma, diatomic, included\nkernel void k() { while (1) ; }", False),
        ("kernel void k(global int *x, int n) { for (int s = n / 2; s > 0; s >>= 1) atomic_inc(x); }", False),
        ("kernel void k(global int *x, int n) { for (int s = 1; s < n; s *= 2) atomic_inc(x); }", False),
        ("kernel void k(volatile local int *x) { while (*x) ; }", False),
        ("kernel void k(__local volatile int *x) { while (*x) ; }", False),
        ("kernel void k(global int *local volatile *x) { while (**x) ; }", False),
        ("kernel void k(local int *x, volatile global int *y) { while (*y) ; }", True),
    ],
)
def test_a_kernel_polls_that_repeats_a_read_in_a_loop_without_a_count(source: str, polls: bool) -> None:
    assert Polling(source, "").may_include("k") is polls


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("kernel void k(global int *x) { while (*x) ; }", ""),
        ("kernel void k(global int *x) { AGAIN (*x) ; }", "-DAGAIN=while"),
        ("kernel void k(volatile global int *x) {}", ""),
    ],
)
def test_no_kernel_polls_of_a_program_without_such_a_loop_or_such_a_read(source: str, options: str) -> None:
    assert not Polling(source, options).may_include("")


HEAD = "for (int i = 0; i < n; i++) "


@pytest.mark.parametrize(
    ("loop", "polls"),
    [
        (f"{HEAD}if (atomic_inc(x)) y[i] += n;", False),
        (f"{HEAD}{{ if (atomic_inc(x)) i--; }}", True),
        (f"{HEAD}if (atomic_inc(x)) ; else i = 0;", True),
        (f"{HEAD}if (atomic_inc(x)) n += 1;", True),
        (f"{HEAD}{{ atomic_inc(x); f(&n); }}", True),
        (f"{HEAD}{{ atomic_inc(x); int *p = &i; *p = 0; }}", True),
        (f"{HEAD}{{ atomic_inc(x); int *p = (int *)&i; *p = 0; }}", True),
        (f"{HEAD}{{ atomic_inc(x); int z = (n) & i, a = x[1] & i, b = n&&i; }}", False),
        (f"{HEAD}{{ atomic_inc(x); int z = n & i, a = i <= n, b = i == n; }}", False),
        (f"{HEAD}for (int j = 0; j < 4; j++) {{ atomic_inc(x); --i; }}", True),
        (f"{HEAD}for (int j = 0; j < 4; j++) atomic_inc(x); n = 0;", False),
        (f"{HEAD}atomic_inc(x); i = 0;", False),
        (f"{HEAD}/* i-- */ atomic_inc(x);", False),
        (f"{HEAD}{{ AGAIN(i) atomic_inc(x); }}\n#define AGAIN(counter) counter--;\n", True),
        (f"AGAIN(i) {HEAD}atomic_inc(x);\n#define AGAIN(counter) counter--;\n", False),
        (f"{HEAD}{{ atomic_inc(x); }}AGAIN(i)\n#define AGAIN(counter) counter--;\n", False),
        (f"{HEAD}{{ y[SAME(i)] = atomic_inc(x); }}\n#define SAME(counter) (counter)\n", False),
        ("TIMES(*x) atomic_inc(x);\n#define TIMES(n) for (int i = 0; i < n; i++)\n", True),
        ("for (int i = 0; i < get_flag(x); i++) atomic_inc(x);", True),
        ("for (int i = get_local_id(0); i < get_num_groups(0) * n; i += get_local_size(0)) atomic_inc(x);", False),
    ],
)
def test_a_loop_counts_unless_its_body_changes_what_its_head_compares(loop: str, polls: bool) -> None:
    source = f"kernel void k(global int *x, global int *y, int n) {{ {loop} }}"
    assert Polling(source, "").may_include("k") is polls
    assert Polling(source, "").may_include("") is polls


ENDS_AT = "kernel void k(global int *x, int m{}) {{ {} for (int i = 0; i < {}; i++) atomic_inc(x); }}"


@pytest.mark.parametrize(
    ("macros", "options", "polls"),
    [
        ("#define N 4", "", False),
        ("#define N M\n#define M (int)4", "", False),
        ("#define N get_global_size(0)", "", False),
        ("#define N x[0]", "", True),
        ("#define N M\n#define M x[0]", "", True),
        ("#define N L\n#define L M\n#define M x[0]", "", True),
        ("#define N 4\n#define M x[0]", "", False),
        ("", "-DN=4", False),
        ("", "-DN=x[0]", True),
    ],
)
def test_a_macro_ends_a_loop_that_counts_if_its_value_stays(macros: str, options: str, polls: bool) -> None:
    assert Polling(f"{macros}\n{ENDS_AT.format('', '', 'N')}", options).may_include("k") is polls


@pytest.mark.parametrize(
    ("before", "parameter", "variable", "limit", "polls"),
    [
        ("", "", "volatile int n = 4;", "n", True),
        ("", "", "volatile int o, n = 4;", "n", True),
        ("", "", "volatile int n = 4;", "m", False),
        ("", ", volatile int n", "", "n", True),
        ("", ", volatile int n, int o", "", "o", False),
        ("typedef volatile int flag;\n", "", "flag n = 4;", "n", True),
        ("typedef volatile int flag;\ntypedef flag other;\n", "", "other n = 4;", "n", True),
        ("typedef volatile int flag;\ntypedef int other;\n", "", "other n = 4;", "n", False),
        ("#define V volatile\n", "", "V int n = 4;", "n", True),
    ],
)
def test_no_volatile_variable_ends_a_loop_that_counts(
    before: str, parameter: str, variable: str, limit: str, polls: bool
) -> None:
    assert Polling(before + ENDS_AT.format(parameter, variable, limit), "").may_include("k") is polls


LOOPS = "kernel void loops(global int *x) { while (*x) ; }\n"
READS = "void reads(global int *x) { atomic_inc(x); }\n"


@pytest.mark.parametrize(
    ("source", "options", "polls"),
    [
        (f"{LOOPS}{READS}kernel void k(global int *x) {{ reads(x); }}", "", False),
        (f"{LOOPS}{READS}kernel void k(global int *x) {{ while (*x) reads(x); }}", "", True),
        (f"{LOOPS}#define READS(x) atomic_inc(x)\nkernel void k(global int *x) {{ while (*x) READS(x); }}", "", True),
        (f"{LOOPS}kernel void k(global int *x) {{ while (*x) READS(x); }}", "-DREADS=atomic_inc", True),
        (f"{LOOPS}kernel void k(global int *x) {{ WAIT; }}", '-D "WAIT=while (atomic_inc(x))"', True),
        (f"{LOOPS}kernel void k(global int *x) {{ WAIT; }}", "-D'WAIT=while (atomic_inc(x))'", True),
        (f"{LOOPS}#define LOOP while\nkernel void k(global int *x) {{ LOOP (atomic_inc(x)) ; }}", "", True),
        (f"{LOOPS}typedef volatile int flag;\nkernel void k(global flag *x) {{ while (*x) ; }}", "", True),
        (
            f"{LOOPS}struct flag {{ volatile int x; }};\nkernel void k(global struct flag *x) {{ while (x->x) ; }}",
            "",
            True,
        ),
        (f"{LOOPS}{READS}#define M(x) k##x\nkernel void M()(global int *x) {{ while (1) reads(x); }}", "", True),
        (f"{LOOPS}{READS}#define HEAD kernel void k(global int *x)\nHEAD {{ while (1) reads(x); }}", "", True),
    ],
)
def test_a_kernel_polls_with_the_functions_and_macros_that_it_uses(source: str, options: str, polls: bool) -> None:
    assert Polling(source, options).may_include("k") is polls


SPIN = "(global int *x) { while (atomic_inc(x)) ; }\n"
CALLER = "kernel void k(global int *x) { spin(x); }"


@pytest.mark.parametrize(
    ("source", "options", "polls"),
    [
        (f"#define FUNCTION(n) void n\nFUNCTION(spin){SPIN}", "", True),
        ("#define FUNCTION(n, a) void n(a)\nFUNCTION(spin, global int *x) { while (atomic_inc(x)) ; }", "", True),
        (f"#define waits spin\nvoid waits{SPIN}", "", True),
        (f"void waits{SPIN}", "-Dwaits=spin", True),
        (f"void (spin){SPIN}", "", True),
        ("#define HEAD void spin(global int *x)\nHEAD { while (atomic_inc(x)) ; }\n", "", True),
        (f"#define MAKE(n) void n{SPIN}MAKE(spin)\n", "", True),
        (f"#define MAKE(n) void n{SPIN}MAKE(spin);\n", "", True),
        (f"#define MAKE(n) void n{SPIN}#define ALL(each) each(spin)\nALL(MAKE)\nkernel void other() {{}}", "", True),
        (f"#define MAKE(n) void n{SPIN}#define ALL MAKE(spin)\nALL\nkernel void other() {{}}", "", True),
        ("MAKE(spin)\n", '-D "MAKE(n)=void n(global int *x) { while (atomic_inc(x)) ; }"', True),
        ("void spin(global int *x) <% while (atomic_inc(x)) ; %>\n", "", True),
        (f"void spi\\\nn{SPIN}", "", True),
        (f"void waits{SPIN}void spin(global int *x) {{ *x = 1; }}", "", False),
        (f"#define INLINE inline\nINLINE void waits{SPIN}void spin(global int *x) {{}}", "", False),
        (
            f"#define ALIGNED(n) __attribute__((aligned(n)))\nvoid waits{SPIN}ALIGNED(8) void spin(global int *x) {{}}",
            "",
            False,
        ),
        ("#define SPIN(x) do { while (atomic_inc(x)) ; } while (0)\nvoid spin(global int *x) {}", "", False),
    ],
)
def test_any_kernel_may_call_a_function_whose_name_is_not_seen(source: str, options: str, polls: bool) -> None:
    assert Polling(f"{source}{CALLER}", options).may_include("k") is polls
