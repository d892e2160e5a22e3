"""The work and memory of the analysis of sources for the model of time: at most in proportion to the sources.

Work is counted in characters and in steps; times would depend on the machine's load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from fpgart._native import lib

from fpgart.channels.stream_clock import StreamClock
from fpgart.kernels.loops import assignments, dependences
from fpgart.kernels.loops.access_patterns import patterns
from fpgart.kernels.loops.dependences import broken_promises
from fpgart.kernels.loops.kernel_loops import MOST_ITEMS, kernel_loops
from fpgart.kernels.loops.kernel_streams import MOST_STEPS, Streams, kernel_streams
from fpgart.kernels.loops.loop_tree import UncountableError, talks
from fpgart.kernels.loops.stream_steps import Step
from fpgart.kernels.preprocessing import expressions, tokens
from fpgart.kernels.preprocessing.expressions import LONGEST, constant
from fpgart.kernels.preprocessing.tokens import Token
from fpgart.runtime.model import streaming
from fpgart.runtime.model.streaming import Group, OpenLaunch

READ, WRITE, LOOP, NEXT, END = lib.STREAM_READ, lib.STREAM_WRITE, lib.STREAM_LOOP, lib.STREAM_NEXT, lib.STREAM_END


class Work:
    """The characters of expressions that were looked at, and those of bodies in which assignments were sought."""

    def __init__(self) -> None:
        self.expressions = 0
        self.bodies = 0

    def tokens_of(self, text: str) -> tuple[Token, ...]:
        self.expressions += len(text)
        return tokens.tokens_of(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.bodies += len(text)
        return GIVEN.finditer(text)


GIVEN = assignments.GIVEN


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work()
    monkeypatch.setattr(expressions, "tokens_of", counted.tokens_of)
    monkeypatch.setattr(assignments, "GIVEN", counted)
    return counted


def look(source: str) -> None:
    """Everything that the model of time does with a source for one launch of each kernel."""
    streams = kernel_streams(source)
    for name, loops in (streams.kernels or kernel_loops(source)).items():
        scalars = {parameter: 7 for parameter in loops.parameters if parameter.startswith("n")}
        loops.cycles(scalars)
        patterns(loops, scalars, 64)
        if name in streams.groups and name not in streams.untold:
            try:
                streams.process(name, scalars, 1, 3, Fraction(1))
            except UncountableError:
                continue


def with_parameters(number: int) -> str:
    parameters = ", ".join(f"global int *a{each}, int n{each}" for each in range(number))
    uses = "".join(f"a{each}[i * n{each}] = n{each};" for each in range(number))
    return f"kernel void k({parameters}) {{ for (int i = 0; i < n1; i++) {{ {uses} }} }}"


def with_constants(number: int) -> str:
    constants = "int c0 = n;" + "".join(f"int c{each} = c{each - 1} + 1;" for each in range(1, number))
    return f"kernel void k(global int *a, int n) {{ {constants} for (int i = 0; i < c9; i++) a[i * c9] = 0; }}"


def with_nested_loops(number: int) -> str:
    loops = " ".join(f"for (int i{each} = 0; i{each} < n; i{each}++)" for each in range(30))
    return f"kernel void k(global int *a, int n) {{ {loops} {{ {'a[i3 * 9 + n] = 0;' * number} }} }}"


def with_long_expressions(number: int) -> str:
    long = "+".join(["1"] * number)
    loop = f"for (int i = 0; i < {long}; i++) a[i * ({long})] = 0;"
    return f"kernel void k(global int *a, int n) {{ if (n > {long}) {{ {loop} }} }}"


def with_long_expressions_written_out(number: int) -> str:
    nest = "".join(f"\n#pragma unroll\nfor (int {name} = 0; {name} < 90; {name}++)" for name in "ij")
    use = f"write_channel_intel(c[{'0+' * number} i], n);"
    return f"channel int c[100]; kernel void k(int n) {{ {nest} {use} }}"


def with_calls(number: int) -> str:
    doubled = "".join(f"void f{each}(int n) {{ f{each - 1}(n); f{each - 1}(n); }}\n" for each in range(1, 13))
    callers = "".join(f"void g{each}(int n) {{ f12(1); }}\n" for each in range(number))
    return "void f0(int n) { for (int i = 0; i < 9; i++); }\n" + doubled + callers + "kernel void k(int n) { f12(n); }"


SOURCES = [with_parameters, with_constants, with_nested_loops, with_long_expressions,
           with_long_expressions_written_out, with_calls]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_looked_at_in_proportion_to_its_size(source: Callable[[int], str], work: Work) -> None:
    found = []
    for number in (200, 800):
        work.expressions = work.bodies = 0
        look(source(number))
        found.append((work.expressions, work.bodies))
    (few, small), (many, large) = found
    assert many <= 5 * few + 1000
    assert large <= 5 * small + 1000


def test_the_bodies_of_functions_are_searched_for_assignments_once(work: Work) -> None:
    source = with_parameters(500)
    kernel_loops(source)
    assert work.bodies <= len(source)


def test_a_constant_that_is_too_long_has_no_value() -> None:
    assert constant("1" + "+1" * ((LONGEST - 1) // 2), {}) == LONGEST // 2
    assert constant("1" + "+1" * (LONGEST // 2), {}) is None
    assert constant("A + A", {"A": "1" + "+1" * (LONGEST // 2 - 6)}) is not None  # A is looked at once
    assert constant("A + B", dict.fromkeys("AB", "1" + "+1" * (LONGEST // 2 - 6))) is None


def test_a_number_that_no_number_holds_is_no_constant() -> None:
    digits = "f" * 5000
    source = f"kernel void k(global int *a) {{ const int m = 0x{digits}; for (int i = 0; i < m; i++) a[i * m] = 0; }}"
    loops = kernel_loops(source)["k"]
    assert loops.cycles({}) is None
    assert patterns(loops, {}, 1) == []
    assert constant("A", {"A": f"0x{digits}"}) is None


def test_the_tokens_of_long_texts_are_not_kept() -> None:
    kept = tokens._kept_tokens_of.cache_info().currsize
    assert len(tokens.tokens_of("x " * 500)) == 500
    assert tokens._kept_tokens_of.cache_info().currsize == kept


def test_calls_in_each_other_do_not_keep_their_text_again_and_again() -> None:
    nested = "write_channel_intel(" * 2000 + "c" + ", 1)" * 2000
    loops = kernel_loops(f"channel int c; kernel void k() {{ {nested}; }}")["k"]
    found = list(talks(loops.body or ()))
    assert len(found) == 2000
    assert sum(len(talk.channel) for talk in found) < 10_000
    assert any("characters say which channel" in talk.untold for talk in found)


def test_a_kernel_with_too_many_loops_says_so() -> None:
    source = f"channel int c; kernel void k(int n) {{ {'for (int i = 0; i < n; i++);' * (MOST_ITEMS + 1)}"
    found = kernel_streams(source + " write_channel_intel(c, 1); }")
    assert found.kernels["k"].cycles({"n": 1}) is None
    assert "more than 10,000 loops" in found.untold["k"]


def test_indices_that_take_too_long_to_look_at_are_not_guessed() -> None:
    index = " + ".join(f"i{each} * 3" for each in range(30)) + " + 0" * 300
    nest = "".join(f"for (int i{each} = 0; i{each} < n; i{each}++) " for each in range(30))
    source = (
        f"kernel void k(global int *a, global int *b, int n) {{ {nest} {{ b[i3 * 99] = 0; {f'a[{index}];' * 30} }} }}"
    )
    found = patterns(kernel_loops(source)["k"], {"n": 5}, 1)
    assert {pattern.array for pattern in found} == {"b"}


def test_pairs_of_accesses_are_compared_up_to_a_number(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    monkeypatch.setattr(dependences, "MOST_PAIRS", 10)
    uses = "".join(f"a[i + {each}] = a[i - {each}];" for each in range(100))
    source = f"kernel void k(global int *a, int n) {{\n#pragma ivdep\nfor (int i = 0; i < n; i++) {{ {uses} }} }}"
    assert broken_promises(source)
    assert work.expressions < 10 * 2 * 2 * 3 * 20


# Channels


def ring(kernels: int, use: str = "write_channel_intel(c{0}, read_channel_intel(c{1}))") -> str:
    channels = "".join(f"channel int c{each} __attribute__((depth(4)));\n" for each in range(kernels))
    loop = "for (int i = 0; i < n; i++) " + use + ";"
    bodies = (loop.format(each, (each + 1) % kernels) for each in range(kernels))
    return channels + "".join(f"kernel void k{each}(int n) {{ {body} }}\n" for each, body in enumerate(bodies))


@pytest.mark.parametrize("use", [
    "write_channel_intel(c{0}, read_channel_intel(c{1}))", "write_channel_nb_intel(c{0}, read_channel_intel(c{1}))"
])  # fmt: skip
def test_kernels_that_are_connected_have_one_set_of_names(use: str) -> None:
    found = kernel_streams(ring(50, use))
    assert len(found.groups) == 50
    assert len({id(group) for group in found.groups.values()}) == 1


def test_the_clock_looks_at_a_process_only_when_it_can_go_on() -> None:
    """A packet goes round against the order in which the processes were added."""
    kernels, rounds = 300, 20
    clock = StreamClock(lambda name: 1)
    for each in range(kernels):
        reads, writes = Step(READ, 0, 0, f"c{(each + 1) % kernels}"), Step(WRITE, 0, 1, f"c{each}")
        talk = (writes, reads) if each == 0 else (reads, writes)
        clock.start((Step(LOOP, rounds, 1), *talk, Step(NEXT, 0, 0), Step(END, 0, 0)), 0)
    assert clock.run(10 * kernels * rounds)
    assert len(clock.take_ended()) == kernels
    assert clock.looks <= 2 * kernels * rounds + kernels


def test_processes_that_end_are_told_once() -> None:
    clock = StreamClock(lambda name: 1)
    process = clock.start((Step(END, 0, 0),), 0)
    assert clock.run(10)
    assert clock.take_ended() == [process]
    assert clock.run(10)
    assert clock.take_ended() == []


PAIR = """channel int c; kernel void give(int n) { write_channel_intel(c, 1); }
kernel void take(int n) { read_channel_intel(c); }"""


def launch(group: Group, streams: Streams, kernel: str) -> list[OpenLaunch]:
    steps = streams.process(kernel, {"n": 1}, 1, 0, Fraction(1))
    return group.begin(OpenLaunch(kernel, None, None, 0, 0, steps))


def held_by(launches: int, monkeypatch: pytest.MonkeyPatch, *, more: int = 0) -> tuple[Group, Streams]:
    """The kernels of PAIR, with room for the steps of so many launches of `take`, and for `more` steps."""
    found = kernel_streams(PAIR)
    steps = found.process("take", {"n": 1}, 1, 0, Fraction(1))
    monkeypatch.setattr(streaming, "MOST_HELD", launches * len(steps) + more)
    return Group(found, found.groups["take"], {}, 300), found


def test_steps_of_launches_that_wait_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    group, found = held_by(20, monkeypatch)
    assert not any(launch(group, found, "take") for _ in range(20))
    ended = launch(group, found, "take")
    assert {each.note for each in ended} == {
        f"launches that wait for each other have more than {streaming.MOST_HELD:,} steps"
    }
    assert len(ended) == 21


def test_a_launch_waits_only_if_there_is_room_for_all_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = len(kernel_streams(PAIR).process("take", {"n": 1}, 1, 0, Fraction(1)))
    group, found = held_by(1, monkeypatch, more=steps - 1)
    assert not launch(group, found, "take")
    assert len(launch(group, found, "take")) == 2


def test_steps_of_launches_that_have_ended_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    group, found = held_by(3, monkeypatch)
    for _ in range(50):
        launch(group, found, "give")
        launch(group, found, "take")
    assert not group.untold


def test_steps_of_launches_that_no_longer_wait_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    group, found = held_by(3, monkeypatch)
    for _ in range(50):
        launch(group, found, "take")
        assert len(group.release()) == 1
    assert not group.untold


def test_units_with_too_many_steps_say_so() -> None:
    uses = "write_channel_intel(c[get_compute_id(0)], 1);" * 300
    head = "__attribute__((autorun)) __attribute__((num_compute_units(250)))"
    found = kernel_streams(f"channel int c[250]; {head} kernel void k() {{ while (1) {{ {uses} }} }}")
    with pytest.raises(UncountableError, match=f"{MOST_STEPS:,} steps"):
        list(found.running("k", 0))
