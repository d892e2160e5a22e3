# SPDX-License-Identifier: Apache-2.0
"""Python's objects for those that C has made (fpgart/bridge/views.py)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
from machine import Machine

from fpgart.base import opencl as cl

SIZE = 4096


@pytest.mark.parametrize("is_placed", [False, True])
def test_the_contents_of_a_buffer_over_the_hosts_memory_are_there_until_it_has_a_block(
    imported: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, is_placed: bool
) -> None:
    machine, memory = Machine("usm_s10"), ctypes.create_string_buffer(SIZE)
    views = imported("bridge.views")
    monkeypatch.setattr(views, "find", lambda handle, kind: machine.device)
    block = machine.device.allocate(SIZE, None, 0, 1)
    assert block is not None
    found = SimpleNamespace(
        flags=cl.CL_MEM_READ_WRITE | cl.CL_MEM_USE_HOST_PTR,
        size=SIZE,
        host=ctypes.addressof(memory),
        store=0,
        device=int(is_placed),
        block=block.range.address,
    )
    buffer = views.view_buffer(machine.context, found, 7)
    assert buffer.host_address() == ctypes.addressof(memory)
    assert (buffer.home is not None, buffer.on_host) == (is_placed, not is_placed)
    machine.scheduler.close(5)
