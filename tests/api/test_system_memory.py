"""Boards whose kernels reach all memory of the host: `system_allocations` of board_spec.xml, off by default."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from c_hosts import plain_environment
from processes import ROOT, fpgart

BOARD = (ROOT / "fpgart/board/boards/usm_s10.xml").read_text()
HOST = f"""
import ctypes, functools, sys
sys.path.insert(0, {str(ROOT / "conformance")!r})
from opencl_api import Failed, Host, Loader, Usm, handles
SOURCE = '''
kernel void increment(global int *x) {{ x[get_global_id(0)] += 1; }}
kernel void follow(global ulong *where) {{ ((global int *)where[0])[get_global_id(0)] += 1; }}
kernel void meet(global volatile int *x) {{
    atomic_xchg(&x[0], 1);
    while (atomic_or(&x[1], 0) == 0);
    for (int i = 0; i < 1000; i++) atomic_inc(&x[2]);
}}
'''
host = Host(Loader())
set_pointer = functools.partial(Usm(host).status, "clSetKernelArgMemPointerINTEL")
own = (ctypes.c_int * 1024)(*range(1024))

def kernel(name):
    return host.cl.make("clCreateKernel", host.program(SOURCE), name.encode())

def capabilities(device):
    return host.cl.number("clGetDeviceInfo", device, 0x4194)
"""


def run(tmp_path: Path, body: str, board: str = "", **variables: str) -> list[str]:
    """Returns the output of a host on a board with system allocations, behind `board` if that is given."""
    file = tmp_path / "system.xml"
    assert "<fpgart " in BOARD
    file.write_text(BOARD.replace("<fpgart ", '<fpgart system_allocations="1" '))
    boards = ",".join(filter(None, [board, str(file)]))
    host = (sys.executable, "-c", HOST + body)
    made = fpgart("run", "--board", boards, "--", *host, env=plain_environment(), **variables)
    assert made.returncode == 0, made.stderr
    return (made.stdout + made.stderr).split()


def test_a_kernel_reaches_memory_of_malloc_by_its_address(tmp_path: Path) -> None:
    """As an argument, from any address in it, and through a pointer in memory."""
    body = """
assert own[0] == 0
first, follow = kernel("increment"), kernel("follow")
print(set_pointer(first, 0, ctypes.addressof(own)))
host.launch(first, 1024)
host.finish()
print(list(own) == list(range(1, 1025)))
print(set_pointer(first, 0, ctypes.addressof(own) + 4 * 1000))
host.launch(first, 24)
host.finish()
print(own[999], own[1000], own[1023])
where = (ctypes.c_uint64 * 1)(ctypes.addressof(own))
print(set_pointer(follow, 0, ctypes.addressof(where)))
host.launch(follow, 1)
host.finish()
print(own[0])
"""
    assert run(tmp_path, body) == ["0", "True", "0", "1000", "1002", "1025", "0", "2"]


def test_all_of_it_is_reported_with_all_capabilities(tmp_path: Path) -> None:
    body = "print(capabilities(host.device))"
    assert run(tmp_path, body) == ["15"]
    assert run(tmp_path, body, "usm_s10") == ["0"]


def test_host_and_kernel_use_it_at_once(tmp_path: Path) -> None:
    body = """
meet = kernel("meet")
memory = (ctypes.c_int * 3)(0, 0, 0)
assert set_pointer(meet, 0, ctypes.addressof(memory)) == 0
host.launch(meet, 1)
host.cl.check("clFlush", host.queue)
while memory[0] == 0: pass
memory[1] = 1
host.finish()
print(memory[2])
"""
    assert run(tmp_path, body) == ["1000"]


@pytest.mark.parametrize("variable", ["FPGART_ISOLATE=1", "FPGART_ENGINE_BUFFERS=own"])
def test_kernels_that_run_elsewhere_do_not_reach_it(tmp_path: Path, variable: str) -> None:
    """Nor does the driver say so: the pointer is none for the kernel."""
    name, _, value = variable.partition("=")
    body = """
print(capabilities(host.device), set_pointer(kernel("increment"), 0, ctypes.addressof(own)))
"""
    assert run(tmp_path, body, **{name: value}) == ["0", "-50"]


def test_a_device_of_the_context_that_does_not_reach_it_refuses_the_launch(tmp_path: Path) -> None:
    body = """
from opencl_api import strings
devices = (ctypes.c_void_p * 2)()
host.cl.check("clGetDeviceIDs", host.platform, 0xFFFFFFFF, 2, devices, None)
context = host.cl.make("clCreateContext", None, 2, devices, None, None)
program = host.cl.make("clCreateProgramWithSource", context, 1, strings(SOURCE), None)
host.cl.check("clBuildProgram", program, 0, None, None, None, None)
made = host.cl.make("clCreateKernel", program, b"increment")
print(set_pointer(made, 0, ctypes.addressof(own)))
for device in devices:
    queue = host.cl.make("clCreateCommandQueueWithProperties", context, device, None)
    size = (ctypes.c_size_t * 1)(1024)
    for _ in range(2):
        print(host.cl.status("clEnqueueNDRangeKernel", queue, made, 1, None, size, None, 0, None, None))
    host.cl.check("clFinish", queue)
print(own[1])
"""
    assert run(tmp_path, body, "usm_s10") == ["0", "-59", "-59", "0", "0", "3"]


def test_the_check_of_pointers_is_silent_about_it(tmp_path: Path) -> None:
    body = """
first = kernel("increment")
assert set_pointer(first, 0, ctypes.addressof(own)) == 0
host.launch(first, 4)
host.finish()
print(own[3])
"""
    first, *told = run(tmp_path, body, FPGART_CHECK="usm")
    assert first == "4"
    assert " ".join(told).startswith("fpgart: no findings in 1 command")
