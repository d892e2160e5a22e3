# SPDX-License-Identifier: Apache-2.0
"""Boards whose memory is the host's own (soc_a10): mapping and CL_MEM_USE_HOST_PTR move nothing."""

from __future__ import annotations

import ctypes

import pytest
from machine import Boards, Machine, increment

from fpgart.base import opencl as cl
from fpgart.runtime.commands import migration
from fpgart.runtime.commands.host_work import HostWork
from fpgart.runtime.commands.mapping import MapBuffer, UnmapBuffer
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Block

pytestmark = pytest.mark.machine("soc_a10")

SIZE = 4096
DATA = bytes(range(256)) * (SIZE // 256)


def map_in_place(machine: Machine, buffer: Buffer, *, keep: bool = True) -> tuple[int, Block]:
    block = buffer.reserve_for_mapping(machine.device)
    assert block is not None
    pointer = buffer.map(0, buffer.size, cl.CL_MAP_READ, block)
    operation = migration.map_in_place(machine.device, buffer, block, keep=keep)
    machine.queue.run(cl.CL_COMMAND_MAP_BUFFER, operation, blocking=True)
    return pointer, block


def unmap(machine: Machine, buffer: Buffer, pointer: int) -> None:
    buffer.unmap(pointer)
    block = buffer.mapped_block(pointer)
    assert block is not None
    operation = HostWork(machine.device, lambda: buffer.leave_mapping(block))
    machine.queue.run(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, blocking=True)


def test_a_mapping_is_where_the_kernels_find_the_buffer(machine: Machine) -> None:
    buffer = machine.buffer(SIZE)
    kernel = machine.kernel(increment, "", given=[buffer])
    machine.run(kernel)
    pointer, block = map_in_place(machine, buffer)
    assert pointer == block.pointer
    before = ctypes.c_ubyte.from_address(pointer).value
    ctypes.c_ubyte.from_address(pointer).value = before + 10
    unmap(machine, buffer, pointer)
    machine.run(kernel)
    assert machine.calls() == {}
    assert machine.read(buffer, 1)[0] == before + 11


def test_a_window_is_mapped_at_its_place_in_the_parent(machine: Machine) -> None:
    parent = machine.buffer(SIZE)
    machine.write(parent, DATA)
    window = machine.sub_buffer(parent, 1024, 1024)
    pointer, block = map_in_place(machine, window)
    assert pointer == block.pointer + 1024
    assert ctypes.string_at(pointer, 256) == DATA[:256]
    unmap(machine, window, pointer)


def test_a_mapped_block_stays_when_the_contents_leave(machine: Machine) -> None:
    buffer = machine.written(DATA)
    pointer, block = map_in_place(machine, buffer)
    operation = migration.MigrateToHost(machine.device, [buffer], keep=True)
    machine.queue.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    assert machine.watcher.freed == []
    assert ctypes.string_at(pointer, SIZE) == DATA
    unmap(machine, buffer, pointer)
    assert machine.watcher.freed == [block]


@pytest.mark.parametrize("keep", [True, False])
def test_mapping_brings_contents_to_the_board_only_if_the_host_keeps_them(keep: bool, machine: Machine) -> None:
    buffer = machine.written(DATA)
    operation = migration.MigrateToHost(machine.device, [buffer], keep=True)
    machine.queue.run(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, operation, blocking=True)
    before = machine.calls().get("write", (0, 0))
    pointer, _ = map_in_place(machine, buffer, keep=keep)
    assert machine.calls().get("write", (0, 0)) == (before[0] + keep, before[1] + keep * SIZE)
    assert not keep or ctypes.string_at(pointer, SIZE) == DATA


def test_what_the_host_writes_into_a_mapped_region_stays_when_another_board_uses_the_rest(boards: Boards) -> None:
    machine = boards("soc_a10", "soc_a10")
    buffer = machine.written(DATA)
    assert buffer.reserve_for_mapping(machine.device) is None
    region = (1024, 256, cl.CL_MAP_WRITE)
    pointer = buffer.map(*region)
    machine.queue.run(cl.CL_COMMAND_MAP_BUFFER, MapBuffer(machine.device, buffer, pointer, region), blocking=True)
    for device in (1, 0):
        machine.run(machine.kernel(increment, "", given=[buffer]), device=device)
        ctypes.memset(pointer + device, 7, 1)
    operation = UnmapBuffer(machine.device, buffer, pointer, buffer.unmap(pointer))
    machine.queue.run(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, blocking=True)
    assert machine.read(buffer, SIZE) == b"\2" + DATA[1:1024] + b"\7\7" + DATA[1026:]


def test_kernels_use_the_hosts_memory_under_use_host_ptr(machine: Machine) -> None:
    host = ctypes.create_string_buffer(DATA, SIZE)
    buffer = machine.buffer(SIZE, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(host))
    machine.run(machine.kernel(increment, "", given=[buffer]))
    assert host.raw[0] == 1
    assert machine.watcher.reserved == []
    assert machine.read(buffer, 2) == b"\1\1"
    assert machine.calls() == {}


@pytest.mark.parametrize("names", [("usm_s10",), ("soc_a10", "usm_s10"), ("usm_s10", "soc_a10")])
def test_one_board_with_memory_of_its_own_makes_a_context_copy(boards: Boards, names: tuple[str, ...]) -> None:
    machine = boards(*names)
    host = ctypes.create_string_buffer(DATA, SIZE)
    buffer = machine.buffer(SIZE, cl.CL_MEM_USE_HOST_PTR, host_ptr=ctypes.addressof(host))
    assert buffer.reserve_for_mapping(machine.device) is None
    machine.run(machine.kernel(increment, "", given=[buffer]))
    assert machine.calls() == {"write": (1, SIZE)}


def test_what_was_mapped_before_a_simulator_had_a_binary_is_unmapped_by_copying(boards: Boards) -> None:
    machine = boards("soc_a10", simulator=True)
    buffer, kernel = machine.buffer(SIZE), machine.kernel(increment, "")
    assert buffer.reserve_for_mapping(machine.device) is None
    machine.write(buffer, DATA)
    pointer = buffer.map(0, SIZE, cl.CL_MAP_WRITE)
    kernel.set_buffer(0, buffer)
    machine.run(kernel)
    region = buffer.unmap(pointer)
    assert buffer.mapped_block(pointer) is None
    operation = UnmapBuffer(machine.device, buffer, pointer, region)
    machine.queue.run(cl.CL_COMMAND_UNMAP_MEM_OBJECT, operation, blocking=True)
    assert machine.calls() == {"write": (2, 2 * SIZE)}
