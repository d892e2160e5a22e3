"""Boards of a service: one host has a board at a time, what it programs stays, what it had is given back."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from c_hosts import build, plain_environment
from effort import EFFORT
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import board_processes
from processes import finished

from fpgart.board.catalogue import describe
from fpgart.board.mmd import BoardError, Loaded
from fpgart.board.simulated_board import SimulatedBoard
from fpgart.cli.serving import stop_at_first
from fpgart.engine.interface import Engine
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.spawning import ProcessError, Spawned
from fpgart.serving import connection, sockets
from fpgart.serving.connection import Connection
from fpgart.serving.service import MOST_CLIENTS, Service, descriptor_of, listen, name_of
from fpgart.serving.shared_board import SharedBoard, numbers_of
from fpgart.serving.sockets import ServiceError
from fpgart.version import __version__

NOT_AVAILABLE = -2
OUT_OF_RESOURCES = -5
FPGART = str(Path(sys.executable).with_name("fpgart"))
BOARDS = "usm_s10,a10_ref"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sharing", tmp_path_factory.mktemp("host"))


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where services of this test are."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "fpgart"


@pytest.fixture
def serving(runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """A service 'lab' with two boards."""
    service = subprocess.Popen(
        [FPGART, "board", "serve", "--served", "lab", "--board", BOARDS],
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    with service:
        assert service.stdout is not None
        assert service.stdout.readline() == "lab: usm_s10, a10_ref\n"
        yield service
        service.terminate()
        assert service.wait() == 0


class Host:
    """A process that does with its first device what it is told (tests/programs/sharing.c)."""

    def __init__(self, program: Path, **options: str) -> None:
        given = {"FPGART_SERVED": "lab", "FPGART_BOARD": BOARDS} | options
        self.process = subprocess.Popen(
            [program], env=plain_environment() | given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, what: str) -> int:
        """The result, or status of OpenCL."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        letter, result = self.process.stdout.readline().split()
        assert letter == what
        return int(result)


Hosts = Callable[..., Host]


@pytest.fixture
def hosts(program: Path, serving: object) -> Iterator[Hosts]:
    """Starts hosts that use the service."""
    with ExitStack() as stack:

        def start(**options: str) -> Host:
            made = Host(program, **options)
            stack.callback(made.process.communicate)
            return made

        yield start


def board(number: int = 0) -> m.ServedBoard:
    """Returns the service's description of a board."""
    service = Connection("lab")
    service.close()
    return service.boards[number]


def await_that(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.02)


def test_a_board_keeps_its_program_from_one_host_to_the_next(hosts: Hosts, engine: Engine) -> None:
    for _ in range(2):
        host = hosts()
        assert [host.do(each) for each in "orrc"] == [0, 0, 0, 0]
        host.process.communicate()
        assert (board().programmed, board().kernels) == (1, ("give", "add"))


def test_one_host_has_a_board_until_it_has_released_its_contexts(hosts: Hosts) -> None:
    first, second = hosts(), hosts()
    assert first.do("o") == 0
    assert board().holder == first.process.pid
    assert (first.do("a"), second.do("a")) == (1, 0)
    assert second.do("o") == NOT_AVAILABLE
    assert first.do("c") == 0
    assert (first.do("a"), second.do("a")) == (1, 1)
    assert second.do("o") == 0
    assert first.do("o") == NOT_AVAILABLE


@pytest.mark.slow
def test_hosts_have_different_boards_at_the_same_time(hosts: Hosts, engine: Engine) -> None:
    first, second = hosts(), hosts(FPGART_BOARD="a10_ref")
    assert (first.do("o"), second.do("o")) == (0, 0)
    assert (first.do("r"), second.do("r")) == (0, 0)
    assert [board(number).holder for number in range(2)] == [first.process.pid, second.process.pid]


def test_a_host_sees_nothing_of_what_the_one_before_had_in_memory(hosts: Hosts) -> None:
    first, second = hosts(), hosts()
    assert [first.do(each) for each in "owc"] == [0, 0, 0]
    assert [second.do(each) for each in "of"] == [0, 0]
    assert [second.do(each) for each in "wc"] == [0, 0]
    assert [second.do(each) for each in "of"] == [0, 0]


def test_a_host_that_is_killed_gives_everything_back(hosts: Hosts, engine: Engine) -> None:
    first, second = hosts(), hosts()
    assert [first.do(each) for each in "or"] == [0, 0]
    first.process.kill()
    await_that(lambda: not board().holder)
    assert [second.do(each) for each in "or"] == [0, 0]


def test_kernels_end_with_an_error_when_their_board_is_reset_by_force(hosts: Hosts, engine: Engine) -> None:
    host = hosts()
    assert [host.do(each) for each in "or"] == [0, 0]
    words = command("reset").stderr
    assert f"process {host.process.pid} (sharing) has held board 'usm_s10' for " in words
    assert board().identity
    assert command("reset", "--force").returncode == 0
    assert not board().identity
    await_that(lambda: host.do("r") == 0)  # in another board process


def test_a_host_outlives_its_service(hosts: Hosts, engine: Engine) -> None:
    host = hosts()
    assert [host.do(each) for each in "or"] == [0, 0]
    assert command("stop").returncode == 0
    await_that(lambda: not sockets.names())
    await_that(lambda: host.do("r") == OUT_OF_RESOURCES)
    assert host.do("c") == 0
    assert host.do("o") == NOT_AVAILABLE


ROUNDS = 60


@pytest.mark.slow
def test_hosts_that_are_killed_all_the_time_leave_a_service_as_it_was(
    hosts: Hosts, serving: subprocess.Popen[str], engine: Engine
) -> None:
    before = len(board_processes(serving.pid))
    running, opened, refused = [hosts()], 0, 0
    had_it: list[Host] = []  # and may find what they have left there themselves
    while opened < ROUNDS:
        host = random.choice(running)
        status = host.do("o")
        assert status in (0, NOT_AVAILABLE)
        if status == 0:
            opened += 1
            assert host in had_it or host.do("f") == 0
            assert host.do("r") == 0
            had_it.append(host)
        else:
            refused += 1
        if status == 0 and random.random() < 0.5:
            assert host.do("c") == 0
        else:
            host.process.kill()
            host.process.wait()
            running.remove(host)
        while len(running) < 3:
            running.append(hosts())
    for host in running:
        host.process.kill()
    await_that(lambda: not board().holder)
    await_that(lambda: len(board_processes(serving.pid)) <= max(before, 2))
    assert board().programmed == 1


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs `fpgart board ...`; returns the result."""
    return finished(FPGART, "board", words[0], "--served", "lab", *words[1:], env=plain_environment())


def test_the_commands_tell_and_set_what_a_board_is_programmed_with(
    serving: object, program: Path, engine: Engine, tmp_path: Path
) -> None:
    source = tmp_path / "twice.cl"
    source.write_text("kernel void twice(global int *data) { data[get_global_id(0)] *= 2; }")
    subprocess.run([FPGART, "aoc", "-board=a10_ref", source], cwd=tmp_path, check=True)
    assert command("program", "--number", "1", str(tmp_path / "twice.aocx")).returncode == 0
    assert "it was compiled for board 'a10_ref'" in command("program", str(tmp_path / "twice.aocx")).stderr
    listed = finished(FPGART, "board", "list", env=plain_environment())
    assert listed.stdout == "lab 0 usm_s10 free\nlab 1 a10_ref free\n"
    told = command("status").stdout.splitlines()
    assert told[0] == "0 usm_s10: free, not programmed"
    assert told[1].startswith("1 a10_ref: free, programmed once, with ")
    assert told[1].endswith(" (kernels twice)")
    assert command("reset", "--number", "1").returncode == 0
    assert [each["identity"] for each in json.loads(command("status", "--json").stdout)] == ["", ""]


def test_hosts_are_told_of_boards_that_a_service_lacks(serving: object) -> None:
    for options, words in (
        (("--served", "nowhere"), "(No such file or directory); `fpgart board serve --served nowhere` starts it"),
        (("--served", "no name"), "'no name' is not a name of a service"),
    ):
        done = finished(FPGART, "run", *options, "true")
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    host = [FPGART, "run", "--served", "lab", "--board", "a10_ref,a10_ref", sys.executable, "-c", PLATFORM]
    done = finished(*host)
    assert "service 'lab' has no other board 'a10_ref' for this host; its boards are usm_s10, a10_ref" in done.stderr


PLATFORM = "import pyopencl; print(pyopencl.get_platforms()[0].get_devices()[0].name)"


TWICE = """
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queues = [cl.CommandQueue(context, device) for device in context.devices]
program = cl.Program(context, "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }").build()
twice = program.twice
data = np.arange(8, dtype=np.int32)
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
for queue in queues:
    twice(queue, (8,), None, buffer)
    queue.finish()
cl.enqueue_copy(queues[-1], data, buffer)
print(*data)
"""


@pytest.mark.slow
def test_a_host_in_python_has_all_boards_of_a_service(serving: object, engine: Engine) -> None:
    host = [FPGART, "run", "--served", "lab", sys.executable, "-c", TWICE]
    done = finished(*host)
    assert (done.stdout, done.stderr) == ("0 4 8 12 16 20 24 28\n", "")
    assert [board(number).programmed for number in range(2)] == [1, 1]


def test_a_name_is_for_one_service(serving: object, runtime: Path) -> None:
    with pytest.raises(ServiceError, match=r"there is a service at .*/lab\.service already"):
        listen(str(runtime / "lab.service"))


def test_a_name_is_a_socket_in_a_folder_of_the_user_and_a_path_is_itself(runtime: Path) -> None:
    assert sockets.path_of("lab.1") == str(runtime / "lab.1.service")
    assert sockets.path_of("./lab 1") == "./lab 1"
    for name in ("", "lab 1", "a" * 61):
        with pytest.raises(ServiceError, match=f"'{name}' is not a name of a service"):
            sockets.path_of(name)


def test_services_are_listed_by_name_in_order(runtime: Path) -> None:
    assert sockets.names() == []
    for name in ("lab.service", "bench.service", "lab.service.lock", "notes"):
        (runtime / name).touch()
    assert sockets.names() == ["bench", "lab"]


def test_without_a_private_folder_there_are_no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise PermissionError(errno.EACCES, "Permission denied", "/run/user/1")

    monkeypatch.setattr(sockets, "runtime_folder", refuse)
    with pytest.raises(ServiceError, match="no private folder for services: /run/user/1: Permission denied"):
        sockets.path_of("lab")
    assert sockets.names() == []


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """The socket of a service that a test plays."""
    guard, listener = listen(str(path))
    with listener:
        yield listener
    os.close(guard)


def test_a_service_that_was_killed_is_in_nobodys_way(runtime: Path) -> None:
    runtime.mkdir(0o700)
    path = runtime / "lab.service"
    with listening(path):
        pass
    with listening(path):
        assert path.stat().st_mode & 0o777 == 0o600


def test_files_that_are_made_after_a_services_socket_have_the_modes_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with listening(tmp_path / "s"):
            found = os.umask(0o027)
    finally:
        os.umask(before)
    assert found == 0o027


def test_a_service_takes_the_place_of_no_file_but_a_socket(tmp_path: Path) -> None:
    file = tmp_path / "results"
    file.write_text("precious")
    with pytest.raises(ServiceError, match="results exists, and is not a socket"):
        listen(str(file))
    assert file.read_text() == "precious"


def folder_of_mode(tmp_path: Path, mode: int) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    return folder


def linked_folder(tmp_path: Path) -> Path:
    link = tmp_path / "link"
    link.symlink_to(folder_of_mode(tmp_path, 0o700))
    return link


@pytest.mark.parametrize(
    ("folder_in", "why"),
    [
        (lambda path: folder_of_mode(path, 0o1777), "has mode 1777: others can write where a service's socket is"),
        (lambda path: folder_of_mode(path, 0o770), "has mode 0770: others can write where a service's socket is"),
        (linked_folder, "is a symbolic link"),
        (lambda path: path / "none", "No such file or directory"),
    ],
    ids=["all may write", "group may write", "link", "none"],
)
def test_a_service_refuses_a_folder_that_others_can_change(
    folder_in: Callable[[Path], Path], why: str, tmp_path: Path
) -> None:
    folder = folder_in(tmp_path)
    with pytest.raises(ServiceError, match=why):
        listen(str(folder / "s"))
    assert not folder.exists() or not os.listdir(folder)


def test_a_service_refuses_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(ServiceError, match=f"belongs to user {user}, and a service's socket is in a folder of user"):
        listen(str(tmp_path / "s"))
    assert not os.listdir(tmp_path)


def test_as_many_hosts_as_a_service_accepts_may_come_at_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(listening(tmp_path / "s"))
        for _ in range(MOST_CLIENTS):
            stack.enter_context(connection.connected(str(tmp_path / "s")))


def test_an_answer_that_comes_too_late_is_not_taken_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()

    def serve() -> None:
        other, _ = listener.accept()
        with other:
            m.receive(other)
            m.send(other, m.Boards(()))
            m.receive(other)
            asked.wait()
            with suppress(OSError):  # the client has gone
                m.send(other, m.Boards(()))
                m.receive(other)

    with listening(tmp_path / "s") as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        client = Connection(str(tmp_path / "s"))
        monkeypatch.setattr(connection, "ANSWER_S", 0.3)
        with pytest.raises(ServiceError, match="does not answer: timed out"):
            client.ask(m.OpenBoard(0), m.Boards)
        asked.set()
        thread.join()
        with pytest.raises(ServiceError, match="does not answer"):
            client.ask(m.GetBoards(), m.Boards)


Answers = Callable[[object, list[int]], Connection]
Connect = Callable[[], Connection]


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Answers]:
    """`answering(message, files)`: a connection with a service that answers what it is asked next with these."""
    with ExitStack() as stack:
        listener = stack.enter_context(listening(tmp_path / "s"))

        def answer(message: object, files: list[int]) -> Connection:
            def serve() -> None:
                other, _ = listener.accept()
                with other:
                    m.receive(other)
                    m.send(other, m.Boards(()))
                    m.receive(other)
                    with suppress(OSError):  # the client has it and has gone
                        m.send_with_descriptors(other, message, files)

            thread = threading.Thread(target=serve)
            thread.start()
            stack.callback(thread.join, 20)
            client = Connection(str(tmp_path / "s"))
            stack.callback(client.close)
            return client

        yield answer


def test_an_answer_of_another_kind_is_refused(answering: Answers) -> None:
    with pytest.raises(ServiceError, match=r"service '.*' answers with a Done, not a Boards"):
        answering(m.Done(), []).ask(m.GetBoards(), m.Boards)


def test_a_board_process_comes_with_four_files(answering: Answers) -> None:
    given, other = socket.socketpair()
    with given, other:
        client = answering(m.Done(), [given.fileno()])
        with pytest.raises(ProcessError, match=r"service '.*' passes 1 files for a board process, not 4"):
            client.new_process()
        given.close()
        assert other.recv(1) == b"", "what came is closed"


def test_other_users_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert sockets.peer_of(ours) == os.getpid()
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(ServiceError, match=f"belongs to user {os.getuid()}, not to user 12345"):
            sockets.peer_of(ours)


def test_who_connects_to_another_users_service_hangs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: socket.socket) -> int:
        raise ServiceError("it belongs to another user")

    monkeypatch.setattr(connection, "peer_of", refuse)
    with listening(tmp_path / "s") as listener:
        with pytest.raises(ServiceError, match="another user") as refused:
            connection.connected(str(tmp_path / "s"))
        with listener.accept()[0] as other:
            other.setblocking(False)
            assert other.recv(1) == b""
        del refused  # which keeps what was not closed


NOBODY = 1 << 23
"""No process has a number above 4194304."""


def test_processes_have_names_and_descriptors_while_they_are_there() -> None:
    here = descriptor_of(os.getpid())
    assert here >= 0
    os.close(here)
    assert name_of(os.getpid()) == Path("/proc/self/comm").read_text().strip()
    assert [descriptor_of(each) for each in (0, NOBODY)] == [-1, -1]
    assert name_of(NOBODY) == "?"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """In this process, so that whatever it raises fails the test."""
    made = Service(str(tmp_path_factory.mktemp("s") / "s"), ["usm_s10", "a10_ref"])
    made._pool.start = lambda: None  # type: ignore[method-assign]
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join()


numbers = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-1, 2)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
requests = st.one_of(
    st.builds(m.OpenBoard, numbers),
    st.builds(m.CloseBoard, numbers),
    st.builds(m.SetProgram, numbers, texts, st.lists(texts, max_size=3).map(tuple), st.just((True,))),
    st.builds(m.ResetBoard, numbers, st.booleans()),
    st.builds(m.Enter, numbers, texts),
    st.just(m.GetBoards()),
    st.builds(m.Build, numbers, texts),
)


def has_nothing_left(service: Service) -> bool:
    """True if the service has neither clients nor open boards."""
    return not service._clients and all(each.holder is None for each in service._boards)


@settings(max_examples=30 * EFFORT, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=60), max_size=5), st.booleans())
def test_no_bytes_harm_a_service(service: Service, pieces: list[bytes], enters: bool) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service.path)
        if enters:
            m.send(client, m.Enter(m.VERSION, __version__))
        for piece in pieces:
            try:
                client.sendall(piece)
            except OSError:
                break  # it has heard enough
    await_that(lambda: has_nothing_left(service))
    Connection(service.path).close()


@settings(max_examples=30 * EFFORT, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), requests), max_size=12))
def test_a_board_is_open_in_one_client_whatever_they_ask(service: Service, asked: list[tuple[int, object]]) -> None:
    clients = [Connection(service.path) for _ in range(2)]
    opened: dict[int, int] = {}
    for who, request in asked:
        try:
            answer = clients[who].ask(request, object)
        except ServiceError:
            continue
        if isinstance(request, m.OpenBoard):
            assert opened.setdefault(request.board, who) == who
            assert isinstance(answer, m.Boards)
        elif isinstance(request, m.CloseBoard):
            assert opened.pop(request.board) == who
        elif isinstance(request, m.SetProgram):
            assert opened[request.board] == who
    for client in clients:
        client.close()
    await_that(lambda: has_nothing_left(service))


@pytest.fixture
def connect(service: Service) -> Iterator[Connect]:
    """`connect()`: a client of the service; when all have hung up, the service has nothing left."""
    with ExitStack() as stack:

        def client() -> Connection:
            made = Connection(service.path)
            stack.callback(made.close)
            return made

        yield client
    await_that(lambda: has_nothing_left(service))


def test_more_clients_than_a_service_accepts_are_refused(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fpgart.serving.service.MOST_CLIENTS", 1)
    connect().ask(m.OpenBoard(0), m.Boards)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(ServiceError):
            connect()
    await_that(lambda: len(os.listdir("/proc/self/fd")) <= before)
    assert "1 clients use boards already, the most that a service accepts" in capfd.readouterr().err


def test_of_too_many_clients_those_that_use_nothing_give_way(
    service: Service, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First those that have said nothing, then who has said nothing for longest."""
    monkeypatch.setattr("fpgart.serving.service.MOST_CLIENTS", 4)
    holder, asks, quiet = (connect() for _ in range(3))
    holder.ask(m.OpenBoard(0), m.Boards)
    silent = connection.connected(service.path)
    await_that(lambda: len(service._clients) == 4)
    asks.ask(m.GetBoards(), m.Boards)
    connect()
    assert silent.recv(1) == b"", "it was closed first"
    connect()
    with pytest.raises(ServiceError):
        quiet.ask(m.GetBoards(), m.Boards)
    assert asks.ask(m.GetBoards(), m.Boards).boards[0].holder == os.getpid()
    holder.ask(m.CloseBoard(0), m.Done)
    silent.close()


def test_idle_connections_keep_no_host_from_a_service(service: Service, connect: Connect) -> None:
    with ExitStack() as stack:
        for _ in range(MOST_CLIENTS + 10):
            stack.enter_context(connection.connected(service.path))
        assert connect().ask(m.OpenBoard(1), m.Boards).boards[0].holder == os.getpid()


@pytest.fixture
def shared(connect: Connect) -> Callable[[int], SharedBoard]:
    """`shared(number)`: a board of the service, as another host has it each time."""
    return lambda number: SharedBoard(SimulatedBoard(describe("usm_s10")), connect(), number)


LOADED = Loaded("program", ("k",), (True, False))


def test_a_shared_board_that_is_not_open_tells_no_program(shared: Callable[[int], SharedBoard]) -> None:
    assert shared(0).loaded() is None


def test_a_shared_board_tells_what_the_host_before_has_loaded(shared: Callable[[int], SharedBoard]) -> None:
    first, second, beside = shared(0), shared(0), shared(1)
    first.open()
    first.identify(LOADED)
    first.close()
    second.open()
    assert second.loaded() == LOADED
    beside.open()
    assert beside.loaded() is None
    for board in (second, beside):
        board.close()


def test_a_shared_board_is_available_while_no_host_has_it(shared: Callable[[int], SharedBoard]) -> None:
    first, second = shared(0), shared(0)
    assert first.is_available()
    first.open()
    assert not second.is_available()
    with pytest.raises(BoardError, match="has held board 'usm_s10'"):
        second.open()
    first.close()
    assert second.is_available()
    second._service.close()
    assert not second.is_available(), "the service cannot be asked"


def test_bytes_of_a_shared_board_move_as_those_of_an_own_one(shared: Callable[[int], SharedBoard]) -> None:
    board = shared(0)
    own = board._mmd
    assert (board.is_shared, own.is_shared) == (True, False)
    assert board.in_c == own.in_c != 0
    for name in ("write", "read", "copy", "program", "host_alloc", "shared_alloc", "free"):
        assert getattr(board, name) == getattr(own, name)


def test_each_board_that_a_host_names_is_another_one_of_the_service(connect: Connect) -> None:
    client = connect()
    assert numbers_of(["a10_ref", "usm_s10"], client) == [1, 0]
    for names in (["hetero"], ["usm_s10", "usm_s10"]):
        words = f"has no other board '{names[-1]}' for this host; its boards are usm_s10, a10_ref"
        with pytest.raises(ServiceError, match=words):
            numbers_of(names, client)


@pytest.mark.parametrize(
    ("version", "release"), [(m.VERSION + 1, __version__), (m.VERSION - 1, __version__), (m.VERSION, "0")]
)
def test_hosts_of_another_release_are_turned_away(service: Service, version: int, release: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service.path)
        m.send(client, m.Enter(version, release))
        refused = m.receive(client)
        assert isinstance(refused, m.Failed)
        assert f"the host speaks version {version} of fpgart {release}, the service version" in refused.words
        m.send(client, m.GetBoards())
        assert isinstance(m.receive(client), m.Failed), "it has not entered"


class Process:
    """A double of a board process, for a service."""

    def __init__(self) -> None:
        self.session, self.life, self.output, self.error = (socket.socketpair() for _ in range(4))
        files = self.output[0].detach(), self.error[0].detach()
        self.spawned = Spawned(self.session[0], self.life[0], *files)

    def has_ended(self) -> bool:
        """True if its keeper was told to end it; waits for the message or the end of the connection."""
        return self.life[1].recv(1) == b"k"

    def close(self) -> None:
        for each in (self.session, self.life, self.output, self.error):
            each[1].close()


@pytest.fixture
def process(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    """The one that the service gives to hosts that ask for one."""
    made = Process()
    monkeypatch.setattr(service._pool, "take", lambda: made.spawned)
    yield made
    made.close()


def test_a_host_gets_the_ends_of_its_board_process_which_ends_with_the_host(connect: Connect, process: Process) -> None:
    client = connect()
    made = client.new_process()
    for ours, theirs in ((made.session, process.session[1]), (made.life, process.life[1])):
        ours.send(b"host")
        assert theirs.recv(9) == b"host"
    for file, theirs in ((made.output, process.output[1]), (made.error, process.error[1])):
        os.write(file, b"host")
        assert theirs.recv(9) == b"host"
        os.close(file)
    made.session.close()
    made.life.close()
    client.close()
    assert process.has_ended()


def test_a_board_process_that_has_to_end_while_it_is_given_to_its_host_ends(
    service: Service, connect: Connect, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = m.send_with_descriptors

    def reset_meanwhile(connection: socket.socket, message: object, files: list[int]) -> None:
        next(client for client in service._clients if client.connection is connection).end_process()
        send(connection, message, files)

    client = connect()
    monkeypatch.setattr(m, "send_with_descriptors", reset_meanwhile)
    made = client.new_process()
    assert process.has_ended()
    made.discard()


def test_a_service_that_stops_ends_the_board_processes_of_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Service(str(tmp_path / "s"), ["usm_s10"])
    process = Process()
    monkeypatch.setattr(made._pool, "start", lambda: None)
    monkeypatch.setattr(made._pool, "take", lambda: process.spawned)
    thread = threading.Thread(target=made.run)
    thread.start()
    client = Connection(made.path)
    given = client.new_process()
    made.stop()
    thread.join()
    assert process.has_ended()
    given.discard()
    process.close()
    client.close()


def test_a_host_whose_end_cannot_be_watched_is_served_until_it_hangs_up(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fpgart.serving.service.descriptor_of", lambda process: -1)
    connect().ask(m.OpenBoard(0), m.Boards)


def test_only_by_force_a_board_is_reset_under_the_host_that_has_it(connect: Connect, process: Process) -> None:
    holder, other = connect(), connect()
    holder.ask(m.OpenBoard(0), m.Boards)
    holder.ask(m.SetProgram(0, "program", ("k",), ()), m.Done)
    made = holder.new_process()
    with pytest.raises(ServiceError, match=r"has held board 'usm_s10' for \d+ s"):
        other.ask(m.ResetBoard(0, force=False), m.Done)
    assert other.ask(m.GetBoards(), m.Boards).boards[0].identity == "program"
    other.ask(m.ResetBoard(0, force=True), m.Done)
    assert process.has_ended()
    assert other.ask(m.GetBoards(), m.Boards).boards[0].identity == ""
    holder.ask(m.SetProgram(0, "program", ("k",), ()), m.Done)
    holder.ask(m.ResetBoard(0, force=False), m.Done)
    assert other.ask(m.GetBoards(), m.Boards).boards[0].identity == "", "it is the holder's own"
    made.discard()


@pytest.mark.parametrize("name", ["", "a\x1b[2J", "a b", "a" * 257, "\udcff"])
def test_names_that_a_terminal_should_not_show_are_refused(connect: Connect, name: str) -> None:
    client = connect()
    client.ask(m.OpenBoard(0), m.Boards)
    for program in (m.SetProgram(0, name, (), ()), m.SetProgram(0, "good", ("good", name), ())):
        with pytest.raises(ServiceError, match="a program has an identity, kernels with names"):
            client.ask(program, m.Done)


def test_a_board_that_cannot_be_opened_stays_free(connect: Connect) -> None:
    mmd = SimulatedBoard(describe("a10_ref"))
    board = SharedBoard(mmd, connect(), 1)
    mmd.open = fails  # type: ignore[method-assign]
    with pytest.raises(BoardError, match="there is no memory for the board"):
        board.open()
    assert board.is_available()


def fails() -> None:
    raise BoardError("there is no memory for the board")


def test_a_client_that_says_a_message_byte_by_byte_is_waited_for_no_longer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fpgart.serving.service.MESSAGE_S", 0.5)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service.path)
        client.settimeout(0.1)
        sent, ended = 0, False
        client.sendall(struct.pack("<II", 1000, m.NUMBER_OF[m.SetProgram]))
        with suppress(ConnectionError):
            while not ended and sent < 900:
                client.sendall(b" ")
                sent += 1
                with suppress(TimeoutError):
                    ended = client.recv(1) == b""
        assert sent < 900
    await_that(lambda: has_nothing_left(service))


def test_a_message_that_is_too_large_for_a_service_ends_the_connection(service: Service) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(service.path)
        client.sendall(struct.pack("<II", m.MOST_OF_SERVICE + 1, m.NUMBER_OF[m.SetProgram]))
        assert client.recv(1) == b""


def test_a_client_gives_back_all_though_its_children_keep_its_connection(service: Service) -> None:
    script = (
        "import os, signal, sys\n"
        "from fpgart.serving.connection import Connection\n"
        "from fpgart.engine.isolated import messages as m\n"
        "service = Connection(sys.argv[1])\n"
        "service.ask(m.OpenBoard(0), m.Boards)\n"
        "if os.fork() == 0:\n"
        "    signal.pause()\n"
        "    os._exit(0)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", script, service.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"ready\n"
    assert service._boards[0].holder is not None
    client.kill()
    client.wait()
    await_that(lambda: has_nothing_left(service))
    os.killpg(client.pid, signal.SIGKILL)
    client.communicate()


def test_a_signal_that_interrupts_no_system_call_stops_the_service() -> None:
    """Another thread gets it, so that the main thread, which alone runs handlers in Python, goes on waiting."""
    script = """
import os, signal, threading
from fpgart.cli.serving import stop_at_signals
waiting, stopped = os.pipe()
stop_at_signals(lambda: os.write(stopped, b"stopped"))
threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM)).start()
print(os.read(waiting, 7).decode())
"""
    assert finished(sys.executable, "-c", script).stdout == "stopped\n"


def test_only_the_first_signal_stops_the_service_and_later_ones_are_read() -> None:
    written, read = socket.socketpair()
    stops: list[bytes] = []
    with written, read:
        written.send(b"\x0f" * 3)
        written.shutdown(socket.SHUT_WR)
        stop_at_first(read, lambda: stops.append(read.recv(8, socket.MSG_PEEK)))
        assert stops == [b"\x0f" * 2]
        assert read.recv(1) == b""
