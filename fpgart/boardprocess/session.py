# SPDX-License-Identifier: Apache-2.0
"""The session of a host with its board process: the greeting, and a thread for each lane."""

from __future__ import annotations

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import config, log
from fpgart.base.errors import CLError, InvalidValue, OutOfHostMemory, OutOfResources
from fpgart.engine.choice import choose_engine
from fpgart.engine.interface import Engine, NoEngine
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.layout import CHANNELS_WATCHED, CRASH, HOST_WAITS, LANE_ALIGNMENT
from fpgart.version import __version__

if TYPE_CHECKING:
    from fpgart.boardprocess.compiling import Compiling
    from fpgart.boardprocess.served import Served

PAGE = 4096
TOP = 1 << 47
"""The end of a process's address space."""


def serve_session(descriptor: int, secure: int, loading: threading.Thread | None) -> None:
    """Serves the host at the other end of a socket until it closes that.

    `secure`: the process runs with other rights than its user's, as the host does. `loading`: the thread that loads the
    libraries of an engine.
    """
    if secure:
        config.distrust_environment()
    connection = socket.socket(fileno=descriptor)
    try:
        Session(connection, loading).run()
    except ProtocolError as error:
        log.warning(f"the session with the host ends: {error}")
    except OSError as error:
        log.note(f"the session with the host ends: {error}")


class Session:
    def __init__(self, connection: socket.socket, loading: threading.Thread | None = None) -> None:
        self._connection = connection
        self._loading = loading
        self._begin = self._size = 0
        self._engine: Engine = NoEngine("the session has not begun")
        self._served: Served | None = None
        self._compiling: Compiling | None = None

    def run(self) -> None:
        """Answers messages until the host closes the socket. Raises ProtocolError, OSError."""
        while True:
            message, descriptors = m.receive_with_descriptors(self._connection, 2)
            if message is None:
                return
            try:
                answer = self._answer(message, descriptors)
            except CLError as error:
                answer = m.Failed(error.status, str(error))
                m.close_all(descriptors)
            m.send(self._connection, answer)

    def _answer(self, message: object, descriptors: list[int]) -> object:
        """Returns the answer to a message. It owns the descriptors then, unless it raises an error."""
        descriptor = descriptors[0] if descriptors else -1
        if isinstance(message, m.Hello):
            return self._greet(message, descriptor)
        if isinstance(message, m.WarmUp):
            self._choose_engine(message.modules)
            return m.Done()
        if isinstance(message, m.OpenLane):
            return self._open_lane(message, descriptor)
        if isinstance(message, m.OpenRing):
            return self._open_ring(message, descriptors)
        if isinstance(message, m.OpenCompiler):
            return self._open_compiler(message)
        if isinstance(message, m.DoStep) and self._compiling is not None:
            return self._compiling.answer(message)
        raise InvalidValue(f"a {type(message).__name__} is nothing for a session")

    def _open_compiler(self, ask: m.OpenCompiler) -> m.CompilerReady:
        from fpgart.boardprocess.compiling import Compiling  # few sessions compile

        if self._loading is not None:
            self._loading.join()
        self._compiling = Compiling(ask)
        return self._compiling.ready()

    def _greet(self, hello: m.Hello, descriptor: int) -> m.Welcome:
        if (hello.version, hello.release) != (m.VERSION, __version__):
            raise InvalidValue(
                f"the host speaks version {hello.version} of fpgart {hello.release}, "
                f"the board process version {m.VERSION} of fpgart {__version__}"
            )
        self._map(hello.begin, hello.size, descriptor)
        os.close(descriptor)
        lib.crash_watch(self._begin + CRASH)
        lib.network_share_host_waits(self._begin + HOST_WAITS)
        lib.fifo_share_watch(self._begin + CHANNELS_WATCHED)
        engine = self._choose_engine(hello.modules)
        missing = engine.reason if isinstance(engine, NoEngine) else ""
        assert self._served is not None
        carries = self._served.carries
        return m.Welcome(engine.name, engine.version, engine.path, engine.works_on_own_buffers, missing, carries)

    def _choose_engine(self, modules: tuple[str, ...]) -> Engine:
        """Returns the session's engine, which the first call chooses. `modules`: further folders with packages."""
        if self._served is None:
            sys.path += [folder for folder in modules if folder not in sys.path]
            ahead = threading.Thread(target=new_served, args=(self._engine,))
            ahead.start()  # its imports take as long as the engine's libraries, and read no variable
            self._engine = choose_engine()
            ahead.join()
            self._served = new_served(self._engine)
        return self._engine

    def _map(self, begin: int, size: int, descriptor: int) -> None:
        if self._size or descriptor < 0:
            raise InvalidValue("a session begins with one greeting, and one file of memory")
        if not 0 < begin < TOP or not 0 < size <= TOP - begin or begin % PAGE or size % PAGE:
            raise InvalidValue(f"{size} bytes at {begin:#x} are no memory of a host")
        if not lib.map_part(descriptor, 0, begin, size, False):
            from fpgart.base.memory_limit import limit_of_memory  # imported for this failure only

            limit = limit_of_memory(size)
            raise OutOfResources(f"{size} bytes at {begin:#x} are not free in the board process{limit}")
        self._begin, self._size = begin, size
        lib.lane_stretch(begin, size)

    def _check_shared(self, address: int, size: int, what: str) -> None:
        """Raises InvalidValue if not all of the bytes are memory of the host's."""
        place = address - self._begin
        if not 0 <= place <= self._size - size or address % LANE_ALIGNMENT:
            raise InvalidValue(f"{what} at {address:#x} is not within the host's memory")
        last = ffi.new("char[1]")
        if not lib.copy_if_readable(int(ffi.cast("uintptr_t", last)), address + size - 1, 1):
            raise InvalidValue(f"{what} at {address:#x} is behind the end of the host's memory")

    def _open_ring(self, ask: m.OpenRing, descriptors: list[int]) -> m.Done:
        self._check_shared(ask.address, int(lib.ring_bytes()), "a ring")
        if len(descriptors) != 2 or self._served is None or not self._served.carries:
            raise InvalidValue(
                "a ring comes with two descriptors, after the greeting, if the engine takes its commands"
            )
        carrier = self._engine.carrier()
        assert carrier is not None
        of_ring = ask.address, carrier.context, carrier.device, *descriptors
        ring = threading.Thread(target=lib.ring_serve, args=of_ring, daemon=True)
        try:
            ring.start()
        except RuntimeError:
            raise OutOfResources("the system cannot create a thread for the ring") from None
        return m.Done()

    def _open_lane(self, ask: m.OpenLane, descriptor: int) -> m.Done:
        self._check_shared(ask.address, int(lib.LANE_BYTES), "a lane")
        if descriptor < 0:
            raise InvalidValue("a lane comes with a socket")
        served = self._served
        if served is None:
            raise InvalidValue("a lane is opened after the greeting")
        queue = served.acquire_queue()
        connection = socket.socket(fileno=descriptor)
        lane = threading.Thread(target=serve_lane, args=(served, ask.address, connection, queue), daemon=True)
        try:
            lane.start()
        except RuntimeError:
            served.release_queue(queue)
            connection.detach()
            raise OutOfResources("the system cannot create a thread for another lane") from None
        return m.Done()


def new_served(engine: Engine) -> Served:
    """Returns the object that serves an engine. It imports most of the engine's Python."""
    from fpgart.boardprocess.served import Served

    return Served(engine)


def serve_lane(served: Served, address: int, connection: socket.socket, queue: int) -> None:
    """Serves a lane until the host closes it, or sends what is no message."""
    try:
        while True:
            lib.lane_serve(address, queue)
            request = m.receive(connection)
            if request is None:
                return
            m.send_framed(connection, framed_answer(served, request))
    except ProtocolError as error:
        log.warning(f"a lane of the host is closed: {error}")
    except OSError as error:
        log.note(f"a lane of the host is closed: {error}")
    finally:
        connection.close()
        served.release_queue(queue)


def framed_answer(served: Served, request: object) -> bytes:
    """Returns the bytes of the answer to a request. It raises no error."""
    try:
        return m.framed(_answered(served, request))
    except ProtocolError as error:  # the answer is larger than a message
        return m.framed(m.Failed(OutOfResources.status, str(error)))
    except MemoryError:
        return m.framed(out_of_memory(request))


def _answered(served: Served, request: object) -> object:
    """Returns the answer to a request. It raises no error."""
    try:
        return served.answer(request)
    except MemoryError:
        return out_of_memory(request)
    except Exception:
        log.bug(f"a {type(request).__name__} could not be answered")
        return m.Failed(OutOfResources.status, f"the board process could not answer a {type(request).__name__}")
    finally:
        sys.stdout.flush()
        lib.flush_output()


def out_of_memory(request: object) -> m.Failed:
    """Returns the answer to a request that needs more memory than there is."""
    return m.Failed(OutOfHostMemory.status, f"the board process has no memory for a {type(request).__name__}")
