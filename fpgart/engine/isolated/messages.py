# SPDX-License-Identifier: Apache-2.0
"""What a host and its board process say to each other: one data class per message.

A message on a socket is its length and the number of its kind, 4 bytes each, and its content (codec.py). Each request
is answered by one message: the one that is named behind it here, or `Failed` or `NotBuilt`. Programs, kernels and
networks have numbers, which the board process gives; 0 stands for none.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from struct import Struct
from typing import Any

from fpgart.engine.interface import History, KernelInterface
from fpgart.engine.isolated.codec import MOST_BYTES, ProtocolError, decoded, encoded

VERSION = 1
"""Of the messages: host and board process have to have the same, and the same release of fpgart."""
HEADER = Struct("<II")

# The session


@dataclass(frozen=True, slots=True)
class Hello:
    """First of all, with the stretch's file: -> Welcome. `modules`: where the host finds packages."""

    version: int
    release: str
    begin: int
    size: int
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Welcome:
    """The engine of the board process; `missing` says why there is none."""

    name: str
    engine_version: str
    path: str
    works_on_own_buffers: bool
    missing: str


@dataclass(frozen=True, slots=True)
class OpenLane:
    """Another lane, with the socket beside it: -> Done."""

    address: int


# Answers


@dataclass(frozen=True, slots=True)
class Done:
    """It is done, and there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Number:
    number: int


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Data:
    data: bytes


@dataclass(frozen=True, slots=True)
class Truth:
    truth: bool


@dataclass(frozen=True, slots=True)
class Numbers:
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interfaces:
    kernels: tuple[KernelInterface, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    program: int
    log: str


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel. `offered`: its number on lanes, 0 where each launch of it is a message."""

    number: int
    offered: int
    waits_for_others: bool


@dataclass(frozen=True, slots=True)
class NetworkMade:
    """A network, and its autorun kernels with how many there are of each."""

    number: int
    autorun: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Histories:
    channels: tuple[History, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """An error of OpenCL."""

    status: int
    words: str


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """A build step failed."""

    status: int
    log: str


# Programs


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """-> Data"""

    query: int


@dataclass(frozen=True, slots=True)
class FromSource:
    """-> Number"""

    source: str


@dataclass(frozen=True, slots=True)
class FromIL:
    """-> Number"""

    il: bytes


@dataclass(frozen=True, slots=True)
class FromBinary:
    """-> Number"""

    binary: bytes


@dataclass(frozen=True, slots=True)
class Specialize:
    """-> Done"""

    program: int
    id: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Build:
    """-> Text, the log"""

    program: int
    options: str


@dataclass(frozen=True, slots=True)
class Compile:
    """-> Text, the log. `headers`: names, and programs that have their text."""

    program: int
    options: str
    headers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """-> Linked"""

    options: str
    programs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kernels:
    """-> Interfaces"""

    program: int
    known: tuple[KernelInterface, ...]


@dataclass(frozen=True, slots=True)
class GetBinary:
    """-> Data"""

    program: int


@dataclass(frozen=True, slots=True)
class Release:
    """-> Done. Numbers that are none are passed over."""

    programs: tuple[int, ...]
    networks: tuple[int, ...]


# Kernels


@dataclass(frozen=True, slots=True)
class MakeKernel:
    """-> Made"""

    program: int
    name: str


@dataclass(frozen=True, slots=True)
class OnOwnThread:
    """-> Made"""

    kernel: int


@dataclass(frozen=True, slots=True)
class Interface:
    """-> Interfaces, one"""

    kernel: int


@dataclass(frozen=True, slots=True)
class Accepts:
    """-> Truth"""

    kernel: int
    index: int
    size: int


@dataclass(frozen=True, slots=True)
class WorkGroupInfo:
    """-> Data"""

    kernel: int
    query: int


@dataclass(frozen=True, slots=True)
class SubGroupInfo:
    """-> Data"""

    kernel: int
    query: int
    sizes: tuple[int, ...]
    length: int


@dataclass(frozen=True, slots=True)
class SuggestedLocalSize:
    """-> Numbers"""

    kernel: int
    arguments: tuple[tuple[int, bytes | None], ...]
    offset: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """-> Done, when the kernel has ended. For what does not go through a lane."""

    kernel: int
    image: bytes
    dimensions: int
    sizes: bytes
    has_local: bool
    network: int


# Networks


@dataclass(frozen=True, slots=True)
class MakeNetwork:
    """-> NetworkMade"""

    program: int


@dataclass(frozen=True, slots=True)
class StopNetwork:
    """-> Done"""

    network: int


@dataclass(frozen=True, slots=True)
class GetHistory:
    """-> Histories"""

    network: int


@dataclass(frozen=True, slots=True)
class FindChannel:
    """-> Number, of bytes in a packet"""

    network: int
    name: str


@dataclass(frozen=True, slots=True)
class ReadChannel:
    """-> Data, a packet or nothing"""

    network: int
    name: str
    wait_ms: int


@dataclass(frozen=True, slots=True)
class WriteChannel:
    """-> Truth, whether there was room"""

    network: int
    name: str
    wait_ms: int
    packet: bytes


@dataclass(frozen=True, slots=True)
class FindVariable:
    """-> Number, of bytes; -1 where there is none"""

    network: int
    name: str


@dataclass(frozen=True, slots=True)
class ReadVariable:
    """-> Data"""

    network: int
    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class WriteVariable:
    """-> Done"""

    network: int
    name: str
    offset: int
    data: bytes


KINDS: tuple[type[Any], ...] = (
    Hello, Welcome, OpenLane, Done, Number, Text, Data, Truth, Numbers, Interfaces, Linked, Made, Failed, NotBuilt,
    DeviceInfo, FromSource, FromIL, FromBinary, Specialize, Build, Compile, Link, Kernels, GetBinary, Release,
    MakeKernel, OnOwnThread, Interface, Accepts, WorkGroupInfo, SubGroupInfo, SuggestedLocalSize, Launch,
    NetworkMade, Histories, MakeNetwork, StopNetwork, GetHistory,
    FindChannel, ReadChannel, WriteChannel, FindVariable, ReadVariable, WriteVariable,
)  # fmt: skip
"""By their numbers. The version has to grow when a number comes to mean something else."""
NUMBER_OF = {kind: number for number, kind in enumerate(KINDS)}


def framed(message: object) -> bytes:
    """A message as it goes through a socket; raises ProtocolError for one that is too large."""
    content = encoded(message)
    if len(content) > MOST_BYTES:
        raise ProtocolError(f"a {type(message).__name__} of {len(content)} bytes is too large ({MOST_BYTES})")
    return HEADER.pack(len(content), NUMBER_OF[type(message)]) + content


def header(data: bytes) -> tuple[int, type[Any]]:
    """Bytes of the content that follows, and its kind; raises ProtocolError."""
    length, number = HEADER.unpack(data)
    if number >= len(KINDS):
        raise ProtocolError(f"there is no message {number}")
    if length > MOST_BYTES:
        raise ProtocolError(f"a {KINDS[number].__name__} of {length} bytes is too large ({MOST_BYTES})")
    return length, KINDS[number]


def send(connection: socket.socket, message: object) -> None:
    """Raises OSError when the other side is gone."""
    connection.sendall(framed(message))


def receive(connection: socket.socket) -> Any:
    """The next message; None when the other side has closed. Raises ProtocolError, OSError."""
    start = _exactly(connection, HEADER.size)
    if not start:
        return None
    length, kind = header(start)
    return decoded(kind, _exactly(connection, length))


def _exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; none when the other side has closed before the first. Raises ProtocolError in between."""
    found = bytearray()
    while len(found) < size:
        piece = connection.recv(min(size - len(found), 1 << 20))
        if not piece:
            if found:
                raise ProtocolError(f"the other side closed after {len(found)} of {size} bytes")
            return b""
        found += piece
    return bytes(found)


def send_with_descriptor(connection: socket.socket, message: object, descriptor: int) -> None:
    """A message together with an open file. Raises OSError when the other side is gone."""
    data = framed(message)
    sent = socket.send_fds(connection, [data], [descriptor])
    connection.sendall(data[sent:])


def receive_with_descriptor(connection: socket.socket) -> tuple[Any, int]:
    """The next message and the file that came with it, -1 for none; (None, -1) when the other side has closed.

    Raises ProtocolError, OSError.
    """
    start, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 1)
    descriptor = descriptors[0] if descriptors else -1
    try:
        if not start:
            return None, descriptor
        start += _exactly(connection, HEADER.size - len(start))
        length, kind = header(start)
        return decoded(kind, _exactly(connection, length)), descriptor
    except BaseException:
        if descriptor >= 0:
            os.close(descriptor)
        raise
