# SPDX-License-Identifier: Apache-2.0
"""The messages between a host and its board process: one named tuple for each.

A message on a socket is its length and the number of its kind, 4 bytes each, and its content (codec.py). Each request
is answered by one message: the one that its docstring names, or `Failed` or `NotBuilt`. Programs, kernels and
networks have numbers, which the board process gives; 0 stands for none.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from struct import Struct
from time import monotonic
from typing import Any

from fpgart.base.named_tuples import NamedTuple
from fpgart.channels.interface import History
from fpgart.engine.build_step import BuildStep, StepDone
from fpgart.engine.isolated.codec import MOST_BYTES, ProtocolError, decoded, encoded
from fpgart.kernels.interface import KernelInterface

VERSION = 5
"""The version of the messages: host and board process need the same, and the same release of fpgart."""
MOST_OF_SERVICE = 1 << 20
"""The most bytes of a message to a service, which holds no programs and no data."""
HEADER = Struct("<II")
DESCRIPTOR = Struct("i")

# The session


class Hello(NamedTuple):
    """The first message, with the stretch's file; answered by `Welcome`. `modules`: folders of the host's packages."""

    version: int
    release: str
    begin: int
    size: int
    modules: tuple[str, ...]


class Welcome(NamedTuple):
    """The engine of the board process; `missing`: why there is none. `carries`: it takes commands of a ring."""

    name: str
    engine_version: str
    path: str
    works_on_own_buffers: bool
    missing: str
    carries: bool


class WarmUp(NamedTuple):
    """Sent before `Hello`, so that the engine is loaded when that arrives; answered by `Done`."""

    modules: tuple[str, ...]


class OpenLane(NamedTuple):
    """Opens another lane, with its socket attached; answered by `Done`."""

    address: int


class OpenRing(NamedTuple):
    """Serves a ring (ring.h), with the descriptor of its bell attached; answered by `Done`."""

    address: int


# Answers


class Done(NamedTuple):
    """The answer of requests that return nothing."""


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
    """A kernel. `offered`: its number on lanes, 0 if each launch of it is a message."""

    number: int
    offered: int
    waits_for_others: bool


class NetworkMade(NamedTuple):
    """A network, and the names of its autorun kernels with the number of each."""

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
    """Answered by `Data`."""

    query: int


class FromSource(NamedTuple):
    """Answered by `Number`."""

    source: str


class FromIL(NamedTuple):
    """Answered by `Number`."""

    il: bytes


class FromBinary(NamedTuple):
    """Answered by `Number`."""

    binary: bytes


class Specialize(NamedTuple):
    """Answered by `Done`."""

    program: int
    id: int
    value: bytes


class Build(NamedTuple):
    """Answered by `Text`, the log."""

    program: int
    options: str


class Compile(NamedTuple):
    """Answered by `Text`, the log. `headers`: names, and programs that have their text."""

    program: int
    options: str
    headers: tuple[tuple[str, int], ...]


class Link(NamedTuple):
    """Answered by `Linked`."""

    options: str
    programs: tuple[int, ...]


class Kernels(NamedTuple):
    """Answered by `Interfaces`."""

    program: int
    known: tuple[KernelInterface, ...]


class GetBinary(NamedTuple):
    """Answered by `Data`."""

    program: int


class Release(NamedTuple):
    """Answered by `Done`. Unknown numbers are ignored."""

    programs: tuple[int, ...]
    networks: tuple[int, ...]


# Kernels


class MakeKernel(NamedTuple):
    """Answered by `Made`."""

    program: int
    name: str


class OnOwnThread(NamedTuple):
    """Answered by `Made`."""

    kernel: int


class Interface(NamedTuple):
    """Answered by `Interfaces`, of one kernel."""

    kernel: int


class Accepts(NamedTuple):
    """Answered by `Truth`."""

    kernel: int
    argument: int
    size: int


class WorkGroupInfo(NamedTuple):
    """Answered by `Data`."""

    kernel: int
    query: int


class SubGroupInfo(NamedTuple):
    """Answered by `Data`."""

    kernel: int
    query: int
    sizes: tuple[int, ...]
    length: int


class SuggestedLocalSize(NamedTuple):
    """Answered by `Numbers`."""

    kernel: int
    arguments: tuple[tuple[int, bytes | None], ...]
    offset: tuple[int, ...]
    sizes: tuple[int, ...]


class Launch(NamedTuple):
    """Answered by `Number` when the kernel has ended: EngineKernel.compile_ns. For launches that no lane can carry."""

    kernel: int
    image: bytes
    dimensions: int
    sizes: bytes
    has_local: bool
    network: int


# Networks


class MakeNetwork(NamedTuple):
    """Answered by `NetworkMade`."""

    program: int


class StopNetwork(NamedTuple):
    """Answered by `Done`."""

    network: int


class GetHistory(NamedTuple):
    """Answered by `Histories`."""

    network: int


class FindChannel(NamedTuple):
    """Answered by `Number`: the bytes of a packet."""

    network: int
    name: str


class ReadChannel(NamedTuple):
    """Answered by `Data`: a packet, or nothing."""

    network: int
    name: str
    wait_ms: int


class WriteChannel(NamedTuple):
    """Answered by `Truth`: true if there was room."""

    network: int
    name: str
    wait_ms: int
    packet: bytes


class FindVariable(NamedTuple):
    """Answered by `Number`: the bytes of the variable, -1 if there is none."""

    network: int
    name: str


class ReadVariable(NamedTuple):
    """Reads `size` bytes of a program-scope variable at `offset`; answered by `Data`."""

    network: int
    name: str
    offset: int
    size: int


class WriteVariable(NamedTuple):
    """Writes `data` into a program-scope variable, at `offset`; answered by `Done`."""

    network: int
    name: str
    offset: int
    data: bytes


# A compiler process, which has an engine and no board (fpgart/engine/compiling/compiler_process.py)


class OpenCompiler(NamedTuple):
    """The first message; answered by `CompilerReady`.

    `path`: the engine's file; `memory`: bytes that a step may use.
    """

    version: int
    release: str
    path: str
    memory: int


class CompilerReady(NamedTuple):
    """The engine of the compiler process; `missing` is the reason if there is none."""

    engine_version: str
    missing: str


class DoStep(NamedTuple):
    """Answered by `StepDone`. `folder`: the host's working directory."""

    step: BuildStep
    folder: str


# A service, which has boards and starts board processes for those who use them (fpgart/serving)


class Enter(NamedTuple):
    """The first message; answered by `Boards`."""

    version: int
    release: str


class ServedBoard(NamedTuple):
    """A board of a service. `holder`: the process that has opened it, 0 for none. `identity`: its program's."""

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
    """Answered by `Boards`."""


class GetProcess(NamedTuple):
    """Answered by `Done`, with the four files of `Spawned`. The caller's earlier process is ended."""


class OpenBoard(NamedTuple):
    """Answered by `Boards`, with one; `Failed` if another process has it."""

    board: int


class CloseBoard(NamedTuple):
    """Answered by `Done`."""

    board: int


class SetProgram(NamedTuple):
    """Answered by `Done`. Only for a board that the caller has opened."""

    board: int
    identity: str
    kernels: tuple[str, ...]
    interleaving: tuple[bool, ...]


class ResetBoard(NamedTuple):
    """Removes the board's program; answered by `Done`.

    With `force` also if another process has it, whose kernels are ended.
    """

    board: int
    force: bool


class StopService(NamedTuple):
    """Answered by `Done`."""


KINDS: tuple[type[Any], ...] = (
    Hello, Welcome, OpenLane, Done, Number, Text, Data, Truth, Numbers, Interfaces, Linked, Made, Failed, NotBuilt,
    DeviceInfo, FromSource, FromIL, FromBinary, Specialize, Build, Compile, Link, Kernels, GetBinary, Release,
    MakeKernel, OnOwnThread, Interface, Accepts, WorkGroupInfo, SubGroupInfo, SuggestedLocalSize, Launch,
    NetworkMade, Histories, MakeNetwork, StopNetwork, GetHistory,
    FindChannel, ReadChannel, WriteChannel, FindVariable, ReadVariable, WriteVariable,
    WarmUp, Enter, ServedBoard, Boards, GetBoards, GetProcess, OpenBoard, CloseBoard, SetProgram, ResetBoard,
    StopService, OpenCompiler, CompilerReady, DoStep, StepDone, OpenRing,
)  # fmt: skip
"""The kinds of messages by their numbers. The version has to grow if a number gets another meaning."""
NUMBER_OF = {kind: number for number, kind in enumerate(KINDS)}


def framed(message: object) -> bytes:
    """Returns a message as it goes through a socket; raises ProtocolError if it is too large."""
    content = encoded(message)
    if len(content) > MOST_BYTES:
        raise ProtocolError(f"a {type(message).__name__} of {len(content)} bytes is too large ({MOST_BYTES})")
    return HEADER.pack(len(content), NUMBER_OF[type(message)]) + content


def header(data: bytes, most: int = MOST_BYTES) -> tuple[int, type[Any]]:
    """Returns the size of the content that follows, and its kind; raises ProtocolError, also beyond `most` bytes."""
    length, number = HEADER.unpack(data)
    if number >= len(KINDS):
        raise ProtocolError(f"there is no message {number}")
    if length > most:
        raise ProtocolError(f"a {KINDS[number].__name__} of {length} bytes is too large ({most})")
    return length, KINDS[number]


def send(connection: socket.socket, message: object) -> None:
    """Sends a message; raises OSError if the other side has closed, without SIGPIPE, which would end the host."""
    send_framed(connection, framed(message))


def send_framed(connection: socket.socket, data: bytes) -> None:
    """Sends the result of framed(); raises as send() does."""
    connection.sendall(data, socket.MSG_NOSIGNAL)


def receive(connection: socket.socket) -> Any:
    """Returns the next message; None if the other side has closed. Raises ProtocolError, OSError."""
    return _receive(connection, 0, MOST_BYTES, None)[0]


def _limit(connection: socket.socket, end: float | None) -> None:
    """Sets the connection's timeout to the time left until `end` of the monotonic clock. Raises TimeoutError."""
    if end is not None:
        left_s = end - monotonic()
        if left_s <= 0:
            raise TimeoutError("a message took too long")
        connection.settimeout(left_s)


def _rest(connection: socket.socket, size: int, end: float | None) -> bytes:
    """Reads that many bytes of a message that has begun.

    Raises ProtocolError if the other side closes before, TimeoutError when the monotonic clock reaches `end`.
    """
    found = bytearray()
    while len(found) < size:
        _limit(connection, end)
        piece = connection.recv(min(size - len(found), 1 << 20))
        if not piece:
            raise ProtocolError(f"the other side closed after {len(found)} of {size} bytes of a message")
        found += piece
    return bytes(found)


def send_with_descriptors(connection: socket.socket, message: object, descriptors: Sequence[int]) -> None:
    """Sends a message together with open files. Raises OSError if the other side has closed."""
    data = framed(message)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(descriptors)}i", *descriptors))
    sent = connection.sendmsg([data], [rights] if descriptors else [], socket.MSG_NOSIGNAL)
    connection.sendall(data[sent:], socket.MSG_NOSIGNAL)


def receive_with_descriptors(
    connection: socket.socket, most: int, most_bytes: int = MOST_BYTES, within_s: float | None = None
) -> tuple[Any, list[int]]:
    """Returns the next message and its files, at most `most`; (None, []) at the end of the connection.

    The files are closed in programs that this process starts. Raises ProtocolError, OSError; TimeoutError for a message
    that has not arrived as a whole `within_s`, which is the timeout of the connection afterwards.
    """
    if within_s is None:
        return _receive(connection, most, most_bytes, None)
    try:
        return _receive(connection, most, most_bytes, monotonic() + within_s)
    finally:
        connection.settimeout(within_s)


def _receive(connection: socket.socket, most: int, most_bytes: int, end: float | None) -> tuple[Any, list[int]]:
    """Does as receive_with_descriptors(), until the monotonic clock reaches `end`."""
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
    """Closes files that are not needed."""
    for descriptor in descriptors:
        os.close(descriptor)
