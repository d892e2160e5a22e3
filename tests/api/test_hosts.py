# SPDX-License-Identifier: Apache-2.0
"""Answers to hosts with several boards, and to hosts in simulated time."""

from __future__ import annotations

import sys
from pathlib import Path

from processes import finished, output

from fpgart.cli import running

ROOT = Path(__file__).resolve().parents[2]
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


def test_a_kernel_is_asked_about_the_devices_of_its_program_alone() -> None:
    body = """
query = ("clGetKernelWorkGroupInfo", kernel, Host(host.cl, 2).devices[1], cl.CL_KERNEL_WORK_GROUP_SIZE)
print(host.cl.status(*query, 0, None, None))
"""
    assert printed(body, FPGART_BOARD="a10_ref,a10_ref") == "-33\n"


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
