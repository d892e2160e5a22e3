"""Messages between a host and its board process: they arrive unchanged, and no bytes crash the reader."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from effort import EFFORT
from fpgart._native import ffi, lib
from hypothesis import given, settings
from hypothesis import strategies as st

from fpgart.base import config
from fpgart.base.errors import CLError, OutOfHostMemory, OutOfResources
from fpgart.board.stretch import Stretch
from fpgart.boardprocess.served import Served
from fpgart.boardprocess.session import Session, framed_answer
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import BYTES, BuiltProgram, EngineKernel, NoEngine, pack_arguments
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError, decoded, encoded
from fpgart.engine.isolated.engine import IsolatedEngine
from fpgart.engine.isolated.kernel import IsolatedBatch
from fpgart.engine.isolated.loss import BoardLost, Loss
from fpgart.engine.isolated.network import IsolatedNetwork
from fpgart.engine.isolated.process import BoardProcess, Lane, start_process
from fpgart.engine.isolated.spawning import ProcessError, Spawned
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
def process() -> Iterator[BoardProcess]:
    """A board process, whose engine may be none: it answers all the same."""
    made = BoardProcess(Stretch())
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
addresses = st.integers(0, (1 << 64) - 1)


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


@settings(max_examples=50 * EFFORT)
@given(st.booleans(), addresses, addresses, words, words, words, st.binary(max_size=400))
def test_several_launches_of_nonsense_are_refused(
    process: BoardProcess, own: bool, data: int, size: int, kernels: int, begin: int, end: int, content: bytes
) -> None:
    lane = process.take()
    ffi.memmove(ffi.cast("char *", lane.data), content, len(content))
    place = lane.data if own else data
    lib.lane_submit(lane.address, place, size, kernels, begin, end)
    assert lib.lane_wait(lane.address, process.life, 20_000, lib.interrupts()) == lib.LANE_ANSWERED
    assert lib.lane_submitted(lane.address) == 0
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


def test_a_lane_that_gets_no_queue_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = choose_engine()
    if not isinstance(engine, OpenCLEngine):
        pytest.skip("queues are those of another driver")
    ours, theirs = socket.socketpair()
    session, memory = Session(theirs), Stretch()
    session._begin, session._size, session._served = memory.begin, memory.size, Served(engine)

    def no_queue() -> int:
        raise OutOfHostMemory("there is no queue")

    monkeypatch.setattr(engine.queues, "acquire", no_queue)
    lane = memory.allocate(lib.LANE_BYTES)
    with ours, theirs, pytest.raises(OutOfHostMemory, match="there is no queue"):
        session._open_lane(m.OpenLane(lane), theirs.fileno())


def test_a_board_process_that_says_nothing_is_waited_for_no_longer_than_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fpgart.engine.isolated.process.GREETING_S", 0.1)
    session, theirs = socket.socketpair()
    life, keepers = socket.socketpair()
    output, error = os.pipe(), os.pipe()
    keepers.sendall(struct.pack("i", 9))
    with theirs, keepers, pytest.raises(ProcessError, match=r"did not answer for 0.1 s, and was stopped"):
        start_process(Stretch(), Spawned(session, life, output[0], error[0]))
    os.close(output[1])
    os.close(error[1])


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


def test_a_session_that_breaks_off_ends_the_board_process_by_itself() -> None:
    process = BoardProcess(Stretch())
    process._session.sendall(b"\xff" * 64)
    process._session.shutdown(socket.SHUT_WR)
    loss = process.ended()
    assert (loss.status, loss.signal) == (0, 0)


def test_another_version_is_refused() -> None:
    process = BoardProcess(Stretch())
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
    done = subprocess.run([sys.executable, "-c", WITHOUT_HANDLER], capture_output=True, text=True)
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
    done = subprocess.run([sys.executable, "-c", OWN_ENVIRONMENT], env=environment, capture_output=True, text=True)
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
def memory() -> CountingStretch:
    """For one board process after the other: there is room for few stretches."""
    return CountingStretch()


KEPT: list[BuiltProgram] = []
"""Programs whose kernels a test uses: those of the runtime keep them."""


@pytest.fixture
def engine(memory: CountingStretch) -> Iterator[IsolatedEngine]:
    """An engine in a board process."""
    try:
        made = IsolatedEngine(memory)
    except ProcessError as error:
        pytest.skip(str(error))
    yield made
    KEPT.clear()
    made.process.stop("was not needed any more")
    made._process.ended()


def test_an_engine_with_buffers_of_its_own_runs_in_no_board_process(
    memory: CountingStretch, engine: IsolatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FPGART_ENGINE_BUFFERS", "own")
    with pytest.raises(ProcessError, match="works on buffers of its own; it runs only in the host's process"):
        IsolatedEngine(memory)


SIZES = struct.pack("9Q", 0, 0, 0, 1, 1, 1, 1, 1, 1)


def spinning(engine: IsolatedEngine) -> EngineKernel:
    """A kernel that ends if its argument is 0."""
    program = engine.from_source("kernel void spin(int n) { for (volatile int i = 0; n && i < 10; i -= n) ; }")
    program.build("")
    program.kernels({})
    KEPT.append(program)
    kernel = program.kernel("spin")
    kernel.launch(arguments_of(0), 1, SIZES, True)
    kernel.launched = True
    return kernel


def arguments_of(number: int) -> bytes:
    return pack_arguments([(BYTES, 4, struct.pack("i", number))])


def ended(batch: IsolatedBatch, count: int) -> list[int]:
    """The statuses of the next launches, up to one that fails."""
    statuses: list[int] = []
    while len(statuses) < count and not (statuses and batch.failure):
        statuses += batch.wait(count - len(statuses))
    return statuses


def test_launches_that_are_handed_over_to_a_board_process_that_has_died_run_in_another_one(
    engine: IsolatedEngine,
) -> None:
    kernel, process = spinning(engine), engine.process
    batch = IsolatedBatch(engine, 3)
    batch._process, batch._lane = process, process.take()
    process.stop("was stopped by the test")
    process.ended()
    assert submitted(batch, kernel, [0, 0, 0]) == (3, None)
    assert (ended(batch, 3), batch.failure) == ([0, 0, 0], None)


def test_launches_behind_the_one_that_ends_a_board_process_run_in_another_one(engine: IsolatedEngine) -> None:
    kernel, process = spinning(engine), engine.process
    batch = IsolatedBatch(engine, 5)
    assert submitted(batch, kernel, [0, 0, 1, 0, 0]) == (5, None)
    await_completed(batch, 2)
    process.stop("was stopped by the test")
    assert ended(batch, 5) == [0, 0, -5]
    assert "kernel 'spin' was stopped by the test" in str(batch.failure)
    assert (ended(batch, 2), batch.failure) == ([0, 0], None)
    assert engine.process is not process


def test_each_launch_that_ends_its_board_process_has_words_of_its_own(engine: IsolatedEngine) -> None:
    kernel = spinning(engine)
    batch = IsolatedBatch(engine, 4)
    assert submitted(batch, kernel, [1, 0, 1, 0]) == (4, None)
    for why, statuses in ("was stopped first", [-5]), ("was stopped then", [0, -5]):
        await_completed(batch, len(statuses) - 1)
        engine.process.stop(why)
        assert ended(batch, 4) == statuses
        assert why in str(batch.failure)
    assert ended(batch, 1) == [0]


def test_a_batch_gives_up_when_launch_after_launch_ends_the_board_process(engine: IsolatedEngine) -> None:
    program = engine.from_source("kernel void bad(int n) { if (n) __builtin_trap(); }")
    program.build("")
    program.kernels({})
    kernel = program.kernel("bad")
    kernel.launch(arguments_of(0), 1, SIZES, True)
    kernel.launched = True
    batch = IsolatedBatch(engine, 6)
    assert submitted(batch, kernel, [1] * 6) == (6, None)
    said = []
    for _ in range(6):
        assert ended(batch, 6) == [-5]
        said.append(str(batch.failure))
    assert all("crashed the board process with SIGILL" in words for words in said[:3])
    last = "a launch of kernel 'bad' was not run: the board process died of SIGILL, 3 times in a row"
    assert said[3:] == [last] * 3
    assert submitted(batch, kernel, [0]) == (1, None)
    assert ended(batch, 1) == [0]


def test_launches_that_ctrl_c_stops_take_those_behind_them_along(engine: IsolatedEngine) -> None:
    kernel = spinning(engine)
    batch = IsolatedBatch(engine, 2)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    lib.interrupts_watch()
    try:
        assert submitted(batch, kernel, [1, 0]) == (2, None)
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        assert ended(batch, 2) == [-5]
        assert "'spin' was stopped by Ctrl-C" in str(batch.failure)
        assert ended(batch, 1) == [-5]
        assert "'spin' was not run: Ctrl-C stopped those before it" in str(batch.failure)
    finally:
        signal.signal(signal.SIGINT, before)


def submitted(batch: IsolatedBatch, kernel: EngineKernel, numbers: Sequence[int]) -> tuple[int, CLError | None]:
    """Submits launches with these arguments; returns the result."""
    for number in numbers:
        batch.add(kernel, arguments_of(number), 1, SIZES, True)
    return batch.submit()


def await_completed(batch: IsolatedBatch, count: int) -> None:
    """Until so many of its launches have ended."""
    assert batch._lane is not None
    while lib.lane_completed(batch._lane.address) != count:
        time.sleep(0.001)


def test_what_a_batch_is_given_once_its_board_process_has_died_runs_in_another_one(engine: IsolatedEngine) -> None:
    kernel, process = spinning(engine), engine.process
    batch = IsolatedBatch(engine, 1)
    for _ in range(2):
        batch.add(kernel, arguments_of(1), 1, SIZES, True)
        assert batch.submit() == (1, None)
        engine.process.stop("was stopped by the test")
        assert ended(batch, 1) == [-5]
        assert "kernel 'spin' was stopped by the test" in str(batch.failure)
        batch.add(kernel, arguments_of(0), 1, SIZES, True)
        assert batch.submit() == (1, None)
        assert (ended(batch, 1), batch.failure) == ([0], None)
    assert engine.process is not process


def test_a_launch_that_gets_no_lane_fails_and_those_behind_it_run(
    engine: IsolatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, process = spinning(engine), engine.process
    batch = IsolatedBatch(engine, 2)
    batch.add(kernel, arguments_of(0), 1, SIZES, True)
    with monkeypatch.context() as patch:
        patch.setattr(BoardProcess, "take", no_lane)
        done, error = batch.submit()
    assert (done, str(error)) == (0, "there is no memory for a lane")
    assert ended(batch, 0) == []
    batch.add(kernel, arguments_of(0), 1, SIZES, True)
    assert batch.submit() == (1, None)
    assert ended(batch, 1) == [0]
    assert engine.process is process


def no_lane(process: BoardProcess) -> Lane:
    raise OutOfResources("there is no memory for a lane")


def test_a_batch_keeps_the_arguments_of_its_launches_once(engine: IsolatedEngine) -> None:
    kernel = spinning(engine)
    batch, launches = IsolatedBatch(engine, 400), 400
    for _ in range(launches):
        batch.add(kernel, arguments_of(0), 1, SIZES, True)
    tracemalloc.start()
    assert batch.submit() == (launches, None)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ended(batch, launches) == [0] * launches
    assert kept < 1 << 20, "bytes"


def test_a_count_of_ended_launches_that_cannot_be_is_no_count(engine: IsolatedEngine) -> None:
    """A kernel may have written over the lane."""
    kernel, process = spinning(engine), engine.process
    batch = IsolatedBatch(engine, 2)
    assert submitted(batch, kernel, [1, 0]) == (2, None)
    assert batch._lane is not None
    ffi.cast("uint32_t *", batch._lane.address)[2] = 0x7FFFFFFF
    assert ended(batch, 2) == [-5]
    assert "overwrote memory that the driver and the board process share" in str(batch.failure)
    assert ended(batch, 1) == [-5]
    assert "overwrote what says which of the launches before it have ended" in str(batch.failure)
    assert not process.alive


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
    threads = [threading.Thread(target=lambda: found.append(network.on(process))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


@pytest.mark.parametrize("dies", ["of a request", "of a launch", "of launches"])
def test_a_board_process_that_has_died_leaves_no_memory_behind(
    dies: str, engine: IsolatedEngine, memory: CountingStretch
) -> None:
    process = engine.process
    before = memory.allocated - {lane.address for lane in process._lanes}
    kernel = spinning(engine)
    lanes = [process.take() for _ in range(3)]
    process.make_room(lanes[2], 1 << 20)
    for lane in lanes:
        process.give_back(lane)
    if dies == "of a request":
        process.stop("was stopped by the test")
        select.select([process.life], [], [])  # it may answer until it has died
        with pytest.raises(BoardLost):
            process.ask(m.DeviceInfo(0), m.Data)
    elif dies == "of a launch":
        threading.Timer(0.1, process.stop, ["was stopped by the test"]).start()
        with pytest.raises(BoardLost):
            kernel.launch(arguments_of(1), 1, SIZES, True)
    else:
        batch = IsolatedBatch(engine, 1)
        batch.add(kernel, arguments_of(1), 1, SIZES, True)
        assert batch.submit() == (1, None)
        process.stop("was stopped by the test")
        assert ended(batch, 1) == [-5]
    assert memory.allocated == before


@pytest.mark.parametrize("handed_over", ["alone", "in a batch"])
def test_signals_of_the_host_do_not_let_a_kernel_run_longer(
    handed_over: str, engine: IsolatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, process = spinning(engine), engine.process
    monkeypatch.setenv("FPGART_KERNEL_TIMEOUT", "0.3")
    config.KERNEL_TIMEOUT.forget()
    guard = threading.Timer(20, process.stop, ["was never ended"])
    guard.start()
    before = signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        if handed_over == "alone":
            with pytest.raises(BoardLost, match="ran longer than"):
                kernel.launch(arguments_of(1), 1, SIZES, True)
        else:
            batch = IsolatedBatch(engine, 1)
            batch.add(kernel, arguments_of(1), 1, SIZES, True)
            assert batch.submit() == (1, None)
            assert ended(batch, 1) == [-5]
            assert "ran longer than" in str(batch.failure)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        guard.cancel()
        monkeypatch.undo()
        config.KERNEL_TIMEOUT.forget()


def test_what_the_engine_has_refused_is_not_tried_again_in_another_process(engine: IsolatedEngine) -> None:
    kernel, too_large = spinning(engine), struct.pack("9Q", 0, 0, 0, 1, 1, 1, 1 << 20, 1, 1)
    batch = IsolatedBatch(engine, 3)
    for number, sizes in (1, SIZES), (0, too_large), (0, SIZES):
        batch.add(kernel, arguments_of(number), 1, sizes, True)
    done, error = batch.submit()
    assert (done, error is None) == (1, False)
    engine.process.stop("was stopped by the test")
    assert submitted(batch, kernel, [0]) == (1, None)  # as LaunchBatch does with what is behind
    assert ended(batch, 2) == [-5]
    assert "was stopped by the test" in str(batch.failure)
    assert (ended(batch, 1), batch.failure) == ([0], None)
    assert not batch._known
    assert not batch._is_under_way


class EmptiedMeanwhile(list[Lane]):
    """Lanes that another thread has taken when this one looks for them."""

    def __bool__(self) -> bool:
        return True


def test_lanes_of_a_process_that_has_died_may_be_freed_by_several_threads() -> None:
    process = BoardProcess.__new__(BoardProcess)
    process._loss, process._lanes = Loss(0), EmptiedMeanwhile()
    process._free_lanes()
    assert process._lanes == []
