"""FPGART_LEAKS: what a host never gave back is told when it has ended, with the call that made it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_hosts import host_of, line
from processes import ROOT, fpgart

C_HOST = """
#include "host.h"
static cl_mem make_buffers(struct host *host, int count)
{
    cl_mem last = NULL;
    for (int i = 0; i < count; i++) {
        cl_int status;
        last = clCreateBuffer(host->context, CL_MEM_READ_WRITE, 1024, NULL, &status); // BUFFER
    }
    return last;
}
static inline __attribute__((always_inline)) cl_event make_event(struct host *host)
{
    cl_int status;
    return clCreateUserEvent(host->context, &status); // EVENT
}
int main(void)
{
    struct host host;
    start(&host, SPIN_SOURCE);
    cl_mem last = make_buffers(&host, 3); // CALL
    clReleaseMemObject(new_buffer(&host, 64));
    clRetainMemObject(last);
    cl_event event = make_event(&host); // INLINED
    void *memory = clSVMAlloc(host.context, CL_MEM_READ_WRITE, 4096, 0);
    stop(&host);
    return event == NULL || memory == NULL;
}
"""
CPP_HOST = """
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 200
#include <CL/opencl.hpp>
#include <memory>
static std::unique_ptr<cl::Context> context;
static std::unique_ptr<cl::CommandQueue> queue;
int main()
{
    context = std::make_unique<cl::Context>(CL_DEVICE_TYPE_ALL);
    queue = std::make_unique<cl::CommandQueue>(*context);
    new cl::Buffer(*context, CL_MEM_READ_WRITE, 100); // LOST
}
"""
PYTHON_HOST = """
import ctypes, sys
import numpy as np, pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "kernel void one(global int *x) { *x = 1; }").build(cache_dir=False)
kernel = cl.Kernel(program, "one")
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
kernel(queue, (1,), None, buffer)
queue.finish()
def lose(size):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(cl.Buffer(context, cl.mem_flags.READ_WRITE, size)))
"""


def run(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    result = fpgart("run", "--leaks", "--", *command, cwd=folder, PYTHONPATH=str(ROOT))
    assert result.returncode == 0, result.stderr
    return result


def leaks(folder: Path, *command: object) -> list[str]:
    """Returns the lines at the end of the run, without their prefix."""
    result = run(folder, *command)
    told = [line.removeprefix("fpgart: ") for line in result.stderr.splitlines() if line.startswith("fpgart: ")]
    assert told, "nothing is said, not even that nothing leaks"
    return told


WITH_LINES = [
    f"3 cl_mem, 3072 bytes, 4 references, created by clCreateBuffer, host.c:{line(C_HOST, 'BUFFER')} in make_buffers, "
    f"from host.c:{line(C_HOST, 'CALL')} in main",
    f"1 cl_event, created by clCreateUserEvent, host.c:{line(C_HOST, 'EVENT')} in make_event, "
    f"from host.c:{line(C_HOST, 'INLINED')} in main",
]


@pytest.mark.parametrize("options", ["-O0 -g", "-O2 -g", "-O1 -gdwarf-4", "-O2 -g -gdwarf-5 -fno-pie -no-pie"])
def test_a_c_host_is_told_file_line_and_function(options: str, tmp_path: Path) -> None:
    host = host_of(C_HOST, tmp_path / "host", *options.split())
    heading, *found = [each.strip() for each in leaks(tmp_path, host)]
    assert heading == "alive at the end: 5"
    assert found[:2] == WITH_LINES
    assert found[2].startswith("1 SVM allocation, 4096 bytes, created by clSVMAlloc, host.c:")
    assert len(found) == 3


@pytest.mark.skipif(not shutil.which("objcopy"), reason="needs objcopy")
def test_compilers_that_make_no_index_of_addresses_are_understood(tmp_path: Path) -> None:
    host = host_of(C_HOST, tmp_path / "host", "-O1", "-g")
    subprocess.run(["objcopy", "--remove-section", ".debug_aranges", str(host)], check=True)
    assert [each.strip() for each in leaks(tmp_path, host)][1:3] == WITH_LINES


def test_without_debug_information_the_function_is_told(tmp_path: Path) -> None:
    found = leaks(tmp_path, host_of(C_HOST, tmp_path / "host", "-O0"))
    assert any("created by clCreateBuffer, make_buffers of host, from main of host" in each for each in found)


def test_without_symbols_the_address_in_the_file_is_told(tmp_path: Path) -> None:
    found = leaks(tmp_path, host_of(C_HOST, tmp_path / "host", "-O0", "-s"))
    assert any("created by clCreateBuffer, host+0x" in each for each in found)


@pytest.mark.parametrize("options", ["-O0 -g", "-O2 -g"])
def test_global_objects_of_cpp_hosts_do_not_leak_and_wrappers_are_passed_over(options: str, tmp_path: Path) -> None:
    host = host_of(CPP_HOST, tmp_path / "host", *options.split(), "-lstdc++", suffix="cpp")
    assert leaks(tmp_path, host) == [
        "alive at the end: 1",
        f"  1 cl_mem, 100 bytes, created by clCreateBuffer, host.cpp:{line(CPP_HOST, 'LOST')} in main",
    ]


def python_leaks(body: str, tmp_path: Path) -> list[str]:
    pytest.importorskip("pyopencl")
    (tmp_path / "host.py").write_text(PYTHON_HOST + body)
    return leaks(tmp_path, sys.executable, "host.py")


def test_module_globals_of_python_hosts_do_not_leak(tmp_path: Path) -> None:
    assert python_leaks("", tmp_path) == ["nothing is alive at the end"]


def test_a_python_host_is_told_its_own_frames(tmp_path: Path) -> None:
    count = len(PYTHON_HOST.splitlines())
    assert python_leaks("for size in (8, 16):\n    lose(size)\n", tmp_path) == [
        "alive at the end: 2",
        f"  2 cl_mem, 24 bytes, created by clCreateBuffer, host.py:{count} in lose, "
        f"from host.py:{count + 2} in <module>",
    ]


def test_shared_virtual_memory_that_is_freed_late_does_not_leak(tmp_path: Path) -> None:
    body = "kept = cl.SVMAllocation(context, 400, 0, cl.svm_mem_flags.READ_WRITE, queue=queue)\n"
    assert python_leaks(body, tmp_path) == ["nothing is alive at the end"]


def test_what_an_exit_handler_of_the_host_releases_does_not_leak(tmp_path: Path) -> None:
    """Handlers that were registered before the first OpenCL call run after the driver's own."""
    pytest.importorskip("pyopencl")
    first = "import atexit\nkept = []\natexit.register(lambda: kept.clear())\n"
    last = """
kept.append(cl.SVMAllocation(context, 400, 0, cl.svm_mem_flags.READ_WRITE, queue=queue))
kept.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, 64))
"""
    (tmp_path / "host.py").write_text(first + PYTHON_HOST + last)
    assert leaks(tmp_path, sys.executable, "host.py") == ["nothing is alive at the end"]


USM_HOST = """
#include "usm.h"
int main(void)
{
    struct host host;
    cl_int status;
    start(&host, SPIN_SOURCE);
    find_usm(&host);
    void *lost = device_alloc(host.context, host.device, NULL, 4096, 0, &status); // LOST
    must(mem_free(host.context, device_alloc(host.context, host.device, NULL, 64, 0, &status)), "clMemFreeINTEL");
    stop(&host);
    return lost == NULL;
}
"""


def test_an_allocation_that_went_with_its_context_is_told(tmp_path: Path) -> None:
    host = host_of(USM_HOST, tmp_path / "host", "-g")
    assert leaks(tmp_path, host) == [
        "alive at the end: 1",
        "  1 device allocation of a released context, 4096 bytes, created by clDeviceMemAllocINTEL, "
        f"host.c:{line(USM_HOST, 'LOST')} in main",
    ]


def test_the_report_goes_to_the_log_file_if_there_is_one(tmp_path: Path) -> None:
    host = host_of(USM_HOST, tmp_path / "host", "-g")
    assert run(tmp_path, "env", "FPGART_LOG=log.txt", host).stderr == ""
    assert "1 device allocation of a released context" in (tmp_path / "log.txt").read_text()
