# SPDX-License-Identifier: Apache-2.0
"""Makes the operation that launches a kernel with its arguments (OpenCL 3.0, 5.10)."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

from fpgart.base import config
from fpgart.base.errors import InvalidKernelArgs, InvalidOperation
from fpgart.base.notices import NOTICES
from fpgart.engine.interface import LOCAL, POINTER, SIZES
from fpgart.runtime.commands.launch import LaunchKernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.memory.usm import Kind, UsmAllocation
from fpgart.runtime.memory.usm_use import Indirect, UsmUse
from fpgart.runtime.programs.kernel import Argument, Kernel
from fpgart.runtime.programs.local_memory import check_local_memory
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.work_groups import for_engine


def new_launch(
    kernel: Kernel, device: Device, dimensions: int, sizes: tuple[int, ...], has_local: bool
) -> LaunchKernel:
    """Returns the operation that runs the kernel with the arguments that are set now, and reserves blocks for its
    buffers.

    `sizes`: offset, global and local size, three numbers each.

    Raises InvalidKernelArgs, InvalidOperation, MemObjectAllocationFailure, OutOfResources.
    """
    kernel.update_arguments()
    return new_launch_with(kernel.arguments, kernel, device, dimensions, sizes, has_local)


def new_launch_with(
    arguments: Sequence[Argument | None],
    kernel: Kernel,
    device: Device,
    dimensions: int,
    sizes: tuple[int, ...],
    has_local: bool,
) -> LaunchKernel:
    """Does the same as new_launch(), with `arguments` instead of the kernel's."""
    snapshot: list[Argument] = []
    buffers: list[tuple[int, Buffer]] = []
    on_host: list[tuple[int, Buffer]] = []
    pipes: list[Pipe] = []
    local = 0
    for index, argument in enumerate(arguments):
        if argument is None:
            raise InvalidKernelArgs(f"{kernel.describe(index)} has not been set")
        value = argument[2]
        if isinstance(value, ref):
            buffer = value()
            if buffer is None:
                raise InvalidKernelArgs(f"the buffer of {kernel.describe(index)} has been released")
            if buffer.owner.stays_on_host:
                argument = (POINTER, 8, buffer.host_address())
                on_host.append((index, buffer))
            else:
                buffers.append((index, buffer))
        elif argument[0] == LOCAL:
            local += argument[1]
        elif isinstance(value, Pipe):
            declared = kernel.interface.arguments[index].pipe
            assert declared is not None
            value.open()
            pipes.append(value)
            argument = (POINTER, 8, value.fifo.end(blocking=declared.blocking))
        snapshot.append(argument)
    check_local_memory(kernel, device, local)
    launch = LaunchKernel(kernel, device, snapshot, buffers, dimensions, SIZES.pack(*sizes), has_local)
    launch.on_host = on_host
    launch.pipes = pipes
    if has_local:
        launch.engine_sizes = for_engine(kernel, device, launch.sizes)
    if not device.has_svm:
        _refuse_svm(kernel, device, snapshot)
    if any(other.board.system_allocations for other in kernel.context.devices):
        _refuse_system_memory(kernel, device, arguments)
    if len(kernel.context.usm):
        launch.usm = _usm_use(kernel, device, snapshot)
    if device.knows_memories:
        launch.reserve()
    return launch


def _refuse_svm(kernel: Kernel, device: Device, arguments: list[Argument]) -> None:
    """Raises InvalidOperation for an argument that points into SVM, which the device does not reach."""
    for index, (kind, _, value) in enumerate(arguments):
        if kind == POINTER and isinstance(value, int) and kernel.context.svm.find(value) is not None:
            raise InvalidOperation(f"{kernel.describe(index)} is shared virtual memory, {_not_reached_by(device)}")


def _refuse_system_memory(kernel: Kernel, device: Device, arguments: Sequence[Argument | None]) -> None:
    """Raises InvalidOperation for a pointer to system memory if only other devices of the context reach it."""
    if device.reaches_system_memory:
        return
    known = kernel.context.usm, kernel.context.svm
    for index, argument in enumerate(arguments):
        kind, _, value = argument or (LOCAL, 0, 0)
        if kind == POINTER and isinstance(value, int) and value and all(each.find(value) is None for each in known):
            raise InvalidOperation(f"{kernel.describe(index)} is memory of the system, {_not_reached_by(device)}")


def _usm_use(kernel: Kernel, device: Device, arguments: list[Argument]) -> UsmUse:
    """Returns the allocations that a launch may use, and replaces pointers in `arguments` by the kernel's addresses.

    Raises InvalidOperation for memory that the device does not reach, and where memory may hold encoded pointers.
    """
    registry = kernel.context.usm
    found: list[UsmAllocation] = []
    for index, (kind, size, value) in enumerate(arguments):
        if kind != POINTER or not isinstance(value, int):
            continue
        allocation = registry.find(value)
        if allocation is None:
            continue
        if device not in allocation.reached_by:
            for listener in NOTICES.pointer_refused:
                listener(kernel, index, allocation, device)
            raise InvalidOperation(f"{kernel.describe(index)} is {_whose(allocation)}, {_not_reached_by(device)}")
        found.append(allocation)
        arguments[index] = (kind, size, allocation.translated(value))
    indirect = [a for a in map(registry.find, kernel.usm_pointers) if a is not None]
    if config.USM_POINTERS.value == "encoded" and (indirect or kernel.indirect & Indirect.DEVICE):
        _refuse_encoded(kernel, device, indirect)
    return UsmUse(found + indirect, kernel.indirect)


def _refuse_encoded(kernel: Kernel, device: Device, given: list[UsmAllocation]) -> None:
    """Raises InvalidOperation if the kernel may find encoded pointers in memory.

    With bit 61 they are no addresses of this processor, and nothing can be mapped there: the kernel would crash.
    """
    may_reach = kernel.context.usm.all() if kernel.indirect & Indirect.DEVICE else given
    found = [a for a in may_reach if a.kind is Kind.DEVICE and a.device is device]
    if found:
        raise InvalidOperation(
            f"kernel '{kernel.name}' may reach {len(found)} device allocations of device {device.id} through "
            f"pointers in memory, such as {found[0].pointer:#x}, which kernels here cannot follow "
            "(FPGART_USM_POINTERS=encoded; they can with mapped)"
        )


def _whose(allocation: UsmAllocation) -> str:
    owners = ", ".join(str(device.id) for device in allocation.owners)
    return f"a {allocation.kind.name.lower()} allocation of device{'s' * (len(allocation.owners) > 1)} {owners}"


def _not_reached_by(device: Device) -> str:
    return f"which device {device.id} ('{device.board.name}') does not reach"
