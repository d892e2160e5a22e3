"""Loops, accesses to memory and pipes of kernels in SPIR-V, for the model of time."""

from __future__ import annotations

import pytest
from spirv_module import literal
from test_fpga_spirv import module

from fpgart.kernels.fpga_spirv import PIPE_TYPE
from fpgart.kernels.loops.access_patterns import patterns
from fpgart.kernels.loops.kernel_loops import Captured, KernelLoops
from fpgart.kernels.loops.loop_tree import talks
from fpgart.kernels.loops.spirv_streams import spirv_streams
from fpgart.kernels.spirv import KERNEL_MODEL, Op
from fpgart.kernels.spirv_facts import LoopControl

PRIVATE, GLOBAL, SPEC_ID = 7, 5, 1
FUNCTION_END = 56
Line = tuple[int | str, ...]
ENTER: tuple[Line, ...] = ((Op.LABEL, "entry"), (Op.BRANCH, "loop"), (Op.LABEL, "loop"))
LEAVE: tuple[Line, ...] = ((Op.LABEL, "exit"), (Op.RETURN,))
COUNTED: tuple[Line, ...] = (
    *ENTER,
    (Op.PHI, "int", "i", "0", "entry", "next", "loop"),
    (Op.ADD, "int", "next", "i", "1"),
    (Op.EQUAL, "bool", "done", "next", "n"),
    (Op.BRANCH_CONDITIONAL, "done", "exit", "loop"),
    *LEAVE,
)
"""A kernel's body with a loop of n iterations; `loop` is its begin and its end."""


def program(*body: Line, before: tuple[Line, ...] = (), behind: tuple[Line, ...] = ()) -> bytes:
    """Returns a module with a kernel `k(n, x, s)`: a number, a pointer to numbers, a structure of two by value.

    Words stand for ids, those of digits for constants. `before` are more declarations, `behind` more functions.
    """
    lines: list[Line] = [
        (Op.ENTRY_POINT, KERNEL_MODEL, "k", *literal("k"), "pipe"),
        *((Op.NAME, name, *literal(f"_arg_{name}")) for name in ("n", "x", "s")),
        (Op.TYPE_INT, "int", 32, 0),
        (Op.TYPE_POINTER, "int*", GLOBAL, "int"),
        (Op.TYPE_STRUCT, "struct", "int", "int"),
        (Op.TYPE_POINTER, "struct*", PRIVATE, "struct"),
        (Op.TYPE_POINTER, "own*", PRIVATE, "int"),
        *before,
        (Op.FUNCTION, 1, "k", 0, 1),
        (Op.PARAMETER, "int", "n"),
        (Op.PARAMETER, "int*", "x"),
        (Op.PARAMETER, "struct*", "s"),
        *body,
        (FUNCTION_END,),
        *behind,
    ]
    words = {word for line in lines for word in line if isinstance(word, str)}
    ids = {word: number for number, word in enumerate(sorted(words), start=20)}
    constants = [(Op.CONSTANT, "int", word, int(word)) for word in sorted(words) if word.isdecimal()]
    at = next(index for index, line in enumerate(lines) if line[0] == Op.FUNCTION)
    every = [*lines[:at], *constants, *lines[at:]]
    return module(*(tuple(ids[word] if isinstance(word, str) else int(word) for word in line) for line in every))


def loops(*body: Line, before: tuple[Line, ...] = (), behind: tuple[Line, ...] = ()) -> KernelLoops:
    return spirv_streams([program(*body, before=before, behind=behind)], {}).kernels["k"]


def with_lines(body: tuple[Line, ...], behind: Line, *lines: Line) -> tuple[Line, ...]:
    """Returns the body with more lines behind one of it."""
    at = body.index(behind) + 1
    return (*body[:at], *lines, *body[at:])


def guarded(body: tuple[Line, ...], left: str, right: str) -> tuple[Line, ...]:
    """Returns a body that is run if `left` is greater than `right`."""
    return (
        (Op.LABEL, "first"),
        (Op.S_GREATER, "bool", "large", left, right),
        (Op.BRANCH_CONDITIONAL, "large", "entry", "end"),
        *body[:-1],
        (Op.BRANCH, "end"),
        (Op.LABEL, "end"),
        (Op.RETURN,),
    )


def test_a_loop_takes_a_cycle_for_each_iteration() -> None:
    found = loops(*COUNTED)
    assert found.captured == {"n": Captured(0, 0, 4)}
    assert found.cycles({"n": 100}) == 100
    assert found.cycles({}) is None


def test_a_kernel_without_loops_takes_one_cycle() -> None:
    assert loops((Op.LABEL, "entry"), (Op.RETURN,)).cycles({}) == 1


@pytest.mark.parametrize(
    ("control", "number", "cycles"),
    [
        (LoopControl.initiation_interval, 3, 300),
        (LoopControl.unroll_by, 4, 25),
        (LoopControl.max_interleaving, 1, 100),
        (LoopControl.max_concurrency, 1, 100),
    ],
)
def test_attributes_of_a_loop_have_the_effect_of_those_in_opencl_c(control: int, number: int, cycles: int) -> None:
    merge: Line = (Op.LOOP_MERGE, "exit", "loop", control, number)
    assert loops(*with_lines(COUNTED, (Op.ADD, "int", "next", "i", "1"), merge)).cycles({"n": 100}) == cycles


def test_a_loop_that_is_unrolled_takes_no_cycles() -> None:
    merge: Line = (Op.LOOP_MERGE, "exit", "loop", LoopControl.unroll)
    assert loops(*with_lines(COUNTED, (Op.ADD, "int", "next", "i", "1"), merge)).cycles({"n": 100}) == 1


@pytest.mark.parametrize(
    ("first", "step", "condition", "goes_on", "cycles"),
    [
        ("0", (Op.ADD, "3"), (Op.S_LESS, "next", "n"), True, 34),  # 0, 3, ... 99
        ("0", (Op.ADD, "3"), (Op.S_LESS, "n", "next"), False, 34),
        ("1", (Op.ADD, "3"), (Op.S_LESS_EQUAL, "next", "n"), True, 34),
        ("0", (Op.ADD, "3"), (Op.U_LESS, "i", "n"), True, 35),
        ("0", (Op.ADD, "3"), (Op.NOT_EQUAL, "next", "99"), True, 33),
        ("n", (Op.SUBTRACT, "2"), (Op.S_GREATER, "next", "0"), True, 50),  # downwards
    ],
)
def test_iterations_follow_from_the_first_value_the_step_and_the_bound(
    first: str, step: Line, condition: Line, goes_on: bool, cycles: int
) -> None:
    targets = ("loop", "exit") if goes_on else ("exit", "loop")
    body: tuple[Line, ...] = (
        *ENTER,
        (Op.PHI, "int", "i", first, "entry", "next", "loop"),
        (step[0], "int", "next", "i", step[1]),
        (condition[0], "bool", "more", *condition[1:]),
        (Op.BRANCH_CONDITIONAL, "more", *targets),
        *LEAVE,
    )
    assert loops(*body).cycles({"n": 100}) == cycles


def test_a_loop_that_tests_first_runs_as_often_as_its_condition_holds() -> None:
    body: tuple[Line, ...] = (
        (Op.LABEL, "entry"),
        (Op.BRANCH, "test"),
        (Op.LABEL, "test"),
        (Op.PHI, "int", "i", "0", "entry", "next", "body"),
        (Op.S_LESS, "bool", "more", "i", "n"),
        (Op.BRANCH_CONDITIONAL, "more", "body", "exit"),
        (Op.LABEL, "body"),
        (Op.ADD, "int", "next", "i", "1"),
        (Op.BRANCH, "test"),
        *LEAVE,
    )
    assert loops(*body).cycles({"n": 100}) == 100


def test_a_loop_with_two_ways_out_is_not_counted() -> None:
    body: tuple[Line, ...] = (
        *ENTER,
        (Op.PHI, "int", "i", "0", "entry", "next", "end"),
        (Op.LOAD, "int", "value", "x"),
        (Op.EQUAL, "bool", "found", "value", "0"),
        (Op.BRANCH_CONDITIONAL, "found", "exit", "end"),
        (Op.LABEL, "end"),
        (Op.ADD, "int", "next", "i", "1"),
        (Op.EQUAL, "bool", "done", "next", "n"),
        (Op.BRANCH_CONDITIONAL, "done", "exit", "loop"),
        *LEAVE,
    )
    found = loops(*body)
    assert found.body is None
    assert found.uncounted == "a loop is left early"


def test_a_loop_with_two_ends_is_not_counted() -> None:
    again: tuple[Line, ...] = (
        (Op.BRANCH_CONDITIONAL, "done", "exit", "other"),
        (Op.LABEL, "other"),
        (Op.BRANCH_CONDITIONAL, "done", "third", "loop"),
        (Op.LABEL, "third"),
        (Op.BRANCH, "loop"),
    )
    body = (*COUNTED[:-3], *again, *COUNTED[-2:])
    assert loops(*body).uncounted == "a loop has several ends"


def test_the_branch_that_the_arguments_choose_counts() -> None:
    body = guarded(COUNTED, "n", "50")
    assert loops(*body).cycles({"n": 100}) == 100
    assert loops(*body).cycles({"n": 40}) == 1


def test_a_bound_in_an_argument_by_value_is_known() -> None:
    lines: tuple[Line, ...] = (
        (Op.ACCESS_CHAIN, "own*", "member", "s", "1"),
        (Op.LOAD, "int", "bound", "member"),
    )
    body = with_lines(COUNTED, (Op.LABEL, "entry"), *lines)
    body = tuple((*line[:-1], "bound") if line[0] == Op.EQUAL else line for line in body)
    found = loops(*body)
    assert found.captured == {"s_4": Captured(2, 4, 4)}
    assert found.cycles({"s_4": 7}) == 7


def test_a_specialization_constant_has_the_value_that_the_host_has_set() -> None:
    body = tuple((*line[:-1], "size") if line[0] == Op.EQUAL else line for line in COUNTED)
    before: tuple[Line, ...] = ((Op.DECORATE, "size", SPEC_ID, 9), (Op.SPEC_CONSTANT, "int", "size", 5))
    il = program(*body, before=before)
    assert spirv_streams([il], {}).kernels["k"].cycles({}) == 5
    assert spirv_streams([il], {9: (64).to_bytes(4, "little")}).kernels["k"].cycles({}) == 64


def test_a_called_function_takes_the_cycles_of_its_loops() -> None:
    called: tuple[Line, ...] = (
        (Op.FUNCTION, 1, "f", 0, 1),
        (Op.PARAMETER, "int", "m"),
        *(tuple(f"{word}'" if word in ("entry", "loop", "exit", "i", "next", "done") else "m" if word == "n" else word
                for word in line) for line in COUNTED),
        (FUNCTION_END,),
    )  # fmt: skip
    body: tuple[Line, ...] = (
        (Op.LABEL, "begin"),
        (Op.ADD, "int", "more", "n", "1"),
        (Op.CALL, 1, "result", "f", "more"),
        (Op.RETURN,),
    )
    assert loops(*body, behind=called).cycles({"n": 100}) == 101


def test_an_entry_point_that_only_calls_a_function_is_that_function() -> None:
    inner = {"n": "n'", "x": "x'", "s": "s'"}
    called: tuple[Line, ...] = (
        (Op.FUNCTION, 1, "f", 0, 1),
        (Op.PARAMETER, "int", "n'"),
        (Op.PARAMETER, "int*", "x'"),
        (Op.PARAMETER, "struct*", "s'"),
        *(tuple(inner.get(str(word), word) for word in line) for line in COUNTED),
        (FUNCTION_END,),
    )
    named: tuple[Line, ...] = ((Op.NAME, "n'", *literal("_arg_n")),)
    body: tuple[Line, ...] = ((Op.LABEL, "begin"), (Op.CALL, 1, "result", "f", "n", "x", "s"), (Op.RETURN,))
    found = loops(*body, before=named, behind=called)
    assert found.captured == {"n": Captured(0, 0, 4)}


def accessing(*lines: Line) -> KernelLoops:
    """The loop COUNTED with these lines in it."""
    return loops(*with_lines(COUNTED, (Op.PHI, "int", "i", "0", "entry", "next", "loop"), *lines))


def test_an_index_that_grows_by_more_than_an_element_is_strided() -> None:
    found = accessing(
        (Op.SHIFT_LEFT, "int", "far", "i", "4"),
        (Op.PTR_ACCESS_CHAIN, "int*", "place", "x", "far"),
        (Op.LOAD, "int", "value", "place"),
    )
    (pattern,) = patterns(found, {"n": 100}, 1)
    assert (pattern.array, pattern.run, pattern.stride, pattern.count) == ("x", 4, 64, 100)


def test_parts_of_an_array_are_as_far_apart_as_their_size() -> None:
    before: tuple[Line, ...] = (
        (Op.TYPE_ARRAY, "row", "int", "4"),
        (Op.TYPE_ARRAY, "rows", "row", "4"),
        (Op.TYPE_POINTER, "rows*", GLOBAL, "rows"),
    )
    lines: tuple[Line, ...] = (
        (Op.BITCAST, "rows*", "cast", "x"),
        (Op.PTR_ACCESS_CHAIN, "int*", "place", "cast", "0", "i", "1"),
        (Op.LOAD, "int", "value", "place"),
    )
    found = loops(*with_lines(COUNTED, (Op.PHI, "int", "i", "0", "entry", "next", "loop"), *lines), before=before)
    assert [(each.run, each.stride) for each in patterns(found, {"n": 100}, 1)] == [(4, 16)]


def test_an_index_from_memory_is_random() -> None:
    found = accessing(
        (Op.PTR_ACCESS_CHAIN, "int*", "place", "x", "i"),
        (Op.LOAD, "int", "index", "place"),
        (Op.PTR_ACCESS_CHAIN, "int*", "there", "x", "index"),
        (Op.STORE, "there", "i"),
    )
    assert [(each.run, each.stride) for each in patterns(found, {"n": 100}, 1)] == [(4, 0)]


def test_neighbouring_elements_are_one_access() -> None:
    """A compiler that unrolls a loop by two leaves one with two accesses."""
    found = loops(
        *ENTER,
        (Op.PHI, "int", "i", "0", "entry", "next", "loop"),
        (Op.PTR_ACCESS_CHAIN, "int*", "even", "x", "i"),
        (Op.STORE, "even", "n"),
        (Op.OR, "int", "second", "i", "1"),
        (Op.PTR_ACCESS_CHAIN, "int*", "odd", "x", "second"),
        (Op.STORE, "odd", "n"),
        (Op.ADD, "int", "next", "i", "2"),
        (Op.EQUAL, "bool", "done", "next", "n"),
        (Op.BRANCH_CONDITIONAL, "done", "exit", "loop"),
        *LEAVE,
    )
    assert [(touch.element, touch.index) for touch in found.touches] == [(8, "i0 * 2")]
    assert patterns(found, {"n": 100}, 1) == []


def test_the_test_in_front_of_a_loop_does_not_make_its_accesses_uncertain() -> None:
    inside = with_lines(COUNTED, (Op.PHI, "int", "i", "0", "entry", "next", "loop"), (Op.STORE, "x", "i"))
    assert [touch.times for touch in loops(*guarded(inside, "n", "0")).touches] == [1]
    assert [touch.times for touch in loops(*guarded(inside, "n", "7")).touches] == [0]


PIPE: tuple[Line, ...] = (
    (Op.NAME, "storage", *literal(f"{PIPE_TYPE}.3")),
    (Op.NAME, "pipe", *literal("between")),
    (Op.TYPE_STRUCT, "storage", "int", "int", "int"),
    (Op.TYPE_POINTER, "storage*", GLOBAL, "storage"),
    (Op.CONSTANT_COMPOSITE, "storage", "initial", "4", "4", "8"),
    (Op.VARIABLE, "storage*", "pipe", GLOBAL, "initial"),
)
"""A pipe `between` for eight packets, which kernel k uses."""


def test_a_pipe_is_a_channel_with_its_capacity() -> None:
    lines: tuple[Line, ...] = (
        (Op.PIPE_FROM_STORAGE, "end", "open", "pipe"),
        (Op.WRITE_PIPE_BLOCKING, "open", "x", "4", "4"),
    )
    body = with_lines(COUNTED, (Op.PHI, "int", "i", "0", "entry", "next", "loop"), *lines)
    found = spirv_streams([program(*body, before=PIPE)], {})
    assert found.capacity("between") == 8
    assert found.groups == {"k": frozenset(("k",))}
    assert [(talk.channel, talk.writing) for talk in talks(found.kernels["k"].body or ())] == [("between", True)]


@pytest.mark.parametrize(
    "lines",
    [
        ((Op.ADD, "int", "self", "self", "1"), (Op.PTR_ACCESS_CHAIN, "int*", "place", "x", "self")),
        ((Op.PTR_ACCESS_CHAIN, "int*", "place", "place", "1"),),
        ((Op.BITCAST, "int*", "place", "place"),),
    ],
)
def test_a_value_of_damaged_code_that_depends_on_itself_is_unknown(lines: tuple[Line, ...]) -> None:
    found = accessing(*lines, (Op.LOAD, "int", "value", "place"))
    assert patterns(found, {"n": 100}, 1) == []
    assert found.cycles({"n": 100}) == 100


def test_a_kernel_of_damaged_code_without_a_function_uses_no_pipe() -> None:
    entry: Line = (Op.ENTRY_POINT, KERNEL_MODEL, "missing", *literal("missing"), "pipe")
    found = spirv_streams([program((Op.LABEL, "entry"), (Op.RETURN,), before=(entry, *PIPE))], {})
    assert list(found.kernels) == ["k"]
    assert found.groups == {"k": frozenset(("k",))}


def test_bytes_that_are_no_spirv_have_no_loops() -> None:
    assert spirv_streams([b"BC\xc0\xde"], {}).kernels == {}
