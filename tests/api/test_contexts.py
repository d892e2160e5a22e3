# SPDX-License-Identifier: Apache-2.0
"""Contexts: what they begin with, their boards, and what is left when they are gone (objects/context.py)."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from machine import Boards, Machine

from fpgart.base.errors import CLError, DeviceNotAvailable, OutOfResources
from fpgart.runtime.objects.context import Context


def test_a_context_begins_in_the_mode_that_compiles_and_with_nothing_in_it(boards: Boards) -> None:
    machine = boards("a10_ref", "hetero")
    context = Context(machine.platform, machine.devices, (1, 2, 0))
    assert (context.handle, context.compiler_mode, context.library_root, context.properties) == (0, 4, "", (1, 2, 0))
    assert (len(context.svm), len(context.usm), context.queues.all(), context.reaped_by_caller) == (0, 0, [], False)
    assert context.platform is machine.platform
    assert context.scheduler is machine.scheduler
    assert context.malloced is machine.platform.malloced
    assert context.devices == machine.devices


def test_the_largest_buffer_is_one_that_every_device_can_hold(boards: Boards) -> None:
    machine = boards("a10_ref", "usm_s10")
    sizes = [device.max_mem_alloc_size for device in machine.devices]
    assert sizes[0] != sizes[1]
    assert machine.context.max_mem_alloc_size == min(sizes)


@pytest.mark.parametrize(
    ("names", "unified"), [(["soc_a10"], True), (["a10_ref"], False), (["soc_a10", "a10_ref"], False)]
)
def test_memory_is_unified_where_all_boards_use_the_hosts(boards: Boards, names: list[str], unified: bool) -> None:
    assert boards(*names).context.unified_memory is unified


def test_a_host_that_listens_hears_of_errors_and_another_one_need_not(boards: Boards) -> None:
    machine, told = boards("a10_ref"), list[CLError]()
    error = OutOfResources("nothing is left")
    Context(machine.platform, machine.devices, notify=told.append).notify(error)
    assert told == [error]
    Context(machine.platform, machine.devices).notify(error)


def watched(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Returns a list that gets the devices entered and left."""
    calls: list[tuple[str, int]] = []
    for device in machine.devices:
        for name in ("enter", "leave"):
            monkeypatch.setattr(device, name, lambda name=name, id=device.id: calls.append((name, id)))
    return calls


@pytest.mark.parametrize("reaped_by_caller", [True, False])
def test_a_context_has_its_boards_until_it_is_gone(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, reaped_by_caller: bool
) -> None:
    """Its destructors come first, whoever disposes of what it leaves: the scheduler, or who destroys it."""
    machine = boards("a10_ref", "hetero")
    calls: list[Any] = watched(machine, monkeypatch)
    context = Context(machine.platform, machine.devices)
    assert calls == [("enter", 0), ("enter", 1)]
    assert context in machine.device.contexts.all()
    context.when_destroyed(lambda: calls.append("first"))
    context.when_destroyed(lambda: calls.append("last"))
    context.reaped_by_caller, reaper = reaped_by_caller, context.reaper
    del calls[:], context
    gc.collect()
    assert calls == []
    machine.scheduler.reaper.reap()
    assert calls == ([] if reaped_by_caller else ["last", "first", ("leave", 0), ("leave", 1)])
    reaper.reap()
    assert calls == ["last", "first", ("leave", 0), ("leave", 1)]


def test_a_context_without_one_of_its_boards_gives_the_others_back(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = boards("a10_ref", "hetero")
    calls = watched(machine, monkeypatch)

    def refuse() -> None:
        raise DeviceNotAvailable("another host has it")

    monkeypatch.setattr(machine.devices[1], "enter", refuse)
    with pytest.raises(DeviceNotAvailable):
        Context(machine.platform, machine.devices)
    gc.collect()
    machine.scheduler.reaper.reap()
    assert calls == [("enter", 0), ("leave", 0)]
