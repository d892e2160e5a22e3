# SPDX-License-Identifier: Apache-2.0
"""A board process, seen from the host: its start, its lanes, its end."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

from fpgart._native import ffi, lib
from fpgart.base import log
from fpgart.base.errors import CLError, OutOfResources, error_of
from fpgart.base.shared_memory import SharedMemory
from fpgart.engine.interface import BuildFailed
from fpgart.engine.isolated import messages as m
from fpgart.engine.isolated.codec import ProtocolError
from fpgart.engine.isolated.layout import CRASH
from fpgart.engine.isolated.loss import BoardLost, Loss
from fpgart.engine.isolated.spawning import ProcessError, Spawned, spawn
from fpgart.engine.isolated.warming import await_engine, modules
from fpgart.version import __version__

T = TypeVar("T")
MOST_STARTS = 5
"""The number of times that a process which dies at once is started: an engine that cannot be loaded ends each of
them."""
LAUNCHES = count()
PATIENCE_S = 2.0
"""Seconds within which a board process that has closed a socket must end; then it is killed."""
GREETING_S = 60.0
"""Seconds within which a board process must have an engine. A busy machine takes long to load it."""


class DiedEarly(ProcessError):
    """Raised if it died before it answered `Hello`; another process may not."""


class Lane:
    """Shared memory and a socket to the board process, for one thread at a time."""

    __slots__ = ("address", "connection")

    def __init__(self, address: int, connection: socket.socket) -> None:
        self.address = address
        self.connection = connection


class BoardProcess:
    """A board process, from its start to its end. Its creation raises ProcessError."""

    def __init__(self, memory: SharedMemory, spawned: Spawned | None = None) -> None:
        """`spawned`: a process that has been started already."""
        self.memory = memory
        self._lanes: list[Lane] = []
        self._opening = threading.Lock()
        self._ending = threading.Lock()
        self._loss: Loss | None = None
        self._stopped = ""
        self._crash = ffi.cast("struct crash *", memory.begin + CRASH)
        self._crash.signal = 0
        self.kernels: dict[int, str] = {}
        """The names of running kernels, by launch."""
        self.ended_hook: Callable[[], None] | None = None
        """Is called once, when the process has ended."""
        self._released: deque[tuple[int, int]] = deque()
        self._warned = False
        spawned = spawned or spawn()
        self._session, self._spawned = spawned.session, spawned
        self.life = spawned.life.fileno()
        outlet = lib.outlet_open(spawned.output, spawned.error)
        if outlet == ffi.NULL:
            raise ProcessError("the system cannot create a thread for the output of kernels")
        self._outlet = ffi.gc(outlet, lib.outlet_free)
        self.welcome = self._greet()

    def _greet(self) -> m.Welcome:
        memory = self.memory
        hello = m.Hello(m.VERSION, __version__, memory.begin, memory.size, modules())
        try:
            await_engine(self._spawned, GREETING_S)
            self._session.settimeout(GREETING_S)
            m.send_with_descriptors(self._session, hello, [memory.descriptor])
            answer = m.receive(self._session)
            self._session.settimeout(None)
        except TimeoutError:
            self.stop(f"did not answer for {GREETING_S:g} s")
            self.ended()
            raise ProcessError(f"the board process did not answer for {GREETING_S:g} s, and was stopped") from None
        except (OSError, ProtocolError, ProcessError) as error:
            raise DiedEarly(f"the board process {self.ended().ending} before it answered ({error})") from None
        if isinstance(answer, m.Failed):
            raise ProcessError(answer.words)
        if not isinstance(answer, m.Welcome):
            raise DiedEarly(f"the board process {self.ended().ending} before it answered")
        return answer

    # Lanes

    def take(self) -> Lane:
        """Returns a lane for the caller alone; raises OSError if the process has died, CLError."""
        try:
            return self._lanes.pop()
        except IndexError:
            return self._open_lane()

    def give_back(self, lane: Lane) -> None:
        """Frees the lane for others. Every request on it has been answered."""
        self._lanes.append(lane)

    def give_up(self, lane: Lane) -> None:
        """Frees the lane after the process died without an answer there; waits until it has ended."""
        self.ended()
        self._lanes.append(lane)
        self._free_lanes()

    def open_ring(self, address: int, bell: int, count: int) -> None:
        """Makes the process serve a ring. Raises CLError, OSError, ProtocolError."""
        with self._opening:
            m.send_with_descriptors(self._session, m.OpenRing(address), [bell, count])
            answer = m.receive(self._session)
        check(answer)

    @property
    def outlet(self) -> object:
        """The copying of its output, for C."""
        return self._outlet

    def _free_lanes(self) -> None:
        """Frees the memory of lanes, unless the process may still use it."""
        assert self._loss is not None
        while True:
            try:
                lane = self._lanes.pop()
            except IndexError:  # or another thread has freed it
                return
            lane.connection.close()
            if self._loss.status is not None:
                self.memory.free(lane.address)

    def _open_lane(self) -> Lane:
        address = self.memory.allocate(int(lib.LANE_BYTES))
        if not address:
            raise OutOfResources("there is no memory for another lane to the board process")
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            self.memory.free(address)
            raise OutOfResources(f"the system provides no socket for another lane: {error.strerror}") from None
        try:
            with theirs, self._opening:
                m.send_with_descriptors(self._session, m.OpenLane(address), [theirs.fileno()])
                answer = m.receive(self._session)
            check(answer)
        except BaseException:
            ours.close()
            self.memory.free(address)
            raise
        return Lane(address, ours)

    # Talking

    def exchange(
        self, lane: Lane, request: object, await_message: Callable[[socket.socket], None] | None = None
    ) -> Any:
        """Returns the answer to a message. Raises OSError or ProtocolError if the process dies.

        `await_message` waits until the answer has begun. Raises OutOfResources if the request is no valid message,
        before anything is sent; the lane is free again then.
        """
        try:
            data = m.framed(request)
        except ProtocolError as error:
            self.give_back(lane)
            raise OutOfResources(f"the board process cannot be asked for a {type(request).__name__}: {error}") from None
        lib.lane_announce(lane.address)  # first: what does not fit the socket's buffer has to be read meanwhile
        m.send_framed(lane.connection, data)
        if await_message is not None:
            await_message(lane.connection)
        answer = m.receive(lane.connection)
        if answer is None:
            raise ConnectionResetError("the board process has closed a lane")
        return answer

    def ask(self, request: object, kind: type[T], *, is_repeated: bool = False) -> T:
        """Returns the answer to a message. Raises the error that is answered, and BoardLost if the process dies.

        `is_repeated`: another process is asked then, so that the host loses nothing.
        """
        lane = None
        try:
            lane = self.take()
            released = self._take_released()
            if released is not None:
                self.exchange(lane, released)
            answer = self.exchange(lane, request)
        except (OSError, ProtocolError):
            if lane is not None:
                self.give_up(lane)
            words = f"the board process {self.ended().ending} during a {type(request).__name__} request"
            if not is_repeated:
                self.warn(words)
            raise BoardLost(words) from None
        self.give_back(lane)
        self.drain()
        return answered(answer, kind)

    def begin(self, kernel: str) -> int:
        """Records a running kernel, which may end the process; returns a number for end()."""
        number = next(LAUNCHES)
        self.kernels[number] = kernel
        return number

    def end(self, number: int) -> None:
        """Removes the record: the kernel has ended, other than by the end of the process."""
        del self.kernels[number]

    def forget(self, program: int = 0, network: int = 0) -> None:
        """Marks a program or a network for release. The next request carries it: no answer is awaited."""
        self._released.append((program, network))

    def _take_released(self) -> m.Release | None:
        """Returns the programs and networks to release since the last request; each is sent once."""
        released = []
        with suppress(IndexError):
            while True:
                released.append(self._released.popleft())
        if not released:
            return None
        programs, networks = zip(*released, strict=True)
        return m.Release(programs, networks)

    def drain(self) -> None:
        """Waits until the output of kernels so far has been written."""
        lib.outlet_drain(self._outlet)

    # The end

    @property
    def alive(self) -> bool:
        """True if its end is not known."""
        return self._loss is None and not lib.lane_is_lost(self.life)

    @property
    def ended_status(self) -> int | None:
        """The status that wait() gives; None if it is not known to have ended."""
        return self._loss.status if self._loss is not None else None

    def warn(self, sentence: str) -> None:
        """Logs the cause of its end once, however many commands were lost with it."""
        with self._ending:
            first, self._warned = not self._warned, True
        if first:
            log.warning(sentence)

    def stop(self, why: str) -> None:
        """Ends it; the reason continues a sentence about a kernel."""
        with self._ending:
            if self._loss is None and not self._stopped:
                self._stopped = why
                self._spawned.end()

    def ended(self) -> Loss:
        """Waits until it has ended; returns how."""
        with self._ending:
            if self._loss is None:
                self._loss = self._read_loss()
                self._session.close()
                lib.outlet_close(self._outlet)
                self._free_lanes()
            hook, self.ended_hook = self.ended_hook, None
            if hook is not None:
                hook()
            return self._loss

    def _read_loss(self) -> Loss:
        status = self._spawned.await_status(PATIENCE_S)
        crash = self._crash
        if not crash.signal:
            return Loss(status, self._stopped)
        return Loss(status, self._stopped, int(crash.signal), int(crash.code), int(crash.address), int(crash.stack))


def start_process(memory: SharedMemory, spawned: Spawned | None, start: Callable[[], Spawned] = spawn) -> BoardProcess:
    """Returns a board process that answers: `spawned`, or a new one if that has died. Raises ProcessError."""
    for _ in range(MOST_STARTS - 1):
        try:
            return BoardProcess(memory, spawned or start())
        except DiedEarly as error:
            log.note(f"{error}; another one is started")
            spawned = None
    return BoardProcess(memory, start())


def error_in(answer: object) -> CLError | None:
    """Returns the OpenCL error that an answer carries; None for other answers."""
    return error_of(answer.status, answer.words) if isinstance(answer, m.Failed) else None


def check(answer: object) -> None:
    """Raises the error that an answer carries."""
    if isinstance(answer, m.Failed):
        raise error_of(answer.status, answer.words)
    if isinstance(answer, m.NotBuilt):
        raise BuildFailed(answer.status, answer.log)


def answered(answer: object, kind: type[T]) -> T:
    """Returns the answer if it is of that kind; raises the error that it carries."""
    check(answer)
    if not isinstance(answer, kind):
        raise OutOfResources(f"the board process answers with a {type(answer).__name__}, not a {kind.__name__}")
    return answer
