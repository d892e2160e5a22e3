"""The cycles of loops, counted in the source; and that nothing is guessed where they cannot be."""

from __future__ import annotations

import pytest

from fpgart.kernels.loops.kernel_loops import kernel_loops

COUNTED = [
    ("no loop", "x[0] = n;", 1),
    ("numbers", "for (int i = 0; i < 100; i++) x[i] = 0;", 100),
    ("an argument", "for (int i = 0; i < n; i++) x[i] = 0;", 1000),
    ("a macro", "for (int i = 0; i <= SIZE; ++i) x[i] = 0;", 65),
    ("steps", "for (int i = n; i > 0; i -= 3) x[i] = 0;", 334),
    ("a constant made of an argument", "const int m = n / 4; for (int i = 0; i < m; i++) x[i] = 0;", 250),
    ("none, where the bound is below the begin", "for (int i = 2000; i < n; i++) x[i] = 0;", 1),
    ("one after the other", "for (int i = 0; i < n; i++) x[i] = 0; for (int i = 0; i < 5; i++) x[i] = 1;", 1005),
    (
        "nested",
        "for (int i = 0; i < 10; i++) { for (int j = 0; j < n; j++) x[j] = i; for (int j = 0; j < 7; j++) x[j]++; }",
        10 * 1007,
    ),
    ("unrolled by a factor", "\n#pragma unroll 16\nfor (int i = 0; i < n; i++) x[i] = 0;", 63),
    ("unrolled by a macro", "\n#pragma unroll (SIZE)\nfor (int i = 0; i < n; i++) x[i] = 0;", 16),
    ("unrolled whole", "\n#pragma unroll\nfor (int i = 0; i < 8; i++) x[i] = 0;", 1),
    ("unrolled whole in another", "for (int i = 0; i < n; i++)\n#pragma unroll\nfor (int j = 0; j < 8; j++);", 1000),
    ("an interval", "\n#pragma ii 4\nfor (int i = 0; i < n; i++) x[i] = 0;", 4000),
    ("words in comments", "/* while (1) */ for (int i = 0; i < 3; i++) x[i] = 0; // for (;;)", 3),
    ("unrolled by as much as it has", "for (int j = 0; j < 9; j++)\n#pragma unroll 8\n"
     "for (int i = 0; i < 8; i++) f(i);", 9),
    ("unrolled in unrolled", "for (int j = 0; j < 9; j++)\n#pragma unroll\n"
     "for (int i = 0; i < 8; i++)\n#pragma unroll\nfor (int k = 0; k < 4; k++) f(i);", 9),
    ("unrolled by an attribute", "__attribute__((opencl_unroll_hint(4))) for (int i = 0; i < n; i++) x[i] = 0;", 250),
    ("a condition that holds", "if (n > 3) { for (int i = 0; i < n; i++) x[i] = 0; }", 1000),
    ("a condition that an argument decides", "if (n == 3) for (int i = 0; i < n; i++) f(i); else if (n == 1000) "
     "for (int i = 0; i < 7; i++) f(i); else for (int i = 0; i < 5; i++) f(i);", 7),
    ("a loop unrolled whole under a condition that only the run knows", "for (int i = 0; i < n; i++) if (x[i]) {\n"
     "#pragma unroll\nfor (int j = 0; j < 8; j++) f(j); }", 1000),
    ("a bound with shifts", "for (int i = 0; i < (1 << 6) >> 1; i++) x[i] = 0;", 32),
    ("a function that is told how often", "for (int i = 0; i < 10; i++) helper(n / 2);", 5000),
    ("a function with loops of its own", "for (int i = 0; i < n; i++) busy(i);", 50_000),
    ("a function whose loops are unrolled whole", "for (int i = 0; i < n; i++) flat(i);", 1000),
    ("a work-item that leaves at once", "if (n < 5) return; x[0] = 1;", 1),
]  # fmt: skip
UNKNOWN = [
    ("while", "while (x[0]) x[0]--;"),
    ("do", "do x[0]--; while (x[0]);"),
    ("a bound in memory", "for (int i = 0; i < x[0]; i++) x[i] = 0;"),
    ("a bound of an outer loop", "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) x[j] = 0;"),
    ("a loop under a condition that only the run knows", "if (x[0]) { for (int i = 0; i < n; i++) x[i] = 0; }"),
    ("a loop that a function runs", "if (x[0]) x[0] = helper(n);"),
    ("an else whose if is not certain", "if (n) if (x[0]) f(); else for (int i = 0; i < n; i++) x[i] = 0;"),
    ("conditions deep in each other", "if (n) { " * 40 + "for (int i = 0; i < n; i++) x[i] = 0;" + "}" * 40),
    ("a loop that is left early", "for (int i = 0; i < n; i++) { if (x[i]) break; }"),
    ("a function with a loop that only the run knows", "x[0] = helper(x[1]);"),
    ("a function that changes what it is told", "x[0] = changing(n);"),
    ("an argument that changes", "n *= 2; for (int i = 0; i < n; i++) x[i] = 0;"),
    ("a variable that changes", "int m = n; m = x[0]; for (int i = 0; i < m; i++) x[i] = 0;"),
    ("a variable whose address is taken", "int m = n; change(&m); for (int i = 0; i < m; i++) x[i] = 0;"),
    ("a loop variable that its body changes", "for (int i = 0; i < n; i++) { x[i] = 0; i += x[0]; }"),
    ("another variable than the condition's", "int m = 0; for (int i = 0; m < n; i++) x[i] = 0;"),
    ("copies of loops", "\n#pragma unroll 2\nfor (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[j] = 0;"),
]


def cycles(body: str, options: str = "") -> int | None:
    source = f"""
    #define SIZE 64
    int helper(int n) {{ int s = 0; for (int i = 0; i < n; i++) s += i; return s; }}
    int changing(int n) {{ int s = 0; n = s; for (int i = 0; i < n; i++) s += i; return s; }}
    int busy(int n) {{ int s = 0; for (int i = 0; i < 50; i++) s += n; return s; }}
    int flat(int n) {{ int s = 0;
    #pragma unroll
    for (int i = 0; i < n; i++) s += i; return s; }}
    __attribute__((max_global_work_dim(0)))
    __kernel void k(__global int *restrict x, int n) {{ {body} }}
    """
    return kernel_loops(source, options)["k"].cycles({"n": 1000})


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_counted(body: str, expected: int) -> None:
    assert cycles(body) == expected


@pytest.mark.parametrize("body", [row[1] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_not_counted(body: str) -> None:
    assert cycles(body) is None


def test_conditions_of_the_preprocessor_and_options_count() -> None:
    body = "\n#ifdef FAST\nfor (int i = 0; i < COUNT; i++) x[i] = 0;\n#else\nwhile (x[0]) x[0]--;\n#endif\n"
    assert cycles(body, "-DFAST -DCOUNT=12") == 12
    assert cycles(body) is None


def test_a_source_with_headers_that_are_not_here_has_no_known_kernels() -> None:
    assert kernel_loops('#include "missing.h"\nkernel void k(int n) { for (int i = 0; i < n; i++); }') == {}


def test_functions_that_call_each_other_are_not_followed_without_end() -> None:
    calls = "".join(f"int f{n + 1}(int n) {{ return {' + '.join([f'f{n}(n)'] * 9)}; }}\n" for n in range(40))
    source = f"int f0(int n) {{ int s = 0; for (int i = 0; i < n; i++) s++; return s; }}\n{calls}"
    loops = kernel_loops(f"{source} kernel void k(int n) {{ f2(n); }} kernel void far(int n) {{ f40(n); }}")
    assert loops["k"].cycles({"n": 5}) == 81 * 5
    assert loops["far"].cycles({"n": 5}) is None


def test_deep_nests_are_not_counted_but_read() -> None:
    assert cycles("for (int i = 0; i < 2; i++) " * 2000 + "x[0]++;") is None
