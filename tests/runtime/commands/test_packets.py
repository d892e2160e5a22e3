# SPDX-License-Identifier: Apache-2.0
"""Hosts that write and read channels and program-scope variables (fpgart/runtime/commands/packets.py)."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Boards, Machine, listening, nothing

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidArgValue, InvalidValue
from fpgart.runtime.commands.packets import SLICE_MS, MovePacket, MoveVariable, Unready
from fpgart.runtime.commands.programming import load_onto
from fpgart.runtime.memory.device import Device
from fpgart.runtime.scheduling.occupancy import Claim, Direction

BYTES = 4
PROGRAM = "the program that is loaded"


class Fifo:
    """Takes and gives a packet at the `nth` attempt."""

    packet = BYTES

    def __init__(self, nth: int) -> None:
        self.left = nth
        self.calls: list[tuple[str, int, int]] = []

    def _move(self, call: str, address: int, patience_ms: int) -> bool:
        self.calls.append((call, address, patience_ms))
        self.left -= 1
        return self.left <= 0

    def write(self, address: int, patience_ms: int) -> bool:
        return self._move("write", address, patience_ms)

    def read(self, address: int, patience_ms: int) -> bool:
        return self._move("read", address, patience_ms)


class Variable:
    """One that lies in `memory`."""

    def __init__(self, memory: ctypes.Array[ctypes.c_char]) -> None:
        self.memory = memory
        self.size = len(memory)

    def read(self, offset: int, address: int, size: int) -> None:
        ctypes.memmove(address, ctypes.addressof(self.memory) + offset, size)

    def write(self, offset: int, address: int, size: int) -> None:
        ctypes.memmove(ctypes.addressof(self.memory) + offset, address, size)


class Network:
    """The channel "c", and the variable "v" of eight bytes."""

    def __init__(self, fifo: Fifo) -> None:
        self.stopped = False
        self.fifo = fifo
        self.memory = (ctypes.c_char * 8)(*b"01234567")

    def channel(self, name: str) -> Fifo | None:
        return self.fifo if name == "c" else None

    def variable(self, name: str) -> Variable | None:
        return Variable(self.memory) if name == "v" else None

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def device(boards: Boards) -> Device:
    return boards("hetero").device


def with_network(device: Device, nth: int = 1) -> Network:
    network: Any = Network(Fifo(nth))
    device.networks[PROGRAM] = network
    return network  # type: ignore[no-any-return]


def packet(
    device: Device, channel: str = "c", size: int = BYTES, *, writing: bool = True, blocking: bool = False
) -> Any:
    return MovePacket(device, PROGRAM, channel, 0x1000, size, writing=writing, blocking=blocking)


def variable(
    device: Device, name: str, address: int, size: int, offset: int, *, program: str = PROGRAM, writing: bool
) -> MoveVariable:
    of: Any = SimpleNamespace(identity=program)
    return MoveVariable(device, of, name, address, size, offset, writing=writing)


@pytest.mark.parametrize(("writing", "call"), [(True, "write"), (False, "read")])
@pytest.mark.parametrize(("blocking", "patience_ms"), [(True, SLICE_MS), (False, 0)])
def test_a_packet_moves_between_its_address_and_the_channel(
    device: Device, writing: bool, call: str, blocking: bool, patience_ms: int
) -> None:
    network = with_network(device)
    packet(device, writing=writing, blocking=blocking).run()
    assert network.fifo.calls == [(call, 0x1000, patience_ms)]


def test_who_blocks_tries_again_until_the_packet_has_moved(device: Device) -> None:
    network = with_network(device, nth=3)
    packet(device, blocking=True).run()
    assert len(network.fifo.calls) == 3


@pytest.mark.parametrize(("writing", "word"), [(True, "full"), (False, "empty")])
def test_who_does_not_block_is_told_that_the_channel_is_full_or_empty(device: Device, writing: bool, word: str) -> None:
    network = with_network(device, nth=2)
    with pytest.raises(Unready, match=f"channel 'c' is {word}") as raised:
        packet(device, writing=writing).run()
    assert raised.value.status == -1
    assert len(network.fifo.calls) == 1


def test_who_blocks_gives_up_when_the_program_is_taken_off_the_board(device: Device) -> None:
    network = with_network(device, nth=2)
    network.stop()
    with pytest.raises(Unready):
        packet(device, blocking=True).run()


@pytest.mark.parametrize(("channel", "size", "words"), [("d", BYTES, "no channel 'd'"), ("c", 8, "of 4 bytes, not 8")])
def test_a_packet_is_for_a_channel_that_is_there_and_has_its_size(
    device: Device, channel: str, size: int, words: str
) -> None:
    network = with_network(device)
    with pytest.raises(InvalidValue, match=words):
        packet(device, channel, size).run()
    assert network.fifo.calls == []


@pytest.mark.parametrize("blocking", [True, False])
def test_who_blocks_needs_a_thread_and_keeps_nothing_busy(device: Device, blocking: bool) -> None:
    moving = packet(device, blocking=blocking)
    assert moving.needs_thread is blocking
    assert moving.claim() is Claim.TAKEN
    assert moving.direction == Direction.NONE
    assert moving.ready_list is device.scheduler.host_ready
    assert device.occupancy.moving == Direction.NONE


def test_a_variable_is_written_and_read_at_its_offset(device: Device) -> None:
    network = with_network(device)
    host = (ctypes.c_char * 4)(*b"abcd")
    variable(device, "v", ctypes.addressof(host), 2, 3, writing=True).run()
    assert network.memory.raw == b"012ab567"
    variable(device, "v", ctypes.addressof(host), 4, 4, writing=False).run()
    assert host.raw == b"b567"


@pytest.mark.parametrize(("name", "size", "offset"), [("v", 4, 5), ("v", 9, 0)])
def test_a_variable_ends_where_it_ends(device: Device, name: str, size: int, offset: int) -> None:
    with_network(device)
    with pytest.raises(InvalidValue, match=f"'v' has 8 bytes, {size} at {offset} are beyond its end"):
        variable(device, name, 0x1000, size, offset, writing=True).run()


def test_a_program_that_is_not_on_the_board_has_no_channels_and_no_variables(device: Device) -> None:
    network = with_network(device)
    with pytest.raises(InvalidValue, match="no channel 'c'"):
        MovePacket(device, "another", "c", 0x1000, BYTES, writing=True, blocking=False).run()
    with pytest.raises(InvalidArgValue, match="no program-scope variable 'v'"):
        variable(device, "v", 0x1000, 1, 0, program="another", writing=True).run()
    assert (network.fifo.calls, network.memory.raw) == ([], b"01234567")


def test_a_variable_has_a_name(device: Device) -> None:
    with_network(device)
    with pytest.raises(InvalidArgValue, match="no program-scope variable 'w'"):
        variable(device, "w", 0x1000, 1, 0, writing=False).run()


class TwoPrograms:
    """A board that has been programmed with `first`, which has the network, and is now with that of a kernel."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.device = machine, machine.device
        self.first: Any = machine.kernel(nothing, source="first").program
        self.network = Network(Fifo(1))
        self.first.made.network = lambda plugs: self.network
        self.device.open()
        load_onto(self.device, self.first)
        machine.run(machine.kernel(nothing, source="second"))
        self.host = (ctypes.c_char * 8)()
        self.reading = MoveVariable(self.device, self.first, "v", ctypes.addressof(self.host), 8, 0, writing=False)

    @property
    def is_loaded(self) -> bool:
        return self.first.identity in self.device.loaded


@pytest.fixture
def two(boards: Boards) -> TwoPrograms:
    return TwoPrograms(boards("hetero"))


def test_a_variable_behind_a_launch_of_another_program_has_the_board_programmed_again(two: TwoPrograms) -> None:
    assert not two.is_loaded
    told: list[str] = []
    watcher = SimpleNamespace(operation_began=lambda event, operation: told.append(operation.name))
    with listening(watcher):
        kind = cl.CL_COMMAND_READ_GLOBAL_VARIABLE_INTEL
        two.machine.queues[0].run(kind, two.reading, blocking=True)
    assert (two.is_loaded, two.host.raw, told) == (True, b"01234567", ["program", "transfer"])
    assert (two.device.occupancy.programming, two.device.occupancy.moving) == (False, Direction.NONE)


def test_a_programming_for_a_variable_waits_for_kernels_and_lets_later_transfers_pass(two: TwoPrograms) -> None:
    occupancy = two.device.occupancy
    occupancy.begin_launch(0)
    assert two.reading.claim() is Claim.YIELDS
    assert occupancy.admits(Direction.BOTH)
    occupancy.end_launch(0)
    assert two.reading.claim() is Claim.TAKEN
    assert occupancy.programming
    assert two.reading.describe()["program"] == two.first.identity


def test_nothing_comes_between_the_programming_for_a_variable_and_its_bytes(two: TwoPrograms) -> None:
    reading, occupancy = two.reading, two.device.occupancy
    reading.claim()
    assert reading.run() is reading
    reading.release(reading)
    assert occupancy.claim_programming() is Claim.WAITS
    assert (reading.claim(), reading.direction, reading.describe()) == (Claim.TAKEN, Direction.NONE, {})
    assert reading.run() is None
    reading.release(None)
    assert occupancy.moving == Direction.NONE


def test_a_programming_for_a_variable_that_fails_leaves_the_board_free(two: TwoPrograms) -> None:
    two.reading.claim()
    two.reading.release(None)
    assert two.device.occupancy.claim_programming() is Claim.TAKEN


def test_a_programming_for_a_variable_that_a_launch_does_is_not_done_again(two: TwoPrograms) -> None:
    occupancy = two.device.occupancy
    occupancy.begin_transfer(Direction.IN)
    assert two.reading.claim() is Claim.WAITS
    assert occupancy.closing
    load_onto(two.device, two.first)
    occupancy.end_transfer(Direction.IN)
    assert two.reading.claim() is Claim.TAKEN
    assert (occupancy.closing, occupancy.programming, two.reading.name) == (False, False, "transfer")
