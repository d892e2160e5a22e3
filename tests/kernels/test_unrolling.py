"""The choice of loops that stay unrolled (kernels/unrolling.py)."""

from __future__ import annotations

import pytest

from fpgart.kernels.unrolling import without_large_unrolling

UNROLL = "#pragma unroll"
LOOPS = [
    # rule, loop behind the pragma, whether it stays
    ("a small loop", "for (int i = 0; i < 16; i++) s += a[i];", True),
    ("a small loop with braces", "for (int i = 15; i >= 0; --i) { s += a[i]; }", True),
    ("a bound by macros", "for (int i = 0; i < 2 * N; i += 2) s += a[i];", True),
    ("a bound of the command line", "for (uint i = 0; i < GIVEN; i++) s += a[i];", True),
    ("a large loop", "for (int i = 0; i < 100000; i++) s += a[i];", False),
    ("a bound that nobody sees", "for (int i = 0; i < n; i++) s += a[i];", False),
    ("a condition of two parts", "for (int i = 0; i < 4 && s; i++) s += a[i];", False),
    ("no loop", "s = 1;", False),
]


@pytest.mark.parametrize(("loop", "stays"), [each[1:] for each in LOOPS], ids=[each[0] for each in LOOPS])
def test_a_loop_is_unrolled_where_that_is_seen_to_be_small(loop: str, stays: bool) -> None:
    text = f"#define M 8\n#define N (M + 8)\nvoid f(void) {{\n{UNROLL}\n{loop}\n}}"
    found = without_large_unrolling(text, {"GIVEN": "4"})
    assert (UNROLL in found) is stays
    assert found.splitlines()[4:] == text.splitlines()[4:]


def test_a_count_is_enough() -> None:
    assert "unroll 4" in without_large_unrolling("#pragma unroll 4\nfor (int i = 0; i < n; i++) s += a[i];", {})


def test_of_nested_loops_the_outer_ones_stay_loops() -> None:
    lines = [
        "#pragma unroll",
        "for (int i = 0; i < 64; i++)",
        "#pragma unroll",
        "for (int j = 0; j < 64; j++)",
        "s += a[i][j];",
    ]
    found = without_large_unrolling("\n".join(lines), {}).splitlines()
    assert found == ["", *lines[1:]]
