"""Messages between a host and its board process: they arrive unchanged, and no bytes crash the reader."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from effort import EFFORT
from fpgart._native import lib
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import SetOption, at_once
from processes import finished

from fpgart.base import config
from fpgart.base.errors import OutOfHostMemory, OutOfResources
from fpgart.board.stretch import Stretch
from fpgart.boardprocess.served import Served
from fpgart.boardprocess.session import Session, framed_answer
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import BYTES, BuiltProgram, EngineKernel, KernelLaunch, NoEngine, pack_arguments
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError, decoded, encoded
from fpgart.engine.isolated.engine import IsolatedEngine
from fpgart.engine.isolated.loss import BoardLost, Loss
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.process import BoardProcess, Lane, start_process
from fpgart.engine.isolated.spawning import ProcessError, Spawned, spawn
from fpgart.engine.isolated.warming import warm_up
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, PipeArgument

numbers = st.integers(-(1 << 63), (1 << 63) - 1)
texts = st.binary(max_size=40).map(lambda data: data.decode(errors="surrogateescape"))
pipes = st.builds(PipeArgument, texts, st.booleans(), st.booleans(), st.booleans(), numbers)
arguments = st.builds(ArgumentInterface, texts, texts, numbers, numbers, numbers, texts, st.none() | pipes)
interfaces = st.builds(
    KernelInterface, texts, st.lists(arguments, max_size=3).map(tuple), texts, st.tuples(numbers, numbers, numbers)
)
st.register_type_strategy(int, numbers)
st.register_type_strategy(str, texts)
st.register_type_strategy(KernelInterface, interfaces)
messages = st.sampled_from(m.KINDS).flatmap(st.from_type)
REQUESTS = tuple(
    kind for kind in m.KINDS if "nswered by `" in (kind.__doc__ or "") and kind not in (m.Hello, m.OpenLane)
)


@settings(max_examples=100 * EFFORT)
@given(messages)
def test_a_message_survives_the_way(message: Any) -> None:
    assert decoded(type(message), encoded(message)) == message


@settings(max_examples=200 * EFFORT)
@given(st.sampled_from(m.KINDS), st.binary(max_size=200))
def test_bytes_are_a_message_or_an_error(kind: type[Any], data: bytes) -> None:
    try:
        message = decoded(kind, data)
    except ProtocolError:
        return
    assert encoded(message) == data


@settings(max_examples=100 * EFFORT)
@given(messages, st.data())
def test_a_message_that_is_cut_off_is_an_error(message: Any, data: st.DataObject) -> None:
    content = encoded(message)
    if content:
        end = data.draw(st.integers(0, len(content) - 1))
        with pytest.raises(ProtocolError):
            decoded(type(message), content[:end])


@given(st.binary(min_size=8, max_size=8))
def test_a_header_announces_a_kind_and_a_size_that_exist(data: bytes) -> None:
    length, number = struct.unpack("<II", data)
    try:
        found, kind = m.header(data)
    except ProtocolError:
        assert number >= len(m.KINDS) or length > 1 << 30
    else:
        assert (found, kind) == (length, m.KINDS[number])


@pytest.fixture(scope="module")
def process(memory: Stretch) -> Iterator[BoardProcess]:
    """A board process, whose engine may be none: it answers all the same."""
    made = BoardProcess(memory)
    yield made
    made.stop("was not needed any more")
    made.ended()


def lives(process: BoardProcess) -> bool:
    """True if it answers on a new lane."""
    lanes, process._lanes = process._lanes, []
    try:
        return bool(process.ask(m.DeviceInfo(0x102B), m.Data) is not None)
    finally:
        process._lanes += lanes


@settings(max_examples=20 * EFFORT)
@given(st.lists(st.sampled_from(REQUESTS).flatmap(st.from_type), min_size=1, max_size=10))
def test_no_request_ends_the_board_process(process: BoardProcess, requests: list[Any]) -> None:
    lane = process.take()
    for request in requests:
        assert process.exchange(lane, request) is not None
    process.give_back(lane)
    assert lives(process)


@settings(max_examples=10 * EFFORT)
@given(st.binary(min_size=1, max_size=300))
def test_what_is_no_message_closes_the_lane_and_no_more(process: BoardProcess, data: bytes) -> None:
    lane = process.take()
    lane.connection.sendall(data)
    lane.connection.shutdown(socket.SHUT_WR)
    lib.lane_announce(lane.address)
    try:
        while lane.connection.recv(4096):
            lib.lane_announce(lane.address)
    except ConnectionResetError:
        assert process.alive
    lane.connection.close()
    assert lives(process)


words = st.integers(0, (1 << 32) - 1)


@settings(max_examples=50 * EFFORT)
@given(words, words, st.binary(max_size=200), words, st.binary(min_size=72, max_size=72), st.booleans())
def test_a_launch_of_nonsense_is_refused(
    process: BoardProcess, kernel: int, size: int, image: bytes, dimensions: int, sizes: bytes, has_local: bool
) -> None:
    """The kernel's number is one that was never given; the size of the arguments may be another than theirs."""
    lane = process.take()
    lib.lane_launch(lane.address, kernel, image, len(image), dimensions, sizes, has_local)
    assert lib.lane_wait(lane.address, process.life, 20_000, lib.interrupts()) == lib.LANE_ANSWERED
    assert lib.lane_result(lane.address) >> 32 == lib.LANE_REFUSED
    process.give_back(lane)


def test_a_file_that_comes_with_a_message_is_not_for_programs_that_the_process_starts() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        m.send_with_descriptors(ours, m.Done(), [ours.fileno(), theirs.fileno()])
        message, descriptors = m.receive_with_descriptors(theirs, 2)
    assert (message, [os.get_inheritable(each) for each in descriptors]) == (m.Done(), [False, False])
    m.close_all(descriptors)


@pytest.mark.parametrize("size", [3, 8, 11])
def test_a_message_that_ends_too_early_is_an_error(size: int) -> None:
    for receive in (m.receive, lambda connection: m.receive_with_descriptors(connection, 1)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(m.framed(m.Number(7))[:size])
            ours.shutdown(socket.SHUT_WR)
            with pytest.raises(ProtocolError, match="the other side closed"):
                receive(theirs)


def test_an_answer_that_is_too_large_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class LongWinded(NoEngine):
        def device_info(self, query: int) -> bytes:
            return bytes(query)

    monkeypatch.setattr(m, "MOST_BYTES", 1000)
    data = framed_answer(Served(LongWinded("")), m.DeviceInfo(1000))
    length, kind = m.header(data[: m.HEADER.size])
    answer = decoded(kind, data[m.HEADER.size :])
    assert (length, answer) == (len(data) - 8, m.Failed(-5, "a Data of 1004 bytes is too large (1000)"))


def test_a_lane_that_gets_no_queue_is_refused(stretch: Stretch, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = choose_engine()
    if not isinstance(engine, OpenCLEngine):
        pytest.skip("queues are those of another driver")
    ours, theirs = socket.socketpair()
    session = Session(theirs)
    session._begin, session._size, session._served = stretch.begin, stretch.size, Served(engine)

    def no_queue() -> int:
        raise OutOfHostMemory("there is no queue")

    monkeypatch.setattr(engine.queues, "acquire", no_queue)
    lane = stretch.allocate(lib.LANE_BYTES)
    with ours, theirs, pytest.raises(OutOfHostMemory, match="there is no queue"):
        session._open_lane(m.OpenLane(lane), theirs.fileno())


def test_a_board_process_that_says_nothing_is_waited_for_no_longer_than_it_may_take(
    memory: Stretch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fpgart.engine.isolated.process.GREETING_S", 0.1)
    session, theirs = socket.socketpair()
    life, keepers = socket.socketpair()
    output, error = os.pipe(), os.pipe()
    keepers.sendall(struct.pack("i", 9))
    with theirs, keepers, pytest.raises(ProcessError, match=r"did not answer for 0.1 s, and was stopped"):
        start_process(memory, Spawned(session, life, output[0], error[0]))
    os.close(output[1])
    os.close(error[1])


def test_a_board_process_that_loads_its_engine_before_the_greeting_answers_it(memory: Stretch) -> None:
    spawned = spawn()
    warm_up(spawned)
    made = BoardProcess(memory, spawned)
    assert lives(made)
    made.stop("was not needed any more")
    made.ended()


def test_the_status_of_a_process_that_has_to_be_ended_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    session, theirs = socket.socketpair()
    life, keepers = socket.socketpair()
    monkeypatch.setattr(Spawned, "end", lambda _: keepers.send(struct.pack("i", 9)))
    with session, theirs, life, keepers:
        assert Spawned(session, life, -1, -1).await_status(0.01) == 9


def test_what_is_released_meanwhile_is_told_once(process: BoardProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    exchange = process.exchange

    def exchanged(lane: Lane, request: object) -> object:
        if isinstance(request, m.Release):
            told.extend(request.programs)
        return exchange(lane, request)

    def forget(first: int) -> None:
        for number in range(first, first + 1000):
            process.forget(program=number)

    monkeypatch.setattr(process, "exchange", exchanged)
    threads = [threading.Thread(target=forget, args=(1000 * first,)) for first in range(1, 5)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        process.ask(m.DeviceInfo(0), m.Data)
    process.ask(m.DeviceInfo(0), m.Data)
    assert sorted(number for number in told if number) == list(range(1000, 5000))


def test_a_request_that_is_no_message_fails_and_leaves_the_board_process_alone(process: BoardProcess) -> None:
    lane = process.take()
    process.give_back(lane)
    with pytest.raises(OutOfResources, match="9223372036854775808 is not a number of 64 bits with a sign"):
        process.ask(m.SuggestedLocalSize(1, (), (0,), (1 << 63,)), m.Numbers)
    assert process.alive
    assert process.take() is lane
    process.give_back(lane)
    assert lives(process)


def test_a_session_that_breaks_off_ends_the_board_process_by_itself(memory: Stretch) -> None:
    process = BoardProcess(memory)
    process._session.sendall(b"\xff" * 64)
    process._session.shutdown(socket.SHUT_WR)
    loss = process.ended()
    assert (loss.status, loss.signal) == (0, 0)


def test_another_version_is_refused(memory: Stretch) -> None:
    process = BoardProcess(memory)
    hello = m.Hello(m.VERSION + 1, "0.0", 0, 0, ())
    m.send(process._session, hello)
    answer = m.receive(process._session)
    assert isinstance(answer, m.Failed)
    assert f"version {m.VERSION + 1} of fpgart 0.0" in answer.words
    process.stop("was not needed any more")
    process.ended()


WITHOUT_HANDLER = """
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as in hosts that are not written in Python
from fpgart.board.stretch import Stretch
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.loss import BoardLost
from fpgart.engine.isolated.process import BoardProcess, Lane
process = BoardProcess(Stretch())
lanes = [process.take() for _ in range(2)]
for lane in lanes:
    process.give_back(lane)
process.stop("was stopped by the test")
while process.alive:
    pass
try:
    process.ask(m.DeviceInfo(0), m.Data)
except BoardLost as lost:
    print(lost)
process.stop("is stopped again")
"""


def test_a_host_gets_no_signal_when_its_board_process_has_gone() -> None:
    done = finished(sys.executable, "-c", WITHOUT_HANDLER)
    words = "the board process was stopped: a kernel was stopped by the test during a DeviceInfo request"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{words}\n", f"fpgart: {words}\n")


OWN_ENVIRONMENT = """
import ctypes
from fpgart._native import lib
from fpgart.engine.driver import set_variable
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
set_variable("FPGART_TEST_HOSTS", "1")
lib.environment_is_ours()
set_variable("FPGART_TEST_OURS", "2")
set_variable("FPGART_TEST_USERS", "3", unless_set=True)
print(*(getenv(name) for name in (b"FPGART_TEST_HOSTS", b"FPGART_TEST_OURS", b"FPGART_TEST_USERS")))
"""


def test_drivers_of_a_process_without_a_host_hear_of_variables_from_its_environment() -> None:
    environment = os.environ | {"FPGART_TEST_USERS": "4"}
    done = finished(sys.executable, "-c", OWN_ENVIRONMENT, env=environment)
    assert (done.stdout, done.stderr) == ("None b'2' b'4'\n", "")


class CountingStretch(Stretch):
    """Knows what is allocated in it."""

    def __init__(self) -> None:
        super().__init__()
        self.allocated: set[int] = set()

    def allocate(self, size: int, alignment: int = 4096, *, huge: bool = False) -> int:
        found = super().allocate(size, alignment, huge=huge)
        self.allocated.add(found)
        return found

    def free(self, address: int) -> None:
        super().free(address)
        self.allocated.remove(address)


@pytest.fixture(scope="module")
def counting() -> CountingStretch:
    """For one board process after the other: a process has room for few stretches."""
    return CountingStretch()


KEPT: list[BuiltProgram] = []
"""Programs whose kernels a test uses: those of the runtime keep them."""


@pytest.fixture
def engine(counting: CountingStretch) -> Iterator[IsolatedEngine]:
    """An engine in a board process."""
    try:
        made = IsolatedEngine(counting)
    except ProcessError as error:
        pytest.skip(str(error))
    yield made
    KEPT.clear()
    made.process.stop("was not needed any more")
    made._process.ended()


def test_an_engine_with_buffers_of_its_own_runs_in_no_board_process(
    counting: CountingStretch, engine: IsolatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FPGART_ENGINE_BUFFERS", "own")
    with pytest.raises(ProcessError, match="works on buffers of its own; it runs only in the host's process"):
        IsolatedEngine(counting)


SIZES = struct.pack("9Q", 0, 0, 0, 1, 1, 1, 1, 1, 1)


def spinning(engine: IsolatedEngine) -> EngineKernel:
    """A kernel that ends if its argument is 0."""
    program = engine.from_source("kernel void spin(int n) { for (volatile int i = 0; n && i < 10; i -= n) ; }")
    program.build("")
    program.kernels({})
    KEPT.append(program)
    kernel = program.kernel("spin")
    kernel.launch(KernelLaunch(arguments_of(0), 1, SIZES, True))
    kernel.launched = True
    return kernel


def arguments_of(number: int) -> bytes:
    return pack_arguments([(BYTES, 4, struct.pack("i", number))])


def test_kernels_that_begin_together_after_a_fault_talk_through_the_same_channels(engine: IsolatedEngine) -> None:
    program = engine.from_source(
        "#pragma OPENCL EXTENSION cl_intel_channels : enable\n"
        "channel int between;"
        "kernel void give(int n) { write_channel_intel(between, n); }"
        "kernel void take(int n) { read_channel_intel(between); }"
    )
    program.build("")
    network = program.network()
    assert isinstance(network, IsolatedNetwork)
    engine.process.stop("was stopped by the test")
    engine._process.ended()
    process = engine.process
    found: list[int] = []
    at_once(*[lambda: found.append(network.on(process))] * 4)
    assert len(set(found)) == 1
    network.stop()  # the new process knows it


@pytest.mark.parametrize("dies", ["of a request", "of a launch"])
def test_a_board_process_that_has_died_leaves_no_memory_behind(
    dies: str, engine: IsolatedEngine, counting: CountingStretch
) -> None:
    process = engine.process
    before = counting.allocated - {lane.address for lane in process._lanes}
    kernel = spinning(engine)
    lanes = [process.take() for _ in range(3)]
    for lane in lanes:
        process.give_back(lane)
    if dies == "of a request":
        process.stop("was stopped by the test")
        select.select([process.life], [], [])  # it may answer until it has died
        with pytest.raises(BoardLost):
            process.ask(m.DeviceInfo(0), m.Data)
    else:
        threading.Timer(0.1, process.stop, ["was stopped by the test"]).start()
        with pytest.raises(BoardLost):
            kernel.launch(KernelLaunch(arguments_of(1), 1, SIZES, True))
    assert counting.allocated == before


def test_signals_of_the_host_do_not_let_a_kernel_run_longer(engine: IsolatedEngine, set_option: SetOption) -> None:
    kernel, process = spinning(engine), engine.process
    set_option(config.KERNEL_TIMEOUT, "0.3")
    guard = threading.Timer(20, process.stop, ["was never ended"])
    guard.start()
    before = signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        with pytest.raises(BoardLost, match="ran longer than"):
            kernel.launch(KernelLaunch(arguments_of(1), 1, SIZES, True))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        guard.cancel()


class EmptiedMeanwhile(list[Lane]):
    """Lanes that another thread has taken when this one looks for them."""

    def __bool__(self) -> bool:
        return True


def test_lanes_of_a_process_that_has_died_may_be_freed_by_several_threads() -> None:
    process = BoardProcess.__new__(BoardProcess)
    process._loss, process._lanes = Loss(0), EmptiedMeanwhile()
    process._free_lanes()
    assert process._lanes == []
