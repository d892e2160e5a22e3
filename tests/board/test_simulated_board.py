# SPDX-License-Identifier: Apache-2.0
"""A board's memory, whom it tells of reads and writes, transfers that go on by themselves, and stretches of memory."""

from __future__ import annotations

import contextvars
import ctypes
import gc
import os
import threading
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from fpgart._native import lib

from fpgart.board import in_flight, simulated_board
from fpgart.board.catalogue import describe
from fpgart.board.in_flight import SHORT, InFlight
from fpgart.board.mmd import BoardError, Capability, Info
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.board.stretch import PAGE, Stretch, _begins

KIB, GIB, TIB = 1 << 10, 1 << 30, 1 << 40


@pytest.fixture
def board() -> Iterator[SimulatedBoard]:
    made = SimulatedBoard(describe("a10_ref"))
    made.open()
    yield made
    made.close()


class Elsewhere:
    """Notes what it is told, and with which bytes at the begin of the range."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int, bytes]] = []

    def fetch(self, begin: int, end: int) -> None:
        self.told.append(("fetch", begin, end, ctypes.string_at(begin, 2)))

    def overwrite(self, begin: int, end: int) -> None:
        self.told.append(("overwrite", begin, end, ctypes.string_at(begin, 2)))

    def forget(self, begin: int, end: int) -> None:
        self.told.append(("forget", begin, end, b""))


# Who has newer bytes


def test_who_has_newer_bytes_hears_of_each_write_before_and_after_it(board: SimulatedBoard) -> None:
    elsewhere = Elsewhere()
    board.keep_elsewhere(elsewhere)
    source = ctypes.create_string_buffer(b"ab", 2)
    board.write(ctypes.addressof(source), KIB, 2)
    begin = board.aperture(KIB)
    assert elsewhere.told == [
        ("overwrite", begin, begin + 2, b"\0\0"),
        ("overwrite", begin, begin + 2, b"ab"),
    ]


def put(board: SimulatedBoard, data: bytes) -> None:
    """Writes bytes to KIB."""
    source = ctypes.create_string_buffer(data, len(data))  # a name keeps it alive until the board has read it
    board.write(ctypes.addressof(source), KIB, len(data))


def test_who_has_newer_bytes_is_asked_for_them_before_each_read(board: SimulatedBoard) -> None:
    put(board, b"ab")
    elsewhere, target = Elsewhere(), ctypes.create_string_buffer(2)
    board.keep_elsewhere(elsewhere)
    board.read(KIB, ctypes.addressof(target), 2)
    begin = board.aperture(KIB)
    assert elsewhere.told == [("fetch", begin, begin + 2, b"ab")]


def test_a_copy_asks_for_its_source_and_tells_of_its_target(board: SimulatedBoard) -> None:
    put(board, b"ab")
    elsewhere = Elsewhere()
    board.keep_elsewhere(elsewhere)
    board.copy(KIB, 4 * KIB, 2)
    source, target = board.aperture(KIB), board.aperture(4 * KIB)
    assert elsewhere.told == [
        ("fetch", source, source + 2, b"ab"),
        ("overwrite", target, target + 2, b"\0\0"),
        ("overwrite", target, target + 2, b"ab"),
    ]


def test_what_is_taken_or_given_back_has_no_contents(board: SimulatedBoard) -> None:
    elsewhere = Elsewhere()
    board.keep_elsewhere(elsewhere)
    board.in_use(KIB, 100)
    board.unused(4 * KIB, 200)
    places = [(board.aperture(KIB), 100), (board.aperture(4 * KIB), 200)]
    assert elsewhere.told == [("forget", begin, begin + size, b"") for begin, size in places]


def test_each_call_passes_by_who_has_newer_bytes(board: SimulatedBoard) -> None:
    assert board.in_c
    board.keep_elsewhere(Elsewhere())
    assert board.in_c == 0


# Memory


def test_an_open_board_keeps_no_file_open() -> None:
    made = SimulatedBoard(describe("a10_ref"))
    before = set(os.listdir("/proc/self/fd"))
    made.open()
    assert set(os.listdir("/proc/self/fd")) <= before
    made.close()


def test_a_board_whose_memory_is_not_to_be_had_keeps_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, size: int) -> None:
        raise OSError(27, "File too large")

    made = SimulatedBoard(describe("a10_ref"))
    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(BoardError, match="File too large"):
        made.open()
    assert set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize(("size", "alignment"), [((1 << 64) - 4096, 64), ((1 << 64) - 100, 2 << 20), (1, 1 << 63)])
def test_host_memory_larger_than_any_computer_has_is_refused(board: SimulatedBoard, size: int, alignment: int) -> None:
    assert board.host_alloc(size, alignment) == 0


def test_host_memory_is_zeros_where_it_was_asked_for_and_counted(board: SimulatedBoard) -> None:
    address = board.host_alloc(100, 1 << 16)
    assert address % (1 << 16) == 0
    assert ctypes.string_at(address, 100) == bytes(100)
    board.free(address)
    traffic = board.traffic
    assert (traffic["host_alloc"].calls, traffic["host_alloc"].bytes, traffic["free"].calls) == (1, 100, 1)


def test_host_memory_that_is_freed_is_given_back_whole(board: SimulatedBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    address = board.host_alloc(100, 1 << 16)
    given_back: list[tuple[int, int]] = []

    def unmap(mapping: int, length: int) -> None:
        given_back.append((mapping, length))
        lib.unmap(mapping, length)

    monkeypatch.setattr(simulated_board, "lib", SimpleNamespace(unmap=unmap))
    board.free(address)
    ((mapping, length),) = given_back
    assert mapping <= address <= address + 100 <= mapping + length


@pytest.mark.parametrize(
    ("name", "host", "shared", "device"),
    [("usm_s10", True, True, True), ("a10_ref", False, False, True), ("hetero", False, False, False)],
)
def test_a_board_can_do_what_one_of_its_memories_is_for(name: str, host: bool, shared: bool, device: bool) -> None:
    made = SimulatedBoard(describe(name))
    kinds = [Info.HOST_MEM_CAPABILITIES, Info.SHARED_MEM_CAPABILITIES, Info.DEVICE_MEM_CAPABILITIES]
    able = [bool(int(made.get_info(kind)) & Capability.SUPPORTED) for kind in kinds]
    assert able == [host, shared, device]


# Transfers that go on by themselves


LONG = SHORT + 1
"""The bytes of a transfer that gets a thread."""


class Thing:
    """An object that weak references can refer to."""


class Telling(threading.Condition):
    """Sets an event as soon as a thread waits."""

    def __init__(self, waits: threading.Event) -> None:
        super().__init__()
        self.waits = waits

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.set()  # whoever notifies needs the lock, which this thread has until it sleeps
        return super().wait(timeout)


def join_transfers() -> None:
    for thread in threading.enumerate():
        if thread.name == "fpgart DMA":
            thread.join()


def test_a_transfer_is_told_to_have_ended_once() -> None:
    flight, told = InFlight(), list[tuple[int, BoardError | None]]()
    flight.handler = lambda operation, error: told.append((operation, error))
    assert not flight.wait()
    flight.start(7, lambda: None, LONG)
    join_transfers()
    assert told == [(7, None)]
    assert flight.wait()
    assert not flight.wait()


def test_who_waits_is_woken_by_the_end_of_a_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit of one call."""
    monkeypatch.setattr(in_flight, "PATIENCE_S", None)
    flight, waits = InFlight(), threading.Event()
    flight.start(1, waits.wait, LONG)
    monkeypatch.setattr(flight, "_ended", Telling(waits))
    assert flight.wait()
    flight.start(2, lambda: None, LONG)
    join_transfers()
    assert flight.wait()


def test_the_error_of_a_transfer_is_told_and_kept_by_nobody() -> None:
    flight, told = InFlight(), list[str]()
    flight.handler = lambda operation, error: told.append(f"{operation} {error}")
    thing = Thing()
    alive = weakref.ref(thing)

    def fail(thing: Thing) -> None:
        raise BoardError("no link")

    gc.disable()
    try:
        flight.start(3, lambda thing=thing: fail(thing), LONG)  # type: ignore[misc]
        del thing
        join_transfers()
        assert told == ["3 no link"]
        assert alive() is None
    finally:
        gc.enable()


def test_whatever_a_transfer_raises_is_told_to_who_waits_for_it() -> None:
    flight, told = InFlight(), list[object]()
    flight.handler = lambda operation, error: told.extend((type(error), str(error)))
    flight.start(1, lambda: [].pop(), LONG)  # type: ignore[arg-type, return-value]
    join_transfers()
    assert told == [IndexError, "pop from empty list"]
    assert flight.wait()


def test_a_transfer_without_a_thread_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    flight, done = InFlight(), list[int]()
    flight.start(1, lambda: done.append(threading.get_ident()), LONG)
    assert done == [threading.get_ident()]
    assert flight.wait()


def test_a_short_transfer_has_ended_when_it_was_started_and_needs_no_thread() -> None:
    flight, ran, told = InFlight(), list[int](), list[tuple[int, BoardError | None]]()
    flight.handler = lambda operation, error: told.append((operation, error))
    flight.start(1, lambda: ran.append(threading.get_ident()), SHORT)
    assert ran == [threading.get_ident()]
    assert told == [(1, None)]
    assert flight.wait()
    flight.start(2, lambda: ran.append(threading.get_ident()), LONG)
    join_transfers()
    assert ran[1:] != [threading.get_ident()]


def test_a_transfer_has_the_context_of_who_began_it() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="another's")
    variable.set("its own")
    flight, seen = InFlight(), list[str]()
    flight.start(1, lambda: seen.append(variable.get()), LONG)
    join_transfers()
    assert seen == ["its own"]


# Stretches


def test_stretches_begin_eight_tebibytes_apart_and_there_are_eight() -> None:
    assert list(_begins()) == [16 * TIB + 8 * TIB * number for number in range(8)]


def test_stretches_lie_apart(stretch: Stretch) -> None:
    assert stretch.begin in _begins()
    assert (stretch.control, stretch.size) == (stretch.begin, 4 * TIB)
    other = Stretch()
    assert other.begin in _begins()
    assert other.begin != stretch.begin
    lib.unmap(other.control, PAGE)
    os.close(other.descriptor)


def test_parts_are_whole_pages_behind_the_first_and_the_file_is_as_long_as_they_reach(stretch: Stretch) -> None:
    first, second = stretch.allocate(1), stretch.allocate(PAGE + 1)
    assert [stretch.offset(first), stretch.offset(second)] == [PAGE, 2 * PAGE]
    assert os.fstat(stretch.descriptor).st_size == 4 * PAGE
    aligned = stretch.allocate(PAGE, 16 * PAGE)
    assert aligned % (16 * PAGE) == 0
    for part in (first, second, aligned):
        stretch.free(part)


def test_a_part_is_zeros_whoever_had_it_before(stretch: Stretch) -> None:
    first = stretch.allocate(PAGE)
    assert ctypes.string_at(first, PAGE) == bytes(PAGE)
    ctypes.memset(first, 1, PAGE)
    stretch.free(first)
    again = stretch.allocate(PAGE)
    assert again == first
    assert ctypes.string_at(again, PAGE) == bytes(PAGE)
    stretch.free(again)


def test_a_part_may_be_freed_by_a_destructor_in_the_middle_of_an_allocation(stretch: Stretch) -> None:
    first = stretch.allocate(PAGE)
    with stretch._lock:
        stretch.free(first)
    assert stretch.allocate(PAGE) == first
    stretch.free(first)


def test_a_stretch_without_room_says_so(stretch: Stretch) -> None:
    assert stretch.allocate(4 * TIB - PAGE + 1) == 0


def test_what_lies_in_a_stretch_already_is_left_alone(stretch: Stretch) -> None:
    there = int(lib.map_part(stretch.descriptor, 0, stretch.begin + PAGE, PAGE, False))
    assert there == stretch.begin + PAGE
    assert stretch.allocate(PAGE) == stretch.begin + 2 * PAGE
    lib.unmap(there, PAGE)
    stretch.free(stretch.begin + 2 * PAGE)


def test_a_system_without_room_for_another_stretch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fpgart.board.stretch._begins", lambda: iter(()))
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(BoardError, match="no addresses from 0x100000000000 on are free"):
        Stretch()
    assert set(os.listdir("/proc/self/fd")) <= before
