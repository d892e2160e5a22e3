"""Commands that C carries to a board process: their order, their ends, and what becomes of them when it dies."""

from __future__ import annotations

import os
import signal
import struct
import threading
import time
from collections.abc import Iterator
from struct import Struct
from typing import Any

import pytest
from fpgart._native import ffi, lib
from machine import SetOption

from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.board.stretch import Stretch
from fpgart.engine.interface import BYTES, POINTER, BuiltProgram, KernelLaunch, pack_arguments
from fpgart.engine.isolated.engine import IsolatedEngine
from fpgart.engine.isolated.spawning import ProcessError
from fpgart.engine.launches import launch_failure

SIZES = Struct("9Q").pack(0, 0, 0, 1, 1, 1, 1, 1, 1)
SOURCE = """
kernel void spin(int n) { for (volatile int i = 0; n && i < 10; i -= n) ; }
kernel void add(global int *a, int n) { a[0] += n; }
kernel void wipe(global int *a, global int *done, int n) { for (int i = 0; i < n; i++) a[i] = 0; done[0] = n; }
kernel void bad(int n) { if (n) __builtin_trap(); }
kernel void until(volatile global int *go, int n) { while (n && !go[0]) ; }
kernel void bad_later(volatile global int *go, int n) { while (n && !go[0]) ; if (n) __builtin_trap(); }
"""
SLOTS, ORDER, END_WORDS, END_STEP, RING_WORDS = 128, 2, 144, 16, 2192
"""Slots of the ring, and words: in front of the order and of the ends, of one end, and in front of the operations."""
WAIT_LIST_FAILED = cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST


class Host:
    """A host's side of carried commands."""

    def __init__(self, memory: Stretch) -> None:
        self.engine = IsolatedEngine(memory)
        self.program: BuiltProgram = self.engine.from_source(SOURCE)
        self.program.build("")
        self.program.kernels({})
        self.address = memory.allocate(4096)
        self.runs_of_left = threading.Semaphore(0)
        """Released when the watching thread has run what a lost process left."""
        self._kept: list[Any] = []
        self._carrier = self.engine.carrier()
        assert self._carrier is not None
        self.functions = ffi.cast("struct carrier *", self._carrier.functions)
        self.calls = self.functions.engine
        ffi.memmove(ffi.cast("char *", self.address), bytes(4), 4)
        none = self.integers(self.address, 0)
        first = {"add": none, "until": none, "bad_later": none, "wipe": self.integers(self.address, self.address, 0)}
        for name in "spin", "add", "wipe", "bad", "until", "bad_later":
            kernel = self.program.kernel(name)
            kernel.launch(KernelLaunch(first.get(name, self.integers(0)), 1, SIZES, True))
            kernel.launched = True
        assert kernel.carried  # the process has a ring from now on

    @staticmethod
    def integers(*values: int) -> bytes:
        """Arguments; all but the last are addresses."""
        *addresses, last = values
        return pack_arguments([*((POINTER, 8, each) for each in addresses), (BYTES, 4, struct.pack("i", last))])

    def lane(self, *, in_order: bool = True, profiling: bool = False) -> Any:
        assert self._carrier is not None
        return self.functions.lane_new(self._carrier.context, 0, in_order, profiling)

    def submit(self, lane: Any, operation: dict[str, Any], more: bytes = b"", after: tuple[Any, ...] = ()) -> Any:
        """Submits a command; returns its event, or the error."""
        carried = ffi.new("struct carried *", operation)
        image = ffi.new("char[]", bytes(ffi.buffer(carried)) + more)
        event = ffi.new("void **")
        status = self.calls.submit(lane, image, len(after), ffi.new("void *[]", after), event)
        self._kept.append(image)
        return event[0] if status == cl.CL_SUCCESS else status

    def launch(self, lane: Any, name: str, *values: int, number: int = 0, after: tuple[Any, ...] = ()) -> Any:
        """Submits a launch. `number`: that of the kernel, if it is not the right one."""
        operation = {
            "kind": lib.CARRIED_LAUNCH,
            "kernel": number or self.program.kernel(name).carried,
            "sizes": struct.unpack("9Q", SIZES),
            "dimensions": 1,
            "has_local": 1,
            "count": len(values),
        }
        return self.submit(lane, operation, self.integers(*values), after)

    def statuses(self, *events: Any) -> list[int]:
        """Waits for commands; returns how they ended."""
        for event in events:
            self.calls.wait(event)
        return [int(self.calls.status(event)) for event in events]

    def await_ends(self, *events: Any) -> None:
        """Until these commands have ended, without a wait for them."""
        while any(self.calls.status(event) > cl.CL_COMPLETE for event in events):
            time.sleep(0.001)

    def words(self, index: int) -> str:
        """The reason why a command has failed; `index`: in the order of submission."""
        carried = ffi.cast("struct carried *", self._kept[index])
        return str(launch_failure("", int(carried.place) << 32 | 0xFFFFFFFB))

    def integer(self) -> int:
        return int(ffi.cast("int *", self.address)[0])

    def lose_process(self) -> None:
        """Ends the board process; its kernels' numbers are void behind that."""
        carried, lost = self.engine.carried, threading.Event()
        run_left = carried._run_left

        def run_left_and_tell() -> None:
            run_left()
            self.runs_of_left.release()

        carried._run_left = run_left_and_tell  # type: ignore[method-assign]
        carried.lost.append(lost.set)
        self.engine.process.stop("was stopped by the test")
        assert lost.wait()

    def number_in_another_process(self, name: str) -> int:
        """Waits until a kernel has a number again: the watching thread has forgotten the lost process."""
        while not (number := int(self.program.kernel(name).carried)):
            assert self.runs_of_left.acquire()
        return number

    def close(self) -> None:
        """Ends the board process."""
        self.engine.process.stop("was not needed any more")
        self.engine._process.ended()


@pytest.fixture
def host(memory: Stretch) -> Iterator[Host]:
    try:
        made = Host(memory)
    except ProcessError as error:
        pytest.skip(str(error))
    yield made
    made.close()


def test_commands_of_a_lane_run_in_order(host: Host) -> None:
    lane = host.lane()
    fill = {"kind": lib.CARRIED_FILL, "to": host.address, "size": [4, 1, 1], "count": 4}
    host.submit(lane, fill, struct.pack("i", 5))
    host.launch(lane, "add", host.address, 2)
    copy = {"kind": lib.CARRIED_MOVE, "from": host.address, "to": host.address + 64, "size": [4, 1, 1]}
    host.submit(lane, copy)
    last = host.launch(lane, "add", host.address, 10)
    marker = host.submit(lane, {"kind": lib.CARRIED_MARKER})
    assert host.statuses(marker, last) == [0, 0]
    assert (host.integer(), ffi.cast("int *", host.address + 64)[0]) == (17, 7)


def test_more_commands_than_the_ring_has_room_for_all_run(host: Host) -> None:
    lanes = [host.lane() for _ in range(3)]
    events: list[Any] = []
    for number in range(1000):
        events.append(host.launch(lanes[number % 3], "add", host.address, number, after=tuple(events[-1:])))
    assert host.statuses(events[-1], events[-2]) == [0, 0]
    assert host.integer() == sum(range(1000))


def test_a_command_may_wait_for_more_commands_than_a_request_lists(host: Host) -> None:
    first, second, go = host.lane(), host.lane(), host.address + 64
    ffi.memmove(ffi.cast("char *", go), bytes(4), 4)
    before = [host.launch(first, "until", go, 1), *(host.launch(first, "add", host.address, 1) for _ in range(64))]
    behind = host.launch(second, "wipe", host.address, host.address + 128, 1, after=tuple(before))
    last = host.launch(second, "add", host.address, 2)
    ffi.memmove(ffi.cast("char *", go), bytes([1, 0, 0, 0]), 4)
    assert host.statuses(behind, last) == [0, 0]
    assert host.integer() == 2


def test_an_end_is_notified_without_a_wait(host: Host) -> None:
    told = threading.Event()
    callback = ffi.callback("void(void *)", lambda _: told.set())
    event = host.launch(host.lane(), "add", host.address, 1)
    assert host.calls.notify(event, callback, ffi.NULL) == cl.CL_SUCCESS
    assert told.wait()
    assert host.calls.status(event) == cl.CL_COMPLETE


def test_a_lane_with_profiling_gives_times(host: Host) -> None:
    before, begin, end = time.monotonic_ns(), ffi.new("uint64_t *"), ffi.new("uint64_t *")
    event = host.launch(host.lane(profiling=True), "add", host.address, 1)
    assert host.statuses(event) == [0]
    host.calls.times(event, begin, end)
    assert before < begin[0] <= end[0] < time.monotonic_ns()


def test_queues_out_of_order_get_no_lane(host: Host) -> None:
    assert host.lane(in_order=False) == ffi.NULL


@pytest.mark.parametrize(
    "operation",
    [
        {"kind": 9},
        {"kind": lib.CARRIED_LAUNCH, "count": 0},
        {"kind": lib.CARRIED_MOVE, "from": 4096, "to": 4096, "size": [64, 1, 1]},
        {"kind": lib.CARRIED_FILL, "to": 4096, "size": [64, 1, 1]},
    ],
)
def test_the_board_process_refuses_what_it_cannot_do(host: Host, operation: dict[str, Any]) -> None:
    lane, process = host.lane(), host.engine.process
    if operation["kind"] == lib.CARRIED_LAUNCH:
        operation = operation | {"kernel": host.program.kernel("add").carried | 0xFFFF}
    assert host.statuses(host.submit(lane, operation)) == [cl.CL_OUT_OF_RESOURCES]
    assert host.statuses(host.launch(lane, "add", host.address, 1)) == [0]
    assert host.engine.process is process


def test_moves_of_the_hosts_own_memory_are_not_for_the_board_process(host: Host) -> None:
    own = ffi.new("char[64]")
    outside = int(ffi.cast("uintptr_t", own))
    carrier = host.engine.carrier()
    assert carrier is not None

    def is_reached(source: int, target: int) -> bool:
        carried = ffi.new(
            "struct carried *", {"kind": lib.CARRIED_MOVE, "from": source, "to": target, "size": [64, 1, 1]}
        )
        return bool(host.functions.reaches(carrier.context, carried))

    assert is_reached(host.address, host.address + 64)
    assert not is_reached(outside, host.address)
    assert not is_reached(host.address, outside)


def test_what_waits_for_a_failed_command_does_not_run(host: Host) -> None:
    first, second = host.lane(), host.lane()
    go = host.address + 64
    ffi.memmove(ffi.cast("char *", go), bytes(4), 4)
    spins, bad = host.launch(first, "spin", 1), host.launch(second, "bad_later", go, 1)
    behind = host.launch(first, "add", host.address, 1, after=(bad,))
    ffi.memmove(ffi.cast("char *", go), bytes([1, 0, 0, 0]), 4)
    assert host.statuses(bad, spins, behind) == [-5, -5, WAIT_LIST_FAILED]
    assert host.launch(first, "add", host.address, 1, after=(bad,)) == WAIT_LIST_FAILED
    assert host.integer() == 0
    assert (
        "'bad_later' (or a kernel that ran at the same time: spin) crashed the board process with SIGILL"
        in host.words(1)
    )


def test_commands_behind_the_one_that_ends_a_board_process_run_in_another_one(host: Host) -> None:
    lane, process = host.lane(), host.engine.process
    adds = [host.launch(lane, "add", host.address, 1) for _ in range(2)]
    events = [*adds, host.launch(lane, "spin", 1), *(host.launch(lane, "add", host.address, 1) for _ in range(2))]
    host.await_ends(*adds)
    process.stop("was stopped by the test")
    assert host.statuses(*events) == [0, 0, -5, 0, 0]
    assert "kernel 'spin' was stopped by the test" in host.words(2)
    assert host.integer() == 4
    assert host.engine.process is not process


def test_a_kernel_has_another_number_in_another_board_process(host: Host) -> None:
    lane, number = host.lane(), host.program.kernel("add").carried
    host.lose_process()
    assert host.statuses(host.launch(lane, "add", host.address, 1, number=number)) == [0]
    assert host.number_in_another_process("add") != number
    assert host.statuses(host.launch(lane, "add", host.address, 1)) == [0]
    assert host.integer() == 2


def test_the_rest_fails_when_command_after_command_ends_the_board_process(host: Host) -> None:
    lane, number = host.lane(), host.program.kernel("bad").carried
    spin = host.launch(lane, "spin", 1)
    events = [spin, *(host.launch(lane, "bad", 1, number=number) for _ in range(4))]
    host.engine.process.stop("was stopped by the test")
    assert host.statuses(*events) == [-5] * 5
    assert all("crashed the board process with SIGILL" in host.words(index) for index in (1, 2))
    last = "a launch of kernel 'bad' was not run: the board process died of SIGILL, 3 times in a row"
    assert [host.words(index) for index in (3, 4)] == [last] * 2


def test_ctrl_c_ends_the_command_that_runs_and_those_behind_it(host: Host) -> None:
    lane = host.lane()
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    lib.interrupts_watch()
    try:
        events = [host.launch(lane, "spin", 1), host.launch(lane, "spin", 0)]
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        assert host.statuses(*events) == [-5, -5]
    finally:
        signal.signal(signal.SIGINT, before)
    assert "'spin' was stopped by Ctrl-C" in host.words(0)
    assert "'spin' was not run: Ctrl-C stopped those before it" in host.words(1)


def test_an_end_that_cannot_be_is_no_end(host: Host) -> None:
    """A kernel may have written over the ring."""
    lane, process = host.lane(), host.engine.process
    events = [host.launch(lane, "spin", 1), host.launch(lane, "spin", 0)]
    ffi.memmove(ffi.cast("char *", host.engine.carried.ring), b"\x7f" * 8768, 8768)
    assert host.statuses(*events) == [-5, -5]
    assert "overwrote memory that the driver and the board process share" in host.words(0)
    assert "overwrote what says which of the launches before it have ended" in host.words(1)
    assert not process.alive


@pytest.mark.parametrize("is_notified", [False, True])
def test_an_end_that_a_kernel_overwrites_is_missed(memory: Stretch, is_notified: bool) -> None:
    """A kernel that zeroes the ring removes the ends of those before it, which would be waited for forever."""
    statuses = [0, 0]
    while statuses == [0, 0]:  # as long as the watching thread notes the first end before it is overwritten
        host = Host(memory)
        try:
            statuses = statuses_after_overwriting(host, is_notified)
        finally:
            host.close()
    assert statuses == [-5, -5]
    assert "overwrote memory that the driver and the board process share" in host.words(0)


def statuses_after_overwriting(host: Host, is_notified: bool) -> list[int]:
    lane, ring = host.lane(), host.engine.carried.ring
    ends = ffi.cast("uint32_t *", ring)
    first = host.launch(lane, "spin", 0)
    while not any(ends[word] for word in range(END_WORDS, RING_WORDS, END_STEP)):
        time.sleep(0.001)
    second = host.launch(lane, "wipe", ring, host.address, RING_WORDS)
    while not host.integer():
        time.sleep(0.001)
    if is_notified:
        told = threading.Event()
        call = ffi.callback("void(void *)", lambda data: told.set())
        assert host.calls.notify(second, call, ffi.NULL) == cl.CL_SUCCESS
        told.wait()
    return host.statuses(first, second)


@pytest.mark.parametrize(
    "words",
    [{0: 1, ORDER: SLOTS}, {0: 2, RING_WORDS: 5}],
    ids=["in no slot", "the same again"],
)
def test_a_board_process_that_finds_other_numbers_in_the_ring_says_so(words: dict[int, int]) -> None:
    """It counts more ends than there are, for which the host stops it."""
    ring = ffi.new("uint32_t[]", int(lib.ring_bytes()) // 4 + 16)
    first = -int(ffi.cast("uintptr_t", ring)) % 64 // 4
    for word, value in words.items():
        ring[first + word] = value
    count = os.eventfd(0, os.EFD_NONBLOCK)
    lib.ring_serve(int(ffi.cast("uintptr_t", ring + first)), 0, 0, -1, count)
    assert os.eventfd_read(count) > SLOTS
    os.close(count)


def test_a_command_that_runs_too_long_ends(memory: Stretch, set_option: SetOption) -> None:
    set_option(config.KERNEL_TIMEOUT, "0.3")
    try:
        host = Host(memory)
        lane = host.lane()
        events = [host.launch(lane, "spin", 0), host.launch(lane, "spin", 1), host.launch(lane, "spin", 0)]
        host.await_ends(*events)
        assert host.statuses(*events) == [0, -5, 0]
        assert "'spin' ran longer than 0.3 s (FPGART_KERNEL_TIMEOUT)" in host.words(1)
        host.close()
    except ProcessError as error:
        pytest.skip(str(error))


def test_the_watching_thread_may_forget_a_process_while_its_end_is_told(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = host.engine.carried
    detached = lib.commands_detach

    class Library:
        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        @staticmethod
        def commands_detach(*values: Any) -> None:
            """Returns when all has been done that the watching thread does next."""
            detached(*values)
            watching = threading.Thread(target=carried._run_left)
            watching.start()
            watching.join()

    monkeypatch.setattr("fpgart.engine.isolated.carried.lib", Library())
    host.engine.process.stop("is not needed any more")
    host.engine._process.ended()
    assert carried._process is None


def test_a_board_process_may_die_while_what_another_one_left_runs(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a command of its own that somebody waits for."""
    lane, carried, number = host.lane(), host.engine.carried, host.program.kernel("add").carried
    host.lose_process()
    other = host.number_in_another_process("add")
    process, launch = host.engine.process, carried._launch

    def launch_and_stop(*arguments: Any) -> None:
        launch(*arguments)
        process.stop("was stopped by the test")
        while process.alive:
            time.sleep(0.001)

    monkeypatch.setattr(carried, "_launch", launch_and_stop)
    assert host.statuses(host.launch(lane, "add", host.address, 1, number=number)) == [0]
    monkeypatch.undo()
    assert host.statuses(host.launch(lane, "add", host.address, 1, number=other))[0] in (0, -5), "it ends"
    assert host.statuses(host.launch(lane, "add", host.address, 1, number=other)) == [0]
