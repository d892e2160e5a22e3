# SPDX-License-Identifier: Apache-2.0
"""The certain order of commands (fpgart/check/happens_before.py), and the accesses of commands."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from machine import Boards, Machine, free_bytes

from fpgart.base import opencl as cl
from fpgart.board.description import BoardDescription
from fpgart.board.global_memory import GlobalMemory
from fpgart.check import words
from fpgart.check.accesses import Access, Mode, Thing
from fpgart.check.findings import Finding, Findings
from fpgart.check.happens_before import ClockedCommand, Order
from fpgart.check.pages.guarded import PAGE, GuardedMemories
from fpgart.kernels.opencl_c import Use, argument_uses
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.programming import PROGRAM_COMMAND
from fpgart.runtime.objects.queue import CommandQueue, auto_queue
from fpgart.runtime.scheduling.event import QUEUED, Event


class Host:
    """Commands that are ordered but never run."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.order = Order()
        self.events: dict[ClockedCommand, Event] = {}

    def queue(self, in_order: bool = True) -> CommandQueue:
        properties = 0 if in_order else cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
        return CommandQueue(self.machine.context, self.machine.device, properties)

    def enqueue(
        self, queue: CommandQueue, *after: ClockedCommand | Event, kind: int = cl.CL_COMMAND_NDRANGE_KERNEL
    ) -> ClockedCommand:
        work = None if kind == cl.CL_COMMAND_BARRIER else HostWork(queue.device, lambda: None)
        event = Event(queue.context, queue, kind, work, QUEUED)
        wait_list = tuple(other if isinstance(other, Event) else self.events[other] for other in after)
        made, _ = self.order.enqueue(event, wait_list, "")
        self.events[made] = event
        return made

    def observe(self, command: ClockedCommand) -> None:
        self.order.observed(self.events[command])


@pytest.fixture
def host(boards: Boards) -> Host:
    return Host(boards("usm_s10"))


def unordered(first: ClockedCommand, second: ClockedCommand) -> bool:
    return not first.before(second) and not second.before(first)


def test_an_in_order_queue_orders_its_commands(host: Host) -> None:
    queue = host.queue()
    first, second, third = (host.enqueue(queue) for _ in range(3))
    assert first.before(second)
    assert first.before(third)
    assert not second.before(first)


def test_two_queues_order_nothing(host: Host) -> None:
    assert unordered(host.enqueue(host.queue()), host.enqueue(host.queue()))


def test_a_wait_list_orders_and_what_came_before_with_it(host: Host) -> None:
    queue = host.queue()
    earlier, awaited, other = host.enqueue(queue), host.enqueue(queue), host.enqueue(host.queue())
    last = host.enqueue(host.queue(), awaited)
    assert earlier.before(last)
    assert awaited.before(last)
    assert unordered(other, last)


def test_a_barrier_orders_an_out_of_order_queue(host: Host) -> None:
    queue = host.queue(in_order=False)
    first, second = host.enqueue(queue), host.enqueue(queue)
    host.enqueue(queue, kind=cl.CL_COMMAND_BARRIER)
    third = host.enqueue(queue)
    assert unordered(first, second)
    assert first.before(third)
    assert second.before(third)


def test_a_barrier_with_a_wait_list_waits_for_that_alone(host: Host) -> None:
    queue = host.queue(in_order=False)
    first, second = host.enqueue(queue), host.enqueue(queue)
    host.enqueue(queue, first, kind=cl.CL_COMMAND_BARRIER)
    third = host.enqueue(queue)
    assert first.before(third)
    assert unordered(second, third)


def test_what_the_host_waited_for_is_before_all_that_it_enqueues_then(host: Host) -> None:
    first, other = host.enqueue(host.queue()), host.enqueue(host.queue())
    host.observe(first)
    second = host.enqueue(host.queue())
    assert first.before(second)
    assert unordered(other, second)


def test_finishing_a_queue_is_waiting_for_all_in_it(host: Host) -> None:
    queue = host.queue(in_order=False)
    commands = [host.enqueue(queue) for _ in range(3)]
    host.order.drained(queue)
    later = host.enqueue(host.queue())
    assert all(command.before(later) for command in commands)


def test_repeated_launches_are_those_that_are_enqueued_one_by_one(host: Host) -> None:
    queue, other = host.queue(), host.enqueue(host.queue())
    before = host.enqueue(queue)
    launch, settled = host.order.enqueue_launch(queue, "a launch")
    assert settled == [launch]
    host.order.repeat(launch, 3)
    behind = host.enqueue(queue)
    assert launch.number == other.number + 5
    assert behind.number == launch.number + 1
    assert (launch.chain, launch.index) == (before.chain, before.index + 4)
    assert before.before(launch)
    assert launch.before(behind)
    assert unordered(launch, other)


def test_a_user_event_is_after_what_the_host_knew_when_it_ended_it(host: Host) -> None:
    gate = host.machine.user_event()
    gated = host.enqueue(host.queue(), gate)
    between, unseen = host.enqueue(host.queue()), host.enqueue(host.queue())
    assert gated.clock is None
    host.observe(between)
    assert host.order.user_event_ended(gate) == [gated]
    assert between.before(gated)
    assert unordered(unseen, gated)


def test_a_barrier_follows_what_waits_for_a_user_event(host: Host) -> None:
    queue, gate = host.queue(in_order=False), host.machine.user_event()
    gated = host.enqueue(queue, gate)
    host.enqueue(queue, kind=cl.CL_COMMAND_BARRIER)
    last = host.enqueue(queue)
    host.order.user_event_ended(gate)
    assert gated.before(last)


def test_chains_are_as_many_as_commands_that_nothing_orders(host: Host) -> None:
    for _ in range(20):
        queues = [host.queue() for _ in range(3)]
        for command in [host.enqueue(queue) for queue in queues]:
            host.observe(command)
    assert len(host.order.host) == 3


# What is touched


def access(*where: tuple[int, int]) -> Access:
    return Access(("buffer", 1), Thing("buffer 1", ""), Mode.WRITE, where)


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (access((0, 4)), access((4, 8)), None),
        (access((0, 5)), access((4, 8)), (4, 5)),
        (access((0, 2), (8, 10), (16, 18)), access((2, 8), (10, 16)), None),
        (access((0, 2), (8, 10), (16, 18)), access((2, 9)), (8, 9)),
    ],
)
def test_accesses_meet_where_they_share_a_byte(first: Access, second: Access, common: tuple[int, int] | None) -> None:
    assert first.meets(second) == common
    assert second.meets(first) == common


READ, WRITE, BOTH, UNKNOWN = Use.READ, Use.WRITE, Use.READ | Use.WRITE, Use.UNKNOWN
USES = {
    "*p = 1;": WRITE,
    "p[0] = 1;": WRITE,
    "int x = p[get_global_id(0)];": READ,
    "int x = 3 * *p;": READ,
    "int x = 3 & p[1];": READ,
    "if (p[0] == 2) return;": READ,
    "if (p[0] <= 2) return;": READ,
    "p[0] += 1;": BOTH,
    "p[0] <<= 1;": BOTH,
    "p[0]++;": BOTH,
    "--p[0];": BOTH,
    "int x = p[0]; p[1] = x;": BOTH,
    "atomic_inc(p);": Use.ATOMIC,
    "atomic_add(&p[3], 2);": Use.ATOMIC,
    "f(p);": UNKNOWN,
    "global int *q = &p[1];": UNKNOWN,
    "global int *q = p + 1;": UNKNOWN,
    "*(p + 1) = 2;": UNKNOWN,
    "s.p = 1;": Use.NONE,
}


@pytest.mark.parametrize("body", USES)
def test_the_source_shows_what_a_kernel_does_with_an_argument(body: str) -> None:
    assert argument_uses(f"kernel void k(global int *p) {{ {body} }}") == {"k": (USES[body],)}


def test_what_a_macro_may_hide_is_unknown() -> None:
    macro = "#define OUT(i) p[i]\nkernel void k(global int *p) { OUT(1) = 2; }"
    assert argument_uses(macro) == {"k": (UNKNOWN,)}


@pytest.mark.parametrize("directive", ["#include", "#  include", "#import"])
def test_a_header_may_use_any_argument(directive: str) -> None:
    assert not argument_uses(f'{directive} "k.h"\nkernel void k(global int *p) {{ p[0]; }}')
    assert argument_uses('#include "k.h"\nkernel void k(global int *p) { *p = 1; }') == {}
    assert argument_uses("kernel void k(global int *p);") == {}


# Findings


def finding(**more: str) -> Finding:
    facts = {
        "check": "order",
        "rule": "r",
        "object": "buffer 1",
        "made_by": "m",
        "misused_by": "u",
        "words": "w",
        "fix": "f",
    }
    return Finding(**{**facts, **more})


def test_what_differs_in_numbers_only_is_told_once_and_counted() -> None:
    told: list[str] = []
    findings = Findings(("order",), tell=told.append)
    for number in range(3):
        findings.report(finding(words=f"byte {number} at {number:#x}"))
    findings.report(finding(object="buffer 2"))
    findings.report(finding(check="usm"))
    findings.sum_up()
    assert told == [
        "[order] byte 0 at 0x0\n  buffer 1, created by m, misused by u\n  fix: f",
        "[order] w\n  buffer 2, created by m, misused by u\n  fix: f",
        "4 findings, 2 of them different in 0 commands; looked at: races between commands",
    ]


def test_nothing_is_said_where_nothing_was_found() -> None:
    told: list[str] = []
    Findings(("order",), tell=told.append).sum_up()
    assert told == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (PROGRAM_COMMAND, "the programming of device 0"),
        (cl.CL_COMMAND_UNMAP_MEM_OBJECT, "clCreateBuffer (its CL_MEM_COPY_HOST_PTR)"),
    ],
)
def test_commands_of_queues_that_the_host_did_not_make_are_named_in_findings(
    boards: Boards, kind: int, name: str
) -> None:
    machine = boards("a10_ref")
    queue = auto_queue(machine.context, machine.device)
    assert words.command(queue.enqueue(kind, HostWork(machine.device, lambda: None))) == name


def test_sycl_kernels_have_the_names_of_the_source_in_findings(tmp_path: Path) -> None:
    texts = ("object", "misused_by", "words", "against", "fix")
    file = tmp_path / "findings"
    Findings(("order",), str(file)).report(finding(**dict.fromkeys(texts, "kernel '_ZTSN3app3AddE'")))
    facts = json.loads(file.read_text())
    assert [facts[text] for text in texts] == ["kernel 'app::Add'"] * len(texts)


# Blocks with pages of their own

BOARD = BoardDescription("b", "v", (GlobalMemory("DDR", 1 << 20, (1 << 20) + 64 * PAGE),))


def test_guarded_blocks_share_no_page_and_have_a_free_one_between() -> None:
    memories = GuardedMemories(BOARD)
    regions = [memories.allocate(size) for size in (1, 1024, 4096, 5000)]
    pages: list[tuple[int, int]] = []
    for region in regions:
        assert region is not None
        assert region.claimed is not None
        end = region.address + region.size
        assert region.address % 1024 == 0
        assert -end % PAGE < 1024
        pages.append((region.address // PAGE, -(-end // PAGE)))
    assert pages[0][0] > BOARD.memories[0].begin // PAGE
    assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(pages))


def test_guards_give_way_where_memory_is_short_and_all_comes_back() -> None:
    memories = GuardedMemories(BOARD)
    whole = memories.allocate(64 * PAGE)
    assert whole is not None
    assert whole.claimed is None
    memories.free(whole)
    few = [memories.allocate(PAGE) for _ in range(10)]
    for region in few:
        assert region is not None
        memories.free(region)
    assert free_bytes(memories, 0) == 64 * PAGE
