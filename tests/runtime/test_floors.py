"""Floors of the runtime work without those above them."""

from __future__ import annotations

import ctypes
import threading

from machine import Boards

from fpgart.base import opencl as cl
from fpgart.runtime.memory.board_malloc import BoardMalloc
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.svm import SvmAllocation
from fpgart.runtime.scheduling.reaper import Reaper

DATA = bytes(range(64))


class Pool:
    """A placement that is no context."""

    handle = 0
    unified_memory = False
    maps_in_place = False

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices
        self.placing = threading.Lock()
        self.reaper = Reaper()
        self.svm: AddressRegistry[SvmAllocation] = AddressRegistry()
        self.malloced = BoardMalloc()


def test_a_buffer_needs_a_placement_and_no_context(boards: Boards) -> None:
    device = boards("a10_ref").device
    device.open()
    pool = Pool([device])
    buffer = Buffer(pool, cl.CL_MEM_READ_WRITE, len(DATA))
    buffer.bind(device)
    source, target = ctypes.create_string_buffer(DATA, len(DATA)), ctypes.create_string_buffer(len(DATA))
    buffer.write_from(ctypes.addressof(source), 0, len(DATA))
    buffer.read_into(ctypes.addressof(target), 0, len(DATA))
    assert target.raw == DATA
    assert len(device.blocks()) == 1
    del buffer
    pool.reaper.reap()
    assert device.blocks() == []
