# SPDX-License-Identifier: Apache-2.0
"""Pipes, and what a host may do with its own end of one (fpgart/runtime/programs/pipe.py)."""

from __future__ import annotations

import ctypes

import pytest
from fpgart._native import lib
from machine import Boards, Machine

from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    InvalidArgSize,
    InvalidArgValue,
    InvalidKernel,
    InvalidMemObject,
    InvalidValue,
    OutOfResources,
    PipeEmpty,
    PipeFull,
)
from fpgart.kernels.interface import PipeArgument
from fpgart.runtime.programs.pipe import FAST_BYTES, FAST_LEAST, Pipe

TO_HOST, TO_KERNEL = cl.CL_MEM_HOST_READ_ONLY, cl.CL_MEM_HOST_WRITE_ONLY
BYTES, DEPTH = 4, 3


class End:
    """The kernel at the other end."""

    def __init__(self, name: str) -> None:
        self.name = name


class Host:
    """Makes pipes of four bytes, and has one packet."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.packet = ctypes.create_string_buffer(BYTES)
        self.address = ctypes.addressof(self.packet)
        self.kernel = End("k")

    def pipe(self, flags: int, depth: int = DEPTH) -> Pipe:
        return Pipe(self.machine.context, flags, BYTES, depth)

    def bound(self, flags: int) -> Pipe:
        pipe = self.pipe(flags)
        pipe.bind(self.kernel, declared(writes=flags == TO_HOST), "argument 0")
        return pipe

    def write(self, pipe: Pipe, data: bytes) -> None:
        self.packet.raw = data
        pipe.write(self.address)

    def read(self, pipe: Pipe) -> bytes:
        pipe.read(self.address)
        return self.packet.raw


def declared(*, writes: bool, depth: int = 0) -> PipeArgument:
    return PipeArgument("int", writes, False, True, depth)


def from_kernel(host: Host, pipe: Pipe, data: bytes) -> bool:
    host.packet.raw = data
    return pipe.fifo.write(host.address)


@pytest.fixture
def host(boards: Boards) -> Host:
    return Host(boards("a10_ref"))


@pytest.mark.parametrize(("depth", "packets"), [(0, 1), (1, 1), (DEPTH, DEPTH)])
def test_a_host_pipe_is_as_deep_as_it_was_made(host: Host, depth: int, packets: int) -> None:
    assert host.pipe(TO_HOST, depth).fifo.capacity == packets


def test_a_pipe_between_kernels_is_as_deep_as_is_fast_if_nobody_has_chosen(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.CHANNEL_DEPTH, "_value", "ignoredepth")
    assert host.pipe(0).fifo.capacity == FAST_BYTES // BYTES
    assert host.pipe(0, FAST_BYTES).fifo.capacity == FAST_BYTES
    assert Pipe(host.machine.context, 0, FAST_BYTES, 1).fifo.capacity == FAST_LEAST
    monkeypatch.setattr(config.CHANNEL_DEPTH, "_value", "strict")
    assert host.pipe(0).fifo.capacity == DEPTH


def test_packets_of_the_host_come_out_in_their_order(host: Host) -> None:
    pipe = host.bound(TO_KERNEL)
    for data in (b"abcd", b"efgh"):
        host.write(pipe, data)
    seen = [host.packet.raw for _ in range(2) if pipe.fifo.read(host.address)]
    assert seen == [b"abcd", b"efgh"]


def test_a_host_reads_what_the_kernel_wrote_once_the_kernel_was_enqueued(host: Host) -> None:
    pipe = host.bound(TO_HOST)
    assert from_kernel(host, pipe, b"abcd")
    with pytest.raises(PipeEmpty):
        host.read(pipe)
    pipe.open()
    host.packet.raw = bytes(BYTES)
    assert host.read(pipe) == b"abcd"
    with pytest.raises(PipeEmpty, match="no packet"):
        host.read(pipe)


def test_a_launch_opens_the_pipes_that_are_its_arguments(host: Host) -> None:
    pipe, kernel = host.pipe(TO_HOST), host.machine.kernel(lambda *_: None, "")
    (argument,) = kernel.interface.arguments
    kernel.interface = kernel.interface._replace(arguments=(argument._replace(pipe=declared(writes=True)),))
    kernel.set_pipe(0, pipe)
    assert from_kernel(host, pipe, b"abcd")
    with pytest.raises(PipeEmpty):
        host.read(pipe)
    host.machine.launch_of(kernel)
    assert host.read(pipe) == b"abcd"


def test_a_full_pipe_takes_no_packet(host: Host) -> None:
    pipe = host.bound(TO_KERNEL)
    for _ in range(DEPTH):
        host.write(pipe, b"abcd")
    with pytest.raises(PipeFull, match="no room"):
        host.write(pipe, b"abcd")
    with pytest.raises(OutOfResources, match="the pipe is full"):
        pipe.map(0)


@pytest.mark.parametrize(("flags", "call"), [(TO_HOST, "read"), (TO_KERNEL, "write")])
def test_a_packet_of_the_host_is_somewhere(host: Host, flags: int, call: str) -> None:
    pipe = host.bound(flags)
    pipe.open()
    with pytest.raises(InvalidValue, match="pointer is NULL"):
        getattr(pipe, call)(0)


def test_a_host_has_one_end_of_host_pipes_alone(host: Host) -> None:
    between = host.pipe(cl.CL_MEM_READ_WRITE)
    for call in (between.read, between.write, between.map):
        with pytest.raises(InvalidMemObject, match="between kernels"):
            call(host.address)
    with pytest.raises(InvalidMemObject, match="does not write"):
        host.bound(TO_HOST).write(host.address)
    with pytest.raises(InvalidMemObject, match="does not read"):
        host.bound(TO_KERNEL).read(host.address)


@pytest.mark.parametrize(("flags", "call"), [(TO_HOST, "read"), (TO_KERNEL, "write"), (TO_HOST, "map")])
def test_a_host_pipe_is_for_a_kernel_before_the_host_uses_it(host: Host, flags: int, call: str) -> None:
    with pytest.raises(InvalidKernel, match="has not been given to a kernel"):
        getattr(host.pipe(flags), call)(host.address)


def test_a_host_pipe_has_one_kernel_while_that_lives(host: Host) -> None:
    pipe = host.bound(TO_HOST)
    pipe.bind(host.kernel, declared(writes=True), "argument 0")
    other = End("other")
    with pytest.raises(InvalidArgValue, match="argument 0 already belongs to kernel 'k'"):
        pipe.bind(other, declared(writes=True), "argument 0")
    host.kernel = End("k")
    pipe.bind(other, declared(writes=True), "argument 0")


@pytest.mark.parametrize(("flags", "writes", "does"), [(TO_HOST, False, "reads"), (TO_KERNEL, True, "writes")])
def test_host_and_kernel_are_at_different_ends(host: Host, flags: int, writes: bool, does: str) -> None:
    with pytest.raises(InvalidArgValue, match=f"the kernel {does}, and so does the host"):
        host.pipe(flags).bind(host.kernel, declared(writes=writes), "argument 0")


def test_a_host_pipe_is_no_deeper_than_the_kernel_declares(host: Host) -> None:
    pipe = host.pipe(TO_HOST)
    pipe.bind(host.kernel, declared(writes=True, depth=DEPTH), "argument 0")
    with pytest.raises(InvalidArgValue, match=f"argument 0 holds {DEPTH - 1} packets, the pipe {DEPTH}"):
        pipe.bind(host.kernel, declared(writes=True, depth=DEPTH - 1), "argument 0")


def test_a_pipe_between_kernels_may_be_given_to_any(host: Host) -> None:
    pipe = host.pipe(cl.CL_MEM_READ_WRITE)
    for kernel in (host.kernel, End("other")):
        pipe.bind(kernel, declared(writes=True, depth=1), "argument 0")


def test_a_kernels_packets_have_the_size_of_the_pipes(host: Host) -> None:
    pipe = host.pipe(0)
    for size in (0, BYTES):
        pipe.check_packet(size, "argument 0")
    with pytest.raises(InvalidArgSize, match="argument 0 has packets of 8 bytes, the pipe of 4"):
        pipe.check_packet(8, "argument 0")


def test_what_is_mapped_is_given_back_from_its_begin(host: Host) -> None:
    pipe = host.bound(TO_HOST)
    pipe.open()
    for data in (b"abcd", b"efgh", b"ijkl"):
        from_kernel(host, pipe, data)
    first, size = pipe.map(2 * BYTES + 1)
    second, rest = pipe.map(0)
    assert (size, rest) == (2 * BYTES, BYTES)
    assert ctypes.string_at(first, size) + ctypes.string_at(second, rest) == b"abcdefghijkl"
    with pytest.raises(OutOfResources, match="no packet"):
        pipe.map(0)
    with pytest.raises(PipeEmpty):
        host.read(pipe)  # what is mapped is not read in another way
    for address, wrong in ((second, rest), (first, size + BYTES)):
        with pytest.raises(InvalidValue, match=f"{wrong} bytes at {address:#x} are not what was mapped first"):
            pipe.unmap(address, wrong)
    with pytest.raises(InvalidValue, match="3 bytes are not a number of packets, which have 4"):
        pipe.unmap(first, BYTES - 1)
    assert pipe.unmap(first, BYTES) == BYTES
    assert pipe.unmap(first + BYTES, BYTES) == BYTES
    assert pipe.unmap(second, rest) == BYTES
    assert lib.fifo_level(pipe.fifo.handle) == 0
    for address, wrong in ((second, rest), (0, 0)):
        with pytest.raises(InvalidValue):
            pipe.unmap(address, wrong)


def test_room_that_is_mapped_is_packets_once_it_is_given_back(host: Host) -> None:
    pipe = host.bound(TO_KERNEL)
    address, size = pipe.map(0)
    assert size == DEPTH * BYTES
    with pytest.raises(PipeFull):
        host.write(pipe, b"abcd")
    ctypes.memmove(address, b"abcdefgh", 2 * BYTES)
    assert lib.fifo_level(pipe.fifo.handle) == 0
    assert pipe.unmap(address, 2 * BYTES) == 2 * BYTES
    assert lib.fifo_level(pipe.fifo.handle) == 2
    assert pipe.fifo.read(host.address)
    assert host.packet.raw == b"abcd"
