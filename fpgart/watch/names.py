# SPDX-License-Identifier: Apache-2.0
"""Names commands and calls as OpenCL does."""

from __future__ import annotations

from fpgart.base import opencl as cl
from fpgart.runtime.commands.programming import PROGRAM_COMMAND
from fpgart.runtime.memory.usm import Kind

COMMANDS = {
    value: name.removeprefix("CL_COMMAND_")
    for name, value in vars(cl).items()
    if name.startswith("CL_COMMAND_") and isinstance(value, int) and value > 0x1000
} | {PROGRAM_COMMAND: "PROGRAM_DEVICE"}
LAUNCHES = {cl.CL_COMMAND_NDRANGE_KERNEL: "clEnqueueNDRangeKernel", cl.CL_COMMAND_TASK: "clEnqueueTask"}
ALLOCATORS = {
    Kind.HOST: "clHostMemAllocINTEL",
    Kind.DEVICE: "clDeviceMemAllocINTEL",
    Kind.SHARED: "clSharedMemAllocINTEL",
}
