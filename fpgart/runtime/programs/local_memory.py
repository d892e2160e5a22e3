# SPDX-License-Identifier: Apache-2.0
"""Local memory: the size that a device has, and the size that a kernel needs with its arguments."""

from __future__ import annotations

from struct import Struct

from fpgart.base import opencl as cl
from fpgart.base.errors import OutOfResources
from fpgart.engine.interface import LOCAL, Engine
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.kernel import Kernel

BYTES = Struct("Q")
LEAST = 32768
"""The size if neither the board nor the engine says it: the least that OpenCL allows, in bytes."""


def engine_local_memory(engine: Engine) -> int:
    """Returns the bytes of local memory that a work-group has on the engine's device."""
    answer = engine.device_info(cl.CL_DEVICE_LOCAL_MEM_SIZE)
    return int(BYTES.unpack(answer)[0]) if len(answer) == BYTES.size else LEAST


def local_memory(device: Device) -> int:
    """Returns the bytes of local memory that a work-group has on a device: CL_DEVICE_LOCAL_MEM_SIZE."""
    return device.board.local_memory or device.platform.engine_local_memory


def local_memory_used(kernel: Kernel) -> int:
    """Returns the bytes of a kernel's variables and set arguments in local memory: CL_KERNEL_LOCAL_MEM_SIZE."""
    kernel.update_arguments()
    given = sum(argument[1] for argument in kernel.arguments if argument is not None and argument[0] == LOCAL)
    return own_local_memory(kernel) + given


def own_local_memory(kernel: Kernel) -> int:
    """Returns the bytes of the variables that a kernel declares in local memory; 0 if the engine does not say.

    Raises EXHAUSTED.
    """
    if kernel.own_local_memory is None:
        answer = kernel.engine_answer(cl.CL_KERNEL_LOCAL_MEM_SIZE)
        kernel.own_local_memory = int(BYTES.unpack(answer)[0]) if len(answer) == BYTES.size else 0
    return kernel.own_local_memory


def check_local_memory(kernel: Kernel, device: Device, given: int) -> None:
    """Raises OutOfResources if a launch with `given` bytes of local arguments needs more than the device has."""
    own, most = own_local_memory(kernel), local_memory(device)
    if own + given > most:
        raise OutOfResources(
            f"kernel '{kernel.name}' needs {own + given} bytes of local memory, {given} of them for its arguments; "
            f"device {device.id} ('{device.board.name}') has {most}"
        )
