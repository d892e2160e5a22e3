# SPDX-License-Identifier: Apache-2.0
"""Additions of Intel's FPGA runtime to OpenCL (include/CL/cl_ext_intelfpga.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _fpgart_icd import lib

from fpgart.api.device import device_list
from fpgart.api.platform import the_platform
from fpgart.base.errors import InvalidDevice, InvalidEvent, InvalidOperation, InvalidValue, OutOfResources
from fpgart.bridge.entry import Pointer, entry, string_at
from fpgart.bridge.handles import HELD, find, references, view_all
from fpgart.runtime.commands.operation import operation_of, running_kernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context
from fpgart.runtime.objects.platform import Platform
from fpgart.runtime.objects.queue import CommandQueue
from fpgart.runtime.programs.kernel import Kernel
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.program import Program
from fpgart.runtime.scheduling.event import RUNNING, Event

if TYPE_CHECKING:
    from fpgart.watch.profile import Profile

TYPE_NAMES = {
    Context: "cl_context",
    Buffer: "cl_mem",
    Pipe: "cl_mem",
    Program: "cl_program",
    Kernel: "cl_kernel",
    CommandQueue: "cl_command_queue",
    Event: "cl_event",
}
PLL_NUMBERS = 9
profile: Profile | None = None
"""The counters of kernels, if ACL_RUNTIME_PROFILING_ACTIVE is set."""
ECC_BITS = 3


def held_objects() -> list[tuple[int, str, object]]:
    """Returns handle, type and object of all that the host has references to."""
    found = [(handle, TYPE_NAMES.get(item.__class__), item) for handle, item in list(HELD.items())]
    return [(handle, name, item) for handle, name, item in found if name]


@entry("clTrackLiveObjectsIntelFPGA", status=False)
def track_live_objects(platform: int) -> None:
    """Does nothing: objects are always tracked."""


@entry("clReportLiveObjectsIntelFPGA", status=False)
def report_live_objects(platform: int, report_fn: int, user_data: int) -> None:
    if HELD.get(platform).__class__ is not Platform or not report_fn:
        return
    view_all()
    for handle, name, item in held_objects():
        if count := references(item):
            lib.fpgart_call_about_live_object(report_fn, user_data, handle, name.encode(), count)


@entry("clGetBoardExtensionFunctionAddressIntelFPGA")
def get_board_extension_function_address(func_name: int, device: int) -> Pointer:
    """Returns NULL: simulated boards have no functions of their own."""
    find(device, Device)
    return 0


@entry("clSetDeviceExceptionCallbackIntelFPGA")
def set_device_exception_callback(
    num_devices: int, devices: Any, listen_mask: int, pfn_exception_notify: int, user_data: int
) -> None:
    if not num_devices or not devices:
        raise InvalidValue("no devices are given")
    if listen_mask & ~ECC_BITS:
        raise InvalidValue(f"{listen_mask:#x} has bits that are not exceptions")
    if not pfn_exception_notify:
        raise InvalidValue("no callback is given")
    for device in device_list(num_devices, devices, the_platform().devices, "platform"):
        device.when_exception(
            listen_mask, lambda kind: lib.fpgart_call_about_exception(pfn_exception_notify, kind, user_data)
        )


@entry("clReconfigurePLLIntelFPGA")
def reconfigure_pll(device: Device, pll_settings_str: int) -> None:
    if not pll_settings_str:
        raise InvalidValue("the settings are NULL")
    words = string_at(pll_settings_str).split()
    if len(words) != PLL_NUMBERS or not all(word.lstrip("+-").isdigit() for word in words):
        raise InvalidOperation(f"PLL settings are {PLL_NUMBERS} numbers, not '{' '.join(words)}'")


@entry("clResetKernelsIntelFPGA")
def reset_kernels(context: Context, num_devices: int, device_list_: Any) -> None:
    """Does nothing but check: kernels that have not begun stay, and running ones run to their end.

    Nothing of a kernel remains after its end.
    """
    device_list(num_devices, device_list_, context.devices, "context", optional=True)


def the_profile() -> Profile:
    if profile is None:
        raise OutOfResources("kernels are not counted: ACL_RUNTIME_PROFILING_ACTIVE is not set")
    return profile


@entry("clGetProfileInfoIntelFPGA")
def get_profile_info(kernel_event: Event) -> None:
    operation = operation_of(kernel_event)
    launch = running_kernel(operation) if operation is not None else None
    if kernel_event.status != RUNNING or launch is None or kernel_event.queue is None:
        raise InvalidEvent("the event is not that of a kernel that is running")
    the_profile().write(launch.device.id, kernel_event.queue.number, [launch.kernel.name])


@entry("clGetProfileDataDeviceIntelFPGA")
def get_profile_data_device(
    device_id: Device, program: Program, read_enqueue_kernels: int, read_auto_enqueued: int,
    clear_counters_after_readback: int, size: int, value: int, size_ret: Any, errcode: Any,
) -> None:  # fmt: skip
    """Writes the counters. Autorun kernels do not end, and so have none."""
    if device_id not in program.devices:
        raise InvalidDevice("the program is not for this device")
    counted = the_profile()
    if read_enqueue_kernels:
        counted.write(device_id.id, 0, program.interfaces(), clear=bool(clear_counters_after_readback))
    if errcode:
        errcode[0] = 0
