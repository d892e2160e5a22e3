# SPDX-License-Identifier: Apache-2.0
"""Local memory of kernels: variables and arguments together (OpenCL 3.0, 5.9.2 and 5.10)."""

from __future__ import annotations

import opencl_api as cl
import pytest
from opencl_api import Host, handles

SOURCE = """
kernel void none(global int *x, local int *y, local int *z) { y[0] = x[0]; z[0] = y[0]; x[1] = z[0]; }
kernel void some(global int *x, local int *y, local int *z)
{
    local int own[256];
    own[get_local_id(0)] = x[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[0] = own[0]; z[0] = y[0]; x[1] = z[0];
}
"""
OWN = {"none": 0, "some": 1024}
OUT_OF_RESOURCES = -5


def most(host: Host) -> int:
    """Bytes of local memory that a work-group has."""
    return host.cl.number("clGetDeviceInfo", host.device, cl.CL_DEVICE_LOCAL_MEM_SIZE)


def launched(host: Host, name: str, *sizes: int) -> int:
    """The status of a launch with local arguments of some sizes."""
    buffer = host.buffer(8)
    kernel = host.kernel(SOURCE, name, buffer)
    for index, size in enumerate(sizes, 1):
        host.cl.check("clSetKernelArg", kernel, index, size, None)
    status = host.cl.status("clEnqueueNDRangeKernel", host.queue, kernel, 1, None, handles(1), None, 0, None, None)
    host.finish()
    return status


@pytest.mark.parametrize("name", OWN)
def test_a_launch_may_use_all_of_it(host: Host, name: str) -> None:
    assert launched(host, name, most(host) - OWN[name] - 512, 512) == 0


@pytest.mark.parametrize("above", [4, 1 << 20, 1 << 31, 1 << 32, 1 << 40])
@pytest.mark.parametrize("name", OWN)
def test_a_launch_that_needs_more_is_refused(host: Host, name: str, above: int) -> None:
    assert launched(host, name, most(host) - OWN[name] - 512 + above, 512) == OUT_OF_RESOURCES


def test_the_query_counts_variables_and_the_arguments_that_are_set_now(host: Host) -> None:
    buffer = host.buffer(8)
    kernel = host.kernel(SOURCE, "some", buffer)
    query = ("clGetKernelWorkGroupInfo", kernel, host.device, cl.CL_KERNEL_LOCAL_MEM_SIZE)
    found = [host.cl.number(*query)]
    for index, size in ((1, 64), (2, 5120), (2, 512)):
        host.cl.check("clSetKernelArg", kernel, index, size, None)
        found.append(host.cl.number(*query))
    host.launch(kernel, 1)
    host.finish()
    found.append(host.cl.number(*query))
    assert found == [1024, 1088, 6208, 1600, 1600]
