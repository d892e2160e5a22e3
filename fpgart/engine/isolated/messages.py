# SPDX-License-Identifier: Apache-2.0
"""The messages between a host and its board process: one named tuple for each.

A message on a socket is its length and the number of its kind, 4 bytes each, and its content (codec.py). Each request
is answered by one message: the one that is named behind it here, or `Failed` or `NotBuilt`. Programs, kernels and
networks have numbers, which the board process gives; 0 stands for none.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from struct import Struct
from time import monotonic
from typing import Any, NamedTuple

from fpgart.channels.interface import History
from fpgart.engine.build_step import BuildStep, StepDone
from fpgart.engine.isolated.codec import MOST_BYTES, ProtocolError, decoded, encoded
from fpgart.kernels.interface import KernelInterface

VERSION = 4
"""Of the messages: host and board process have to have the same, and the same release of fpgart."""
MOST_OF_SERVICE = 1 << 20
"""Bytes of a message to a service, which holds no programs and no data."""
HEADER = Struct("<II")
DESCRIPTOR = Struct("i")

# The session


class Hello(NamedTuple):
    """First of all, with the stretch's file: -> Welcome. `modules`: where the host finds packages."""

    version: int
    release: str
    begin: int
    size: int
    modules: tuple[str, ...]


class Welcome(NamedTuple):
    """The engine of the board process; `missing` says why there is none."""

    name: str
    engine_version: str
    path: str
    works_on_own_buffers: bool
    missing: str


class WarmUp(NamedTuple):
    """Before the greeting, to have an engine already when that comes: -> Done."""

    modules: tuple[str, ...]


class OpenLane(NamedTuple):
    """Another lane, with the socket beside it: -> Done."""

    address: int


# Answers


class Done(NamedTuple):
    """It is done, and there is nothing to say."""


class Number(NamedTuple):
    number: int


class Text(NamedTuple):
    text: str


class Data(NamedTuple):
    data: bytes


class Truth(NamedTuple):
    truth: bool


class Numbers(NamedTuple):
    numbers: tuple[int, ...]


class Interfaces(NamedTuple):
    kernels: tuple[KernelInterface, ...]


class Linked(NamedTuple):
    program: int
    log: str


class Made(NamedTuple):
    """A kernel. `offered`: its number on lanes, 0 where each launch of it is a message."""

    number: int
    offered: int
    waits_for_others: bool


class NetworkMade(NamedTuple):
    """A network, and its autorun kernels with how many there are of each."""

    number: int
    autorun: tuple[tuple[str, int], ...]


class Histories(NamedTuple):
    channels: tuple[History, ...]


class Failed(NamedTuple):
    """An error of OpenCL."""

    status: int
    words: str


class NotBuilt(NamedTuple):
    """A build step failed."""

    status: int
    log: str


# Programs


class DeviceInfo(NamedTuple):
    """-> Data"""

    query: int


class FromSource(NamedTuple):
    """-> Number"""

    source: str


class FromIL(NamedTuple):
    """-> Number"""

    il: bytes


class FromBinary(NamedTuple):
    """-> Number"""

    binary: bytes


class Specialize(NamedTuple):
    """-> Done"""

    program: int
    id: int
    value: bytes


class Build(NamedTuple):
    """-> Text, the log"""

    program: int
    options: str


class Compile(NamedTuple):
    """-> Text, the log. `headers`: names, and programs that have their text."""

    program: int
    options: str
    headers: tuple[tuple[str, int], ...]


class Link(NamedTuple):
    """-> Linked"""

    options: str
    programs: tuple[int, ...]


class Kernels(NamedTuple):
    """-> Interfaces"""

    program: int
    known: tuple[KernelInterface, ...]


class GetBinary(NamedTuple):
    """-> Data"""

    program: int


class Release(NamedTuple):
    """-> Done. Numbers that are none are passed over."""

    programs: tuple[int, ...]
    networks: tuple[int, ...]


# Kernels


class MakeKernel(NamedTuple):
    """-> Made"""

    program: int
    name: str


class OnOwnThread(NamedTuple):
    """-> Made"""

    kernel: int


class Interface(NamedTuple):
    """-> Interfaces, one"""

    kernel: int


class Accepts(NamedTuple):
    """-> Truth"""

    kernel: int
    argument: int
    size: int


class WorkGroupInfo(NamedTuple):
    """-> Data"""

    kernel: int
    query: int


class SubGroupInfo(NamedTuple):
    """-> Data"""

    kernel: int
    query: int
    sizes: tuple[int, ...]
    length: int


class SuggestedLocalSize(NamedTuple):
    """-> Numbers"""

    kernel: int
    arguments: tuple[tuple[int, bytes | None], ...]
    offset: tuple[int, ...]
    sizes: tuple[int, ...]


class Launch(NamedTuple):
    """-> Number, when the kernel has ended: EngineKernel.compile_ns. For what does not go through a lane."""

    kernel: int
    image: bytes
    dimensions: int
    sizes: bytes
    has_local: bool
    network: int


# Networks


class MakeNetwork(NamedTuple):
    """-> NetworkMade"""

    program: int


class StopNetwork(NamedTuple):
    """-> Done"""

    network: int


class GetHistory(NamedTuple):
    """-> Histories"""

    network: int


class FindChannel(NamedTuple):
    """-> Number, of bytes in a packet"""

    network: int
    name: str


class ReadChannel(NamedTuple):
    """-> Data, a packet or nothing"""

    network: int
    name: str
    wait_ms: int


class WriteChannel(NamedTuple):
    """-> Truth, whether there was room"""

    network: int
    name: str
    wait_ms: int
    packet: bytes


class FindVariable(NamedTuple):
    """-> Number, of bytes; -1 where there is none"""

    network: int
    name: str


class ReadVariable(NamedTuple):
    """-> Data"""

    network: int
    name: str
    offset: int
    size: int


class WriteVariable(NamedTuple):
    """-> Done"""

    network: int
    name: str
    offset: int
    data: bytes


# A compiler process, which has an engine and no board (fpgart/engine/compiling/compiler_process.py)


class OpenCompiler(NamedTuple):
    """First of all: -> CompilerReady. `path`: the engine's file; `memory`: bytes that a step may use."""

    version: int
    release: str
    path: str
    memory: int


class CompilerReady(NamedTuple):
    """The engine of the compiler process; `missing` says why there is none."""

    engine_version: str
    missing: str


class DoStep(NamedTuple):
    """-> StepDone. `folder`: the host's working directory."""

    step: BuildStep
    folder: str


# A service, which has boards and starts board processes for those who use them (fpgart/serving)


class Enter(NamedTuple):
    """First of all: -> Boards"""

    version: int
    release: str


class ServedBoard(NamedTuple):
    """A board of a service. `holder`: the process that has opened it, 0 for none. `identity` is that of its program."""

    name: str
    holder: int
    holder_name: str
    held_s: int
    identity: str
    kernels: tuple[str, ...]
    interleaving: tuple[bool, ...]
    programmed: int


class Boards(NamedTuple):
    boards: tuple[ServedBoard, ...]


class GetBoards(NamedTuple):
    """-> Boards"""


class GetProcess(NamedTuple):
    """-> Done, with the four files of `Spawned`. An earlier one is ended."""


class OpenBoard(NamedTuple):
    """-> Boards, one; Failed where another process has it"""

    board: int


class CloseBoard(NamedTuple):
    """-> Done"""

    board: int


class SetProgram(NamedTuple):
    """-> Done. Of a board that the caller has opened."""

    board: int
    identity: str
    kernels: tuple[str, ...]
    interleaving: tuple[bool, ...]


class ResetBoard(NamedTuple):
    """-> Done: it holds no program then. With `force` also where another process has it, whose kernels are ended."""

    board: int
    force: bool


class StopService(NamedTuple):
    """-> Done"""


KINDS: tuple[type[Any], ...] = (
    Hello, Welcome, OpenLane, Done, Number, Text, Data, Truth, Numbers, Interfaces, Linked, Made, Failed, NotBuilt,
    DeviceInfo, FromSource, FromIL, FromBinary, Specialize, Build, Compile, Link, Kernels, GetBinary, Release,
    MakeKernel, OnOwnThread, Interface, Accepts, WorkGroupInfo, SubGroupInfo, SuggestedLocalSize, Launch,
    NetworkMade, Histories, MakeNetwork, StopNetwork, GetHistory,
    FindChannel, ReadChannel, WriteChannel, FindVariable, ReadVariable, WriteVariable,
    WarmUp, Enter, ServedBoard, Boards, GetBoards, GetProcess, OpenBoard, CloseBoard, SetProgram, ResetBoard,
    StopService, OpenCompiler, CompilerReady, DoStep, StepDone,
)  # fmt: skip
"""By their numbers. The version has to grow when a number comes to mean something else."""
NUMBER_OF = {kind: number for number, kind in enumerate(KINDS)}


def framed(message: object) -> bytes:
    """A message as it goes through a socket; raises ProtocolError for one that is too large."""
    content = encoded(message)
    if len(content) > MOST_BYTES:
        raise ProtocolError(f"a {type(message).__name__} of {len(content)} bytes is too large ({MOST_BYTES})")
    return HEADER.pack(len(content), NUMBER_OF[type(message)]) + content


def header(data: bytes, most: int = MOST_BYTES) -> tuple[int, type[Any]]:
    """Bytes of the content that follows, and its kind; raises ProtocolError, also for more than `most` bytes."""
    length, number = HEADER.unpack(data)
    if number >= len(KINDS):
        raise ProtocolError(f"there is no message {number}")
    if length > most:
        raise ProtocolError(f"a {KINDS[number].__name__} of {length} bytes is too large ({most})")
    return length, KINDS[number]


def send(connection: socket.socket, message: object) -> None:
    """Raises OSError when the other side is gone, and has no signal tell of it: hosts may die of SIGPIPE."""
    send_framed(connection, framed(message))


def send_framed(connection: socket.socket, data: bytes) -> None:
    """As send(), what framed() has given."""
    connection.sendall(data, socket.MSG_NOSIGNAL)


def receive(connection: socket.socket) -> Any:
    """The next message; None when the other side has closed. Raises ProtocolError, OSError."""
    start = _exactly(connection, HEADER.size)
    if not start:
        return None
    length, kind = header(start)
    return decoded(kind, _rest(connection, length))


def _exactly(connection: socket.socket, size: int, end: float | None = None) -> bytes:
    """So many bytes; none when the other side has closed before the first. Raises ProtocolError in between.

    Raises TimeoutError when the monotonic clock reaches `end` before.
    """
    found = bytearray()
    while len(found) < size:
        _limit(connection, end)
        piece = connection.recv(min(size - len(found), 1 << 20))
        if not piece:
            if found:
                raise ProtocolError(f"the other side closed after {len(found)} of {size} bytes")
            return b""
        found += piece
    return bytes(found)


def _limit(connection: socket.socket, end: float | None) -> None:
    """Let the next wait for bytes end when the monotonic clock reaches `end`. Raises TimeoutError."""
    if end is not None:
        left_s = end - monotonic()
        if left_s <= 0:
            raise TimeoutError("a message took too long")
        connection.settimeout(left_s)


def _rest(connection: socket.socket, size: int, end: float | None = None) -> bytes:
    """So many bytes of a message that has begun. Raises ProtocolError when the other side closes before."""
    found = _exactly(connection, size, end)
    if len(found) < size:
        raise ProtocolError(f"the other side closed {size} bytes before the end of a message")
    return found


def send_with_descriptors(connection: socket.socket, message: object, descriptors: Sequence[int]) -> None:
    """A message together with open files. Raises OSError when the other side is gone."""
    data = framed(message)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(descriptors)}i", *descriptors))
    sent = connection.sendmsg([data], [rights] if descriptors else [], socket.MSG_NOSIGNAL)
    connection.sendall(data[sent:], socket.MSG_NOSIGNAL)


def receive_with_descriptors(
    connection: socket.socket, most: int, most_bytes: int = MOST_BYTES, within_s: float | None = None
) -> tuple[Any, list[int]]:
    """The next message and the files that came with it, `most` of them; (None, []) when the other side has closed.

    No program that this process starts gets the files. Raises ProtocolError, OSError; TimeoutError for a message that
    is not there as a whole `within_s`, which is the timeout of the connection afterwards.
    """
    if within_s is None:
        return _receive(connection, most, most_bytes, None)
    try:
        return _receive(connection, most, most_bytes, monotonic() + within_s)
    finally:
        connection.settimeout(within_s)


def _receive(connection: socket.socket, most: int, most_bytes: int, end: float | None) -> tuple[Any, list[int]]:
    """As receive_with_descriptors(), until the monotonic clock reaches `end`."""
    _limit(connection, end)
    room = socket.CMSG_LEN(most * DESCRIPTOR.size)
    start, ancillary, _, _ = connection.recvmsg(HEADER.size, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = [
        number
        for level, kind, data in ancillary
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for (number,) in DESCRIPTOR.iter_unpack(data[: len(data) // DESCRIPTOR.size * DESCRIPTOR.size])
    ]
    if not start:
        close_all(descriptors)
        return None, []
    try:
        start += _rest(connection, HEADER.size - len(start), end)
        length, kind = header(start, most_bytes)
        return decoded(kind, _rest(connection, length, end)), descriptors
    except BaseException:
        close_all(descriptors)
        raise


def close_all(descriptors: Sequence[int]) -> None:
    """Close files that nobody wants."""
    for descriptor in descriptors:
        os.close(descriptor)
