# SPDX-License-Identifier: Apache-2.0
"""The start of a board process, apart from the rest, so that the process starts while the host still imports that.

It imports few modules: neither dataclasses nor pathlib, which take as long as the interpreter's start.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import config, option_paths

if TYPE_CHECKING:
    from fpgart.base.shared_memory import SharedMemory

PACKAGE = os.path.dirname(os.path.dirname(config.__file__))
PROGRAM = os.path.join(PACKAGE, "fpgart-board")
STATUS = Struct("<i")
NOT_PASSED_ON = ("LD_PRELOAD", config.ISOLATE.name, config.SERVED.name, "FPGART_ONLY")
"""Variables for the host's process alone."""


LIMITS = {errno.EMFILE: " (ulimit -n)", errno.EAGAIN: " (ulimit -u)"}
"""The limits of a process that cause these errors of the system."""
SPAWNING = 8 << 20
"""The most bytes that starting a process takes, for its stack."""


class ProcessError(Exception):
    """Raised if the board process does not start; the sentence says why."""


class Spawned:
    """The host's ends of the sockets and pipes of a new board process."""

    __slots__ = ("error", "is_warming", "life", "output", "session")

    def __init__(self, session: socket.socket, life: socket.socket, output: int, error: int) -> None:
        """`life`: the socket to the keeper, the parent process of the board process."""
        self.session = session
        self.life = life
        self.output = output
        self.error = error
        self.is_warming = False
        """True if it was told to load its engine, and has not answered since."""

    def end(self) -> None:
        """Makes the keeper end the board process, unless both have ended."""
        end_by_keeper(self.life)

    def await_status(self, patience_s: float) -> int | None:
        """Returns the status that wait() gives of the process; None if it is unknown.

        A process that has not ended after `patience_s` is ended.
        """
        data = self._read_status(patience_s)
        if data is None:
            self.end()
            data = self._read_status(patience_s) or b""
        return int(STATUS.unpack(data)[0]) if len(data) == STATUS.size else None

    def _read_status(self, patience_s: float) -> bytes | None:
        """Returns the keeper's message; None if there is none within that time."""
        self.life.settimeout(patience_s)
        try:
            return self.life.recv(STATUS.size)
        except TimeoutError:
            return None
        except OSError:
            return b""

    def discard(self) -> None:
        """Ends the process, unless it has ended, and closes the sockets and pipes."""
        self.end()
        self.life.close()
        self.session.close()
        os.close(self.output)
        os.close(self.error)


def end_by_keeper(life: socket.socket) -> None:
    """Asks the keeper (the board process's parent) at the other end of `life` to end that process, if it runs."""
    with suppress(OSError):
        life.send(b"k", socket.MSG_NOSIGNAL)


def spawn(variables: Mapping[str, str] | None = None, engine: str = "") -> Spawned:
    """Starts a board process with these environment variables, the host's by default; raises ProcessError.

    `engine`: the file of the driver that it will open, if it is known.
    """
    try:
        return _spawn(environment() if variables is None else variables, engine)
    except OSError as error:
        raise ProcessError(f"the system does not let a board process start: {words_for(error.errno or 0)}") from None


def _spawn(variables: Mapping[str, str], engine: str) -> Spawned:
    session, theirs = socket.socketpair()
    life, keepers = socket.socketpair()
    output, error = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    try:
        _start([output[1], error[1], theirs.fileno(), keepers.fileno()], variables, engine)
    finally:
        theirs.close()
        keepers.close()
        os.close(output[1])
        os.close(error[1])
    return Spawned(session, life, output[0], error[0])


def _start(descriptors: list[int], environment: Mapping[str, str], engine: str) -> None:
    """Starts fpgart-board with descriptors: its output, its errors, its session, its keeper. Raises ProcessError."""
    if not os.path.exists(PROGRAM):
        raise ProcessError(f"{PROGRAM} is missing: it is built with the driver")
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        arguments = [ffi.new("char[]", os.fsencode(text)) for text in (PROGRAM, str(os.getpid()), engine)]
        variables = [ffi.new("char[]", os.fsencode(f"{name}={value}")) for name, value in environment.items()]
        passed = ffi.new("int[]", [nothing, *descriptors])
        failed = lib.spawn_apart(
            os.fsencode(PROGRAM),
            ffi.new("char *[]", [*arguments, ffi.NULL]),
            ffi.new("char *[]", [*variables, ffi.NULL]),
            passed,
            len(passed),
        )
    finally:
        os.close(nothing)
    if failed:
        raise ProcessError(f"{PROGRAM} does not start: {words_for(failed)}")


def words_for(error: int) -> str:
    """Returns the system's text for an error, and the limit that causes it."""
    from fpgart.base.memory_limit import limit_of_memory  # its import takes time

    limit = limit_of_memory(SPAWNING, SPAWNING) if error == errno.ENOMEM else LIMITS.get(error, "")
    return os.strerror(error) + limit


def environment() -> dict[str, str]:
    """Returns the host's variables that are for other processes, too; paths are absolute."""
    passed = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    folder = config.Option.folder or config.working_folder()
    for name, option in config.OPTIONS.items():
        if passed.get(name):
            passed[name] = option_paths.absolute(passed[name], option.holds, folder)
    return passed


class Isolation:
    """The arguments of an isolated engine: the memory of both processes, and a process if one has been started."""

    __slots__ = ("_spawned", "memory", "start")

    def __init__(self, memory: SharedMemory, spawned: Spawned | None, start: Callable[[], Spawned]) -> None:
        """`start` starts another board process; raises ProcessError."""
        self.memory = memory
        self._spawned = spawned
        self.start = start

    def take_spawned(self) -> Spawned:
        """Returns a board process that has got no request yet; raises ProcessError."""
        found, self._spawned = self._spawned or self.start(), None
        return found
