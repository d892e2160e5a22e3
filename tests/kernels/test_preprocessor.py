"""The C preprocessor (kernels/preprocessing/)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which
from types import FrameType
from typing import Any

import pytest

from fpgart.kernels.preprocessing import macros
from fpgart.kernels.preprocessing.files import Embedded, Includes, Input, Inside
from fpgart.kernels.preprocessing.preprocessor import preprocess, preprocess_all
from fpgart.kernels.preprocessing.tokens import tokens_of
from fpgart.kernels.signs import PreprocessorError


def result(text: str, *defines: str, predefined: dict[str, str] | None = None, **given: str) -> str:
    return preprocess(text, "a.cl", Includes(given=given), defines, predefined).text


def words(text: str, *defines: str, **given: str) -> str:
    """The tokens of the result, with a blank between them."""
    lines = [line for line in result(text, *defines, **given).splitlines() if not line.startswith("#line")]
    return " ".join(token.text for line in lines for token in tokens_of(line))


CASES = [
    # what is tried, source, tokens of the result
    ("a macro", "#define A 1\nA B A1", "1 B A1"),
    ("a macro is what it is at its use", "#define A B\n#define B 2\nA\n#undef B\nA", "2 B"),
    ("a macro is not put into itself", "#define A A + B\n#define B A\nA", "A + A"),
    ("arguments", "#define F(a, b) b a\nF(1, (2, 3)) F F (4,)", "( 2 , 3 ) 1 F 4"),
    ("arguments over lines", "#define F(a, b) a b\nF(1,\n 2) 3", "1 2 3"),
    ("# makes a string", '#define S(x) #x\nS( a  "b\\n" )', '"a \\"b\\\\n\\""'),
    ("## joins", "#define J(a, b) a##b\n#define X1 no\nJ(X, 1) J(,2) J(3,)", "no 2 3"),
    ("operands of ## are not expanded", "#define A 1\n#define J(a) x##a\nJ(A)", "xA"),
    ("more arguments", "#define V(a, ...) a __VA_ARGS__\nV(1, 2, 3) V(4)", "1 2 , 3 4"),
    ("GNU's comma", "#define V(a, r...) f(a, ##r)\nV(1) V(1, 2)", "f ( 1 ) f ( 1 , 2 )"),
    ("rescanning takes what follows", "#define F(x) [x]\n#define G F\nG(1)", "[ 1 ]"),
    ("tokens stay apart", "#define M -1\n-M", "- - 1"),
    ("comments are blanks", "a/* b\n c */d // e\nf", "a d f"),
    ("a comment in a string is none", '"/*" a // b', '"/*" a'),
    ("continued lines", "#define A 1 \\\n 2\nA \\\n3", "1 2 3"),
    ("conditions", "#if defined(A) && A > 2\na\n#elif !defined B\nb\n#else\nc\n#endif", "b"),
    ("conditions within", "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
    ("numbers in conditions", "#if 0x10 == 16 && 010 == 8 && 'a' == 97 && 5UL / 2 == 2 && -7 % 3 == -1\na\n#endif",
     "a"),
    ("precedence", "#if 1 + 2 * 3 == 7 && (1 << 2 | 1) == 5 && (1 ? 2 : 0) == 2\na\n#endif", "a"),
    ("unknown functions in conditions", "#if __has_builtin(f)\na\n#else\nb\n#endif", "b"),
    ("macros in conditions", "#define F(x) x + 1\n#if F(1) == 2\na\n#endif", "a"),
    ("directives that do not count", "#if 0\n#error no\n#include <none>\n#endif\na", "a"),
    ("__LINE__ and __FILE__", "\n__LINE__ __FILE__\n#line 9 \"b.cl\"\n__LINE__ __FILE__", '2 "a.cl" 9 "b.cl"'),
    ("a continued line within a string", '#define A "b \\\nc"\nA "d\\\r\ne"', '"b c" "de"'),
    ("conditions in a call", "#define F(a) [a]\nF(1\n#ifdef A\n2\n#else\n3\n#endif\n) 4", "[ 1 3 ] 4"),
    ("definitions in a call", "#define F(a) [a]\nF(1\n#define B 2\nB) 4", "[ 1 2 ] 4"),
    ("arguments in the line behind the name", "#define F(a) [a]\nF\n\n(1) F\n2 F\n#if 1\n(3)\n#endif\nF",
     "[ 1 ] F 2 F ( 3 ) F"),
    ("arguments over lines behind another name", "#define F(a, b) [a b]\n#define G F\n#define H G\nH(1,\n2) G 3",
     "[ 1 2 ] F 3"),
    ("#elifdef", "#define A\n#ifdef B\nb\n#elifdef A\na\n#else\nc\n#endif", "a"),
    ("#elifndef", "#ifdef B\nb\n#elifndef A\na\n#elifndef B\nd\n#endif", "a"),
    ("defined out of a macro", "#define A 1\n#define F (defined A && !defined(B))\n#if F == 1\na\n#endif", "a"),
    ("defined as an argument", "#define A 1\n#define F defined A\n#define G(x) x + F\n#if G(1) == 2\na\n#endif", "a"),
    ("pragmas with macros", "#define N 2\n#pragma pack(push, N)\n#pragma clang loop unroll_count(N)\n#pragma x N",
     "# pragma pack ( push , 2 ) # pragma clang loop unroll_count ( 2 ) # pragma x N"),
    ("warnings are left to the compiler", "#warning so it is\na", "# warning so it is a"),
    ("unroll by a macro", "#define N 4\n#pragma unroll N\na", "# pragma unroll 4 a"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_text_is_what_c_says(source: str, expected: str) -> None:
    assert words(source) == expected


LEFT_TO_COMPILERS = ("__FILE__", "pragma", "__has_builtin", "#warning", "#elif")
COMPARED = [case for case in CASES if not any(word in case[1] for word in LEFT_TO_COMPILERS)]


@pytest.mark.skipif(which("cpp") is None, reason="there is no C preprocessor to compare with")
@pytest.mark.parametrize("source", [case[1] for case in COMPARED], ids=[case[0] for case in COMPARED])
def test_the_text_is_what_the_systems_preprocessor_makes(source: str) -> None:
    found = subprocess.run(["cpp", "-P", "-undef"], input=source, capture_output=True, text=True, check=True).stdout
    assert words(source) == " ".join(token.text for token in tokens_of(found))


def test_macros_of_the_command_line() -> None:
    assert words("A B C(1)", "A", "B=2", "C(x)=[x]") == "1 2 [ 1 ]"


def test_macros_of_the_compiler_count_in_conditions_and_stay_in_the_text() -> None:
    text = "#if VERSION >= 120\nVERSION\n#endif\n#undef VERSION\n#ifdef VERSION\nno\n#endif\n"
    assert result(text, predefined={"VERSION": "300"}) == '#line 2 "a.cl"\nVERSION\n'


def test_lines_keep_their_numbers() -> None:
    text = "one\n\n/*\n */four\n#define F(x, y) x\nF(six,\n)\nseven" + "\n" * 50 + "last\n"
    said = number = 0
    seen = {}
    for line in result(text).splitlines():
        if line.startswith("#line"):
            said, number = int(line.split()[1]), 0
        else:
            seen[line.strip()] = said + number
            number += 1
    assert {"one": 1, "four": 4, "six": 6, "seven": 8, "last": 58}.items() <= seen.items()


def test_headers_are_read_once_where_they_say_so() -> None:
    headers = {
        "guard.h": "#ifndef G\n#define G\nguarded\n#endif\n",
        "once.h": "#pragma once\nonce\n",
        "more.h": "more\n",
    }
    text = '#include "guard.h"\n#include <once.h>\n#include "more.h"\n' * 2
    assert words(text, **headers) == "guarded once more more"


def test_headers_are_looked_for_beside_the_file_then_in_the_folders(tmp_path: Path) -> None:
    for place, text in (("beside/x.h", "beside"), ("folder/x.h", "folder"), ("beside/sub/y.h", '#include "z.h"'),
                        ("beside/sub/z.h", "deep")):  # fmt: skip
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    text = '#include "x.h"\n#include <x.h>\n#include "sub/y.h"\n'
    given = Input("a.cl", text, Includes((tmp_path / "folder",)), place=tmp_path / "beside" / "a.cl")
    found = preprocess_all([given], {})
    assert [line for line in found.text.splitlines() if not line.startswith("#")] == ["beside", "folder", "deep"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n#include <none.h>", "a.cl:2:1: error: 'none.h' file not found"),
        ("#if 1\na", "a.cl:1:1: error: an #if without its #endif"),
        ("#endif", "a.cl:1:1: error: #endif without #if"),
        ("#error so it is", "a.cl:1:1: error: so it is"),
        ("#if 1 +\n#endif", "a.cl:1:1: error: #if 1 +: it ends too early"),
        ("#define F(a) a\nF(1, 2)", "a.cl:2:1: error: macro F takes 1 arguments, not 2"),
        ("#nonsense", "a.cl:1:1: error: #nonsense is not a directive of the preprocessor"),
        ("#line 7 \"b.cl\"\n#error here", "b.cl:7:1: error: here"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(source: str, message: str) -> None:
    with pytest.raises(PreprocessorError) as caught:
        result(source)
    assert str(caught.value) == message


def test_headers_that_include_each_other_for_ever_are_told() -> None:
    with pytest.raises(PreprocessorError, match="headers include each other"):
        result('#include "x.h"', **{"x.h": '#include "x.h"'})


# Several inputs


def together(folder: Path, *texts: str, defines: tuple[tuple[str, ...], ...] = ()) -> str:
    """The tokens of some files that are in one folder."""
    own = defines or ((),) * len(texts)
    inputs = [
        Input(f"{number}.cl", text, Includes(), macros, folder / f"{number}.cl")
        for number, (text, macros) in enumerate(zip(texts, own, strict=True))
    ]
    lines = preprocess_all(inputs, {}).text.splitlines()
    return " ".join(token.text for line in lines if not line.startswith("#line") for token in tokens_of(line))


@pytest.mark.parametrize("guard", [("#ifndef H\n#define H\n", "#endif\n"), ("#pragma once\n", ""), ("", "")])
def test_what_a_header_declares_is_in_the_text_of_several_inputs_once(tmp_path: Path, guard: tuple[str, str]) -> None:
    (tmp_path / "t.h").write_text("typedef int t;\n")
    (tmp_path / "h.h").write_text(guard[0] + '#include "t.h"\n#define N 4\nstruct s { t x; };\n' + guard[1])
    assert together(tmp_path, '#include "h.h"\na[N];', '#include "t.h"\n#include "h.h"\nb[N];') == (
        "typedef int t ; struct s { t x ; } ; a [ 4 ] ; b [ 4 ] ;"
    )


def test_a_part_of_a_function_is_included_wherever_it_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "body.h").write_text("x++;\n")
    text = 'void f() { "{";\n#include "body.h"\n}'
    assert together(tmp_path, text, text) == " ".join(['void f ( ) { "{" ; x ++ ; }'] * 2)


def test_what_a_header_declares_otherwise_is_declared_again(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text("int J(a, N);\n#define J(a, b) a##b\n#define K(a, b) J(a, b)\nint K(f, N);\n")
    text = '#include "h.h"\n'
    assert together(tmp_path, text, text, defines=(("N=1",), ("N=2",))) == (
        "int J ( a , 1 ) ; int f1 ; int J ( a , 2 ) ; int f2 ;"
    )


def test_macros_of_an_input_end_with_it(tmp_path: Path) -> None:
    assert together(tmp_path, "#define A 1\nA B;", "#ifndef A\nA B;\n#endif", defines=(("B",), ("B=2",))) == (
        "1 1 ; A 2 ;"
    )


def test_embedded_headers_are_found_as_those_on_the_disk_were(tmp_path: Path) -> None:
    for folder, text in (("a", '#include "n.h"\n#include <n.h>\n'), ("b", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "h.h").write_text(text)
        (tmp_path / folder / "n.h").write_text(f"int {folder};\n")
    text = '#include "a/h.h"\n#include "missing.h"\n'
    (tmp_path / "missing.h").write_text("")
    on_disk = Input("k.cl", text, Includes((tmp_path / "b",)), (), tmp_path / "k.cl")
    made = preprocess_all([on_disk], {})
    among = Embedded({name: content for name, content in made.files.items() if name != "k.cl"}, made.found)
    again = preprocess_all([Input("k.cl", text, among, (), Inside(among, "k.cl"))], {})
    assert again.text == made.text
    assert str(tmp_path) not in "".join((*made.files, made.text))
    absent = Embedded({}, {})
    with pytest.raises(PreprocessorError, match=r"'a/h\.h' file not found"):
        preprocess_all([Input("k.cl", text, absent, (), Inside(absent, "k.cl"))], {})


def test_a_character_that_is_none_is_refused() -> None:
    with pytest.raises(PreprocessorError, match=r"a\.cl:1:1: error: #if ''"):
        result("#if ''\n#endif")


CALL = "#define F(x) x\n#define G F(\n"
NOT_CLOSED = {"in one line": "F( ", "in lines": "F(\n", "by macros": "G ", "with calls that end": "F( F(1) "}


def steps_of_macros(text: str) -> int:
    """Returns the number of the module's lines that run to expand the macros of a text."""
    steps = 0

    def step(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return step if frame.f_code.co_filename == macros.__file__ else None

    before = sys.gettrace()
    sys.settrace(step)
    try:
        preprocess(text, "program.cl", Includes())
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("call", NOT_CLOSED)
def test_calls_of_macros_that_do_not_end_take_steps_in_proportion_to_their_number(call: str) -> None:
    one, four = (steps_of_macros(CALL + NOT_CLOSED[call] * count) for count in (100, 400))
    assert four < 5 * one


def test_a_call_that_does_not_end_stays_and_those_behind_it_are_expanded() -> None:
    text = preprocess("#define F(x) <x>\nint a = F( (F(1)) ( F(F(2));\n", "program.cl", Includes()).text
    assert text.endswith("int a = F( (<1>) ( < <2> >;\n")
