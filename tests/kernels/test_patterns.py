"""Access patterns of kernels by index expressions, their cost on a board, and the advice on them."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace

import pytest
from calls import calls_of
from machine import Boards, Machine, listening

from fpgart.board.catalogue import describe
from fpgart.board.timing import Access, Bank, Jump, Pace
from fpgart.kernels.loops.access_patterns import patterns
from fpgart.kernels.loops.kernel_loops import global_arrays, kernel_loops
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.svm import allocate as allocate_svm
from fpgart.runtime.memory.usm import allocate_host
from fpgart.runtime.model.board_clock import StepTime
from fpgart.runtime.programs.kernel import Kernel
from fpgart.watch import report


def found(body: str, *, work_items: int = 1) -> list[tuple[str, int, int, int]]:
    """Array, bytes in a row, stride, how often."""
    source = f"kernel void k(global const float *restrict a, global int *b, global float4 *wide, int n) {{ {body} }}"
    made = patterns(kernel_loops(source)["k"], {"n": 100}, work_items)
    return [(each.array, each.run, each.stride, each.count) for each in made]


LOOP = "for (int i = 0; i < n; i++) "
KINDS = [
    ("one after the other", LOOP + "s += a[i];", []),
    ("backwards", "for (int i = n; i > 0; i--) s += a[i];", []),
    ("the same element", LOOP + "s += a[n];", []),
    ("windows", LOOP + "s += a[i] + a[i + 1] + a[i - 7];", []),
    ("strides", LOOP + "s += a[8 * i];", [("a", 4, 32, 100)]),
    ("strides of an argument", LOOP + "s += a[i * n];", [("a", 4, 400, 100)]),
    ("strides through a variable", LOOP + "{ const int at = i * 16 + 3; s += a[at]; }", [("a", 4, 64, 100)]),
    ("columns", LOOP + "for (int j = 0; j < 50; j++) s += a[j * 1000 + i];", [("a", 4, 4000, 5000)]),
    ("rows", LOOP + "for (int j = 0; j < 1000; j++) s += a[i * 1000 + j];", []),
    ("short rows", LOOP + "for (int j = 0; j < 10; j++) s += a[i * 1000 + j];", [("a", 40, 4000, 100)]),
    ("vectors", LOOP + "s += wide[i * 2].x;", [("wide", 16, 32, 100)]),
    ("unrolled", LOOP + "{\n#pragma unroll\nfor (int j = 0; j < 4; j++) s += a[i * 4 + j]; }", []),
    ("unrolled apart", LOOP + "{\n#pragma unroll\nfor (int j = 0; j < 4; j++) s += a[i * 64 + j]; }",
     [("a", 16, 256, 100)]),
    ("reading and writing", LOOP + "b[i * 32] += 1;", [("b", 4, 128, 200)]),
    ("elements of elements", LOOP + "s += a[b[i]];", [("a", 4, 0, 100)]),
    ("elements through a variable", LOOP + "{ int at = b[i] + 1; s += a[at]; }", [("a", 4, 0, 100)]),
    ("nobody knows", LOOP + "{ at = at * 5 + 1; s += a[at]; }", []),
    ("squares", LOOP + "s += a[i * i];", []),
    ("one known and one unknown", LOOP + "{ at = at * 5; s += a[at] + a[i * 16]; }", []),
    ("under a condition", LOOP + "if (i) s += a[i * 16];", []),
    ("an array of its own", LOOP + "{ float own[9]; s += own[i * 16]; }", []),
    ("no iteration", "for (int i = n; i < n; i++) s += a[i * 16];", []),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in KINDS], ids=[row[0] for row in KINDS])
def test_index_expressions_tell_strides(body: str, expected: list[tuple[str, int, int, int]]) -> None:
    assert found(body) == expected


def test_neighbouring_work_items_follow_each_other() -> None:
    assert found("b[get_global_id(0)] = n;", work_items=1000) == []
    assert found("int g = get_global_id(0); b[g * n] = n;", work_items=1000) == [("b", 4, 400, 1000)]


def test_lines_are_those_of_the_programs_source() -> None:
    source = (
        "#define W 16\n/* one\ntwo */\nkernel void k(global int *a, int n)\n{\n" + "\n" * 30 + LOOP + "a[W * i] = 0;\n}"
    )
    (made,) = patterns(kernel_loops(source)["k"], {"n": 4}, 1)
    assert made.line == source[: source.index("a[W")].count("\n") + 1


def test_elements_have_the_size_of_their_type() -> None:
    parameters = "__global const uchar *restrict a, global volatile double3* b, local int *c, global struct s *d, int e"
    assert global_arrays(parameters) == {"a": 1, "b": 32}


def calls_for(copies: int) -> int:
    body = (LOOP + "{ int at = b[i]; a[at] = a[i * 16] + b[i]; } if (n) a[n] = 0;\n") * copies
    source = f"kernel void k(global float *a, global int *b, int n) {{ {body} }}"
    return calls_of(lambda: patterns(kernel_loops(source)["k"], {"n": 5}, 1))


def test_the_analysis_makes_calls_in_proportion_to_the_source() -> None:
    assert calls_for(400) < 1.1 * 8 * calls_for(50)


# What it costs

JUMPS = [  # nanoseconds for 1000 accesses; a bank of a10_ref moves 64 bytes in 3.75 ns, and as much goes to the request
    ("near", Jump(4, 64, 1000), 7_526),
    ("two words", Jump(100, 256, 1000), 11_250),
    ("half a row", Jump(4, 4096, 1000), 9_151),
    ("another row", Jump(4, 1 << 20, 1000), 10_800),
    ("anywhere", Jump(4, 0, 1000), 10_800),
]


@pytest.mark.parametrize(("jump", "expected"), [row[1:] for row in JUMPS], ids=[row[0] for row in JUMPS])
def test_an_access_apart_costs_its_words_a_request_and_a_share_of_a_row(jump: Jump, expected: int) -> None:
    pace = Pace(describe("a10_ref"), [False])
    assert pace.jump_time(0, jump) == pytest.approx(expected, rel=0.001)


def test_interleaved_banks_serve_at_once_unless_the_stride_comes_to_one_of_them() -> None:
    pace = Pace(describe("usm_s10"), [True, False])
    spread = pace.jump_time(0, Jump(4, (1 << 20) + 64, 1000))
    assert pace.jump_time(0, Jump(4, 1 << 20, 1000)) == pytest.approx(4 * spread, abs=4)
    assert pace.jump_time(0, Jump(4, (1 << 20) + 8192, 1000)) == pytest.approx(2 * spread, abs=4)


def test_a_buffer_in_two_banks_is_jumped_about_in_both() -> None:
    board = describe("a10_ref")
    memory = board.memories[0]
    at = memory.begin + memory.bank_size - 64
    times = Pace(board, [False]).bank_time([Access(0, at, 128, jumps=(Jump(4, 0, 1000),))])
    assert times == {Bank(0, 1): 5_400, Bank(0, 2): 5_400}


COLUMNS = """
kernel void k(global const float *a0, int a1)
{
    for (int i = 0; i < a1; i++)
        sum += a0[i * 1024];
}
"""


def step_of(machine: Machine, kernel: Kernel) -> StepTime:
    """Returns the last step of a launch, as the clock tells it."""
    told: list[StepTime] = []
    with listening(SimpleNamespace(modelled=lambda event, command, steps: told.extend(steps))):
        machine.enqueue(kernel)
    return told[-1]


def ran(boards: Boards, source: str, size: int, count: int) -> StepTime:
    machine = boards("a10_ref", modelled=True)
    buffer = machine.buffer(size)

    def work(address: int, value: int, kept: Buffer = buffer) -> None:
        """A kernel whose work takes no time."""

    kernel = machine.kernel(work, "", None, source=source, given=[buffer])
    kernel.set_value(1, count.to_bytes(4, "little"))
    return step_of(machine, kernel)


def test_a_kernel_that_goes_in_strides_takes_what_the_memory_takes(boards: Boards) -> None:
    """4096 elements in 16 MiB: 9.15 ns each, and not one pass over all of them."""
    step = ran(boards, COLUMNS, 1 << 24, 4096)
    assert step.end - step.begin == pytest.approx(240 + 4096 * 9.15, rel=0.001)
    assert step.bound == "memory 'DDR' bank 1"
    (pattern,) = step.patterns
    assert (pattern.array, pattern.line, pattern.stride, pattern.size) == ("a0", 5, 4096, 4 * 4096)
    assert pattern.saved == pytest.approx(4096 * 9.15 - 4096 * 10 / 3, rel=0.01)


def test_strides_through_a_buffer_are_none_through_another(boards: Boards) -> None:
    machine = boards("a10_ref", modelled=True)
    source = (
        COLUMNS.replace("int a1", "global const float *a1, int a2")
        .replace("< a1", "< a2")
        .replace("+= ", "+= a1[i] + ")
    )
    buffers = [machine.keep(machine.buffer(1 << 24)) for _ in range(2)]
    kernel = machine.kernel(lambda *_: None, "", "", None, source=source, given=buffers)
    kernel.set_value(2, (4096).to_bytes(4, "little"))
    assert [(pattern.array, pattern.stride) for pattern in step_of(machine, kernel).patterns] == [("a0", 4096)]


def test_strides_through_a_pointer_are_those_of_its_memory(boards: Boards) -> None:
    """Another pointer into the same allocation is accessed in one pass; SVM counts as nothing."""
    machine = boards("usm_s10", modelled=True)
    source = (
        COLUMNS.replace("int a1", "global const float *a1, global const float *a2, int a3")
        .replace("< a1", "< a3")
        .replace("a0[", "a1[i] + a0[i] + a2[")
    )
    allocation, other = (allocate_host(machine.context, 1 << 24, 0) for _ in "ab")
    svm = allocate_svm(machine.context, 4096, 0)
    given = [svm, allocation.pointer, other.pointer]
    kernel = machine.kernel(lambda *_: None, "", "", "", None, source=source, given=given)
    kernel.set_value(3, (4096).to_bytes(4, "little"))
    step = step_of(machine, kernel)
    assert [(pattern.array, pattern.stride) for pattern in step.patterns] == [("a2", 4096)]
    pace = Pace(machine.devices[0].board, [True, False])
    took = pace.bank_time([Access(1, 0, 1 << 24), Access(1, 0, 0, jumps=(Jump(4, 4096, 4096),))])
    assert step.busy["memory 'host'"] == sum(took.values())


def test_strides_behind_a_slower_pipeline_cost_nothing(boards: Boards) -> None:
    slow = COLUMNS.replace("for (int i = 0; i < a1", "\n#pragma ii 30\nfor (int i = 0; i < a1")
    (pattern,) = ran(boards, slow, 1 << 24, 4096).patterns
    assert pattern.saved == 0


STEP = {
    "cat": "time", "name": "kernel", "ph": "X", "ts": 1.0, "dur": 2.0, "pid": 1000, "tid": 1,
    "args": {
        "device": 0, "command": "TASK", "queue": 1, "queued": 0, "submit": 0, "begin": 1000, "end": 3000,
        "bound": "memory 'DDR'", "busy": {"pipeline": 2000}, "banks": {}, "size": 0, "kernel": "k",
        "patterns": [{"array": "a", "index": "i * 16", "line": 7, "stride": 64, "size": 4096, "takes": 8000,
                      "sequential": 400, "saved": 5_000_000}],
    },
}  # fmt: skip


def test_the_advice_names_line_share_and_what_it_saves() -> None:
    (advice,) = report.of([STEP]).advice
    assert "kernel 'k', line 7 of its program: a[i * 16] is accessed in strides of 64 bytes" in advice.words
    assert "5 % of the memory's bandwidth" in advice.words
    assert (advice.nanoseconds, advice.measured) == (5_000_000, False)


def test_a_memory_of_the_hosts_has_no_rows_of_the_boards() -> None:
    board = describe("usm_s10")
    assert not board.memories[1].is_device_private
    pace = Pace(board, [True, False])
    assert pace.jump_time(1, Jump(64, 0, 1000)) == pytest.approx(2 * pace.run_time(1, 64_000) * 16 / 17, rel=0.01)


def test_the_advice_names_no_line_where_the_program_has_none() -> None:
    step = deepcopy(STEP)
    step["args"]["patterns"][0]["line"] = 0
    (advice,) = report.of([step]).advice
    assert advice.words.startswith("kernel 'k': a[i * 16] is accessed")
