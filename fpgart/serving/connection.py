# SPDX-License-Identifier: Apache-2.0
"""A client's connection with a service."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Sequence
from typing import TypeVar

from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.spawning import ProcessError, Spawned
from fpgart.serving.sockets import DEFAULT_NAME, ServiceError, path_of, peer_of
from fpgart.version import __version__

T = TypeVar("T")
ANSWER_S = 60.0
"""Seconds to wait for a service; one that starts a board process on a busy machine takes some seconds."""
FILES = 4
"""The files of a board process: session, keeper, output and error."""


class Connection:
    """One process's connection with a service; any thread may ask. Closing it releases the client's boards."""

    def __init__(self, name: str) -> None:
        """`name` is that of the service, or the path of its socket. Raises ServiceError."""
        self.name = name
        self._asking = threading.Lock()
        self._socket = connected(name)
        self.boards = self.ask(m.Enter(m.VERSION, __version__), m.Boards).boards
        """The boards at the time of the connection."""

    def ask(self, request: object, kind: type[T]) -> T:
        """Returns the answer to a message. Raises ServiceError."""
        answer, files = self._exchange(request)
        m.close_all(files)
        return self._answered(answer, kind)

    def new_process(self) -> Spawned:
        """Returns a new board process of this host, and ends the one before. Raises ProcessError."""
        try:
            answer, files = self._exchange(m.GetProcess())
            try:
                self._answered(answer, m.Done)
                if len(files) != FILES:
                    raise ServiceError(
                        f"service '{self.name}' passes {len(files)} files for a board process, not {FILES}"
                    )
            except ServiceError:
                m.close_all(files)
                raise
        except ServiceError as error:
            raise ProcessError(str(error)) from None
        session, life, output, failure = files
        return Spawned(socket.socket(fileno=session), socket.socket(fileno=life), output, failure)

    def close(self) -> None:
        """Releases all boards and the board process."""
        self._socket.close()

    def _exchange(self, request: object) -> tuple[object, Sequence[int]]:
        """Returns the answer to a message, with files. Raises ServiceError."""
        with self._asking:
            try:
                m.send(self._socket, request)
                answer, files = m.receive_with_descriptors(self._socket, FILES, within_s=ANSWER_S)
            except (OSError, ProtocolError) as error:
                self._socket.close()  # a late answer would be read as that to the next message
                raise ServiceError(f"service '{self.name}' does not answer: {error}") from None
        if answer is None:
            raise ServiceError(f"service '{self.name}' has ended")
        return answer, files

    def _answered(self, answer: object, kind: type[T]) -> T:
        if isinstance(answer, m.Failed):
            raise ServiceError(answer.words)
        if not isinstance(answer, kind):
            raise ServiceError(f"service '{self.name}' answers with a {type(answer).__name__}, not a {kind.__name__}")
        return answer


def connected(name: str) -> socket.socket:
    """Returns a socket with a service of this user at its other end. Raises ServiceError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # With a timeout of Python's, a socket does not wait while the queue of connections is full.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(ANSWER_S), 0))
    try:
        connection.connect(path_of(name))
        connection.settimeout(ANSWER_S)
        peer_of(connection)
    except BlockingIOError:
        connection.close()
        raise ServiceError(
            f"service '{name}' accepts no connection for {ANSWER_S:.0f} s: too many others wait"
        ) from None
    except OSError as error:
        connection.close()
        why = error.strerror or str(error)
        option = "" if name == DEFAULT_NAME else f" --served {name}"
        raise ServiceError(f"there is no service '{name}' ({why}); `fpgart board serve{option}` starts it") from None
    except ServiceError:
        connection.close()
        raise
    return connection
