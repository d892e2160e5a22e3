"""Damaged input files are refused with messages, within limits of size, depth and time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from calls import calls_of
from effort import EFFORT
from fuzzing.mutation import Mutator
from fuzzing.readers import CORPUS, READERS, captures, macros, real_board
from fuzzing.trial import Progress, try_one

from fpgart.aocx.binary import ProgramBinary
from fpgart.aocx.container import Container
from fpgart.aocx.errors import AocxError
from fpgart.aocx.libraries import archive, models_of
from fpgart.base.errors import InvalidBinary
from fpgart.base.input_file import TooLarge, read_input
from fpgart.base.json_input import DEEPEST, parse_json, typed
from fpgart.board import board_spec
from fpgart.board.xml_elements import BoardSpecError
from fpgart.kernels import call_graph, file_scope, opencl_c, polling
from fpgart.kernels.dialect import Compiler, translate
from fpgart.kernels.lowering import TABLE
from fpgart.kernels.preprocessing.expressions import constant
from fpgart.kernels.signs import PreprocessorError
from fpgart.watch import report
from fpgart.watch.captured import CapturedLaunch

BYTES = 150_000 * EFFORT


@pytest.mark.parametrize("reader", sorted(READERS))
def test_damaged_inputs_are_refused_in_words_and_few_calls(reader: str) -> None:
    """`make fuzz` tries millions of bytes more."""
    mutator, told = Mutator(READERS[reader].corpus(), READERS[reader].words), Progress()
    number = 0
    while told.bytes < BYTES:
        number += 1
        words = try_one(reader, mutator.input(0, number), told)
        assert not words, f"{reader} --seed 0 --input {number}"


@pytest.mark.parametrize("reader", sorted(READERS))
def test_the_inputs_that_are_damaged_were_good(reader: str) -> None:
    told = Progress()
    for data in READERS[reader].corpus():
        assert not try_one(reader, data, told)
    refused = {"container": 1, "object": 0}.get(reader, 0)
    assert told.refused == refused, "a good input is refused"


def test_the_same_seed_gives_the_same_inputs() -> None:
    corpus = [b"abc", b"0123456789"]
    first, again = (Mutator(corpus, (b"x",)) for _ in range(2))
    assert [first.input(7, n) for n in range(50)] == [again.input(7, n) for n in range(50)]
    assert len({first.input(seed, 20) for seed in range(50)}) > 10


# Limits of size


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    with pytest.raises(TooLarge, match="it has 1099511627776 bytes, of files of its kind at most 1000 are read"):
        read_input(file, 1000)


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(TooLarge, match="may have no end"):
        read_input("/dev/zero", 1000)


@pytest.mark.parametrize("size", [1000, 1001])
def test_a_pipe_is_read_as_far_as_its_kind_may_be_long(tmp_path: Path, size: int) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * size,))
    writer.start()
    try:
        if size > 1000:
            with pytest.raises(TooLarge):
                read_input(pipe, 1000)
        else:
            assert read_input(pipe, 1000) == b"x" * size
    finally:
        writer.join()


READING_FILES: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "an .aocx": (Container.read, OSError),
    "a library": (models_of, OSError),
    "a board": (lambda file: board_spec.read(str(file)), BoardSpecError),
    "a trace": (report.ordered, OSError),
    "a launch": (lambda file: CapturedLaunch.load(file.parent), Exception),
}


@pytest.mark.parametrize("kind", READING_FILES)
def test_each_kind_of_file_has_a_limit_of_size(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "launch.json"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    read, refusal = READING_FILES[kind]
    with pytest.raises(refusal, match="it has 1099511627776 bytes"):
        read(file)


# Limits of depth


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)])
def test_json_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="deep within each other"):
        parse_json(text)


def test_brackets_in_strings_make_json_no_deeper() -> None:
    value = {"a": "[" * 1000 + '\\"{', "b": [[[1]]]}
    assert parse_json(json.dumps(value)) == value


def test_archives_in_archives_are_refused(tmp_path: Path) -> None:
    data = b"int f(int a) { return a; }"
    for _ in range(2000):
        data = archive({"x.cl": data})
    (tmp_path / "a.aoclib").write_bytes(data)
    with pytest.raises(AocxError, match="has an archive in it"):
        models_of(tmp_path / "a.aoclib")


ENTITIES = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "' + b"x" * 1000 + b'"><!ENTITY b "&a;&a;">]><a>&b;</a>'


@pytest.mark.parametrize("read", [lambda f: board_spec.read(str(f)), models_of], ids=["board", "specification"])
def test_document_types_with_their_entities_are_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / "a.xml").write_bytes(ENTITIES)
    with pytest.raises((BoardSpecError, AocxError), match="a document type"):
        read(tmp_path / "a.xml")


def translated(source: str, *, everything: bool = False) -> str:
    return translate(source, "", {}, Compiler(macros, TABLE, half=False), everything=everything).text


DOUBLING = "".join(f"#define A{n} A{n + 1} A{n + 1}\n" for n in range(60))
TOO_DEEP = {
    **{words: (f"#if {words * 5000}1\n#endif\n", "#if") for words in ("(", "!", "-", "1 ? ", "1 ? 1 : ", "(1 + ")},
    "calls of macros": (
        f"#define F(x) (x)\nint x = {'F(' * 1000}1{')' * 1000};\n",
        "macros have macros as their arguments, more than 64 deep",
    ),
    "macros that double each other": (f"{DOUBLING}int x = A0;\n", r"macros are expanded into more than \d+ tokens"),
}


@pytest.mark.parametrize(("source", "words"), TOO_DEEP.values(), ids=TOO_DEEP)
def test_conditions_and_macros_that_are_too_deep_are_refused(source: str, words: str) -> None:
    with pytest.raises(PreprocessorError, match=words):
        translated(f"channel int c;\n{source}")


def test_macros_that_double_each_other_do_not_keep_readers_of_declarations_busy() -> None:
    source = f'{DOUBLING}kernel void k(global __attribute__((buffer_location("A0"))) int *x) {{ A0; }}'

    def read() -> None:
        assert opencl_c.buffer_locations(source) == {"k": ("A0",)}
        assert constant("A0", {f"A{n}": f"A{n + 1} + A{n + 1}" for n in range(15)} | {"A15": "1"}) == 1 << 15

    assert calls_of(read) < 20_000_000  # of the 2 ** 60 that are written


def test_functions_that_call_each_other_in_a_long_chain_get_their_local_variables() -> None:
    functions = ["int f0(int a) { local int x[4]; x[0] = a; return x[0]; }"]
    functions += [f"int f{n}(int a) {{ return f{n - 1}(a); }}" for n in range(1, 2000)]
    source = "\n".join((*functions, "kernel void k(global int *y) { y[0] = f1999(1); }"))
    made = translated(source, everything=True)
    assert made.count("struct __fpgart_locals_f1999 {") == 1
    assert made.index("struct __fpgart_locals_f0 {") < made.index("struct __fpgart_locals_f1 {")


def test_loops_within_loops_are_chosen_however_deep_they_are() -> None:
    source = "#pragma unroll\nfor (int i = 0; i < 2; i++) {\n" * 3000 + "x++;" + "}" * 3000
    made = translated(f"kernel void k(global int *x) {{ {source} }}")
    assert 0 < made.count("#pragma unroll") < 12


# Work that grows with the size alone

LONG = {
    "declarations": "global int variable{n} = {n};\n",
    "channels": "channel int c{n} __attribute__((depth(4))) __attribute__((intel_host_accessible));\n",
    "kernels": "kernel void k{n}(global int *restrict x, int n) {{ for (int i = 0; i < n; i++) x[i] += {n}; }}\n",
    "pragmas": "#pragma unroll\n",
    "empty lines": "\n",
    "kernels that are not closed": "kernel void k{n}(",
    "local variables": "{{ local int x{n}[4]; ",
    "macros": "#define M{n}(x) x\nint v{n} = M{n}({n});\n",
    "comments that are not closed": "/* ",
    "calls that are not closed": "M(\n",
    "loops": "for (i{n} = 0; i{n} < 9; i{n}++) {{ ",
}


def read_long(form: str, size: int) -> None:
    """Reads a source of about `size` bytes in all ways, those that refuse it included."""
    body = "".join(form.format(n=n) for n in range(size // len(form)))
    source = f"#define M(x) x\nchannel int first;\n{body}"
    reads: tuple[Callable[[], object], ...] = (
        lambda: translated(source, everything=True),
        lambda: opencl_c.argument_uses(source),
        lambda: opencl_c.kernel_attributes(source),
        lambda: call_graph.CallGraph(source).names_used("k1"),
        lambda: polling.Polling(f"volatile int again;\n{source}", "").may_include("k1"),
        lambda: file_scope.without_clashes([source.split("\n")] * 2),
    )
    for read in reads:
        with suppress(*READERS["source"].refusals):
            read()


def calls_for(form: str, size: int) -> int:
    """The calls of read_long(), without what the first reading of a process imports and compiles."""
    read_long(form, 64)
    return calls_of(lambda: read_long(form, size))


UNCLOSED = "calls that are not closed"
"""Their work grows with the square of the length until it is refused, which is before 1 << 17 bytes."""


@pytest.mark.parametrize(
    ("what", "size"),
    [
        pytest.param(
            what,
            1 << 17 if what == UNCLOSED else 1 << 12,
            id=what,
            marks=[pytest.mark.slow] if what == UNCLOSED else [],
        )
        for what in LONG
    ],
)
def test_a_program_that_is_eight_times_as_long_takes_about_eight_times_as_many_calls(what: str, size: int) -> None:
    assert calls_for(LONG[what], 8 * size) < 1.25 * 8 * calls_for(LONG[what], size) + 1000


# What has to be told


@pytest.mark.parametrize("change", [b"[]", b"{}", b'{"engine": 1}', b"\xff", b""])
def test_a_binary_with_another_header_is_refused_though_its_checksum_holds(change: bytes) -> None:
    with pytest.raises(InvalidBinary, match="damaged, or of another version"):
        READERS["binary"].read(len(change).to_bytes(8, "little") + change)


def test_a_binary_keeps_all_that_was_known_of_its_kernels() -> None:
    for body in READERS["binary"].corpus():
        assert READERS["binary"].read(body) is None
    made = ProgramBinary("engine", 4, "-g", [], "listing", {}, {}, b"payload")
    assert ProgramBinary.decode(made.encode()) == made


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("global_size", [0] * 4, "do not match"),
        ("local_size", [1], "do not match"),
        ("global_size", [-1, 1], "is not a number of 64 bits"),
        ("kernel", 7, "the launch, kernel: 7 is not of type str"),
        ("unknown", 7, "there is no field 'unknown'"),
        ("format", 99, "its format is not 1"),
    ],
)
def test_a_launch_with_facts_that_cannot_be_is_refused(field: str, value: object, words: str) -> None:
    facts = {**json.loads(captures()[0]), field: value}
    with pytest.raises(ValueError, match=words):
        CapturedLaunch.decode(json.dumps(facts).encode())


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", ".", "..", "a/b", "a\0b"])
def test_a_launch_reads_no_file_outside_of_its_folder(name: str) -> None:
    for where in ("program", "memories"):
        facts = json.loads(captures()[0])
        (facts[where] if where == "program" else facts[where][0])["file" if where == "program" else "before"] = name
        with pytest.raises(ValueError, match="is not a file in the folder of the launch"):
            CapturedLaunch.decode(json.dumps(facts).encode())


@pytest.mark.parametrize("memory", [-1, 1, 1 << 70])
def test_an_argument_of_a_memory_that_is_not_there_is_refused(memory: int) -> None:
    facts = json.loads(captures()[0])
    facts["arguments"][0]["memory"] = memory
    with pytest.raises(ValueError, match=f"there is no memory {memory}"):
        CapturedLaunch.decode(json.dumps(facts).encode())


def test_values_have_to_have_the_type_that_is_wanted() -> None:
    assert typed([1, 2], tuple[int, ...]) == (1, 2)
    assert typed({"1": None}, dict[int, str | None]) == {1: None}  # type: ignore[comparison-overlap]
    for value, kind, words in [
        (True, int, "True is not of type int"),
        ([1], tuple[int, int], "1 values are there instead of 2"),
        ({"x": 1}, dict[int, int], "'x' is not a number"),
        (["a", 1], list[str], "the value, 1: 1 is not of type str"),
        ("a", list[str], "'a' is not an array"),
        ([], dict[str, str], r"\[\] is not an object"),
    ]:
        with pytest.raises(ValueError, match=words):
            typed(value, kind)


@pytest.mark.parametrize(
    ("change", "words"),
    [("[", "not an event"), ("{}" * 2, "not an event"), ('{"cat": "mmd"}', "does not write"),
     ('{"cat": "buffer", "name": "create", "args": {"buffer": []}}', "does not write"),
     ('{"ts": "soon"}', "does not write"), ('{"a": ' * 99, "not an event")],
)  # fmt: skip
def test_a_trace_with_events_of_nobodys_is_refused(tmp_path: Path, change: str, words: str) -> None:
    (tmp_path / "trace").write_text(f"[\n{change}\n]\n")
    with pytest.raises(report.TraceError, match=words):
        report.read(tmp_path / "trace")


def test_a_line_of_a_trace_that_never_ends_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("[\n" + "x" * (3 << 20))
    with pytest.raises(report.TraceError, match="more than 1048576 characters"):
        report.read(tmp_path / "trace")


def test_the_corpus_is_small() -> None:
    assert sum(file.stat().st_size for file in CORPUS.iterdir()) < 64 << 10
    assert len(real_board().encode()) < 16 << 10
