# SPDX-License-Identifier: Apache-2.0
"""A device and its board (runtime/memory/device.py): opening, lending, exceptions, programs that die, its blocks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from machine import Boards, Machine, listening, nothing

from fpgart.base.errors import DeviceNotAvailable
from fpgart.board.mmd import BoardError, Capability, Info
from fpgart.runtime.memory.device import Device

KIB = 1 << 10


class Network:
    """A network of kernels; counts the calls of stop()."""

    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


def new_device(machine: Machine, *, simulator: bool = False) -> Device:
    """Another device of the machine's first board."""
    mmd = machine.device.mmd
    return Device(machine.platform, machine.scheduler, 7, mmd, machine.device.memories, simulator=simulator)


# Opening


def test_a_device_begins_with_nothing_done_and_nothing_loaded(boards: Boards) -> None:
    device = new_device(boards("hetero"))
    assert (device.handle, device.id, device.kernels_run, device.kernel_ns) == (0, 7, 0, 0)
    assert (device.loaded, device.found, device.networks) == ({}, None, {})
    assert (device.blocks(), device.bytes_in_use(), device.before_kernel) == ([], 0, None)
    assert device.knows_memories
    assert not device.has_cables
    assert not new_device(boards("hetero"), simulator=True).knows_memories


def test_a_board_is_opened_once_and_tried_again_after_a_failure(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, opened = new_device(boards("a10_ref")), list[bool]()

    def open_at_the_second_try() -> None:
        opened.append(True)
        if len(opened) == 1:
            raise BoardError("no power")

    monkeypatch.setattr(device.mmd, "open", open_at_the_second_try)
    with pytest.raises(DeviceNotAvailable, match="no power"):
        device.open()
    device.open()
    device.open()
    assert len(opened) == 2


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_board_is_given_back_when_no_context_has_it_and_nothing_lies_on_it(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    machine = boards("a10_ref")
    device, calls = new_device(machine), list[str]()
    network: Any = Network()
    monkeypatch.setattr(device.mmd, "is_shared", shared)
    monkeypatch.setattr(device.mmd, "open", lambda: calls.append("open"))
    monkeypatch.setattr(device.mmd, "close", lambda: calls.append("close"))
    monkeypatch.setattr(device.mmd, "is_available", lambda: False)
    device.enter()
    device.enter()
    device.loaded, device.networks = {"program": None}, {"program": network}
    assert device.is_available()
    device.leave()
    block = device.allocate(KIB, None, 0, 1)
    assert block is not None
    device.leave()
    assert (calls, network.stopped) == (["open"], 0)
    block.release()
    device.enter()
    device.leave()
    if shared:
        assert calls == ["open", "close"]
        assert (device.loaded, device.networks, network.stopped) == ({}, {}, 1)
        assert not device.is_available()
        device.enter()
        assert calls == ["open", "close", "open"]
    else:
        assert calls == ["open"]
        assert (device.loaded, device.networks, network.stopped) == ({"program": None}, {"program": network}, 0)
    monkeypatch.undo()


# What the board tells


def test_a_transfer_by_itself_has_ended_once_well_or_with_its_error(boards: Boards) -> None:
    device = boards("a10_ref").device
    error = BoardError("no link")
    tell: Any = device._transfer_ended
    assert not device.has_ended(1)
    tell(1, None)
    tell(2, error)
    assert device.has_ended(1)
    assert not device.has_ended(1)
    with pytest.raises(BoardError) as raised:
        device.has_ended(2)
    assert raised.value is error
    assert not device.has_ended(2)


def test_exceptions_are_for_who_listens_to_them_and_the_last_one_listens(boards: Boards) -> None:
    device, told = boards("a10_ref").device, list[tuple[str, int]]()
    device.exception(1)
    device.when_exception(1, lambda kind: told.append(("replaced", kind)))
    device.when_exception(2, lambda kind: told.append(("first", kind)))
    device.exception(1)
    device.exception(2)
    device.exception(3)
    assert told == [("first", 2), ("first", 3)]


def test_a_device_can_do_what_its_board_can(boards: Boards) -> None:
    device = boards("usm_s10").device
    able = device.capabilities(Info.SHARED_MEM_CAPABILITIES)
    assert able == Capability.SUPPORTED | Capability.ATOMIC


# Renewal


def test_a_renewed_device_has_no_listener_no_network_and_its_own_interleaving(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, told = boards("hetero").device, list[int]()
    network: Any = Network()
    renewed: list[list[tuple[int, int]]] = []
    monkeypatch.setattr(device.mmd, "renew", renewed.append)
    own = device.interleaving
    block = device.allocate(3 * KIB, None, 0, 1)
    assert block is not None
    device.networks["program"] = network
    device.interleaving = tuple(not each for each in own)
    device.kernels_run = device.kernel_ns = 9
    device.when_exception(1, told.append)
    for _ in range(2):
        device.renew()
    device.exception(1)
    assert (device.networks, network.stopped, told) == ({}, 1, [])
    assert device.interleaving == own
    assert (device.kernels_run, device.kernel_ns) == (0, 0)
    assert renewed == [[(block.address, 3 * KIB)]] * 2
    block.release()


# Memory


def test_buffers_are_in_memories_of_the_boards_own(boards: Boards) -> None:
    device = boards("usm_s10").device
    memories = device.board.memories
    expected = [memory.is_device_private for memory in memories]
    assert False in expected
    assert [device.holds_buffers(index) for index in range(-1, len(memories) + 1)] == [False, *expected, False]


def test_who_watches_hears_of_what_finds_no_room(boards: Boards) -> None:
    device, refused = boards("a10_ref").device, list[tuple[Device, int, int]]()
    with listening(SimpleNamespace(block_refused=lambda *told: refused.append(told))):
        assert device.allocate(1 << 60, None, 0, 5) is None
    assert refused == [(device, 1 << 60, 5)]


def test_the_bytes_in_use_are_those_of_all_blocks(boards: Boards) -> None:
    machine = boards("hetero")
    device = machine.device
    blocks = [device.allocate(size, None, 0, 1) for size in (KIB, 5 * KIB)]
    assert device.bytes_in_use() == 6 * KIB
    assert device.blocks() == blocks
    for block in blocks:
        assert block is not None
        assert (block.device, block.program, block.users, block.running, block.mapped) == (device, "", {}, 0, 0)
        assert block.pointer == device.mmd.aperture(block.address)
        block.release()
    assert (device.bytes_in_use(), device.blocks()) == (0, [])


@pytest.mark.parametrize(
    ("memory", "size", "of", "found"),
    [
        (0, KIB, None, (True, False)),
        (1, KIB, None, (True, False)),
        (None, KIB, None, (True, False)),
        (0, KIB, (False, True), (False, False)),
        (1, KIB, (False, True), (True, True)),
        (None, 1 << 60, (True, True), (False, False)),
    ],
)
def test_a_binary_says_which_memories_are_interleaved_and_else_the_loaded_one_does(
    boards: Boards, memory: int | None, size: int, of: tuple[bool, ...] | None, found: tuple[bool, bool]
) -> None:
    device = boards("hetero").device
    for loaded, expected in zip((True, False), found, strict=True):
        device.interleaving = (loaded,) * len(device.board.memories)
        assert device.interleaves(memory, size, of) is expected


# Programs that die


def test_a_program_that_dies_is_unloaded_unless_another_one_is_the_same(boards: Boards) -> None:
    machine = boards("k2h")
    device = machine.device
    kernels = [machine.kernel(nothing, source="same"), machine.kernel(nothing, source="same")]
    identity = kernels[0].program.identity
    assert kernels[1].program.identity == identity
    machine.run(kernels[0])
    block = device.loaded[identity]
    assert block is not None
    assert block.program == identity
    assert block in device.blocks()
    assert device.program_died(identity) is not None
    assert device.loaded == {identity: block}
    for kernel in kernels:
        kernel.program._identity = ""  # as of programs that were never asked for it
    assert device.program_died(identity) is None
    assert device.loaded == {}
    assert block not in device.blocks()
    assert device.program_died(identity) is None
