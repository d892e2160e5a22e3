"""Binaries of an engine's programs: objects that are linked where they are loaded, and those of earlier releases."""

from __future__ import annotations

from struct import Struct

import pytest
from fpgart._native import ffi

from fpgart.base.errors import InvalidBinary, LinkProgramFailure
from fpgart.engine.build_step import BUILD, BuildStep, Objects
from fpgart.engine.choice import choose_engine
from fpgart.engine.compiling.compiler_process import CompilerEnded
from fpgart.engine.interface import POINTER, BuildFailed, BuiltProgram, KernelLaunch, pack_arguments
from fpgart.engine.opencl_engine import program as programs
from fpgart.engine.opencl_engine import steps
from fpgart.engine.opencl_engine.binary import objects_in, with_objects
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.object_code import intermediate_code
from fpgart.engine.opencl_engine.program import input_of

SOURCE = "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void twice(global int *x) { x[get_global_id(0)] *= 2; }"
CALLING = "int more(int); kernel void twice(global int *x) { x[get_global_id(0)] = more(x[get_global_id(0)]); }"
CALLED = "int more(int a) { return 2 * a; }"
FOUR = Struct("9Q").pack(0, 0, 0, 4, 1, 1, 4, 1, 1)


@pytest.fixture(scope="module")
def engine() -> OpenCLEngine:
    found = choose_engine()
    if not isinstance(found, OpenCLEngine) or not found.driver.gives_objects:
        pytest.skip("PoCL is not the engine")
    return found


def result_of(program: BuiltProgram) -> list[int]:
    """Returns the results of its kernel for 1 to 4."""
    values = ffi.new("int[]", [1, 2, 3, 4])
    image = pack_arguments([(POINTER, 0, int(ffi.cast("uintptr_t", values)))])
    program.kernel("twice").launch(KernelLaunch(image, 1, FOUR, True))
    return list(values)


def loaded(engine: OpenCLEngine, binary: bytes) -> BuiltProgram:
    """The program of a binary, built."""
    program = engine.from_binary(binary)
    program.build("")
    return program


def compiled(engine: OpenCLEngine, source: str) -> BuiltProgram:
    program = engine.from_source(source)
    program.compile("", {})
    return program


def test_a_binary_of_a_program_needs_none_of_the_engine(engine: OpenCLEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL makes machine code for that, or crashes."""
    built = engine.from_source(SOURCE)
    built.build("")
    linked, _ = engine.link("", [compiled(engine, SOURCE)])
    monkeypatch.delattr(programs, "binary_of")
    for program in (built, linked):
        assert result_of(loaded(engine, program.binary())) == [2, 4, 6, 8]


def test_objects_that_were_loaded_can_be_linked(engine: OpenCLEngine) -> None:
    parts = [engine.from_binary(compiled(engine, source).binary()) for source in (CALLING, CALLED)]
    linked, _ = engine.link("", parts)
    assert result_of(linked) == [2, 4, 6, 8]
    assert result_of(loaded(engine, linked.binary())) == [2, 4, 6, 8]


def test_a_library_is_one_object(engine: OpenCLEngine) -> None:
    library, _ = engine.link("-create-library", [compiled(engine, CALLED)])
    again = engine.from_binary(library.binary())
    linked, _ = engine.link("", [compiled(engine, CALLING), again])
    assert result_of(linked) == [2, 4, 6, 8]


def test_the_engines_own_binary_of_an_earlier_release_can_be_loaded(engine: OpenCLEngine) -> None:
    driver = engine.driver
    step = BuildStep(BUILD, (input_of(SOURCE),), steps.FOR_LAUNCHES)
    made = steps.do(driver, step)
    assert result_of(loaded(engine, steps.binary_of(driver, made.handle))) == [2, 4, 6, 8]


def test_what_others_have_built_of_the_same_source_is_no_object(engine: OpenCLEngine) -> None:
    """PoCL's cache, which processes share, has it under the same key, unless the options differ."""
    driver, given = engine.driver, input_of(SOURCE + " // built in one step first")
    handle = steps.create(driver, given)
    steps._build(driver, handle, "")
    made = engine.do(driver, BuildStep(BUILD, (given,), ""))
    program = engine.from_binary(with_objects(Objects((made.binary,), "", True)))
    program.build("")
    assert result_of(program) == [2, 4, 6, 8]


@pytest.mark.parametrize(
    "objects", [Objects((), "", True), Objects((b"",), "", True), Objects((b"a", b"b"), "", False)]
)
def test_a_binary_without_its_objects_is_refused(objects: Objects) -> None:
    with pytest.raises(InvalidBinary):
        objects_in(with_objects(objects))


def test_a_binary_that_ends_too_early_is_refused() -> None:
    with pytest.raises(InvalidBinary):
        objects_in(with_objects(Objects((b"abc",), "", True))[:-1])


def test_an_object_that_crashes_the_linker_fails_the_build(engine: OpenCLEngine) -> None:
    """Bytes that are no object may do anything to the engine, in the compiler's process."""
    program = engine.from_binary(with_objects(Objects((b"BC\xc0\xde" + bytes(range(256)),), "", True)))
    with pytest.raises((BuildFailed, InvalidBinary)):
        program.build("")


class Linker:
    """Stands for a compiler process whose linking fails."""

    def __init__(self, failure: BuildFailed) -> None:
        self._failure = failure

    def find(self, step: BuildStep) -> None:
        return None

    def do(self, step: BuildStep) -> None:
        raise self._failure


FAILURES = {
    "ends": CompilerEnded(LinkProgramFailure.status, "it has ended"),
    "refuses": BuildFailed(LinkProgramFailure.status, "it knows no such object"),
}


@pytest.fixture
def linking(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[OpenCLEngine, BuiltProgram]:
    """An engine whose objects have not all that programs need, and a compiled program."""
    made = choose_engine()
    if not isinstance(made, OpenCLEngine):
        pytest.skip("the engine does not compile apart")
    made.driver.gives_objects = False
    made.compiler_process = None
    program = compiled(made, SOURCE)
    monkeypatch.setattr(made, "compiler_process", Linker(FAILURES[request.param]))
    return made, program


@pytest.mark.parametrize("linking", ["ends"], indirect=True)
def test_a_linker_that_ends_its_process_does_not_link_in_the_host(linking: tuple[OpenCLEngine, BuiltProgram]) -> None:
    engine, program = linking
    with pytest.raises(BuildFailed, match="it has ended"):
        engine.link("", [program])


@pytest.mark.parametrize("linking", ["refuses"], indirect=True)
def test_objects_that_a_compiler_process_cannot_link_are_linked_in_the_host(
    linking: tuple[OpenCLEngine, BuiltProgram],
) -> None:
    engine, program = linking
    assert list(engine.link("", [program])[0].kernels({})) == ["twice"]


def test_a_binary_without_intermediate_code_has_none() -> None:
    code = b"/program.bc\x04\0\0\0code"
    assert intermediate_code(b"before" + code + b"after") == b"code"
    assert [intermediate_code(each) for each in (b"", b"code", code[:-1], code[:13])] == [b""] * 4
