"""Batches of launches for the engine, and their effects for the host (runtime/scheduling/batch.py)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Machine, PythonBatch, PythonKernel, listening

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, OutOfResources
from fpgart.base.notices import NOTICES
from fpgart.engine.opencl_engine.kernel import _refusal
from fpgart.kernels.interface import KernelInterface
from fpgart.runtime.commands.launch import SHORT_NS
from fpgart.runtime.commands.new_launch import new_launch
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.scheduling import readiness
from fpgart.runtime.scheduling.batch import LaunchBatch
from fpgart.runtime.scheduling.event import COMPLETE, RUNNING, SUBMITTED, Event

Boards = Callable[..., Machine]
SIZES = (0, 0, 0, 1, 1, 1, 1, 1, 1)


class Host:
    """A host of one machine, whose driver has no threads: whoever waits runs everything."""

    def __init__(self, machine: Machine) -> None:
        NOTICES.silence(machine.watcher)  # who watches operations gets each by itself
        machine.scheduler._workers.close()
        self.machine = machine
        self.batches: list[tuple[int, PythonBatch]] = []
        self.ran: list[str] = []
        self.refuse: set[int] = set()
        self.at_once = 100

    def kernel(self, name: str = "", *locations: str | None, source: str = "source", short: bool = True) -> Kernel:
        """A kernel that notes its name; one that has run shortly before, if it is `short`."""
        self.machine.run(self.machine.kernel(lambda: None, source=source))  # the board is programmed
        kernel = self.machine.kernel(lambda *_: self.ran.append(name), *locations, source=source)
        engine_kernel: Any = kernel.engine_kernel
        engine_kernel.launched = True
        engine_kernel.new_batch = self.new_batch
        engine_kernel.last_ns = SHORT_NS if short else SHORT_NS + 1
        return kernel

    def new_batch(self, most: int) -> PythonBatch:
        made = PythonBatch(refuse=self.refuse, at_once=self.at_once)
        self.batches.append((most, made))
        return made

    @property
    def batched(self) -> list[int]:
        """The number of launches for which each batch was created."""
        return [most for most, _ in self.batches]

    def enqueue(self, kernel: Kernel, *waits: Event) -> Event:
        queue = self.machine.queue
        return queue.enqueue(cl.CL_COMMAND_NDRANGE_KERNEL, new_launch(kernel, queue.device, 1, SIZES, True), waits)

    def finish(self) -> None:
        self.machine.queue.finish()


@pytest.fixture
def host(boards: Boards) -> Host:
    return Host(boards("usm_s10"))


@pytest.fixture(autouse=True)
def every_look_at_the_clock_takes_a_nanosecond(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(1)
    monkeypatch.setattr("fpgart.runtime.commands.launch.monotonic_ns", lambda: next(ticks))
    monkeypatch.setattr("fpgart.runtime.scheduling.threads.SystemThreads.now", lambda _: next(ticks))


def test_short_launches_are_handed_over_together_and_run_in_their_order(host: Host) -> None:
    kernels = [host.kernel(name) for name in "abc"]
    events = [host.enqueue(kernel) for kernel in kernels]
    before = host.machine.device.kernels_run
    host.finish()
    assert host.batched == [3]
    assert host.ran == ["a", "b", "c"]
    assert [event.status for event in events] == [COMPLETE] * 3
    assert host.machine.device.kernels_run == before + 3
    assert host.machine.device.occupancy.launches == 0


def test_a_single_launch_makes_no_batch(host: Host) -> None:
    host.enqueue(host.kernel("a"))
    host.finish()
    assert (host.batched, host.ran) == ([], ["a"])


@pytest.mark.parametrize("which", [0, 1])
def test_a_launch_of_a_kernel_that_ran_long_waits_and_is_waited_for(host: Host, which: int) -> None:
    kernels = [host.kernel("a"), host.kernel("b")]
    kernels[which].engine_kernel.last_ns = SHORT_NS + 1
    for kernel in kernels:
        host.enqueue(kernel)
    host.finish()
    assert (host.batched, host.ran) == ([], ["a", "b"])


def test_a_kernel_that_has_never_run_is_waited_for(host: Host) -> None:
    kernel = host.kernel("a")
    kernel.engine_kernel.launched = False
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.finish()
    assert (host.batched, host.ran) == ([], ["a", "a"])
    assert kernel.engine_kernel.launched


def test_the_time_of_a_launch_is_from_its_begin_to_its_end(host: Host) -> None:
    kernel = host.kernel(short=False)
    before = host.machine.device.kernel_ns
    host.enqueue(kernel)
    host.finish()
    assert kernel.engine_kernel.last_ns == 1
    assert host.machine.device.kernel_ns == before + 1


def test_how_long_a_kernel_ran_in_a_batch_counts_for_its_next_launch(host: Host) -> None:
    times = count(0, 3 * SHORT_NS)
    kernel = host.kernel("a")
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.machine.scheduler._now = lambda: next(times)
    host.finish()
    assert host.batched == [2]
    assert kernel.engine_kernel.last_ns > SHORT_NS


class Timed:
    """A launch that notes how long it was told that it ran."""

    def __init__(self, batch: PythonBatch) -> None:
        self.made = batch
        self.elapsed_ns: list[int] = []

    def batch(self, most: int) -> PythonBatch:
        return self.made

    def hand_over(self, batch: PythonBatch) -> None:
        batch.add(PythonKernel(KernelInterface("k", ()), lambda: None), b"", 1, bytes(72), False)

    def took(self, elapsed_ns: int) -> None:
        self.elapsed_ns.append(elapsed_ns)


def test_launches_that_end_together_share_the_time_since_those_before_them_ended(host: Host) -> None:
    timed = [Timed(PythonBatch(at_once=2)) for _ in range(4)]
    commands: list[Any] = [(Event(host.machine.context, None, 0, None), launch) for launch in timed]
    looks = iter([100, 160, 190])
    batch = LaunchBatch(commands, lambda: next(looks), lambda event, act: (COMPLETE, act()))
    assert [len(batch.ended()), len(batch.ended())] == [2, 2]
    assert [launch.elapsed_ns for launch in timed] == [[30], [30], [15], [15]]


def test_a_transfer_ends_the_batch(host: Host) -> None:
    kernel, buffer = host.kernel("a"), host.machine.buffer(64)
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.machine.write(buffer, bytes(64))
    assert host.batched == [2]
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.finish()
    assert host.batched == [2, 3]


def test_another_program_is_not_in_the_batch(host: Host) -> None:
    other, mine = host.kernel("other", source="other"), host.kernel("mine")
    for kernel in (mine, mine, other, other):
        host.enqueue(kernel)
    host.finish()
    assert host.ran == ["mine", "mine", "other", "other"]
    assert host.batched == [2, 2]


def test_a_launch_whose_buffer_is_elsewhere_migrates_it_first(boards: Boards) -> None:
    host = Host(boards("hetero"))
    memories = [memory.name for memory in host.machine.device.board.memories][:2]
    buffer = host.machine.keep(host.machine.buffer(64))
    here, there = (host.kernel(memory, memory) for memory in memories)
    for kernel in (here, there):
        kernel.set_buffer(0, buffer)
    host.machine.write(buffer, bytes(64))
    for kernel in (here, there, there):
        host.enqueue(kernel)
    host.finish()
    assert host.ran == [memories[0], memories[1], memories[1]]
    assert buffer.home is not None
    assert buffer.home.memory == 1
    assert host.batched == [2], "the first is alone, as the migration waits for its end"


def test_buffers_stay_where_a_launch_that_was_handed_over_needs_them(host: Host) -> None:
    kernel, buffer = host.kernel("", "", None), host.machine.keep(host.machine.buffer(64))
    kernel.set_buffer(0, buffer)
    kernel.set_value(1, bytes(4))
    running: list[int] = []
    kernel.engine_kernel.function = lambda *_: running.append(buffer.home.running)  # type: ignore[attr-defined,union-attr]
    host.at_once = 1
    for _ in range(3):
        host.enqueue(kernel)
    host.finish()
    assert running == [3, 2, 1]
    assert buffer.home is not None
    assert buffer.home.running == 0
    assert not buffer.home.users


def test_results_are_those_of_one_launch_after_another(host: Host) -> None:
    def double_and_add(address: int, value: int) -> None:
        byte = ctypes.c_ubyte.from_address(address)
        byte.value = byte.value * 2 + value

    kernel, buffer = host.kernel("", "", None), host.machine.keep(host.machine.buffer(64))
    kernel.engine_kernel.function = double_and_add  # type: ignore[attr-defined]
    kernel.set_buffer(0, buffer)
    host.machine.write(buffer, bytes(64))
    for value in (1, 0, 1):
        kernel.set_value(1, value.to_bytes(4, "little"))
        host.enqueue(kernel)
    assert host.machine.read(buffer, 1) == bytes([0b101])
    assert host.batched == [3]


def test_a_thread_that_waits_for_one_launch_hands_over_no_more(host: Host) -> None:
    kernel = host.kernel("a")
    events = [host.enqueue(kernel) for _ in range(4)]
    host.machine.scheduler.wait(events[1])
    assert host.batched == [2]
    assert [event.status for event in events[2:]] == [SUBMITTED, 3]
    host.finish()
    assert host.batched == [2, 2]


def test_a_thread_that_waits_for_another_queue_hands_over_what_that_needs(host: Host) -> None:
    kernel, other = host.kernel("a"), CommandQueue(host.machine.context, host.machine.device)
    needed = host.enqueue(kernel)
    behind = host.enqueue(kernel)
    host.machine.scheduler.wait(other.enqueue(cl.CL_COMMAND_MARKER, None, (needed,)))
    assert host.batched == []
    assert behind.status > COMPLETE
    host.finish()


def test_a_batch_has_an_end(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "BATCH", 3)
    kernel = host.kernel("a")
    for _ in range(7):
        host.enqueue(kernel)
    host.finish()
    assert host.batched == [3, 3]
    assert len(host.ran) == 7


def test_ends_are_learnt_in_their_order_while_later_launches_run(host: Host) -> None:
    kernel = host.kernel("a")
    events = [host.enqueue(kernel) for _ in range(3)]
    seen: list[list[int]] = []
    kernel.engine_kernel.function = lambda: seen.append([e.status for e in events])  # type: ignore[attr-defined]
    host.at_once = 1
    host.finish()
    assert seen == [[RUNNING, SUBMITTED, SUBMITTED], [COMPLETE, RUNNING, SUBMITTED], [COMPLETE, COMPLETE, RUNNING]]
    for before, after in pairwise(events):
        assert before.end_ns <= after.start_ns
        assert 0 < after.queued_ns <= after.submit_ns <= after.start_ns <= after.end_ns


def test_a_launch_with_a_callback_begins_a_batch_and_is_in_none(host: Host) -> None:
    kernel, told = host.kernel("a"), list[int]()
    host.enqueue(kernel)
    host.enqueue(kernel).when(COMPLETE, lambda _, status: told.append(status))
    host.enqueue(kernel)
    host.finish()
    assert (host.batched, told) == ([2], [COMPLETE])


def test_who_listens_for_operations_gets_each_by_itself(host: Host) -> None:
    kernel = host.kernel("a")
    host.enqueue(kernel)
    host.enqueue(kernel)
    NOTICES.listen(host.machine.watcher)
    host.finish()
    assert host.batched == []
    assert host.machine.watcher.operations[-2:] == ["kernel", "kernel"]


@pytest.mark.parametrize("notice", ["operation_began", "operation_ended"])
def test_who_listens_for_one_side_of_operations_gets_each_by_itself(host: Host, notice: str) -> None:
    kernel, heard = host.kernel("a"), list[tuple[object, ...]]()
    with listening(SimpleNamespace(**{notice: lambda *told: heard.append(told)})):
        events = [host.enqueue(kernel) for _ in range(2)]
        host.finish()
    assert host.batched == []
    assert [told[0] for told in heard] == events


def test_a_thread_that_waits_for_a_launch_of_an_out_of_order_queue_hands_over_no_other(host: Host) -> None:
    machine, kernel = host.machine, host.kernel("a")
    queue = CommandQueue(machine.context, machine.device, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    machine.queues[0] = queue
    needed = host.enqueue(kernel)
    _, awaited = host.enqueue(kernel, needed), host.enqueue(kernel, needed)
    assert machine.scheduler._ready.claim(needed)
    machine.scheduler._run(needed, awaited)
    assert (host.batched, host.ran) == ([], ["a"])
    machine.scheduler._workers.reopen()
    queue.finish()


def test_while_a_thread_waits_for_a_batch_others_take_what_its_launches_set_free(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, left = host.kernel("a"), list[list[int]]()
    host.at_once = 1
    events = [host.enqueue(kernel) for _ in range(3)]
    monkeypatch.setattr(host.machine.scheduler._workers, "leave", lambda: left.append([e.status for e in events]))
    host.finish()
    assert [COMPLETE, RUNNING, SUBMITTED] in left
    assert [COMPLETE, COMPLETE, RUNNING] in left


def test_a_callback_may_wait_for_the_rest_of_its_batch(host: Host) -> None:
    kernel, told = host.kernel("a"), list[int]()
    host.at_once = 1
    events = [host.enqueue(kernel) for _ in range(3)]

    def waits(event: Event, status: int) -> None:
        host.machine.scheduler.wait(events[-1])
        told.append(events[-1].status)

    events[0].when(COMPLETE, waits)
    host.finish()
    assert host.batched == [3]
    assert host.machine.scheduler.settle(30)
    assert told == [COMPLETE]


def test_without_threads_a_batch_goes_on_when_its_callbacks_have_returned(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, told = host.kernel("a"), list[list[int]]()
    host.at_once = 1
    events = [host.enqueue(kernel) for _ in range(3)]
    events[0].when(COMPLETE, lambda event, status: told.append([e.status for e in events]))
    monkeypatch.setattr(host.machine.scheduler._threads, "start", lambda work: False)
    host.finish()
    assert told == [[COMPLETE, RUNNING, SUBMITTED]]
    assert [event.status for event in events] == [COMPLETE] * 3


def test_faults_on_request_come_before_each_kernel(host: Host) -> None:
    asked: list[str] = []
    kernel = host.kernel("a")
    host.machine.device.before_kernel = asked.append
    host.enqueue(kernel)
    host.enqueue(kernel)
    host.finish()
    assert (host.batched, len(asked)) == ([], 2)


def test_a_launch_that_the_engine_refuses_fails_alone(host: Host) -> None:
    told: list[CLError] = []
    host.machine.context._notify = told.append
    kernel, buffer = host.kernel("a", ""), host.machine.keep(host.machine.buffer(64))
    kernel.set_buffer(0, buffer)
    host.refuse |= {2}
    events = [host.enqueue(kernel) for _ in range(4)]
    host.finish()
    assert [event.status for event in events] == [COMPLETE, OutOfResources.status, COMPLETE, COMPLETE]
    assert len(host.ran) == 3
    assert [str(error) for error in told] == ["refused"]
    assert host.machine.device.occupancy.launches == 0
    assert buffer.home is not None
    assert (buffer.home.running, buffer.home.users) == (0, {})


def test_what_waits_for_a_launch_that_was_refused_is_not_run(host: Host) -> None:
    kernel = host.kernel("a")
    host.refuse |= {1}
    first = host.enqueue(kernel)
    waits = host.enqueue(kernel, first)
    behind = host.enqueue(kernel)
    host.finish()
    assert [e.status for e in (first, waits, behind)] == [OutOfResources.status, -14, COMPLETE]
    assert host.ran == ["a"]
    assert waits.wait_list == ()


def test_a_batch_that_cannot_be_waited_for_fails_and_ends(host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    kernel = host.kernel("a")
    events = [host.enqueue(kernel) for _ in range(2)]

    class Broken(PythonBatch):
        def wait(self, most: int) -> list[int]:
            raise MemoryError

    kernel.engine_kernel.new_batch = lambda most: Broken()
    host.finish()
    assert [event.status for event in events] == [OutOfResources.status] * 2
    assert "could not be waited for" in capfd.readouterr().err


def test_launches_whose_batch_the_engine_cannot_make_fail_and_the_next_one_runs(host: Host) -> None:
    told: list[CLError] = []
    host.machine.context._notify = told.append
    kernel, why = host.kernel("a"), OutOfResources("the engine's clCreateCommandQueue failed")

    def no_batch(most: int) -> PythonBatch:
        raise why

    kernel.engine_kernel.new_batch = no_batch
    events = [host.enqueue(kernel) for _ in range(3)]
    host.finish()
    assert [event.status for event in events] == [why.status] * 3
    assert told == [why] * 3
    assert host.machine.device.occupancy.launches == 0
    kernel.engine_kernel.new_batch = host.new_batch
    host.machine.run(kernel)
    assert host.ran == ["a"]


def test_the_launch_that_was_refused_is_told_also_behind_one_that_was_not_tried(host: Host) -> None:
    kernel = host.kernel("a")
    host.refuse |= {1, 2}
    first = host.enqueue(kernel)
    events = [first, host.enqueue(kernel, first), host.enqueue(kernel), host.enqueue(kernel)]
    host.finish()
    refused = OutOfResources.status
    assert [event.status for event in events] == [refused, -14, refused, COMPLETE]
    assert host.ran == ["a"]


def test_why_a_launch_failed_is_told_of_no_other(host: Host) -> None:
    told: list[CLError] = []
    host.machine.context._notify = told.append
    kernel, why = host.kernel("a"), OutOfResources("the kernel divided by zero")
    kernel.engine_kernel.new_batch = lambda most: PythonBatch(at_once=100, fail={2}, failure=why)
    events = [host.enqueue(kernel) for _ in range(3)]
    host.finish()
    assert [event.status for event in events] == [COMPLETE, why.status, COMPLETE]
    assert told == [why]


def test_a_launch_that_cannot_be_prepared_fails_and_the_others_run(host: Host) -> None:
    kernel, added = host.kernel("a"), count(1)

    class Picky(PythonBatch):
        def add(self, *launch: Any) -> None:
            if next(added) == 2:
                raise OutOfResources("not this one")
            super().add(*launch)

    kernel.engine_kernel.new_batch = lambda most: Picky(at_once=most)
    events = [host.enqueue(kernel) for _ in range(3)]
    host.finish()
    assert [event.status for event in events] == [COMPLETE, OutOfResources.status, COMPLETE]
    assert host.ran == ["a", "a"]
    assert host.machine.device.occupancy.launches == 0


def test_an_end_that_is_known_is_told_before_the_next_one_is_waited_for(host: Host) -> None:
    kernel, seen = host.kernel("a"), list[int]()
    host.refuse |= {1}
    first, _ = host.enqueue(kernel), host.enqueue(kernel)
    kernel.engine_kernel.function = lambda: seen.append(first.status)  # type: ignore[attr-defined]
    host.finish()
    assert seen == [OutOfResources.status]


def test_the_last_launch_of_a_batch_can_be_refused(host: Host) -> None:
    kernel = host.kernel("a")
    host.refuse |= {2}
    events = [host.enqueue(kernel) for _ in range(2)]
    host.finish()
    assert [event.status for event in events] == [COMPLETE, OutOfResources.status]


def test_a_launch_that_is_refused_for_a_reason_that_cannot_be_said_is_refused_all_the_same() -> None:
    error = _refusal([], b"", 3, cl.CL_INVALID_KERNEL_ARGS)
    assert error.status == OutOfResources.status
    assert "launch 3" in str(error)
