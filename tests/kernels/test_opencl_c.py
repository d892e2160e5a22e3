"""buffer_location as it is read from OpenCL C (kernels/opencl_c.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpgart.kernels.opencl_c import attribute_words, buffer_locations

HBM = '__attribute__((buffer_location("HBM")))'
APART = f"#ifdef APART\n#define IN {HBM}\n#else\n#define IN\n#endif\nkernel void k(global IN int *x) {{}}"
SOURCES = [
    # source, options, what is found
    ("kernel void k(global int *x) {}", "", {}),
    (f"kernel void k(global {HBM} int *x) {{}}", "", {"k": ("HBM",)}),
    (f"__kernel void k(int n, __global const {HBM} int4 * restrict x, local int *l) {{}}", "", {"k": ("", "HBM", "")}),
    (f"kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(global {HBM} int *x) {{}}", "", {"k": ("HBM",)}),
    (f"kernel void a(global {HBM} int *x) {{ f(x, 1); }}\nkernel void b(global int *y) {{}}", "", {"a": ("HBM",)}),
    (f"/* kernel void k(global {HBM} int *x) */ kernel void k(global int *x) {{}}", "", {}),
    (f"kernel void k( // {HBM}\n global int *x) {{}}", "", {}),
    ('constant char *s = "/*"; kernel void k(global ' + HBM + " int *x) {}", "", {"k": ("HBM",)}),
    (f"#define IN {HBM}\nkernel void k(global IN int *x) {{}}", "", {"k": ("HBM",)}),
    (f"#define IN \\\n {HBM}\n#define ALSO IN\nkernel void k(global ALSO int *x) {{}}", "", {"k": ("HBM",)}),
    ("kernel void k(global __attribute__((buffer_location(WHERE))) int *x) {}", '-DWHERE="\\"QDR\\""', {"k": ("QDR",)}),
    (APART, "-DAPART", {"k": ("HBM",)}),
    (APART, "", {}),
    (APART.replace("#ifdef", "#if"), "-D APART", {"k": ("HBM",)}),
    (f'#if 1\n#include "missing.h"\n#endif\nkernel void k(global {HBM} int *x) {{}}', "", {"k": ("HBM",)}),
    ("#define A A\nkernel void k(global A __attribute__((buffer_location(\"D\"))) int *x) {}", "", {"k": ("D",)}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "options", "found"), SOURCES)
def test_locations_are_found_where_they_are_written(
    source: str, options: str, found: dict[str, tuple[str, ...]]
) -> None:
    assert buffer_locations(source, options) == found


@given(st.text(alphabet=st.sampled_from(list('kernel void(){},;"\\\n#define /*buffer_location')), max_size=200))
def test_any_text_is_read_to_its_end(text: str) -> None:
    buffer_locations("buffer_location " + text, text)


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ("kernel void k();", ""),
        ("kernel __attribute__((reqd_work_group_size(8, 4,1))) void k();", "reqd_work_group_size(8,4,1)"),
        ("__attribute__((vec_type_hint( float4 ))) kernel void k();", "vec_type_hint(float4)"),
        ("kernel __attribute__((vec_type_hint(unsigned int))) void k();", "vec_type_hint(unsigned int)"),
        ("__attribute__((a(1))) kernel __attribute__((b, __c__(2))) void k();", "a(1) b c(2)"),
        (
            "#define SIZE 8\nkernel __attribute__((work_group_size_hint(SIZE,1,1))) void k();",
            "work_group_size_hint(8,1,1)",
        ),
        ("__attribute__((a)) int f(); kernel void k(global __attribute__((b)) int *x);", ""),
        ("kernel __attribute__((a)) void k(); kernel __attribute__((b)) void k() {}", "a b"),
        ("kernel void k() __attribute__((a)) __attribute__((b)); kernel void k() {}", "a b"),
        ("kernel void k() {} __attribute__((a)) kernel void f();", ""),
        ("kernel __attribute__((", ""),
    ],
)
def test_the_words_of_a_kernels_attributes_are_those_of_its_declarations(declaration: str, words: str) -> None:
    assert attribute_words(declaration).get("k", "") == words
