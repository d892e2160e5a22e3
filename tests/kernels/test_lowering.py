# SPDX-License-Identifier: Apache-2.0
"""Channels, pipes and program-scope variables as the engine gets them."""

from __future__ import annotations

import json

import pytest

from fpgart.kernels.dialect import has_channels
from fpgart.kernels.lowering import Lowered, LoweringError, lower

WITHOUT = [
    "kernel void k(global int *x) { x[0] = 1; }",
    "kernel void k(int channel, global int *pipe) { int channel2 = channel; }",
    "constant int channel = 3; kernel void k(global int *x) { x[0] = channel; }",
    "// channel int c;\n/* pipe int p */ kernel void k(global char *x) { x[0] = 1; }",
    'kernel void k(void) { printf("channel int c;"); }',
    "global int *first(global int *x) { return x; }",
    "struct { int channel; } s;",
    "typedef global int *pointer;",
    "kernel void k(global int *pipe , int n) { pipe[0] = n; }",
    "kernel void k(global int *pipe __attribute__((aligned(8))), int channel , int n) {}",
    "kernel void k(int pipe\n, int n) { struct { int pipe; } s; s.pipe = n; }",
]


def lowered(source: str) -> Lowered:
    found = lower(source)
    assert found is not None
    return found


def own_lines(found: Lowered) -> list[str]:
    """The source behind the prelude."""
    return found.source.split("#endif\n#line 1\n", 1)[1].splitlines()


@pytest.mark.parametrize("source", WITHOUT)
def test_other_programs_stay_as_they_are(source: str) -> None:
    assert lower(source) is None


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        ("channel int c;", ["c"]),
        ("channel unsigned long c, d[3];", ["c", "d"]),
        ("channel struct packet c[N][2] __attribute__((depth(4)));", ["c"]),
        ("static channel float4 c;", ["c"]),
        ("channel\nint\nc\n;", ["c"]),
    ],
)
def test_channels_are_found(declaration: str, names: list[str]) -> None:
    assert lowered(declaration).channels == names


def test_each_declarator_has_its_own_depth() -> None:
    found = lowered("channel int c __attribute__((depth(8))), d, e __attribute__((depth(N * 2)));")
    text = " ".join(own_lines(found))
    assert [part.split(",")[2].strip() for part in text.split(" = {")[1:]] == ["8", "-1", "N * 2"]


@pytest.mark.parametrize("attribute", ["intel_host_accessible", "__intel_host_accessible__"])
def test_channels_for_the_host_are_known(attribute: str) -> None:
    found = lowered(f"channel int c __attribute__(({attribute})), d;")
    assert found.hosted == ["c"]


@pytest.mark.parametrize(
    "declaration",
    [
        '__attribute__((io("uart"), depth(3))) channel int c;',
        'channel int c __attribute((io("uart"), depth(3)));',
        'channel int __attribute__((depth(3))) c __attribute__((io("uart")));',
    ],
)
def test_attributes_of_channels_stand_before_within_or_behind_the_declaration(declaration: str) -> None:
    text = " ".join(own_lines(lowered(declaration)))
    assert '{"c", &c, 3, sizeof(int), 0, 0, "uart"}' in text


def test_lines_keep_their_numbers() -> None:
    source = (
        "channel int c\n  __attribute__((depth(3)));\nkernel void k(global int *x)\n{ x[0] = read_channel_intel(c); }"
    )
    assert own_lines(lowered(source))[2:] == source.splitlines()[2:]


def test_lines_behind_a_variable_keep_their_numbers() -> None:
    found = own_lines(lowered("\n\nglobal int table[2] = {1,\n2}; int here;\nint there;"))
    number = 0
    seen = {}
    for line in found:
        if line.startswith("#line "):
            number = int(line.split()[1])
            continue
        seen.setdefault(line.strip(), number or 1)
        number += 1
    assert (seen["int here;"], seen["int there;"]) == (4, 5)


def test_pipes_are_described() -> None:
    found = lowered(
        "kernel void k(global int *x, read_only pipe int4 p __attribute__((blocking)) __attribute__((depth(8))),"
        " __write_only pipe struct s q, int n) {}"
    )
    first, second = found.pipes["k"][1], found.pipes["k"][2]
    assert (first.type_name, first.writes, first.blocking, first.depth) == ("int4", False, True, 8)
    assert (second.type_name, second.writes, second.blocking) == ("struct s", True, False)
    assert "global int *x, __global int4 *p, __global struct s *q, int n" in own_lines(found)[0].replace("  ", " ")


HOST = "__attribute__((intel_host_accessible))"


@pytest.mark.parametrize(
    "declared",
    [
        f"{HOST} __attribute__((blocking)) __attribute__((depth(8))) __read_only pipe int p",
        f"{HOST} __read_only __attribute__((blocking, depth(8))) pipe int p",
        f"__read_only {HOST} pipe __attribute__((blocking)) int p __attribute__((depth(8)))",
        f"read_only pipe int {HOST} __attribute__((depth(8))) __attribute__((blocking)) p",
        f"__attribute__((blocking))\n{HOST} __attribute__((depth(8))) const pipe __read_only int p",
        f"read_only pipe int p {HOST} __attribute__((depth(8))) __attribute__((blocking))",
        "__attribute((__intel_host_accessible__)) read_only __attribute((__depth__(8), __blocking__)) pipe int p",
    ],
)
def test_attributes_of_a_pipe_stand_anywhere_in_its_declaration(declared: str) -> None:
    found = lowered(f"kernel void k({declared}, int n) {{ int x; read_pipe(p, &x); }}")
    pipe = found.pipes["k"][0]
    assert (pipe.type_name, pipe.writes, pipe.blocking, pipe.host_accessible, pipe.depth) == (
        "int",
        False,
        True,
        True,
        8,
    )
    assert "__global int *p" in found.source


def test_functions_take_pipes_too() -> None:
    found = lowered("void f(read_only pipe int p) {} kernel void k(read_only pipe int p) { f(p); }")
    assert list(found.pipes) == ["k"]
    assert "pipe" not in own_lines(found)[0].replace("__fpgart_pipe", "")


def test_variables_are_found() -> None:
    assert lowered("global int a, b[4] = {1}; __global float c;").variables == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("int global x = 3;", "__constant int __fpgart_initial_x = 3; #define x (*(__global int (*))"),
        ("static volatile unsigned int\n__global x[4];", "#define x (*(__global unsigned int (*)[4])"),
        ("global int *global x;", "#define x (*(global int * __global (*))"),
        ("extern volatile global int *__global x[2];", "#define x (*(volatile global int * __global (*)[2])"),
        (
            "int *global x = {0,\n};",
            "#define x (*({ int * __fpgart_value = {0, }; (int * __global (*))__fpgart_variable("
            '(__constant char *)"x", sizeof(int * ), &__fpgart_value); }))',
        ),
        (
            "global atomic_int x = ATOMIC_VAR_INIT(3);",
            "__constant int __fpgart_initial_x = ATOMIC_VAR_INIT(3); #define x (*(__global atomic_int (*))",
        ),
        ("struct s global x;", "#define x (*(__global struct s (*))"),
    ],
)
def test_the_address_space_of_a_variable_stands_where_c_allows_it(declared: str, words: str) -> None:
    found = lowered(declared)
    assert found.variables == ["x"]
    assert words in " ".join(" ".join(own_lines(found)).split())


def test_a_type_may_be_called_channel() -> None:
    assert lower("typedef float4 channel;\nchannel f(channel c) { return c; }") is None
    assert lower("typedef struct { int channel; } channel;\nconstant channel c = {1};") is None
    assert lowered("typedef int t;\nchannel t c;").channels == ["c"]


def test_a_pointer_in_the_global_address_space_may_be_declared_with_other_variables() -> None:
    found = lowered("global int *global p, x = 3, *global *q, y[2];")
    assert found.variables == ["p", "x", "q", "y"]
    text = " ".join(" ".join(own_lines(found)).split())
    for words in ("p (*(global int * __global (*))", "x (*(__global int (*))", "y (*(__global int (*)[2])"):
        assert f"#define {words}" in text


def test_pointers_to_the_global_address_space_may_be_declared_behind_another_variable() -> None:
    text = " ".join(" ".join(own_lines(lowered("global int x = 3, *p, *global q[2];"))).split())
    for words in (
        "x (*(__global int (*))",
        "p (*(__global int * __global (*))",
        "q (*(__global int * __global (*)[2])",
    ):
        assert f"#define {words}" in text


@pytest.mark.parametrize(
    "source",
    ["typedef int global g;", "int global *f(int x) { return 0; }", "int f(global int *x);", "global int *f(void);"],
)
def test_types_and_functions_are_no_variables(source: str) -> None:
    assert lower(source) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("channel int c", "1: a declaration without its semicolon"),
        ("\nchannel int *;", "2: this is not a declaration of a channel"),
    ],
)
def test_what_cannot_be_put_into_other_words_is_told_with_its_line(source: str, words: str) -> None:
    with pytest.raises(LoweringError, match=words.replace("(", r"\(")):
        lower(source)


def test_what_is_known_survives_as_json() -> None:
    found = lowered("channel int c; global int g; kernel void k(write_only pipe int p) {}")
    again = Lowered.from_notes(json.loads(json.dumps(found.notes())))
    assert (again.channels, again.variables, again.pipes) == (found.channels, found.variables, found.pipes)


@pytest.mark.parametrize(("source", "expected"), [("channel int c;", True), ("global int g;", False), ("", False)])
def test_programs_with_channels_are_recognised(source: str, expected: bool) -> None:
    assert has_channels(source) is expected
