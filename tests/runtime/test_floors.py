"""Floors of the runtime work without those above them."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

from machine import Boards

from fpgart.base import opencl as cl
from fpgart.runtime.memory.board_malloc import BoardMalloc
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.registry import AddressRegistry
from fpgart.runtime.memory.svm import SvmAllocation
from fpgart.runtime.scheduling.core import Core
from fpgart.runtime.scheduling.event import COMPLETE, Event
from fpgart.runtime.scheduling.readiness import Aftermath, Readiness
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


class Markers:
    """A command queue that C knows and nobody else, for commands without work."""

    number = 1
    properties = 0
    in_order = True

    def __init__(self, core: Core[Event]) -> None:
        self.core = core.queue(in_order=True)
        self.open: dict[Event, None] = {}


def test_commands_follow_each_other_without_devices_and_contexts() -> None:
    core: Core[Event] = Core()
    context: Any = SimpleNamespace(scheduler=core)
    readiness, queue, after = Readiness(core), Markers(core), Aftermath()
    first, second = (Event(context, queue, cl.CL_COMMAND_MARKER, None) for _ in range(2))  # type: ignore[arg-type]
    user = Event(context, None, cl.CL_COMMAND_USER, None, 2)
    readiness.enter(first, queue, (user,), 1, after)  # type: ignore[arg-type]
    readiness.enter(second, queue, (), 1, after)  # type: ignore[arg-type]
    assert first.status > COMPLETE
    readiness.end(user, COMPLETE, 2, after)
    ended = [user]
    while ended:
        for event in ended:
            assert event.command is not None
            event.command.let_follow()
        ended = readiness.take(2, after)
    assert (first.status, second.status) == (COMPLETE, COMPLETE)
    assert not queue.open
