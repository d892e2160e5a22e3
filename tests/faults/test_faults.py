"""Faults on request: the language, which calls are hit, and what a host sees of them (docs/faults.md)."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from machine import Boards, Machine, at_once, increment
from processes import ROOT
from processes import fpgart as command

import fpgart.faults
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    CLError,
    DeviceNotAvailable,
    MemObjectAllocationFailure,
    OutOfHostMemory,
    OutOfResources,
)
from fpgart.board.fault_rules import Action, Call, Ecc, FaultSyntaxError, Plan, Rule, parse
from fpgart.board.faults import FAULTS, EccError, Faults, FaultyMmd, in_words
from fpgart.runtime.commands import usm as usm_commands
from fpgart.runtime.commands.migration import MigrateToHost, migrate_to_device
from fpgart.runtime.commands.transfers import CopyBuffer, FillBuffer
from fpgart.runtime.memory import svm, usm
from fpgart.runtime.memory.block_copy import CHUNK
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.objects.context import Context

pytestmark = pytest.mark.usefixtures("faults_of_this_interpreter")
MIB = 1 << 20
SIZE = 4096
DATA = bytes(range(256)) * 16
OTHER = DATA[::-1]
W, R, C = Call.WRITE, Call.READ, Call.COPY

# The language

RULES = [
    ("write:fail", Rule("write:fail", frozenset({W}), Action.FAIL)),
    ("read, copy:fail:nth=3", Rule("read, copy:fail:nth=3", frozenset({R, C}), Action.FAIL, nth=3)),
    ("read:delay=5ms:every=10", Rule("read:delay=5ms:every=10", frozenset({R}), Action.DELAY, delay=0.005, every=10)),
    ("copy:delay=50us", Rule("copy:delay=50us", frozenset({C}), Action.DELAY, delay=50e-6)),
    ("write:fail:fraction=0.25:times=2:device=1:size=64K", Rule(
        "write:fail:fraction=0.25:times=2:device=1:size=64K", frozenset({W}), Action.FAIL,
        fraction=0.25, times=2, device=1, size=65536)),
    ("read:ecc=correctable", Rule("read:ecc=correctable", frozenset({R}), Action.ECC, ecc=Ecc.CORRECTABLE)),
    ("kernel:hang:name=vadd:limit=2s", Rule(
        "kernel:hang:name=vadd:limit=2s", frozenset({Call.KERNEL}), Action.HANG, name="vadd", limit=2.0)),
    ("alloc:fail:total=1G", Rule("alloc:fail:total=1G", frozenset({Call.ALLOC}), Action.FAIL, total=1 << 30)),
    ("api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3", Rule(
        "api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:3", frozenset({Call.API}), Action.FAIL,
        functions=frozenset({"clCreateBuffer"}), status=cl.CL_OUT_OF_HOST_MEMORY, nth=3)),
    ("api : clFinish, clFlush : CL_OUT_OF_RESOURCES : every=2 : thread=1", Rule(
        "api : clFinish, clFlush : CL_OUT_OF_RESOURCES : every=2 : thread=1", frozenset({Call.API}), Action.FAIL,
        functions=frozenset({"clFinish", "clFlush"}), status=cl.CL_OUT_OF_RESOURCES, every=2, thread=1)),
    ("api:*:CL_INVALID_VALUE", Rule(
        "api:*:CL_INVALID_VALUE", frozenset({Call.API}), Action.FAIL, status=cl.CL_INVALID_VALUE)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_a_clause_says_calls_action_and_conditions(text: str, rule: Rule) -> None:
    assert parse(text) == Plan((rule,), 0)


def test_clauses_are_divided_by_semicolons_and_one_may_be_the_seed() -> None:
    plan = parse(" write:fail ; ;seed=7; read : fail ")
    assert [rule.text for rule in plan.rules] == ["write:fail", "read : fail"]
    assert plan.seed == 7


def test_conditions_that_are_not_there_restrict_nothing_and_a_kernel_hangs_for_ten_seconds() -> None:
    (rule,) = parse("kernel:hang").rules
    assert (rule.delay, rule.ecc, rule.limit) == (0, None, 10)
    assert (rule.device, rule.name, rule.size, rule.total) == (None, "", 0, 0)
    assert (rule.nth, rule.every, rule.fraction, rule.times) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("write:fail:fraction=1", "fraction", 1.0),
        ("write:delay=0s", "delay", 0.0),
        ("write:delay=999999s", "delay", 999999.0),
        ("write:fail:size=1", "size", 1),
        ("write:fail:nth=1", "nth", 1),
        ("write:fail:device=0", "device", 0),
    ],
)
def test_values_may_be_as_small_and_as_large_as_they_make_sense(text: str, field: str, value: float) -> None:
    (rule,) = parse(text).rules
    assert getattr(rule, field) == value


WRONG = [
    ("write:fail:fraction=0", "above 0 and up to 1"),
    ("write:fail:fraction=1.001", "above 0 and up to 1"),
    ("write:delay=1000000s", "a time is expected"),
    ("write:fail:device=x", "device=x: a number from 0"),
    ("write:fail:device=\u0663", "a number from 0"),
    ("write:fail:nth=\u0663", "a number from 1"),
    ("", "no fault is given"),
    ("seed=1", "no fault is given"),
    ("write:fail;seed=1;seed=2", "the seed is given twice"),
    ("write:fail;seed=x", "'seed=x': seed=x: a number from 0"),
    ("write", "'write': name an effect: one of fail, delay, ecc, hang"),
    ("wriet:fail", "no call 'wriet'; there are open, write, read"),
    ("write,:fail", "no call ''"),
    ("write:fial", "'fial' is not an effect; the effects are fail"),
    ("write:fail=1", "fail takes no value"),
    ("write:delay", "delay=: a time is expected"),
    ("write:delay=5", "delay=5: a time is expected, such as"),
    ("write:delay=-1s", "a time is expected"),
    ("write:ecc", "one of correctable, non_correctable is expected"),
    ("program:ecc=correctable", "ecc is not possible for program"),
    ("write:hang", "hang is not possible for write"),
    ("alloc:delay=1s", "delay is not possible for alloc"),
    ("write:fail:nht=3", "no condition 'nht'; there are nth, every"),
    ("write:fail:nth=0", "nth=0: a number from 1"),
    ("write:fail:nth", "nth=: a number from 1"),
    ("write:fail:nth=1:nth=2", "nth is given twice"),
    ("write:fail:nth=1:every=2", "nth and every contradict each other"),
    ("write:fail:fraction=x", "above 0 and up to 1"),
    ("write:fail:size=big", "a number of bytes"),
    ("write:fail:size=0", "a number of bytes above 0"),
    ("write:fail:total=1G", "write has no total"),
    ("read,kernel:fail:size=1", "kernel has no size"),
    ("write:fail:name=k", "write has no name"),
    ("kernel:fail:name=", "a kernel's name"),
    ("kernel:fail:limit=1s", "fail has no limit"),
    ("api", "'' is no status of an error; an example is api:clCreateBuffer"),
    ("api:clFinish", "'' is no status of an error"),
    ("api:clFinish:CL_SUCCESS", "'CL_SUCCESS' is no status of an error"),
    ("api:clFinnish:CL_OUT_OF_RESOURCES", "there is no function 'clFinnish' that says whether it failed"),
    ("api:clSVMFree:CL_OUT_OF_RESOURCES", "there is no function 'clSVMFree'"),
    ("api:clFinish:CL_OUT_OF_RESOURCES:0", "nth=0: a number from 1"),
    ("api:clFinish:CL_OUT_OF_RESOURCES:3:every=2", "nth and every contradict each other"),
    ("api:clFinish:CL_OUT_OF_RESOURCES:device=1", "api has no device"),
    ("api,write:fail", "api stands alone"),
    ("write:fail:thread=1", "write has no thread"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_makes_no_sense_is_told_in_words(text: str, words: str) -> None:
    with pytest.raises(FaultSyntaxError, match=words):
        parse(text)


def test_kinds_of_errors_have_the_bits_of_their_exceptions() -> None:
    assert Ecc.CORRECTABLE == cl.CL_DEVICE_EXCEPTION_ECC_CORRECTABLE_INTEL
    assert Ecc.NON_CORRECTABLE == cl.CL_DEVICE_EXCEPTION_ECC_NON_CORRECTABLE_INTEL


# Which calls are hit


class Bench:
    """A machine whose devices can have faults, and buffers with known contents."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.device = machine.device
        for device in machine.devices:
            FAULTS.attach(device)

    def buffer(self, data: bytes = DATA, **wishes: Any) -> Buffer:
        made = self.machine.buffer(len(data), **wishes)
        self.machine.write(made, data)
        return made

    def run(self, command: int, operation: Any, device: int = 0) -> None:
        self.machine.queues[device].run(command, operation, blocking=True)

    def status(self, work: Callable[[], object]) -> int:
        try:
            work()
        except CLError as error:
            return error.status
        return 0


Benches = Callable[..., Bench]


@pytest.fixture
def bench(boards: Boards) -> Iterator[Benches]:
    benches: list[Bench] = []
    fpgart.faults.clear()  # what tests without a bench have injected is counted, too

    def made(*names: str) -> Bench:
        benches.append(Bench(boards(*(names or ("a10_ref",)))))
        return benches[-1]

    yield made
    fpgart.faults.clear()
    for each in benches:
        for device in each.machine.devices:
            FAULTS.detach(device)


@pytest.fixture
def made(bench: Benches) -> Bench:
    return bench()


CHOICES = [
    ("write:fail", "xxxxxxxxxx"),
    ("write:fail:nth=3", "..x......."),
    ("write:fail:every=4", "...x...x.."),
    ("write:fail:times=2", "xx........"),
    ("write:fail:every=3:times=2", "..x..x...."),
    ("write:fail:device=0:nth=2", ".x........"),
    ("write:fail:device=1", ".........."),
    ("write:fail:size=64", "xxxxxxxxxx"),
    ("write:fail:size=65", ".........."),
    ("read,write:fail:nth=5", "....x....."),
    ("write:fail:nth=2;write:fail:nth=5", ".x..x....."),
    ("write:fail:every=2;write:delay=1us", ".x.x.x.x.x"),
]


@pytest.mark.parametrize(("text", "hits"), CHOICES)
def test_conditions_choose_among_the_calls(made: Bench, text: str, hits: str) -> None:
    buffer = made.machine.buffer(64)
    with fpgart.faults.injecting(text) as faults:
        found = [made.status(lambda: made.machine.write(buffer, DATA[:64])) for _ in hits]
        assert found == [cl.CL_OUT_OF_RESOURCES if hit == "x" else 0 for hit in hits]
        assert sum(fault.injected for fault in faults) == fpgart.faults.injected()
        assert sum(fault.injected for fault in faults if fault.rule.action is Action.FAIL) == hits.count("x")


def pattern(made: Bench, text: str) -> str:
    buffer = made.machine.buffer(64)
    with fpgart.faults.injecting(text):
        return "".join(".x"[made.status(lambda: made.machine.write(buffer, DATA[:64])) != 0] for _ in range(200))


def test_a_fraction_is_about_that_many_and_its_seed_makes_it_repeat(made: Bench) -> None:
    first = pattern(made, "write:fail:fraction=0.3;seed=1")
    assert 30 < first.count("x") < 90
    assert pattern(made, "write:fail:fraction=0.3;seed=1") == first
    assert pattern(made, "write:fail:fraction=0.3;seed=2") != first


def test_what_a_rule_hits_does_not_depend_on_other_rules(made: Bench) -> None:
    alone = pattern(made, "write:fail:fraction=0.3;seed=1")
    assert pattern(made, "read:fail:fraction=0.5;write:delay=1us:fraction=0.5;write:fail:fraction=0.3;seed=1") == alone


def test_without_faults_nothing_is_wrapped(made: Bench) -> None:
    mmd, memories = made.device.mmd, made.device.memories
    with fpgart.faults.injecting("write:fail"), fpgart.faults.injecting("read:fail"):
        assert made.device.mmd is not mmd
    assert made.device.mmd is mmd
    assert made.device.memories is memories
    assert made.device.before_kernel is None


def test_clear_ends_all_faults_and_counts_anew(made: Bench) -> None:
    buffer = made.buffer()
    fpgart.faults.add("read:fail")
    assert made.status(lambda: made.machine.read(buffer)) == cl.CL_OUT_OF_RESOURCES
    fpgart.faults.clear()
    assert fpgart.faults.injected() == 0
    assert fpgart.faults.active() == ()
    assert made.machine.read(buffer) == DATA


def test_faults_that_end_leave_the_others_in_force(made: Bench) -> None:
    buffer = made.buffer()
    with fpgart.faults.injecting("read:fail"):
        with fpgart.faults.injecting("write:fail"):
            pass
        assert made.status(lambda: made.machine.read(buffer)) == cl.CL_OUT_OF_RESOURCES
        made.machine.write(buffer, DATA)


def test_a_device_that_goes_has_no_faults_and_the_others_keep_theirs(bench: Benches) -> None:
    made = bench("a10_ref", "usm_s10")
    first, second = made.machine.devices
    mmd, memories = first.mmd, first.memories
    with fpgart.faults.injecting("kernel:fail"):
        FAULTS.detach(first)
        assert first.mmd is mmd
        assert first.memories is memories
        assert first.before_kernel is None
        assert second.before_kernel is not None
    FAULTS.attach(first)
    assert second.before_kernel is None


def test_a_call_that_shall_take_longer_and_fail_does_both(made: Bench) -> None:
    buffer = made.machine.buffer(64)
    with fpgart.faults.injecting("write:fail;write:delay=20ms"):
        begin = time.monotonic()
        assert made.status(lambda: made.machine.write(buffer, DATA[:64])) == cl.CL_OUT_OF_RESOURCES
        assert time.monotonic() - begin >= 0.02, "at least, whatever else the machine does"
        assert fpgart.faults.injected() == 2


def test_a_device_that_comes_later_has_the_faults_that_are_in_force(bench: Benches) -> None:
    with fpgart.faults.injecting("write:fail"):
        made = bench()
        assert made.status(made.buffer) == cl.CL_OUT_OF_RESOURCES


# What fails, and with which status


def copy(made: Bench, source: Buffer, target: Buffer, size: int = SIZE) -> None:
    made.run(cl.CL_COMMAND_COPY_BUFFER, CopyBuffer(made.device, source, target, [(0, 0, size)]))


def fill(made: Bench, buffer: Buffer) -> None:
    made.run(cl.CL_COMMAND_FILL_BUFFER, FillBuffer(made.device, buffer, 0, SIZE, b"ab"))


COMMANDS: list[tuple[str, Callable[[Bench, Buffer, Buffer], object]]] = [
    ("write:fail", lambda b, x, y: b.machine.write(x, OTHER)),
    ("read:fail", lambda b, x, y: b.machine.read(x)),
    ("copy:fail", copy),
    ("write:fail", lambda b, x, y: fill(b, x)),
    (
        "read:fail",
        lambda b, x, y: b.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, MigrateToHost(b.device, [x], True)),
    ),
    (
        "read:fail",
        lambda b, x, y: b.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, migrate_to_device(b.machine.devices[1], [x], True), 1),
    ),
    (
        "write:fail:device=1",
        lambda b, x, y: b.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, migrate_to_device(b.machine.devices[1], [x], True), 1),
    ),
    (
        "alloc:fail",
        lambda b, x, y: migrate_to_device(b.machine.devices[1], [x, y], True),
    ),
]


@pytest.mark.parametrize(("text", "command"), COMMANDS)
def test_a_command_whose_call_fails_changes_nothing_and_works_the_next_time(
    bench: Benches, text: str, command: Callable[[Bench, Buffer, Buffer], object]
) -> None:
    made = bench("a10_ref", "usm_s10")
    x, y, z = made.buffer(), made.buffer(OTHER), made.buffer(OTHER)
    in_use = [device.bytes_in_use() for device in made.machine.devices]
    with fpgart.faults.injecting(text) as faults:
        expected = cl.CL_MEM_OBJECT_ALLOCATION_FAILURE if text == "alloc:fail" else cl.CL_OUT_OF_RESOURCES
        assert made.status(lambda: command(made, x, y)) == expected
        assert faults[0].injected == 1
    assert [device.bytes_in_use() for device in made.machine.devices] == in_use
    assert [made.machine.read(buffer) for buffer in (x, y, z)] == [DATA, OTHER, OTHER]
    assert made.status(lambda: command(made, x, y)) == 0


def test_a_failing_piece_of_a_copy_between_boards_ends_the_copy(bench: Benches) -> None:
    made = bench("a10_ref", "usm_s10")
    data = bytes(range(251)) * (4 * CHUNK // 251 + 1)
    source, target = made.buffer(data), made.machine.buffer(len(data))
    made.machine.bind(target, 1)
    for text in ("read:fail:nth=2", "write:fail:nth=3", "write:fail:nth=5"):
        with fpgart.faults.injecting(text):
            assert made.status(lambda: copy(made, source, target, len(data))) == cl.CL_OUT_OF_RESOURCES
    copy(made, source, target, len(data))
    assert made.machine.read(target) == data


def test_the_words_name_the_fault(made: Bench) -> None:
    told: list[str] = []
    made.machine.context._notify = lambda error: told.append(str(error))
    buffer = made.buffer()
    with fpgart.faults.injecting("read:fail"):
        made.status(lambda: made.machine.read(buffer))
    assert told == ["aocl_mmd_read failed on device 0, as the fault 'read:fail' asks for"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call.ALLOC, "claiming memory"),
        (Call.KERNEL, "kernel 'k'"),
        *((call, f"aocl_mmd_{call.value}") for call in Call if call not in (Call.ALLOC, Call.KERNEL)),
    ],
)
def test_a_call_is_told_by_its_name_in_the_mmd_if_it_has_one(call: Call, words: str) -> None:
    assert in_words(call, "k") == words


def test_memory_is_where_it_would_be_without_faults(bench: Benches) -> None:
    device = bench("hetero").device
    plain = device.memories.allocate(SIZE, 1)
    assert plain is not None
    device.memories.free(plain)
    with fpgart.faults.injecting("alloc:fail:size=1G"):
        assert device.memories.allocate(SIZE, 1) == plain


def test_board_memory_can_run_out_at_a_size(bench: Benches) -> None:
    made = bench("usm_s10")
    small, big = made.machine.buffer(MIB - 1), made.machine.buffer(MIB)
    with fpgart.faults.injecting("alloc:fail:size=1M"):
        made.machine.bind(small)
        with pytest.raises(MemObjectAllocationFailure):
            made.machine.bind(big)
        with pytest.raises(OutOfResources):
            usm.allocate_device(made.machine.context, made.device, MIB)
    made.machine.bind(big)


def test_board_memory_can_be_smaller_in_all(made: Bench) -> None:
    made.machine.bind(first := made.machine.buffer(MIB))
    with fpgart.faults.injecting("alloc:fail:total=2M"):
        second, third = made.machine.buffer(MIB), made.machine.buffer(1)
        made.machine.bind(second)
        with pytest.raises(MemObjectAllocationFailure):
            made.machine.bind(third)
        del first
        made.machine.context.reap()
        made.machine.bind(third)


def test_copies_of_unified_shared_memory_fail_as_transfers_do(bench: Benches) -> None:
    made = bench("usm_s10")
    context = made.machine.context
    first, second = (usm.allocate_device(context, made.device, SIZE).pointer for _ in range(2))
    host = ctypes.create_string_buffer(DATA, SIZE)
    away = ctypes.addressof(host)

    def move(to: int, source: int) -> int:
        places = usm_commands.UsmPointer(context, to, SIZE), usm_commands.UsmPointer(context, source, SIZE)
        operation = usm_commands.UsmCopy(made.device, *places, SIZE)
        return made.status(lambda: made.run(cl.CL_COMMAND_MEMCPY_INTEL, operation))

    with fpgart.faults.injecting("write,copy,read:fail:every=2"):
        moves = [(first, away), (second, first), (second, first), (away, second), (away, second)]
        assert [move(*pair) for pair in moves] == [0, -5, 0, -5, 0]
    assert host.raw == DATA
    for pointer in (first, second):
        usm.free(context, pointer)


def test_memory_of_the_host_can_run_out(bench: Benches) -> None:
    made = bench("usm_s10")
    context = made.machine.context
    with fpgart.faults.injecting("host_alloc:fail:nth=1;shared_alloc:fail:nth=1;host_alloc:fail:nth=3"):
        with pytest.raises(OutOfHostMemory):
            usm.allocate_host(context, SIZE, 0)
        usm.free(context, usm.allocate_host(context, SIZE, 0).pointer)
        assert svm.allocate(context, SIZE, 0) == 0
        with pytest.raises(OutOfHostMemory):
            usm.allocate_shared(context, made.device, SIZE, 0)
        usm.free(context, usm.allocate_shared(context, made.device, SIZE, 0).pointer)


def test_a_board_that_cannot_be_opened_is_not_available(boards: Boards) -> None:
    machine = boards("a10_ref")
    machine.device._opened = False
    mmd = machine.device.mmd
    with fpgart.faults.injecting("open:fail:nth=1"):
        FAULTS.attach(machine.device)
        with pytest.raises(DeviceNotAvailable, match="aocl_mmd_open failed"):
            Context(machine.platform, machine.devices)
        Context(machine.platform, machine.devices)
        FAULTS.detach(machine.device)
        assert machine.device.mmd is mmd


# Programming and kernels


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that are about to be made while there are faults, in their order."""
    told: list[str] = []
    strike = FAULTS.strike

    def listening(call: Call, *arguments: Any, **more: Any) -> Any:
        told.append(call.value)
        return strike(call, *arguments, **more)

    monkeypatch.setattr(FAULTS, "strike", listening)
    return told


def test_a_board_that_cannot_keep_its_memory_is_programmed_with_the_contents_saved(
    made: Bench, tried: list[str]
) -> None:
    x, y = made.buffer(), made.buffer(OTHER)
    kernel = made.machine.kernel(increment, "", given=[x])
    with fpgart.faults.injecting("program:fail:nth=1"):
        made.machine.run(kernel)
    assert tried == ["program", "read", "read", "program", "write", "write", "kernel"]
    assert made.machine.read(x) == b"\x01" + DATA[1:]
    assert made.machine.read(y) == OTHER


PROGRAM_FAULTS = ["program:fail", "program:fail:nth=1;read:fail:nth=2", "program:fail:nth=1;write:fail:nth=1"]


@pytest.mark.parametrize("text", PROGRAM_FAULTS)
def test_a_board_that_cannot_be_programmed_fails_the_launch_and_keeps_all_buffers(made: Bench, text: str) -> None:
    x, y = made.buffer(), made.buffer(OTHER)
    kernel = made.machine.kernel(increment, "", given=[x])
    with fpgart.faults.injecting(text):
        event = made.machine.enqueue(kernel)
        made.machine.queue.finish()
        assert event.status == cl.CL_OUT_OF_RESOURCES
    assert [made.machine.read(buffer) for buffer in (x, y)] == [DATA, OTHER]
    made.machine.run(kernel)
    assert made.machine.read(x) == b"\x01" + DATA[1:]


KERNEL_FAULTS = [
    # faults, status of a launch that needs its buffer moved
    ("kernel:fail:name=k", cl.CL_OUT_OF_RESOURCES),
    ("kernel:fail:name=other", 0),
    ("kernel:hang:limit=20ms", cl.CL_OUT_OF_RESOURCES),
    ("kernel:delay=20ms", 0),
    ("copy:fail", cl.CL_OUT_OF_RESOURCES),
]


@pytest.mark.parametrize(("text", "status"), KERNEL_FAULTS)
def test_a_launch_that_fails_leaves_its_buffers_as_they_were(bench: Benches, text: str, status: int) -> None:
    made = bench("hetero")
    x, y = made.buffer(), made.buffer(OTHER)
    kernel = made.machine.kernel(increment, "HBM", given=[x])
    with fpgart.faults.injecting(text):
        event = made.machine.enqueue(kernel)
        made.machine.queue.finish()
        assert event.status == status
    assert made.machine.read(x) == (b"\x01" if status == 0 else DATA[:1]) + DATA[1:]
    assert made.machine.read(y) == OTHER
    del event
    made.machine.context.reap()
    assert made.device.bytes_in_use() == 2 * SIZE
    made.machine.run(kernel)


def test_what_follows_a_failed_command_in_its_queue_runs_and_what_waits_for_it_fails(made: Bench) -> None:
    x = made.buffer()
    kernel = made.machine.kernel(increment, "", given=[x])
    queue = made.machine.queue
    with fpgart.faults.injecting("kernel:fail:nth=1"):
        failing = made.machine.enqueue(kernel)
        waiting = queue.enqueue(cl.CL_COMMAND_MARKER, None, (failing,))
        following = made.machine.enqueue(kernel)
        queue.finish()
    assert [failing.status, waiting.status, following.status] == [cl.CL_OUT_OF_RESOURCES, -14, 0]


def until_a_kernel_hangs() -> None:
    while fpgart.faults.injected() == 0:
        time.sleep(0.001)


def test_a_hung_kernel_keeps_other_queues_and_transfers_going(bench: Benches) -> None:
    made = bench("a10_ref", "usm_s10")
    x, y = made.buffer(), made.buffer(OTHER)
    kernel = made.machine.kernel(increment, "", given=[x])
    fpgart.faults.add("kernel:hang:limit=600s:device=0")
    hung = made.machine.enqueue(kernel, 0)
    made.machine.queues[0].flush()
    until_a_kernel_hangs()
    made.machine.write(y, DATA, device=1)
    assert made.machine.read(y, device=1) == DATA
    assert hung.status == 1
    fpgart.faults.clear()  # ends it at once
    made.machine.queues[0].finish()
    assert hung.status == cl.CL_OUT_OF_RESOURCES


def test_the_end_of_the_process_does_not_wait_for_a_hung_kernel(made: Bench) -> None:
    buffer = made.buffer()
    kernel = made.machine.kernel(increment, "", given=[buffer])
    fpgart.faults.add("kernel:hang:limit=600s")
    made.machine.enqueue(kernel)
    made.machine.queue.flush()
    until_a_kernel_hangs()
    FAULTS.end()
    assert made.machine.scheduler.close(1e6)


# ECC


@pytest.mark.parametrize(("mask", "heard"), [(1, [1]), (2, [2]), (3, [1, 2]), (0, [])])
def test_the_host_is_told_of_the_exceptions_that_it_listens_to(made: Bench, mask: int, heard: list[int]) -> None:
    buffer = made.buffer()
    told: list[int] = []
    made.device.when_exception(mask, told.append)
    with fpgart.faults.injecting("read:ecc=correctable:nth=1;read:ecc=non_correctable:nth=2"):
        for _ in range(3):
            made.machine.read(buffer)
    assert told == heard


def wrong_bits(data: bytes) -> list[int]:
    return [(a ^ b).bit_count() for a, b in zip(data, DATA, strict=True) if a != b]


def test_correctable_errors_are_corrected_and_others_change_two_bits_of_what_was_moved(made: Bench) -> None:
    x, y = made.buffer(), made.machine.buffer(SIZE)
    made.machine.bind(y)
    with fpgart.faults.injecting("read:ecc=correctable"):
        assert made.machine.read(x) == DATA
    with fpgart.faults.injecting("read:ecc=non_correctable;seed=3"):
        first = made.machine.read(x)
        assert wrong_bits(first) == [2]
    with fpgart.faults.injecting("read:ecc=non_correctable;seed=3"):
        assert made.machine.read(x) == first
    assert made.machine.read(x) == DATA
    with fpgart.faults.injecting("copy:ecc=non_correctable"):
        copy(made, x, y)
    assert wrong_bits(made.machine.read(y)) == [2]
    assert made.machine.read(x) == DATA
    with fpgart.faults.injecting("write:ecc=non_correctable"):
        made.machine.write(x, DATA)
    assert wrong_bits(made.machine.read(x)) == [2]


@pytest.mark.parametrize(("place", "changed"), [(0.0, 0), (0.5, SIZE // 2), (0.9999, SIZE - 1)])
def test_the_wrong_bits_may_be_anywhere_in_what_was_moved(
    made: Bench, monkeypatch: pytest.MonkeyPatch, place: float, changed: int
) -> None:
    x = made.buffer()
    faults = Faults()
    monkeypatch.setattr(faults, "strike", lambda *_: (EccError(Ecc.NON_CORRECTABLE, place),))
    made.device.mmd = FaultyMmd(made.device.mmd, made.device, faults)
    found = made.machine.read(x)
    assert [index for index, byte in enumerate(found) if byte != DATA[index]] == [changed]


def test_a_kernel_can_meet_an_exception(made: Bench) -> None:
    told: list[int] = []
    made.device.when_exception(3, told.append)
    buffer = made.buffer()
    kernel = made.machine.kernel(increment, "", given=[buffer])
    with fpgart.faults.injecting("kernel:ecc=non_correctable"):
        made.machine.run(kernel)
    assert told == [2]


def test_faults_from_many_threads_are_counted_one_by_one(made: Bench) -> None:
    buffers = [made.machine.buffer(64) for _ in range(4)]
    failures: list[int] = []

    def write(buffer: Buffer) -> None:
        for _ in range(100):
            failures.append(made.status(lambda: made.machine.write(buffer, DATA[:64])))

    with fpgart.faults.injecting("write:fail:every=5"):
        at_once(*(partial(write, buffer) for buffer in buffers))
    assert len([status for status in failures if status]) == fpgart.faults.injected() == 80


# Hosts

HOST = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Failed, Host, Loader, Usm, callback, handles, status_of
SOURCE = "kernel void k(global int *x) {{ x[get_global_id(0)] += 1; }}"

def status(work):
    try:
        work()
    except Failed as failure:
        return failure.status
    return 0

host = Host(Loader())
usm = Usm(host)

def allocate(name, *owner):
    return status(lambda: usm.make(name, host.context, *owner, None, 64, 0))
"""


def host(faults: str, body: str, *options: object) -> subprocess.CompletedProcess[str]:
    result = command("run", "--faults", faults, *options, "--", sys.executable, "-c", HOST + body)
    assert result.returncode == 0, result.stderr
    return result


WRITE = 'status(lambda: host.write(buffer, b"12345678"))'
MAP = """
buffer = host.buffer(64, 1 | cl.CL_MEM_COPY_HOST_PTR, ctypes.create_string_buffer(b"a" * 64, 64))
mapped = (host.queue, buffer, 1, cl.CL_MAP_READ | cl.CL_MAP_WRITE, 0, 64, 0, None, None)
print(status(lambda: host.cl.make("clEnqueueMapBuffer", *mapped)))
print(host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT))
print(host.read(buffer, 1).decode())
"""
STATUSES = [
    # faults, a host, what it prints
    ("write:fail:nth=1", f"buffer = host.buffer(64)\nfor _ in range(2): print({WRITE})", "-5 0"),
    ("alloc:fail:nth=1", f"buffer = host.buffer(64)\nfor _ in range(2): print({WRITE})", "-4 0"),
    ("read:fail:nth=1", "for _ in range(2): print(status(lambda: host.read(host.buffer(64), 8)))", "-5 0"),
    (
        "write:fail:nth=1",
        "for _ in range(2): print(status(lambda: host.buffer(8, 1 | cl.CL_MEM_COPY_HOST_PTR, b'12345678')))",
        "-5 0",
    ),
    ("read:fail:nth=1", MAP, "-5 0 a"),
    (
        "alloc:fail:nth=1",
        "k = host.kernel(SOURCE, 'k', host.buffer(64))\nfor _ in range(2): print(status(lambda: host.launch(k, 16)))",
        "-4 0",
    ),
    (
        "host_alloc:fail:nth=1;shared_alloc:fail:nth=2;alloc:fail:nth=1",
        "for name, *owner in (['clHostMemAllocINTEL'], ['clSharedMemAllocINTEL', host.device], "
        "['clDeviceMemAllocINTEL', host.device]):\n    print(*(allocate(name, *owner) for _ in range(3)))",
        "-6 0 0 0 -6 0 -5 0 0",
    ),
]


@pytest.mark.parametrize(("faults", "body", "printed"), STATUSES)
def test_statuses_of_calls(faults: str, body: str, printed: str) -> None:
    assert host(faults, body).stdout.split() == printed.split()


BEHIND_A_FAILED_EVENT = """
failed = host.cl.make("clCreateUserEvent", host.context)
host.cl.check("clSetUserEventStatus", failed, -1 & 0xFFFFFFFF)
buffer = host.buffer(64)
mapped = (host.queue, buffer, 1, cl.CL_MAP_WRITE, 0, 64, 1, handles(failed), None)
print(status(lambda: host.cl.make("clEnqueueMapBuffer", *mapped)))
print(host.cl.number("clGetMemObjectInfo", buffer, cl.CL_MEM_MAP_COUNT))
host.cl.check("clReleaseMemObject", buffer)
"""


@pytest.mark.parametrize("board", ["usm_s10", "soc_a10"])
def test_a_blocking_map_that_fails_maps_nothing(board: str) -> None:
    result = command("run", "--board", board, "--", sys.executable, "-c", HOST + BEHIND_A_FAILED_EVENT)
    assert result.stdout.split() == ["-14", "0"], result.stderr


def test_a_board_that_cannot_be_programmed_eagerly_fails_the_creation_of_the_program(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(global int *x) { x[0] = 1; }")
    assert command("aoc", source, "-board=a10_ref", "-o", source.with_suffix(".aocx")).returncode == 0
    body = f"""
data = open({str(source.with_suffix(".aocx"))!r}, "rb").read()
kept = ctypes.create_string_buffer(data, len(data))
arguments = (host.context, 1, handles(host.device), handles(len(data)), handles(ctypes.addressof(kept)), None)
print(*(status(lambda: host.cl.make("clCreateProgramWithBinary", *arguments)) for _ in range(2)))
"""
    assert host("program:fail:times=2", body, "--board", "a10_ref").stdout.split() == ["-5", "0"]


def test_events_of_failed_commands_say_so_and_finish_returns() -> None:
    body = """
buffer = host.buffer(64)
made = host.kernel(SOURCE, "k", buffer)
slots = [handles(0) for _ in range(4)]
host.launch(made, 16, event=slots[0])
host.cl.check("clEnqueueWriteBuffer", host.queue, buffer, 0, 0, 8, b"12345678", 0, None, slots[1])
host.cl.check("clEnqueueMarkerWithWaitList", host.queue, 1, slots[1], slots[2])
host.launch(made, 16, event=slots[3])
host.finish()
print(*(status_of(host, slot[0]) for slot in slots))
print(status(lambda: host.cl.check("clWaitForEvents", 1, slots[0])))
"""
    result = host("kernel:hang:limit=50ms:nth=1;write:fail:nth=1", body, "--log")
    assert result.stdout.split() == ["-5", "-5", "-14", "0", "-14"]
    assert "kernel 'k' hung on device 0 and was stopped after 0.05 s" in result.stderr


def test_a_host_hears_of_ecc_errors_through_its_callback() -> None:
    body = """
told = []
heard = callback(lambda kind, info, size, data: told.append((kind, info, size, data)),
                 ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
assert usm.status("clSetDeviceExceptionCallbackIntelFPGA", 1, handles(host.device), 3, heard, ctypes.c_void_p(77)) == 0
buffer = host.buffer(8)
host.write(buffer, b"12345678")
assert host.read(buffer, 8) == b"12345678"
print(*told[0])
assert host.read(buffer, 8) != b"12345678"
print(*told[1])
assert host.read(buffer, 8) == b"12345678" and len(told) == 2
"""
    result = host("read:ecc=correctable:nth=1;read:ecc=non_correctable:nth=2", body)
    assert result.stdout.split() == ["1", "None", "0", "77", "2", "None", "0", "77"]


ASKING = {
    "transfers": (
        "buffer = host.buffer(8)\ncall = lambda: host.write(buffer, b'12345678')",
        "write:fail:nth=2",
        "0 0 -5 0 1 3 0 1",
    ),
    "calls": ("call = lambda: host.buffer(8)", "api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:2", "0 0 -6 0 1 3 0 1"),
}


@pytest.mark.parametrize(("call", "faults", "printed"), ASKING.values(), ids=ASKING)
def test_a_host_in_python_asks_for_faults_while_it_runs(call: str, faults: str, printed: str) -> None:
    body = f"""
import fpgart.faults
{call}
print(status(call))
with fpgart.faults.injecting({faults!r}) as faults:
    print(status(call), status(call), status(call), faults[0].injected, faults[0].seen)
print(status(call), fpgart.faults.injected())
"""
    result = command("run", "--", sys.executable, "-c", HOST + body)
    assert result.stdout.split() == printed.split(), result.stderr


USM_CALLS = """
kernel = host.kernel(SOURCE, "k", host.buffer(64))
own = usm.make("clHostMemAllocINTEL", host.context, None, 64, 0)
pointer, other = ctypes.c_void_p(own), ctypes.c_void_p(own + 32)
queue, none = host.queue, (0, ctypes.c_void_p(), ctypes.c_void_p())

def each():
    yield allocate("clHostMemAllocINTEL")
    yield allocate("clDeviceMemAllocINTEL", host.device)
    yield allocate("clSharedMemAllocINTEL", host.device)
    kind = ctypes.c_uint32()
    yield usm.status("clGetMemAllocInfoINTEL", host.context, pointer, 0x419A, 4, ctypes.pointer(kind), None)
    yield usm.status("clSetKernelArgMemPointerINTEL", kernel, 0, pointer)
    yield usm.status("clEnqueueMemFillINTEL", queue, pointer, ctypes.c_char_p(b"a"), 1, 8, *none)
    yield usm.status("clEnqueueMemcpyINTEL", queue, 1, other, pointer, 8, *none)
    yield usm.status("clEnqueueMigrateMemINTEL", queue, pointer, 8, 1, *none)
    yield usm.status("clEnqueueMemAdviseINTEL", queue, pointer, 8, 0, *none)
    yield usm.status("clMemFreeINTEL", host.context, pointer)
"""
FALLIBLE = (
    "clHostMemAllocINTEL",
    "clDeviceMemAllocINTEL",
    "clSharedMemAllocINTEL",
    "clGetMemAllocInfoINTEL",
    "clSetKernelArgMemPointerINTEL",
    "clEnqueueMemFillINTEL",
    "clEnqueueMemcpyINTEL",
    "clEnqueueMigrateMemINTEL",
    "clEnqueueMemAdviseINTEL",
    "clMemFreeINTEL",
)


@pytest.mark.parametrize(("status", "number"), [("CL_OUT_OF_RESOURCES", "-5"), ("CL_OUT_OF_HOST_MEMORY", "-6")])
def test_each_call_of_unified_shared_memory_can_lack_something(status: str, number: str) -> None:
    """Memory that was not freed because the call failed is freed in the second round."""
    rules = "; ".join(f"api:{name}:{status}:{2 if name == 'clHostMemAllocINTEL' else 1}" for name in FALLIBLE)
    result = host(rules, USM_CALLS + "print(*each())\nprint(*each())")
    assert result.stdout.splitlines() == [" ".join([number] * 10), " ".join(["0"] * 10)]


def test_a_device_without_allocations_of_a_kind_refuses_them() -> None:
    body = """
print(allocate("clHostMemAllocINTEL"))
for kind in ("Device", "Shared"): print(allocate(f"cl{kind}MemAllocINTEL", host.device))
"""
    result = command("run", "--board", "hetero", "--", sys.executable, "-c", HOST + body)
    assert result.stdout.split() == [str(cl.CL_INVALID_OPERATION)] * 3, result.stderr


def test_faults_that_a_host_in_python_adds_before_its_first_call_wait_for_the_driver() -> None:
    asked = "import fpgart.faults\n(fault,) = fpgart.faults.add('api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:2')\n"
    body = "print(*(status(lambda: host.buffer(8)) for _ in range(3)), fault.injected, fault.seen)"
    result = command("run", "--", sys.executable, "-c", asked + HOST + body)
    assert result.stdout.split() == ["0", "-6", "0", "1", "3"], result.stderr


def test_boards_are_not_wrapped_for_calls_of_the_api(made: Bench) -> None:
    mmd = made.device.mmd
    with fpgart.faults.injecting("api:clFinish:CL_OUT_OF_RESOURCES"):
        assert made.device.mmd is mmd
        with fpgart.faults.injecting("read:fail"):
            assert made.device.mmd is not mmd
        assert made.device.mmd is mmd


def test_a_context_and_the_log_hear_of_a_call_that_fails() -> None:
    body = """
told = []
heard = callback(lambda words, info, size, data: told.append(words.decode()),
                 ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
context = host.cl.make("clCreateContext", None, 1, handles(host.device), heard, None)
print(status(lambda: host.cl.make("clCreateBuffer", context, 1, 64, None)))
print(told)
"""
    result = host("api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY", body, "--log")
    words = "the call failed, as the fault 'api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY' asks for"
    assert result.stdout.splitlines()[0] == "-6"
    assert words in result.stdout
    assert f"clCreateBuffer: CL_OUT_OF_HOST_MEMORY: {words}" in result.stderr


def test_a_trace_shows_a_call_that_fails_and_not_as_the_next_of_its_name(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    body = "print(*(status(lambda: host.buffer(8)) for _ in range(3)))"
    result = host("api:clCreateBuffer:CL_OUT_OF_HOST_MEMORY:2", body, "--trace", trace)
    assert result.stdout.split() == ["0", "-6", "0"]
    events = json.loads(trace.read_text())
    faults = [event["args"]["call"] for event in events if event.get("cat") == "fault"]
    assert faults == ["clCreateBuffer"]
    calls = [event["args"] for event in events if (event.get("cat"), event["name"]) == ("api", "clCreateBuffer")]
    assert [call.get("error") for call in calls] == [None, None]
    assert command("report", trace).returncode == 0


def test_traces_and_summaries_show_what_was_injected(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    body = "buffer = host.buffer(8)\nprint(" + WRITE + ")\nprint(" + WRITE + ")"
    result = host("write:delay=20ms:nth=1;write:fail:nth=2", body, "--trace", trace, "--summary")
    events = [event for event in json.loads(trace.read_text()) if event.get("cat") == "fault"]
    assert [(event["name"], event["args"]["call"]) for event in events] == [
        ("write:delay=20ms:nth=1", "write"),
        ("write:fail:nth=2", "write"),
    ]
    assert events[0]["dur"] >= 20_000
    assert "fault 'write:fail:nth=2': 1 of 2 calls" in result.stderr
    assert command("report", trace).returncode == 0


@pytest.mark.parametrize("way", ["option", "variable"])
def test_what_makes_no_sense_is_told_once(way: str) -> None:
    words = ["--faults", "wriet:fail"] if way == "option" else []
    program = ["env", "FPGART_FAULTS=wriet:fail"] if way == "variable" else []
    body = """
import pyopencl
for _ in range(2):
    try: pyopencl.get_platforms()[0].get_devices()
    except pyopencl.Error: pass
"""
    result = command("run", *words, "--", *program, sys.executable, "-c", body)
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert "FAULTS: 'wriet:fail': no call 'wriet'; there are" in lines[0].replace("--faults", "FPGART_FAULTS")


def test_a_device_that_is_not_there_is_told() -> None:
    result = host("read:fail:device=3", "print(1)")
    assert result.stderr == "fpgart: FPGART_FAULTS: 'read:fail:device=3': there is no device 3\n"


def test_the_end_of_a_host_does_not_wait_for_a_hung_kernel() -> None:
    body = 'host.launch(host.kernel(SOURCE, "k", host.buffer(64)), 16)\nhost.cl.check("clFlush", host.queue)'
    host("kernel:hang:limit=100000s", body)
