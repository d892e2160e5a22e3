"""Kernels that talk through channels in simulated time: what the source shows of them, and when they end."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from calls import calls_of
from effort import EFFORT
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import Boards, Machine, PythonKernel, listening

from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfHostMemory
from fpgart.channels.stream_clock import StreamClock, Wait
from fpgart.engine.interface import Plugs, no_plugs
from fpgart.kernels.interface import ArgumentInterface, KernelInterface
from fpgart.kernels.loops.kernel_loops import kernel_loops
from fpgart.kernels.loops.kernel_streams import kernel_streams
from fpgart.kernels.loops.loop_tree import UncountableError
from fpgart.kernels.loops.pipeline_depth import pipeline_depth
from fpgart.kernels.loops.stream_steps import UNIT, Step, unstalled
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.model import streaming
from fpgart.runtime.model.board_clock import StepTime
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import Event
from fpgart.runtime.scheduling.scheduler import Scheduler
from fpgart.watch import lanes, report

LOOP, NEXT, READ, WRITE, PASS, END = range(6)

# The clock of processes


@dataclass
class Stage:
    """A kernel of a row: packets at `pace` time units each, after a pause of `pause` behind every `burst` of them."""

    pace: int
    burst: int
    pause: int

    def steps(self, bursts: int, reads: str, writes: str) -> tuple[Step, ...]:
        talk = ([Step(READ, 0, 0, reads)] if reads else []) + ([Step(WRITE, 0, 1, writes)] if writes else [])
        inner = [Step(LOOP, self.burst, self.pace), *talk, Step(NEXT, 1, 0)]
        return (Step(LOOP, bursts, 0), *inner, Step(PASS, self.pause, 0), Step(NEXT, 0, 0), Step(END, 0, 0))

    def times(self, packets: int) -> list[int]:
        """Returns when each packet is due if no stage waits."""
        return [number * self.pace + number // self.burst * self.pause for number in range(packets)]


def straight(stages: list[Stage], depths: list[int], packets: int) -> list[int]:
    """The ends of stages by the recurrence, packet by packet, without any cleverness."""
    due = [stage.times(packets) for stage in stages]
    late = [0] * len(stages)
    reads, writes = ([[0] * packets for _ in stages] for _ in range(2))
    for number in range(packets):
        for index in range(len(stages)):
            moment = due[index][number] + late[index]
            if index:
                moment = max(moment, writes[index - 1][number] + 1)
            reads[index][number] = moment
            if index + 1 < len(stages) and number >= depths[index]:
                moment = max(moment, reads[index + 1][number - depths[index]] - 1)
            writes[index][number] = moment
            late[index] = moment - due[index][number]
    ends = []
    for stage, lateness in zip(stages, late, strict=True):
        bursts = packets // stage.burst
        ends.append(bursts * (stage.burst * stage.pace + stage.pause) + lateness)
    return ends


stages = st.lists(st.builds(Stage, st.integers(1, 5), st.sampled_from([1, 2, 4, 8]), st.integers(0, 20)),
                  min_size=2, max_size=4)  # fmt: skip


@given(stages, st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(1, 12), st.randoms())
@settings(max_examples=100 * EFFORT, deadline=None)
def test_a_row_of_kernels_ends_when_the_recurrence_says(
    row: list[Stage], depths: list[int], eights: int, order: random.Random
) -> None:
    """In whatever order the processes are added: write i waits for read i - depth, read i for write i."""
    packets = 8 * eights
    clock = StreamClock(lambda name: depths[int(name[1:])])
    names = [f"c{index}" for index in range(len(row) - 1)]
    plays = list(zip(range(len(row)), row, ["", *names], [*names, ""], strict=True))
    order.shuffle(plays)
    started = {index: clock.start(stage.steps(packets // stage.burst, *ends), 0) for index, stage, *ends in plays}
    assert clock.run(1_000_000)
    found = [clock.at(started[index]) for index in range(len(row))]
    assert all(ended for ended, _, _ in found)
    assert [at for _, at, _ in found] == straight(row, depths, packets)


def test_a_process_that_never_ends_stops_at_the_most_steps() -> None:
    clock = StreamClock(lambda name: 1)
    clock.start((Step(LOOP, 1 << 62, 1), Step(NEXT, 0, 0), Step(END, 0, 0)), 0)
    assert not clock.run(1000)


def test_removed_processes_give_their_room_to_others() -> None:
    clock = StreamClock(lambda name: 1)
    numbers = set()
    for _ in range(10):
        process = clock.start((Step(PASS, 5, 0), Step(END, 0, 0)), 0)
        assert clock.run(10)
        numbers.add(process.number)
        clock.remove(process)
    assert numbers == {0}


# What the source shows

PAIR = """
channel int c __attribute__((depth(%s)));
kernel void give(int n) { %s }
kernel void take(int n) { %s }
"""
GIVE = "for (int i = 0; i < n; i++) write_channel_intel(c, i);"
TAKE = "int s = 0; for (int i = 0; i < n; i++) s += read_channel_intel(c);"


def pair(give: str = GIVE, take: str = TAKE, depth: str = "4") -> str:
    return PAIR % (depth, give, take)


def test_uses_of_channels_stand_in_their_loops() -> None:
    found = kernel_streams(pair("for (int j = 0; j < 3; j++) { " + GIVE + " for (int k = 0; k < 7; k++) f(k); }"))
    steps = found.process("give", {"n": 5}, 1, 2, Fraction(1))
    assert steps == (
        Step(LOOP, 3, UNIT),
        Step(LOOP, 5, UNIT),
        Step(WRITE, 0, 2 * UNIT, "c"),
        Step(NEXT, 1, 0),
        Step(PASS, 7 * UNIT, 0),
        Step(NEXT, 0, 0),
        Step(PASS, 2 * UNIT, 0),
        Step(END, 0, 0),
    )
    assert unstalled(steps) == (3 * (5 + 7) + 2) * UNIT
    assert found.groups["give"] == {"give", "take"}
    assert found.capacity("c") == 4


def test_a_kernel_that_waits_for_memory_has_longer_cycles() -> None:
    steps = kernel_streams(pair()).process("give", {"n": 5}, 1, 0, Fraction(3, 2))
    assert steps[0] == Step(LOOP, 5, 3 * UNIT // 2)


def test_unrolled_loops_use_a_channel_of_an_array_each() -> None:
    source = """
    #define N 3
    channel float many[N][2];
    kernel void all(int n)
    {
        for (int i = 0; i < n; i++) {
            #pragma unroll
            for (int j = 0; j < N; j++) write_channel_altera(many[j][N - 2], 1.0f);
        }
    }
    """
    found = kernel_streams(source)
    names = [step.channel for step in found.process("all", {"n": 4}, 1, 0, Fraction(1)) if step.channel]
    assert names == ["many[0][1]", "many[1][1]", "many[2][1]"]


def test_a_channel_carries_a_packet_per_cycle() -> None:
    give = "\n#pragma unroll 2\nfor (int i = 0; i < n; i++) { write_channel_intel(c, i); write_channel_intel(c, -i); }"
    steps = kernel_streams(pair(give)).process("give", {"n": 8}, 1, 0, Fraction(1))
    assert steps[0] == Step(LOOP, 4, 4 * UNIT)
    assert sum(step.kind == WRITE for step in steps) == 4


def test_depths_are_expressions() -> None:
    assert kernel_streams("#define N 3\n" + pair(depth="(1 << N) * 2")).capacity("c") == 16


def test_arguments_are_read_before_their_function_runs() -> None:
    work = "int work(int x) { for (int i = 0; i < 9; i++) x += i; return x; }\n"
    found = kernel_streams(work + pair(take="int x = work(1 + read_channel_intel(c));"))
    kinds = [step.kind for step in found.process("take", {"n": 1}, 1, 0, Fraction(1))]
    assert kinds == [READ, PASS, PASS, END]


def test_units_of_a_kernel_that_runs_by_itself_have_channels_of_their_own() -> None:
    source = """
    channel int c[4];
    __attribute__((autorun)) __attribute__((max_global_work_dim(0))) __attribute__((num_compute_units(3)))
    kernel void hop(void)
    {
        while (1) write_channel_intel(c[get_compute_id(0) + 1], read_channel_intel(c[get_compute_id(0)]));
    }
    kernel void first(int n) { for (int i = 0; i < n; i++) write_channel_intel(c[0], i); }
    """
    found = kernel_streams(source)
    assert found.untold == {}
    used = [[step.channel for step in steps if step.channel] for steps in found.running("hop", 0)]
    assert [set(each) for each in used] == [{"c[0]", "c[1]"}, {"c[1]", "c[2]"}, {"c[2]", "c[3]"}]


UNTOLD = [
    ("passed over", "for (int i = 0; i < n; i++) { if (i % 2) continue; write_channel_intel(c, i); }", "be counted"),
    ("an operator", "for (int i = 0; i < n; i++) i && (write_channel_intel(c, i), 1);", "under a condition"),
    ("no waiting", "for (int i = 0; i < n; i++) write_channel_nb_intel(c, i);", "without waiting"),
    ("a function", "for (int i = 0; i < n; i++) helper(i);", "function helper() uses channels"),
    ("a loop", "while (n--) write_channel_intel(c, n);", "loops cannot be counted"),
]


@pytest.mark.parametrize(("give", "why"), [row[1:] for row in UNTOLD], ids=[row[0] for row in UNTOLD])
def test_what_nobody_can_know_is_told_for_all_that_are_connected(give: str, why: str) -> None:
    helper = "void helper(int i) { write_channel_intel(c, i); }\n"
    found = kernel_streams(pair(give).replace("kernel void give", helper + "kernel void give"))
    assert why in found.untold["give"]
    assert found.untold["give"] == found.untold["take"]


WHEN = [
    ("an argument decides", "if (n == 9) { %s }", "W9"),
    ("an argument decides against it", "if (n == 8) { %s } else for (int i = 0; i < 2; i++) %s", "W2"),
    ("the first iterations", "for (int i = 0; i < n; i++) if (i < 4) %s", "W4 -5"),
    ("the last iterations", "for (int i = 0; i < n + 3; i++) { if (((i >= (6 >> 1)))) %s }", "-3 W9"),
    ("between two bounds", "for (int i = 2; i <= n; i += 2) { if (i > 2) { if (i != 6) %s } }", "-1 W1 -1 W1"),
    ("two conditions", "for (int i = 0; i < n; i++) { if (i < 2) f(i); if (i >= 6) %s }", "-2 -4 W3"),
    ("both", "for (int i = 0; i < n; i++) { if (i < 3) %s else if (i < 5) { %s; %s } }", "W3 W2 -4"),
]


@pytest.mark.parametrize(("give", "expected"), [row[1:] for row in WHEN], ids=[row[0] for row in WHEN])
def test_conditions_on_arguments_and_loop_variables_are_known(give: str, expected: str) -> None:
    """W: iterations in which packets are written; -: those without any."""
    talk = "write_channel_intel(c, i);"
    steps = kernel_streams(pair(give.replace("%s", talk))).process("give", {"n": 9}, 1, 0, Fraction(1))
    found = []
    for index, step in enumerate(steps):
        if step.kind == LOOP:
            found.append(f"{'W' if steps[index + 1].kind == WRITE else '-'}{step.first}")
    assert " ".join(found) == (expected if expected != "W9" else "") or [s.kind for s in steps].count(WRITE) == 1


def test_an_index_that_only_the_run_knows_is_not_guessed() -> None:
    found = kernel_streams(
        "channel int c[4]; kernel void k(int n) { for (int i = 0; i < n; i++) write_channel_intel(c[i], i); }"
    )
    with pytest.raises(UncountableError, match=r"c\[i\]"):
        found.process("k", {"n": 4}, 1, 0, Fraction(1))


def test_an_attribute_behind_a_channels_name_overrides_one_before_its_type() -> None:
    found = kernel_streams(pair().replace("channel int", "__attribute__((depth(2))) channel int", 1))
    assert found.channels["c"].depth == 4


def test_channels_that_lead_out_of_the_program_are_told() -> None:
    found = kernel_streams(pair().replace("depth(4)", 'depth(4), io("port")').replace("depth(4), ", ""))
    assert "leads out of the program" in found.untold["take"]


def test_channels_whose_declaration_is_not_understood_are_told() -> None:
    found = kernel_streams(pair(TAKE + " write_channel_intel(d, 1);"))
    assert "channel 'd' is not understood" in found.untold["give"]


def test_nests_of_loops_that_are_written_out_are_not_written_without_end() -> None:
    nest = "\n#pragma unroll\nfor (int i%d = 0; i%d < 200; i%d++)" * 5 % tuple(n for n in range(5) for _ in range(3))
    source = f"channel int c; kernel void k(int n) {{ {nest} for (int j = 0; j < 0; j++) write_channel_intel(c, j); }}"
    with pytest.raises(UncountableError, match="written out"):
        kernel_streams(source).process("k", {"n": 1}, 1, 0, Fraction(1))


def test_calls_that_take_no_time_are_not_looked_at_without_end() -> None:
    functions = f"void z(int n) {{ for (int i = 0; i < n; i++) {{}} }}\nvoid y(int n) {{ {'z(n);' * 5000} }}\n"
    nest = "".join(f"\n#pragma unroll\nfor (int {name} = 0; {name} < 60; {name}++)" for name in "ij")
    source = f"channel int c; {functions} kernel void k(int n) {{ {nest} {{ y(0); write_channel_intel(c, 1); }} }}"
    with pytest.raises(UncountableError, match="written out"):
        kernel_streams(source).process("k", {"n": 1}, 1, 0, Fraction(1))


@pytest.mark.parametrize(
    ("body", "repeated"),
    [
        (
            "%s",
            "x = y * 3 + write_channel_intel(c, x); for (int i = 0; i < 9; i++) { s += a[i] * s; } if (n) f(x);\n",
        ),
        ("for (int i = 0; i < n; i++) { %s }", "if (i == 3) write_channel_intel(c, i);"),
    ],
    ids=["statements", "conditions on channels"],
)
def test_the_analysis_makes_calls_in_proportion_to_the_source(body: str, repeated: str) -> None:
    small, large = (calls_of(lambda n=n: kernel_streams(pair(body % (repeated * n)))) for n in (100, 800))  # type: ignore[misc]
    assert large < 1.1 * 8 * small


def test_the_depth_of_a_pipeline_is_that_of_its_longest_chain() -> None:
    assert pipeline_depth("{ int y = a + b; int z = c + d; }") == 1
    assert pipeline_depth("{ int y = a + b; int z = y + d; }") == 2
    assert pipeline_depth("{ int y = a * b; int z = y / d; }") == 2 + 32
    assert pipeline_depth("{ float y = a * b; z = sqrt(y); }", "float z") == 3 + 16


# Launches in simulated time


@dataclass
class ManyKernels:
    """A program of several kernels, with an integer as argument, that do nothing."""

    names: tuple[str, ...]

    def build(self, options: str) -> str:
        return ""

    def kernels(self, known: Mapping[str, KernelInterface]) -> dict[str, KernelInterface]:
        value = ArgumentInterface("n", "int", cl.CL_KERNEL_ARG_ADDRESS_PRIVATE, 0, 0, "")
        return {name: KernelInterface(name, (value,)) for name in self.names}

    def kernel(self, name: str) -> PythonKernel:
        return PythonKernel(self.kernels({})[name], lambda value: None)

    def network(self, plugs: Plugs = no_plugs) -> None:
        return None


class Told:
    """The steps that the clock has told."""

    def __init__(self) -> None:
        self.steps: list[StepTime] = []

    def modelled(self, event: Event, command: object, steps: list[StepTime]) -> None:
        self.steps += steps

    def of(self, kernel: str) -> StepTime:
        return next(step for step in reversed(self.steps) if step.kernel == kernel)


@pytest.fixture
def told() -> Any:
    with listening(Told()) as listener:
        yield listener


@dataclass
class Scene:
    """A machine with the kernels of a source, and a queue for each; the board holds the program."""

    machine: Machine
    program: Program
    queues: dict[str, CommandQueue]

    def launch(self, kernel: str, n: int, queue: str = "") -> Event:
        made = Kernel(self.program, kernel)
        made.set_value(0, n.to_bytes(4, "little"))
        operation = new_launch(made, self.machine.devices[0], 1, (0, 0, 0, 1, 1, 1, 1, 1, 1), True)
        return self.queues[queue or kernel].enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, operation)


Scenes = Callable[[str], Scene]
WARM = "kernel void warm(int n) {}\n"


@pytest.fixture
def scene(boards: Boards) -> Scenes:
    def make(source: str) -> Scene:
        machine = boards("a10_ref", modelled=True)
        source += WARM
        names = tuple(kernel_loops(source))
        made: Any = ManyKernels(names)
        program = Program(machine.context, machine.devices, source=source, made=made)
        program.claim(machine.devices)
        program.build(machine.devices, "")
        queues = {name: CommandQueue(machine.context, machine.devices[0], 0) for name in names}
        made_ready = Scene(machine, program, queues)
        made_ready.launch("warm", 1)
        queues["warm"].finish()
        return made_ready

    return make


def times(event: Event) -> tuple[int, int]:
    stage = event.context.scheduler.stage_time
    return stage(event, "start"), stage(event, "end")


def length(event: Event) -> int:
    start, end = times(event)
    return end - start


def test_when_a_launch_was_queued_is_known_while_it_waits_for_others(scene: Scenes, told: Told) -> None:
    made = scene(
        "channel int c; kernel void give(int n) { write_channel_intel(c, 1); }\n"
        "kernel void take(int n) { read_channel_intel(c); }\n"
    )
    event = made.launch("take", 1)
    assert event.context.scheduler.stage_time(event, "queued") > 0
    assert "take" not in [step.kernel for step in told.steps]
    assert event.context.scheduler.stage_time(event, "start") > 0
    assert told.of("take").kernel == "take"


SLOW = "for (int i = 0; i < n; i++) { int x = read_channel_intel(c); for (int j = 0; j < 30; j++) f(x); }"
"""30 cycles, 100 ns, for each packet."""


@pytest.mark.parametrize("first", ["give", "take"])
def test_a_pipeline_takes_as_long_as_its_slowest_kernel(scene: Scenes, told: Told, first: str) -> None:
    """Whoever is launched first; the faster one waits, and the channel hides only its depth."""
    play = scene(pair(take=SLOW))
    second = {"give": "take", "take": "give"}[first]
    events = {name: play.launch(name, 1000) for name in (first, second)}
    assert length(events["take"]) == pytest.approx(100_000, rel=0.02)
    assert length(events["give"]) == pytest.approx(100_000 - 4 * 100, rel=0.02)
    (written,) = told.of("give").channels
    assert (written.channel, written.kernel, written.writing, written.depth, written.packets) == (
        "c",
        "give",
        True,
        4,
        1000,
    )
    assert written.waited == pytest.approx(100_000 - 3_333, rel=0.02)
    assert told.of("give").bound == "channel 'c' full"
    assert told.of("take").bound == "pipeline"


def test_a_kernel_whose_packets_have_room_ends_before_the_one_that_takes_them(scene: Scenes) -> None:
    play = scene(pair(take=SLOW, depth="1000"))
    give, take = play.launch("give", 1000), play.launch("take", 1000)
    assert length(give) == pytest.approx(3_333, abs=20)
    assert length(take) == pytest.approx(100_000, rel=0.02)


def test_kernels_between_others_run_by_themselves(scene: Scenes, told: Told) -> None:
    """The one in the middle takes two cycles for each packet, and runs as long as anybody gives it any."""
    source = """
    channel int a __attribute__((depth(4))); channel int b __attribute__((depth(4)));
    kernel void give(int n) { for (int i = 0; i < n; i++) write_channel_intel(a, i); }
    __attribute__((autorun)) __attribute__((max_global_work_dim(0)))
    kernel void pass(void)
    {
        #pragma ii 2
        while (1) write_channel_intel(b, read_channel_intel(a));
    }
    kernel void take(int n) { for (int i = 0; i < n; i++) read_channel_intel(b); }
    """
    play = scene(source)
    for _ in range(2):
        give, take = play.launch("give", 3000), play.launch("take", 3000)
        assert length(give) == pytest.approx(20_000, rel=0.06)
        assert length(take) == pytest.approx(20_000, rel=0.1)
    assert {each.kernel for step in told.steps for each in step.channels} == {"give", "take", "pass"}
    assert all(each.packets for step in told.steps for each in step.channels)


def test_a_kernel_is_not_bound_by_what_those_that_run_by_themselves_wait_for(scene: Scenes, told: Told) -> None:
    source = """
    channel int start __attribute__((depth(4)));
    channel int a __attribute__((depth(4))); channel int b __attribute__((depth(4)));
    kernel void late(int n) { for (int j = 0; j < 3 * n; j++) f(j); write_channel_intel(start, 1); }
    kernel void give(int n)
    {
        int x = read_channel_intel(start);
        for (int i = 0; i < n; i++) { for (int j = 0; j < 30; j++) f(x); write_channel_intel(a, x); }
    }
    __attribute__((autorun)) __attribute__((max_global_work_dim(0)))
    kernel void pass(void) { while (1) write_channel_intel(b, read_channel_intel(a)); }
    kernel void take(int n) { for (int i = 0; i < n; i++) read_channel_intel(b); }
    """
    play = scene(source)
    give, *_ = [play.launch(kernel, 1000) for kernel in ("give", "take", "late")]
    waited = {(each.kernel, each.channel): each.waited for each in told.of("give").channels}
    assert 0 < 2 * waited["give", "start"] < length(give) < 2 * waited["pass", "a"]
    assert told.of("give").bound == "pipeline"
    assert told.of("take").bound == "channel 'b' empty"


def test_packets_of_one_launch_may_go_to_several(scene: Scenes) -> None:
    play = scene(pair())
    give = play.launch("give", 3000)
    takes = [play.launch("take", 1000) for _ in range(3)]
    assert times(give)[1] == pytest.approx(times(takes[-1])[1], abs=50)
    begins = [times(take)[0] for take in takes]
    ends = [times(take)[1] for take in takes]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))


def test_who_is_asked_about_before_its_partner_comes_waits_no_longer(scene: Scenes, told: Told) -> None:
    """On a board such a host would hang; here the kernel has the time that its loops take."""
    play = scene(pair())
    assert length(play.launch("give", 3000)) == pytest.approx(10_000, abs=20)
    assert "was not launched before" in told.of("give").untold
    assert length(play.launch("take", 3000)) == pytest.approx(10_000, abs=20)


def test_who_waits_for_a_launch_without_its_partner_is_as_late_as_its_end(scene: Scenes) -> None:
    play = scene(pair())
    scheduler = play.machine.scheduler
    give = play.launch("give", 3000)
    scheduler.wait(give)
    assert scheduler.host_time() >= times(give)[1]


def test_commands_behind_a_launch_wait_for_its_end(scene: Scenes) -> None:
    play = scene(pair(take=SLOW))
    give = play.launch("give", 1000)
    again = play.launch("give", 1000)
    takes = [play.launch("take", 1000) for _ in range(2)]
    assert times(again)[0] >= times(give)[1]
    assert times(takes[1])[1] == pytest.approx(times(again)[1], rel=0.01)


def test_launches_of_one_queue_that_wait_for_each_other_are_told(scene: Scenes, told: Told) -> None:
    play = scene(pair())
    events = [play.launch(name, 3000, queue="give") for name in ("give", "take")]
    assert times(events[1])[0] >= times(events[0])[1]
    assert all("was not launched before" in told.of(name).untold for name in ("give", "take"))


def test_finishing_the_queues_gives_all_their_times(scene: Scenes) -> None:
    play = scene(pair(take=SLOW))
    play.launch("give", 1000)
    play.launch("take", 1000)
    for queue in play.queues.values():
        queue.finish()
    assert play.machine.context.scheduler.host_time() > 100_000


def test_another_program_lets_nobody_wait_longer(scene: Scenes, told: Told) -> None:
    play = scene(pair())
    play.launch("give", 3000)
    machine = play.machine
    kernel = machine.kernel(lambda value: None, None, source="other")
    kernel.set_value(0, b"\0\0\0\0")
    machine.run(kernel)
    assert "was not launched before" in told.of("give").untold


def test_the_rest_of_very_long_streams_goes_on_in_the_same_way(
    scene: Scenes, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "MOST_STEPS", 20_000)
    play = scene(pair(take=SLOW))
    give, take = play.launch("give", 100_000), play.launch("take", 100_000)
    assert length(take) == pytest.approx(10_000_000, rel=0.01)
    assert length(give) == pytest.approx(10_000_000, rel=0.01)
    assert "20,000 steps" in told.of("take").untold


def test_launches_behind_a_very_long_one_have_their_turn(scene: Scenes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MOST_STEPS", 2_000)
    play = scene(pair())
    gives = [play.launch("give", 100_000) for _ in range(3)]
    takes = [play.launch("take", 100_000) for _ in range(3)]
    assert [length(give) for give in gives] == [pytest.approx(333_334, rel=0.01)] * 3
    assert all(times(first)[1] <= times(then)[0] for first, then in pairwise(takes))


def test_launches_that_really_end_before_anybody_asks_take_their_time_all_the_same(
    scene: Scenes,
) -> None:
    """The clock gives a launch its times when those before it have theirs, which may be long after its real end."""
    play = scene(pair())
    gives = [play.launch("give", 3000) for _ in range(2)]
    for give in gives:
        Scheduler.wait(play.machine.scheduler, give)  # not ModelScheduler's, which asks the clock
    assert [length(give) for give in gives] == [pytest.approx(10_000, abs=20)] * 2


def test_kernels_that_run_by_themselves_for_ever_hold_nobody_up(scene: Scenes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One gives the other packets without end, and that one takes those of a launch besides."""
    monkeypatch.setattr(streaming, "MOST_STEPS", 20_000)
    source = """
    channel int c __attribute__((depth(4))); channel int free;
    __attribute__((autorun)) kernel void spring(void) { while (1) write_channel_intel(free, 1); }
    __attribute__((autorun)) kernel void sink(void) { while (1) { read_channel_intel(free); } }
    __attribute__((autorun)) kernel void mill(void) { while (1) read_channel_intel(c); }
    kernel void give(int n) { for (int i = 0; i < n; i++) write_channel_intel(c, i); }
    """
    joined = source.replace("read_channel_intel(c);", "{ read_channel_intel(c); for (int j = 0; j < 0; j++) "
                            "read_channel_intel(free); }")  # fmt: skip
    for each in (source, joined):
        assert length(scene(each).launch("give", 3000)) == pytest.approx(10_000, rel=0.05)


def test_a_clock_without_memory_lets_nobody_wait(scene: Scenes, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(clock: StreamClock, steps: tuple[Step, ...], begin: int) -> None:
        raise OutOfHostMemory("no room for a process")

    play = scene(pair())
    monkeypatch.setattr(StreamClock, "start", fails)
    assert length(play.launch("give", 3000)) == pytest.approx(10_000, abs=20)
    assert told.of("give").untold == "no room for a process"


BURSTS = """
for (int b = 0; b < n; b++) {
    for (int i = 0; i < 16; i++) write_channel_intel(c, i);
    for (int j = 0; j < 48; j++) f(j);
}
"""
STEADY = "for (int i = 0; i < 16 * n; i++) { int x = read_channel_intel(c); for (int j = 0; j < 4; j++) f(x); }"


def test_a_depth_that_takes_a_burst_is_found_with_what_it_saves(scene: Scenes, told: Told) -> None:
    """16 packets in 16 cycles and none in 48, for somebody who takes one each 4 cycles: 64 cycles if the burst fits."""
    took = {}
    for depth in ("2", "16"):
        play = scene(pair(BURSTS, STEADY, depth))
        play.launch("give", 100)
        took[depth] = length(play.launch("take", 100))
        deeper = next(step.deeper for step in reversed(told.steps) if step.kernel)
        if depth == "16":
            assert deeper is None
        else:
            assert deeper is not None
            assert deeper.depths == (("c", 16),)
            saved = deeper.saved
    assert took["16"] == pytest.approx(100 * 64 * 10 / 3, rel=0.02)
    assert saved == pytest.approx(took["2"] - took["16"], rel=0.05)


def test_depths_are_tried_for_launches_that_ran_together_alone(scene: Scenes, told: Told) -> None:
    play = scene(pair(BURSTS, STEADY, "2"))
    length(play.launch("give", 100))  # it goes on without a partner
    play.launch("give", 100)
    length(play.launch("take", 100))
    (deeper,) = [step.deeper for step in told.steps if step.deeper]
    assert deeper.depths == (("c", 16),)


@pytest.mark.parametrize(("room", "is_tried"), [(0, True), (-1, False)])
def test_depths_are_tried_for_launches_of_few_steps(
    scene: Scenes, told: Told, monkeypatch: pytest.MonkeyPatch, room: int, is_tried: bool
) -> None:
    source = pair(BURSTS, STEADY, "2")
    found = kernel_streams(source)
    steps = sum(len(found.process(kernel, {"n": 99}, 1, 0, Fraction(1))) for kernel in ("give", "take"))
    monkeypatch.setattr(streaming, "MOST_COMPARED", steps + room)
    play = scene(source)
    play.launch("give", 99)
    length(play.launch("take", 99))
    assert any(step.deeper for step in told.steps) == is_tried


def test_a_channel_before_a_slower_kernel_needs_no_depth(scene: Scenes, told: Told) -> None:
    play = scene(pair(take=SLOW))
    play.launch("give", 1000)
    length(play.launch("take", 1000))
    assert all(step.deeper is None for step in told.steps)


def test_what_only_a_launch_shows_is_told_for_all_that_are_connected(scene: Scenes, told: Told) -> None:
    play = scene(pair("for (int i = 0; i < n; i++) if (i % 2) write_channel_intel(c, i);"))
    take = play.launch("take", 3000)
    give = play.launch("give", 3000)
    assert length(take) == pytest.approx(10_000, abs=20)
    assert length(give) == pytest.approx(10_000, abs=120)
    assert all("if (i % 2)" in told.of(name).untold for name in ("give", "take"))


def test_launches_that_wait_for_what_only_a_launch_shows_are_told_once(scene: Scenes, told: Told) -> None:
    play = scene(pair("for (int i = 0; i < n; i++) if (i % 2) write_channel_intel(c, i);"))
    queues = [CommandQueue(play.machine.context, play.machine.device) for _ in range(3)]
    play.queues |= {str(number): queue for number, queue in enumerate(queues)}
    told.steps.clear()
    for kernel, queue in (("take", "0"), ("take", "1"), ("give", "give"), ("give", "2")):
        play.launch(kernel, 3000, queue)
    assert [step.kernel for step in told.steps] == ["take", "take", "give", "give"]


def test_a_kernel_whose_channels_nobody_knows_takes_what_its_loops_take(scene: Scenes, told: Told) -> None:
    play = scene(pair("for (int i = 0; i < n; i++) write_channel_nb_intel(c, i);"))
    assert length(play.launch("give", 3000)) == 10_000
    assert "without waiting" in told.of("give").untold


# Reports

WAITS = {"channel": "c", "kernel": "give", "writing": True, "depth": 2, "packets": 7, "waited": 900, "begin": 1100}
STEP = {
    "cat": "time", "name": "kernel", "ph": "X", "ts": 1.0, "dur": 2.0, "pid": 1000, "tid": 1,
    "args": {
        "device": 0, "command": "TASK", "queue": 1, "queued": 0, "submit": 0, "begin": 1000, "end": 3000,
        "bound": "pipeline", "busy": {"pipeline": 2000}, "banks": {}, "size": 0, "kernel": "take",
        "channels": [
            {**WAITS, "end": 2900},
            {**WAITS, "kernel": "take", "writing": False, "waited": 0, "begin": 0, "end": 0},
        ],
        "deeper": {"depths": {"c": 16}, "saved": 700}, "untold": "because",
    },
}  # fmt: skip


def test_the_report_says_who_waited_at_a_channel_and_why_that_is_not_known() -> None:
    text = report.as_text(report.of([STEP]))
    assert "channel 'c', depth 2: 7 packets; 'give' waited 0.001 ms to write, 'take' waited 0.000 ms to read" in text
    assert "kernel take: its waits at channels are not, or not all, modelled: because" in text


def test_the_advice_on_depths_is_what_the_model_found() -> None:
    (found,) = report.of([STEP]).advice
    assert "channel 'c' 2 packets deep, which should be 16" in found.words
    assert (found.nanoseconds, found.measured) == (700, False)


def test_the_simulated_timeline_has_a_lane_for_a_channel_at_which_somebody_waited() -> None:
    (lane,) = [lane for lane in lanes.simulated([STEP]) if lane.name == "channel c"]
    (span,) = lane.spans
    assert (span.kind, span.begin, span.end, span.name) == ("full", 1100, 2900, "give waits to write: full")
    assert "50 % of the time" in span.words


def test_a_block_in_an_interleaved_memory_is_in_no_bank_of_its_own(tmp_path: Path) -> None:
    spread = {"banks": 4, "bytes": 1024}
    reserve = {"device": 0, "memory": "DDR", "bank": 1, "address": "0x400", "size": 64, "buffer": 1}
    event = {"cat": "memory", "name": "reserve", "ts": 0.0, "args": reserve}
    assert "device 0, DDR bank 1 at 0x400" in report.as_text(report.of([event]))
    event = {**event, "args": {**reserve, "interleaved": spread}}
    found = report.as_text(report.of([event]))
    assert "device 0, DDR interleaved over 4 banks, 1 KiB of each in turn at 0x400" in found


def test_the_waits_at_one_end_of_a_channel_last_from_the_first_to_the_last() -> None:
    all_waits = Wait()
    for each in (Wait(2, 10, 12, 1), Wait(3, 5, 30, 2), Wait(1, 20, 21, 1), Wait(packets=4)):
        all_waits.add(each)
    assert all_waits == Wait(6, 5, 30, 8)
