# SPDX-License-Identifier: Apache-2.0
"""Names that files of one program have for themselves."""

from __future__ import annotations

import pytest

from fpgart.kernels.file_scope import statements, without_clashes


def joined(*files: str) -> list[str]:
    return ["\n".join(lines) for lines in without_clashes([file.split("\n") for file in files])]


@pytest.mark.parametrize("word", ["static", "inline", "static inline", "static __inline__"])
def test_a_function_of_one_file_is_not_another_files(word: str) -> None:
    first, second = joined(
        f"{word} int step(int x) {{ return x + 1; }}\nkernel void a(global int *p) {{ *p = step(*p); }}",
        f"{word} int step(int x)\n{{ return x + 2; }}\nkernel void b(global int *p) {{ *p = step (*p); }}",
    )
    assert first.count("step(") == 2
    assert second.count("step__2") == 2
    assert "return x + 2" in second


def test_a_private_function_gives_way_to_one_that_all_files_share() -> None:
    first, second = joined("static int f(int x) { return f2(x); }", "int f(int x) { return x; }")
    assert first == "static int f__1(int x) { return f2(x); }"
    assert second == "int f(int x) { return x; }"


def test_functions_that_all_files_share_keep_their_names() -> None:
    files = ("int f(int x) { return x; }", "int f(int x) { return x; }")
    assert joined(*files) == list(files)


def test_members_and_words_in_quotes_are_no_calls() -> None:
    uses = 's->at = 1; s[0].at = at(2); printf("at(%d)");'
    text = "static int at(int x) { return x; }\nkernel void b(global p *s) { " + uses + " }"
    _, second = joined("static int at(int x) { return -x; }", text)
    assert 's->at = 1; s[0].at = at__2(2); printf("at(%d)")' in second


@pytest.mark.parametrize(
    "declared",
    [
        "typedef struct { int x; } pair;",
        "struct pair {\n  int x;\n};",
        "typedef struct __attribute__((packed)) tag { int x; } pair;",
        "enum kind { ONE, TWO };",
        "channel float4 data[2] __attribute__((depth(16)));",
    ],
)
def test_what_files_declare_alike_is_declared_once(declared: str) -> None:
    first, second = joined(f"{declared}\nint a;", f"{declared}\nint b;")
    assert first.startswith(declared)
    assert second.split() == ["int", "b;"]
    assert second.count("\n") == declared.count("\n") + 1


def test_a_channel_of_two_files_has_the_depth_that_the_first_one_tells() -> None:
    first, second = joined("channel int c __attribute__((depth(16)));", "channel int c __attribute__((depth(1)));")
    assert "depth(16)" in first
    assert not second.strip()


def test_types_that_differ_stay_for_the_compiler_to_tell() -> None:
    files = ("typedef struct { int x; } pair;", "typedef struct { float x; } pair;")
    assert joined(*files) == list(files)


def test_a_table_is_no_function() -> None:
    found = list(statements("constant int t[] = {1, 2};\nkernel void k(void) { if (t[0]) { } }\nint after;"))
    assert [each.function for each in found] == ["", "k", ""]
