# SPDX-License-Identifier: Apache-2.0
"""The state of a board after programming, besides the program (fpgart/runtime/commands/programming.py)."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
from machine import Boards, Machine, listening, nothing

from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.board.mmd import BoardError
from fpgart.runtime.commands.programming import ProgramDevice, load_onto

pytestmark = pytest.mark.machine("hetero")


class Network:
    """The channels of a program, which know whether they have been stopped."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


def program_with(machine: Machine, network: Network | None, source: str) -> Any:
    program: Any = machine.kernel(lambda: None, source=source).program
    program.made.network = lambda plugs: network
    return program


def test_a_board_has_the_channels_of_the_program_that_was_loaded_last(machine: Machine) -> None:
    machine.device.open()
    first, second = Network(), Network()
    programs = [program_with(machine, network, f"{number}" * 8) for number, network in enumerate((first, second, None))]
    load_onto(machine.device, programs[0])
    assert [*machine.device.networks.values()] == [first]
    load_onto(machine.device, programs[1])
    assert [*machine.device.networks.values()] == [second]
    assert (first.stops, second.stops) == (1, 0)
    load_onto(machine.device, programs[2])
    assert not machine.device.networks
    assert (first.stops, second.stops) == (1, 1)


def test_a_board_that_keeps_programs_has_the_channels_of_each_until_it_is_unloaded(boards: Boards) -> None:
    machine = boards("k2h")
    device = machine.device
    device.open()
    first, second = Network(), Network()
    programs = [program_with(machine, network, f"{number}" * 8) for number, network in enumerate((first, second, None))]
    for program in programs:
        load_onto(device, program)
    assert device.networks == {programs[0].identity: first, programs[1].identity: second}
    load_onto(device, programs[0])
    assert (first.stops, second.stops) == (1, 0)
    device.unload(programs[1].identity)
    assert (device.networks, second.stops) == ({programs[0].identity: first}, 1)


def test_who_watches_hears_of_channels_and_not_of_programs_without_any(boards: Boards) -> None:
    machine, network = boards("hetero"), Network()
    machine.device.open()
    heard: list[tuple[object, object]] = []
    with listening(SimpleNamespace(network_made=lambda device, network, _: heard.append((device, network)))):
        load_onto(machine.device, program_with(machine, network, "with"))
        load_onto(machine.device, program_with(machine, None, "without"))
    assert heard == [(machine.device, network)]


def test_a_board_begins_an_epoch_when_its_memories_become_known_and_not_with_each_program(boards: Boards) -> None:
    machine = boards("hetero", simulator=True)
    machine.device.open()
    epochs: list[str] = []
    programs = [program_with(machine, None, source) for source in ("first", "second")]
    for program in programs:
        machine.device.epoch_ended = lambda program=program: epochs.append(program.identity)
        load_onto(machine.device, program)
    assert epochs == [programs[0].identity]


@pytest.mark.parametrize("interleaving", [None, (True, False)])
def test_a_programming_is_told_with_its_program_and_the_banks_that_it_interleaves(
    interleaving: tuple[bool, ...] | None, machine: Machine
) -> None:
    program = machine.kernel(nothing).program
    program.origin.interleaving = interleaving
    told = {"program": program.identity, "size": len(program.image())}
    if interleaving is not None:
        told["interleaved"] = [True, False]
    assert ProgramDevice(machine.device, program).describe() == told


class ForgetfulBoard:
    """A board that can be programmed only if its memory may be lost; it is then."""

    def __init__(self, machine: Machine) -> None:
        self.device = machine.device
        self.images: list[bytes] = []

    def program(self, image: bytes, *, preserve: bool = True) -> None:
        if preserve:
            raise BoardError("not with its memory")
        self.images.append(image)
        for block in self.device.blocks():
            ctypes.memset(block.pointer, 0xEE, block.range.size)


def test_the_contents_of_a_board_outlive_a_programming_that_loses_its_memory(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    contents = {machine.keep(machine.buffer(64)): bytes([number]) * 64 for number in (1, 2)}
    for buffer, data in contents.items():
        machine.write(buffer, data)
    program = machine.kernel(nothing).program
    board = ForgetfulBoard(machine)
    monkeypatch.setattr(machine.device.mmd, "program", board.program)
    load_onto(machine.device, program)
    assert board.images == [program.image()]
    assert machine.device.loaded == {program.identity: None}
    assert [machine.read(buffer) for buffer in contents] == list(contents.values())


def test_a_block_without_contents_is_not_saved_for_a_programming(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    memory = ctypes.create_string_buffer(64)
    new = machine.keep(machine.buffer(64))
    in_host = machine.keep(machine.buffer(64, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(memory)))
    moved_to_host = machine.keep(machine.written(b"x" * 64))
    moved_to_host.migrate_to_host("test")
    for buffer in (new, in_host, moved_to_host):
        buffer.reserve(machine.device)
    written = machine.keep(machine.written(b"y" * 64))
    monkeypatch.setattr(machine.device.mmd, "program", ForgetfulBoard(machine).program)
    load_onto(machine.device, machine.kernel(nothing).program)
    assert {name: machine.calls()[name][0] for name in ("read", "write")} == {"read": 2, "write": 3}
    assert machine.read(written) == b"y" * 64


def test_contents_that_a_board_does_not_take_back_are_told_and_keep_no_others_from_it(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    lost, kept = (machine.keep(machine.buffer(64)) for _ in range(2))
    for buffer in (lost, kept):
        machine.write(buffer, b"x" * 64)
    refused, write = machine.bind(lost), machine.device.mmd.write

    def refuse(host: int, board: int, size: int) -> None:
        if board == refused:
            raise BoardError("not there")
        write(host, board, size)

    with monkeypatch.context() as patch:
        patch.setattr(machine.device.mmd, "program", ForgetfulBoard(machine).program)
        patch.setattr(machine.device.mmd, "write", refuse)
        with pytest.raises(BoardError, match="not there"):
            load_onto(machine.device, machine.kernel(nothing).program)
    assert machine.read(kept) == b"x" * 64


def test_a_board_that_cannot_be_programmed_at_all_holds_no_program(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    program = machine.kernel(nothing).program

    def refuse(image: bytes, *, preserve: bool = True) -> None:
        raise BoardError("not at all")

    machine.device.loaded = {"before": None}
    monkeypatch.setattr(machine.device.mmd, "program", refuse)
    with pytest.raises(BoardError, match="not at all"):
        load_onto(machine.device, program)
    assert machine.device.loaded == {}


def test_a_program_for_which_a_board_has_no_room_is_refused_with_its_size(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = boards("k2h")
    device, program = machine.device, machine.kernel(nothing, source="x" * 1000).program
    monkeypatch.setattr(device.memories, "allocate_program", lambda size: None)
    with pytest.raises(OutOfResources, match=r"no 1000 bytes free for a program on device 0 \('k2h'\)"):
        load_onto(device, program)
    assert device.loaded == {}
    assert device.mmd.traffic["program"].calls == 0


def test_a_program_that_a_board_does_not_take_leaves_its_memory_free(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = boards("k2h")

    def refuse(image: bytes) -> None:
        raise BoardError("no")

    monkeypatch.setattr(machine.device.mmd, "program", refuse)
    with pytest.raises(BoardError, match="no"):
        load_onto(machine.device, machine.kernel(nothing).program)
    assert (machine.device.blocks(), machine.device.loaded) == ([], {})


def test_a_program_that_is_loaded_once_more_lies_in_memory_once(boards: Boards) -> None:
    machine = boards("k2h")
    machine.device.open()
    program = machine.kernel(nothing).program
    for _ in range(2):
        load_onto(machine.device, program)
    assert list(machine.device.loaded.values()) == machine.device.blocks()
    assert len(machine.device.blocks()) == 1
