"""Memory of a 66AK2x that the host allocates as its own (__malloc_ddr, __malloc_msmc)."""

from __future__ import annotations

import ctypes

from machine import Boards

from fpgart.base import opencl as cl


def test_a_buffer_over_such_memory_never_moves(boards: Boards) -> None:
    machine = boards("k2h")
    address = machine.platform.malloced.allocate(machine.device, 4096)
    buffer = machine.buffer(4096, cl.CL_MEM_READ_WRITE | cl.CL_MEM_USE_HOST_PTR, host_ptr=address)
    assert buffer.stays_on_host
    machine.run(machine.kernel(lambda pointer: ctypes.memset(pointer, 7, 4096), "", given=[buffer]))
    assert ctypes.string_at(address, 4096) == b"\x07" * 4096
    assert machine.calls() == {}
    machine.platform.malloced.free(address)


def test_other_host_memory_is_copied(boards: Boards) -> None:
    machine = boards("k2h")
    kept = ctypes.create_string_buffer(4096)
    flags = cl.CL_MEM_READ_WRITE | cl.CL_MEM_USE_HOST_PTR
    assert not machine.buffer(4096, flags, host_ptr=ctypes.addressof(kept)).stays_on_host


def test_what_is_given_back_twice_is_free_once(boards: Boards) -> None:
    machine = boards("k2h")
    malloced = machine.platform.malloced
    first = malloced.allocate(machine.device, 4096, "msmc")
    malloced.free(first)
    second = malloced.allocate(machine.device, 4096, "msmc")
    malloced.free(first)
    assert second == first
    assert not malloced.holds(second)
