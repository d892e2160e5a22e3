# SPDX-License-Identifier: Apache-2.0
"""Answers to hosts with several boards, and to hosts in simulated time."""

from __future__ import annotations

import sys

import pytest
from processes import ROOT, finished, output

from fpgart.base import opencl as cl
from fpgart.cli import running

HOST = f"""
import sys, threading
sys.path.insert(0, {str(ROOT / "conformance")!r})
import opencl_api as cl
from opencl_api import Host, Loader, event_slot, handles, status_of, wait
host = Host(Loader())
kernel = host.kernel("kernel void k() {{}}", "k")
"""


def printed(body: str, **variables: str) -> str:
    """Returns what a host prints that has a context of one board, and a kernel."""
    return output(finished(sys.executable, "-c", HOST + body, env=running.environment(variables)))


@pytest.mark.parametrize("call", ["clBuildProgram", "clCompileProgram"])
@pytest.mark.parametrize(("source", "status"), [("kernel void k() {}", 0), ("kernel void k( {}", cl.CL_BUILD_ERROR)])
def test_a_build_has_ended_and_made_its_callback_when_its_call_returns(call: str, source: str, status: int) -> None:
    body = f"""
program = host.cl.make("clCreateProgramWithSource", host.context, 1, cl.strings({source!r}), None)
told = []
notify = cl.callback(lambda *words: told.append(words), cl.ctypes.c_void_p, cl.ctypes.c_void_p)
headers = (0, None, None) if {call!r} == "clCompileProgram" else ()
failed = host.cl.status({call!r}, program, 0, None, b"", *headers, notify, 5) != 0
ended = host.cl.number("clGetProgramBuildInfo", program, host.device, cl.CL_PROGRAM_BUILD_STATUS)
print(failed, cl.ctypes.c_int32(ended).value, told == [(program, 5)])
"""
    assert printed(body) == f"{status != 0} {status} True\n"


def test_a_kernel_is_asked_about_the_devices_of_its_program_alone() -> None:
    body = """
query = ("clGetKernelWorkGroupInfo", kernel, Host(host.cl, 2).devices[1], cl.CL_KERNEL_WORK_GROUP_SIZE)
print(host.cl.status(*query, 0, None, None))
"""
    assert printed(body, FPGART_BOARD="a10_ref,a10_ref") == "-33\n"


def test_the_largest_group_is_that_of_the_device_that_is_asked_about() -> None:
    body = """
host = Host(host.cl, 2)
kernel = host.kernel("kernel void k() {}", "k")
for _ in range(2):
    for device in host.devices:
        largest = host.cl.number("clGetKernelWorkGroupInfo", kernel, device, cl.CL_KERNEL_WORK_GROUP_SIZE)
        print(largest == host.cl.number("clGetDeviceInfo", device, cl.CL_DEVICE_MAX_WORK_GROUP_SIZE), end=" ")
"""
    assert printed(body, FPGART_BOARD="k2h,a10_ref") == "True True True True "


@pytest.mark.parametrize(("board", "status"), [("k2h", -59), ("a10_ref", 0)])
def test_a_list_of_no_svm_pointers_needs_a_device_with_svm_too(board: str, status: int) -> None:
    body = 'print(host.cl.status("clSetKernelExecInfo", kernel, cl.CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, None))'
    assert printed(body, FPGART_BOARD=board) == f"{status}\n"


def test_in_simulated_time_each_thread_that_sees_the_end_of_a_command_is_behind_it() -> None:
    body = """
def see_end():
    now = handles(0)
    status_of(host, event[0])
    host.cl.check("clGetHostTimer", host.device, now)
    print(now[0] >= host.cl.number("clGetEventProfilingInfo", event[0], cl.CL_PROFILING_COMMAND_END))
event = event_slot()
host.launch(kernel, 1, event=event)
wait(host, event[0])
for _ in range(2):
    thread = threading.Thread(target=see_end)
    thread.start()
    thread.join()
"""
    assert printed(body, FPGART_BOARD="a10_ref", FPGART_TIME="model") == "True\nTrue\n"


OF_EACH_DEVICE = """
host = Host(host.cl, 2)
SOURCE = '''
#ifdef INTELFPGA_CL
#define BOARD 100
#else
#define BOARD 200
#endif
kernel void k(global int *x) { x[0] = BOARD + X; }
#ifdef ONE_MORE
kernel void one_more(global int *x) { x[0] = -1; }
#endif
'''
def source():
    return host.cl.make("clCreateProgramWithSource", host.context, 1, cl.strings(SOURCE), None)
def made_for(program, device, options, call="clBuildProgram"):
    between = (0, None, None) if call == "clCompileProgram" else ()
    return host.cl.status(call, program, 1, handles(host.devices[device]), options, *between, None, None)
def link(*devices):
    listed = handles(*(host.devices[device] for device in devices)) if devices else None
    return host.cl.attempt("clLinkProgram", host.context, len(devices), listed, None, 1, handles(program), None, None)
def run(program, name=b"k"):
    kernel, buffer = host.cl.make("clCreateKernel", program, name), host.buffer(4)
    host.cl.check("clSetKernelArg", kernel, 0, 8, handles(buffer))
    for _ in range(2):
        for device in range(2):
            queue = host.new_queue(0, host.devices[device])
            call = ("clEnqueueNDRangeKernel", queue, kernel, 1, None, handles(1), None, 0, None, None)
            status = host.cl.status(*call)
            host.finish(queue)
            print(status or host.ints(buffer, 1)[0], end=" ")
    host.cl.check("clReleaseKernel", kernel)
    print()
program = source()
"""


def test_each_device_runs_what_was_built_for_it() -> None:
    body = """
print(made_for(program, 0, b"-DX=1"), made_for(program, 1, b"-DX=2"))
run(program)
print(made_for(program, 0, b"-DX=3"))
run(program)
print(made_for(program, 1, b"-DX=)"))
run(program)
print(made_for(program, 1, b"-DX=4", "clCompileProgram"))
run(program)
host.cl.check("clBuildProgram", program, 0, None, b"-DX=5", None, None)
run(program)
"""
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,k2h").splitlines() == [
        *("0 0", "101 202 101 202 "),
        *("0", "103 202 103 202 "),
        *("-11", "103 -45 103 -45 "),
        *("0", "103 -45 103 -45 "),
        "105 205 105 205 ",
    ]


def test_an_option_that_lacks_its_name_is_invalid() -> None:
    body = 'print(made_for(program, 0, b"-DX=1 -D "), made_for(program, 0, b"-D", "clCompileProgram"))'
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,k2h") == "-43 -66\n"


def test_a_kernel_that_is_built_for_one_device_runs_on_that_alone() -> None:
    body = """
print(made_for(program, 0, b"-DX=1"), made_for(program, 1, b"-DX=2 -DONE_MORE"))
print(host.cl.text("clGetProgramInfo", program, cl.CL_PROGRAM_KERNEL_NAMES))
run(program)
run(program, b"one_more")
"""
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,a10_ref").splitlines() == [
        *("0 0", "k;one_more", "101 102 101 102 ", "-45 -1 -45 -1 "),
    ]


def test_programs_are_linked_for_the_devices_that_they_were_compiled_for() -> None:
    body = """
print(link()[1], made_for(program, 1, b"-DX=2", "clCompileProgram"), link(0)[1])
run(link()[0])
print(made_for(program, 0, b"-DX=1", "clCompileProgram"))
run(link()[0])
print(made_for(program, 0, b"-DX=1"), link(0)[1])
run(link(0, 1)[0])
"""
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,a10_ref").splitlines() == [
        *("-59 0 -59", "-45 102 -45 102 "),
        *("0", "101 102 101 102 "),
        *("0 -59", "-45 102 -45 102 "),
    ]


def test_a_kernel_whose_arguments_differ_by_device_is_none() -> None:
    body = """
host.cl.check("clReleaseProgram", program)
SOURCE = "kernel void k(global int *x, TYPE y) {} kernel void same(global int *x) {}"
program = source()
print(made_for(program, 0, b"-DTYPE=int"), made_for(program, 1, b"-DTYPE=float"))
print(host.cl.attempt("clCreateKernel", program, b"k")[1], host.cl.attempt("clCreateKernel", program, b"same")[1])
kernels, count = handles(0, 0), handles(0)
print(host.cl.status("clCreateKernelsInProgram", program, 2, kernels, count), count[0], bool(kernels[1]))
"""
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,a10_ref").splitlines() == ["0 0", "-47 0", "0 1 False"]


def test_a_host_pipe_is_on_the_devices_that_its_program_is_built_for() -> None:
    body = """
import struct
SOURCE = '''
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int c __attribute__((depth(4))) __attribute__((intel_host_accessible));
kernel void k(global int *x) { x[0] = read_channel_intel(c); }
'''
program = source()
def write(device):
    queue = host.new_queue(0, host.devices[device])
    packet = program, b"c", 1, struct.pack("i", 7), 4
    return cl.Usm(host).status("clEnqueueWriteHostPipeINTEL", queue, *packet, 0, None, None)
print(write(0), made_for(program, 1, b""), write(0), write(1))
"""
    assert printed(OF_EACH_DEVICE + body, FPGART_BOARD="a10_ref,a10_ref") == "-45 0 -45 0\n"
