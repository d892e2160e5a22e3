# SPDX-License-Identifier: Apache-2.0
"""Memory that belongs to the host: what the driver maps for itself, SVM, and what boards give away directly."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest
from machine import Boards, Machine, listening

from fpgart.base.errors import OutOfHostMemory
from fpgart.runtime.memory import svm
from fpgart.runtime.memory.board_malloc import BoardMalloc
from fpgart.runtime.memory.host_store import HostStore

pytestmark = pytest.mark.machine("usm_s10")

PAGE = 4096


def is_mapped(address: int) -> bool:
    """True if memory is mapped at the address."""
    ranges = (line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines())
    return any(int(begin, 16) <= address < int(end, 16) for begin, end in ranges)


# What the driver maps for itself


@pytest.mark.parametrize(("size", "mapped"), [(1, PAGE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE)])
def test_the_hosts_memory_of_a_buffer_is_whole_pages_of_zeros(size: int, mapped: int) -> None:
    store = HostStore(size)
    assert (store.size, store.address % PAGE) == (mapped, 0)
    assert ctypes.string_at(store.address, mapped) == bytes(mapped)


def test_the_hosts_memory_of_a_buffer_goes_with_it() -> None:
    store = HostStore(64 << 20)  # so much is never taken from what the allocator keeps
    address = store.address + (32 << 20)
    assert is_mapped(address)
    del store
    assert not is_mapped(address)


def test_memory_that_the_system_does_not_have_is_refused_with_its_size() -> None:
    with pytest.raises(OutOfHostMemory, match=f"no {1 << 60} bytes of host memory"):
        HostStore(1 << 60)


# Shared virtual memory


def test_shared_virtual_memory_is_known_from_its_allocation_until_it_is_freed(machine: Machine) -> None:
    heard: list[tuple[int, ...]] = []

    def hear(*told: int) -> None:
        heard.append(told)

    with listening(SimpleNamespace(svm_allocated=hear, svm_freed=hear)):
        address = svm.allocate(machine.context, 100, 0)
        found = machine.context.svm.find(address + 99)
        assert found is not None
        assert (found.pointer, found.size, found.end) == (address, 100, address + 100)
        assert machine.context.svm.find(address + 100) is None
        assert svm.free(machine.context, address)
        assert machine.context.svm.find(address) is None
    assert heard == [(address, 100), (address,)]
    assert machine.device.mmd.traffic["free"].calls == 1


def test_what_is_no_shared_virtual_memory_is_not_freed(machine: Machine) -> None:
    address = svm.allocate(machine.context, 100, 0)
    assert not svm.free(machine.context, address + 1)
    assert svm.free(machine.context, address)
    assert not svm.free(machine.context, address)
    assert machine.device.mmd.traffic["free"].calls == 1


def test_where_the_board_gives_none_there_is_no_shared_virtual_memory(
    monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    monkeypatch.setattr(machine.device.mmd, "host_alloc", lambda size, alignment: 0)
    assert svm.allocate(machine.context, 100, 0) == 0
    assert machine.context.svm.all() == []


@pytest.mark.parametrize(("wanted", "given"), [(0, 128), (64, 64), (1024, 1024)])
def test_shared_virtual_memory_is_aligned_as_the_host_asks(
    monkeypatch: pytest.MonkeyPatch, wanted: int, given: int, machine: Machine
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(machine.device.mmd, "host_alloc", lambda *arguments: asked.append(arguments) or 0)
    svm.allocate(machine.context, 100, wanted)
    assert asked == [(100, given)]
    assert (svm.USUAL_ALIGNMENT, svm.LARGEST_ALIGNMENT) == (128, 1024)


# Memory of the board that the host allocates


def test_an_allocation_of_the_boards_memory_reaches_from_its_first_byte_to_its_last(boards: Boards) -> None:
    machine, malloced = boards("k2h"), BoardMalloc()
    assert not malloced.holds(PAGE)
    address = malloced.allocate(machine.device, 3 * PAGE)
    assert [malloced.holds(address + offset) for offset in (-1, 0, 3 * PAGE - 1, 3 * PAGE)] == [
        False,
        True,
        True,
        False,
    ]
    assert [block.range.size for block in machine.device.blocks()] == [3 * PAGE]
    malloced.free(address)
    assert not malloced.holds(address)
    assert machine.device.blocks() == []


def test_what_was_not_allocated_is_left_alone(boards: Boards) -> None:
    machine, malloced = boards("k2h"), BoardMalloc()
    address = malloced.allocate(machine.device, PAGE)
    malloced.free(address + 1)
    assert malloced.holds(address)
    malloced.free(address)
    malloced.free(address)


def test_a_board_without_room_gives_no_memory(boards: Boards) -> None:
    machine, malloced = boards("k2h"), BoardMalloc()
    assert malloced.allocate(machine.device, 1 << 50) == 0
    assert not malloced.holds(0)


def test_a_board_is_opened_before_it_gives_memory(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = boards("k2h")
    calls: list[str] = []
    monkeypatch.setattr(machine.device, "open", lambda: calls.append("open"))
    monkeypatch.setattr(machine.device, "allocate", lambda *_: calls.append("allocate"))
    BoardMalloc().allocate(machine.device, PAGE)
    assert calls == ["open", "allocate"]
