"""Memory of a 66AK2x that the host allocates as its own (__malloc_ddr, __malloc_msmc)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from c_hosts import build
from machine import Machine
from processes import finished

from fpgart.base import opencl as cl

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = ROOT / "fpgart" / "libfpgart.so"
Boards = Callable[..., Machine]


def test_a_host_and_its_kernels_work_on_the_same_memory(tmp_path: Path) -> None:
    program = build("board_malloc", tmp_path, "-lpthread")
    environment = {**os.environ, "FPGART_BOARD": "k2h"}
    result = finished(program, env=environment)
    assert (result.returncode, result.stdout) == (0, "ok\n"), result.stderr


def test_a_board_without_such_memory_gives_none() -> None:
    allocate = ctypes.CDLL(str(LIBRARY))["__malloc_ddr"]
    allocate.restype = ctypes.c_void_p
    assert allocate(4096) is None


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
