# SPDX-License-Identifier: Apache-2.0
"""A service: it records which process holds each board, and the program of each board.

It checks everything that it receives, and runs no kernels: each host gets a board process of its own,
which ends with the host. So a host cannot affect another host, or the service.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import select
import socket
import stat
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from fpgart.base import log
from fpgart.base.errors import CLError, DeviceNotAvailable, InvalidOperation, InvalidValue, OutOfResources
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.spawning import ProcessError, end_by_keeper
from fpgart.serving.pool import Pool
from fpgart.serving.sockets import ServiceError, peer_of
from fpgart.version import __version__

MESSAGE_S = 10.0
"""The time limit, in seconds, of a message that has begun, and of one that is not read."""
MOST_CLIENTS = 100
MOST_WAITING = MOST_CLIENTS
"""The most connections that wait to be accepted; one more would fail as if there were no service."""
NAME = re.compile(r"[!-~]{1,256}")
"""The characters of a program's or kernel's name: printable, because terminals show them."""
MOST_MEMORIES = 64
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
PAUSE_S = 0.1
"""Seconds between two attempts to accept a client if the system has no descriptor."""


class Client:
    """A process that has connected. `process` is 0 if it is unknown."""

    def __init__(self, connection: socket.socket) -> None:
        """Raises ServiceError for another user's."""
        self.connection = connection
        self.process = peer_of(connection)
        self.name = name_of(self.process)
        self._ends = descriptor_of(self.process)
        self.has_entered = False
        self.is_served = False
        """True while a message of it is being answered."""
        self.latest = 0
        """The number of its latest message, among those of all clients."""
        self._life: socket.socket | None = None
        """The socket to its board process's keeper."""
        self._changing = threading.Lock()

    def await_message(self) -> bool:
        """Waits for a message; false if the process has ended, even if others have its socket still."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        if self._ends >= 0:
            poll.register(self._ends, select.POLLIN)
        return self._ends not in dict(poll.poll())

    def close(self) -> None:
        """Ends its board process, and closes the connection."""
        self.end_process()
        self.connection.close()
        if self._ends >= 0:
            os.close(self._ends)

    @property
    def has_process(self) -> bool:
        return self._life is not None

    def hang_up(self) -> None:
        """Shuts the connection down; the thread of the client then ends."""
        with suppress(OSError):  # the client has closed it already
            self.connection.shutdown(socket.SHUT_RDWR)

    def end_process(self) -> None:
        self.have_process(None)

    def have_process(self, life: socket.socket | None) -> None:
        """Sets its board process, by the keeper's socket; an earlier one is ended."""
        with self._changing:
            before, self._life = self._life, life
        if before is not None:
            end_by_keeper(before)
            before.close()


class Board:
    def __init__(self, name: str) -> None:
        self.name = name
        self.holder: Client | None = None
        self.held_since = 0.0
        self.program = m.SetProgram(0, "", (), ())
        self.programmed = 0

    def described(self) -> m.ServedBoard:
        holder, program = self.holder, self.program
        held_s = int(time.monotonic() - self.held_since) if holder is not None else 0
        process, name = (holder.process, holder.name) if holder is not None else (0, "")
        return m.ServedBoard(
            self.name, process, name, held_s, program.identity, program.kernels, program.interleaving, self.programmed
        )


class Service:
    """Serves boards at a socket until it is stopped."""

    def __init__(self, path: str, boards: Sequence[str]) -> None:
        """Raises ServiceError if there is such a service already, or the socket cannot be created."""
        self.path = path
        self._boards = [Board(name) for name in boards]
        self._clients: set[Client] = set()
        self._changing = threading.Lock()
        self._pool = Pool()
        self._stopping = False
        self._messages = count(1)
        self._guard, self._listener = listen(path)
        self._answers: dict[type[Any], Callable[[Client, Any], object]] = {
            m.GetBoards: lambda client, ask: self._described(),
            m.OpenBoard: self._open,
            m.CloseBoard: self._close,
            m.SetProgram: self._program,
            m.ResetBoard: self._reset,
            m.StopService: lambda client, ask: m.Done(),
        }

    def run(self) -> None:
        """Serves until stop()."""
        self._pool.start()
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                    log.warning(f"no client can connect now: {error.strerror}")
                    time.sleep(PAUSE_S)
                continue
            self._welcome(connection)
        self._end()

    def stop(self) -> None:
        """Ends run(), from any thread or a signal handler."""
        self._stopping = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)

    def _end(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        self._listener.close()
        self._pool.close()
        with self._changing:
            clients = list(self._clients)
        for client in clients:
            client.end_process()
        os.close(self._guard)

    # Clients

    def _welcome(self, connection: socket.socket) -> None:
        connection.settimeout(MESSAGE_S)
        try:
            client = Client(connection)
        except ServiceError as error:
            log.warning(f"a client is refused: {error}")
            connection.close()
            return
        with self._changing:
            is_full = len(self._clients) >= MOST_CLIENTS
            idle = self._idlest() if is_full else None
            if idle is not None:
                self._clients.discard(idle)
            self._clients.add(client)
        if idle is not None:
            log.note(f"the connection of process {idle.process} is closed: it is idle, and another client connects")
            idle.hang_up()
        try:
            if is_full and idle is None:
                raise ServiceError(f"{MOST_CLIENTS} clients use boards already, the most that a service accepts")
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()
        except (ServiceError, RuntimeError) as error:  # RuntimeError: the system creates no thread
            log.warning(f"a client is refused: {error}")
            self._leave(client)

    def _idlest(self) -> Client | None:
        """Returns the client to disconnect first, or None: one without a message, or with the oldest last message.

        A client that has a board or a board process, or waits for an answer, is kept. `_changing` is held.
        """
        holders = {board.holder for board in self._boards}
        idle = [each for each in self._clients if not (each.is_served or each.has_process or each in holders)]
        return min(idle, key=lambda each: (each.has_entered, each.latest), default=None)

    def _attend(self, client: Client) -> None:
        """Answers a client until it closes the connection, ends, or sends bytes that are no message."""
        try:
            while client.await_message():
                message, files = m.receive_with_descriptors(client.connection, 1, m.MOST_OF_SERVICE, MESSAGE_S)
                m.close_all(files)
                if message is None:
                    return
                self._answer(client, message)
                if isinstance(message, m.StopService) and client.has_entered:
                    self.stop()
        except (OSError, ProtocolError) as error:
            log.note(f"the connection of process {client.process} is closed: {error}")
        finally:
            self._leave(client)

    def _leave(self, client: Client) -> None:
        """Releases all boards of a client."""
        with self._changing:
            self._clients.discard(client)
            for board in self._boards:
                if board.holder is client:
                    board.holder = None
        client.close()

    def _answer(self, client: Client, message: object) -> None:
        """Answers a message; raises OSError."""
        with self._changing:
            client.is_served, client.latest = True, next(self._messages)
        try:
            self._answer_with(client, message)
        finally:
            client.is_served = False

    def _answer_with(self, client: Client, message: object) -> None:
        try:
            if isinstance(message, m.Enter):
                answer: object = self._enter(client, message)
            elif not client.has_entered or type(message) not in {*self._answers, m.GetProcess}:
                raise InvalidValue(f"the service does not accept a {type(message).__name__} now")
            elif isinstance(message, m.GetProcess):
                self._give_process(client)
                return
            else:
                answer = self._answers[type(message)](client, message)
        except CLError as error:
            answer = m.Failed(error.status, str(error))
        m.send(client.connection, answer)

    def _enter(self, client: Client, ask: m.Enter) -> m.Boards:
        if (ask.version, ask.release) != (m.VERSION, __version__):
            raise InvalidValue(
                f"the host speaks version {ask.version} of fpgart {ask.release}, "
                f"the service version {m.VERSION} of fpgart {__version__}"
            )
        client.has_entered = True
        return self._described()

    def _described(self) -> m.Boards:
        with self._changing:
            return m.Boards(tuple(board.described() for board in self._boards))

    def _give_process(self, client: Client) -> None:
        """Sends the files of a board process; raises CLError, OSError."""
        client.end_process()
        try:
            made = self._pool.take()
        except ProcessError as error:
            raise OutOfResources(str(error)) from None
        try:
            with made.life.dup() as life:  # its own may be closed meanwhile: a reset of the board ends the process
                client.have_process(made.life)
                files = [made.session.fileno(), life.fileno(), made.output, made.error]
                m.send_with_descriptors(client.connection, m.Done(), files)
        finally:
            made.session.close()
            os.close(made.output)
            os.close(made.error)

    # Boards; `_changing` guards them

    def _board(self, number: int) -> Board:
        if not 0 <= number < len(self._boards):
            raise InvalidValue(f"there is no board {number}; the service has {len(self._boards)}")
        return self._boards[number]

    def _open(self, client: Client, ask: m.OpenBoard) -> m.Boards:
        with self._changing:
            board = self._board(ask.board)
            if board.holder not in (None, client):
                raise DeviceNotAvailable(told_held(board))
            if board.holder is None:
                board.holder, board.held_since = client, time.monotonic()
            return m.Boards((board.described(),))

    def _close(self, client: Client, ask: m.CloseBoard) -> m.Done:
        with self._changing:
            self._held(client, ask.board).holder = None
        return m.Done()

    def _program(self, client: Client, ask: m.SetProgram) -> m.Done:
        if len(ask.interleaving) > MOST_MEMORIES or not all(map(NAME.fullmatch, (ask.identity, *ask.kernels))):
            raise InvalidValue("a program has an identity, kernels with names, and memories of a board")
        with self._changing:
            board = self._held(client, ask.board)
            board.program = ask
            board.programmed += 1
        return m.Done()

    def _held(self, client: Client, number: int) -> Board:
        board = self._board(number)
        if board.holder is not client:
            raise InvalidOperation(f"process {client.process} has not opened board '{board.name}'")
        return board

    def _reset(self, client: Client, ask: m.ResetBoard) -> m.Done:
        with self._changing:
            board = self._board(ask.board)
            holder = board.holder
            if holder not in (None, client) and not ask.force:
                raise DeviceNotAvailable(told_held(board))
            board.program = m.SetProgram(0, "", (), ())
        if holder is not None:
            holder.end_process()
        return m.Done()


def told_held(board: Board) -> str:
    """Returns why a board cannot be opened."""
    found = board.described()
    return f"process {found.holder} ({found.holder_name}) has held board '{found.name}' for {found.held_s} s"


def name_of(process: int) -> str:
    try:
        with open(f"/proc/{process}/comm", errors="replace") as file:
            return "".join(letter if letter.isprintable() else "?" for letter in file.read(64).strip())
    except OSError:
        return "?"


def descriptor_of(process: int) -> int:
    """Returns a descriptor that is readable once a process has ended; -1 if there is none."""
    try:
        return os.pidfd_open(process) if process else -1
    except OSError:
        return -1


def refuse_folder_of_others(folder: str) -> None:
    """Raises ServiceError for a folder in which other users could replace the service's socket."""
    try:
        facts = os.lstat(folder)
    except OSError as error:
        raise ServiceError(f"{folder}: {error.strerror}") from None
    user = os.geteuid()
    if stat.S_ISLNK(facts.st_mode):
        raise ServiceError(f"{folder} is a symbolic link, and a service's socket is in a folder of this user's own")
    if facts.st_uid != user:
        raise ServiceError(
            f"{folder} belongs to user {facts.st_uid}, and a service's socket is in a folder of user {user}"
        )
    if facts.st_mode & WRITABLE_BY_OTHERS:
        raise ServiceError(
            f"{folder} has mode {stat.S_IMODE(facts.st_mode):04o}: others can write where a service's socket is; "
            "a mode such as 0700 keeps them out"
        )


def remove_socket(path: str) -> None:
    """Removes a socket, if there is one. Raises ServiceError for any other file."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ServiceError(f"{path} exists, and is not a socket")
        os.unlink(path)


def listen(path: str) -> tuple[int, socket.socket]:
    """Returns a locked file that guards the socket until the process ends, and the socket. Raises ServiceError."""
    refuse_folder_of_others(os.path.dirname(path) or ".")
    try:
        guard = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ServiceError(f"{path}: {error.strerror}") from None
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_socket(path)  # left by a service that was killed
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(MOST_WAITING)
    except ServiceError:
        os.close(guard)
        raise
    except BlockingIOError:
        os.close(guard)
        raise ServiceError(f"there is a service at {path} already") from None
    except OSError as error:
        os.close(guard)
        raise ServiceError(f"{path}: {error.strerror or error}") from None
    return guard, listener
