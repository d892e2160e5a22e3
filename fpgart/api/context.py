# SPDX-License-Identifier: Apache-2.0
"""Contexts (OpenCL 3.0, 4.4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from _fpgart_icd import lib

from fpgart.api.device import KNOWN_TYPES, device_list, matching
from fpgart.api.platform import the_platform
from fpgart.base import config
from fpgart.base import opencl as cl
from fpgart.base.errors import (
    CLError,
    DeviceNotAvailable,
    DeviceNotFound,
    InvalidDeviceType,
    InvalidOperation,
    InvalidPlatform,
    InvalidProperty,
    InvalidValue,
)
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, entry, string_at
from fpgart.bridge.handles import call_when_destroyed, find, references
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.context import Context, Notify
from fpgart.runtime.objects.platform import Platform
from fpgart.runtime.programs.compiler_mode import CompilerMode

CONTEXT_INFO: dict[int, info.Query[Context]] = {
    cl.CL_CONTEXT_REFERENCE_COUNT: lambda c: info.u32(references(c)),
    cl.CL_CONTEXT_NUM_DEVICES: lambda c: info.u32(len(c.devices)),
    cl.CL_CONTEXT_DEVICES: lambda c: info.handles(c.devices),
    cl.CL_CONTEXT_PROPERTIES: lambda c: info.sizes(c.properties),
}


FIXED_CONTEXT_INFO = CONTEXT_INFO.keys() - {cl.CL_CONTEXT_REFERENCE_COUNT}


def property_pairs(properties: Any, known: Collection[int]) -> tuple[int, ...]:
    """Returns a zero-terminated list with its terminator; () for NULL.

    Reading ends at a name that is not `known`, because the rest may be no list; its value is 0 then.
    """
    if not properties:
        return ()
    found: list[int] = []
    while name := int(properties[len(found)]):
        if name not in known:
            found += (name, 0)
            break
        found += (name, int(properties[len(found) + 1]))
    return (*found, 0)


CONTEXT_PROPERTIES = (
    cl.CL_CONTEXT_PLATFORM,
    cl.CL_CONTEXT_INTEROP_USER_SYNC,
    cl.CL_CONTEXT_COMPILER_MODE_INTELFPGA,
    cl.CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA,
)


def context_properties(properties: Any) -> tuple[int, ...]:
    """Returns the checked properties. Raises InvalidPlatform, InvalidProperty."""
    found = property_pairs(properties, CONTEXT_PROPERTIES)
    names = found[0:-1:2]
    for name, value in zip(names, found[1::2], strict=False):
        if names.count(name) > 1:
            raise InvalidProperty(f"context property {name:#x} is given twice")
        if name == cl.CL_CONTEXT_PLATFORM:
            find(value & (1 << 64) - 1, Platform)
        elif name == cl.CL_CONTEXT_INTEROP_USER_SYNC:
            if value not in (0, 1):
                raise InvalidProperty(f"CL_CONTEXT_INTEROP_USER_SYNC is CL_TRUE or CL_FALSE, not {value}")
        elif name == cl.CL_CONTEXT_COMPILER_MODE_INTELFPGA:
            if not 0 <= value <= 5:
                raise InvalidValue(f"compiler mode {value} is not one of 0 to 5")
        elif name == cl.CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA:
            if not value:
                raise InvalidValue("the root of the program library is NULL")
        else:
            raise InvalidProperty(f"{name:#x} is not a context property of this platform")
    return found


def given_mode(properties: tuple[int, ...]) -> int:
    """Returns the compiler mode of the properties, or else of the environment. Raises InvalidValue."""
    given = dict(zip(properties[0:-1:2], properties[1::2], strict=False))
    if cl.CL_CONTEXT_COMPILER_MODE_INTELFPGA in given:
        return given[cl.CL_CONTEXT_COMPILER_MODE_INTELFPGA]
    try:
        return config.COMPILER_MODE.value
    except config.OptionError as error:
        raise InvalidValue(str(error)) from None


def is_locked(device: Device, mode: int) -> bool:
    """True if another context uses the device with modes of the other kind: its own kernels, or binaries.

    All contexts of a device have modes of one kind, so one of them tells.
    """
    context = device.contexts.newest()
    return context is not None and (context.compiler_mode == CompilerMode.PRELOADED) != (mode == CompilerMode.PRELOADED)


def made_context(devices: list[Device], properties: tuple[int, ...], mode: int, notify: Notify | None) -> Context:
    given = dict(zip(properties[0:-1:2], properties[1::2], strict=False))
    root = cl.CL_CONTEXT_PROGRAM_EXE_LIBRARY_ROOT_INTELFPGA
    context = Context(the_platform(), devices, properties, notify)
    context.compiler_mode = mode
    context.library_root = string_at(given[root]) if root in given else config.LIBRARY_ROOT.value
    return context


def notifier(pfn_notify: int, user_data: int) -> Notify | None:
    """Returns a function that calls the host's error callback, or None."""
    if not pfn_notify:
        return None

    def notify(error: CLError) -> None:
        lib.fpgart_call_about_error(pfn_notify, f"{error.name}: {error}".encode(errors="replace"), user_data)

    return notify


@entry("clCreateContext")
def create_context(properties: Any, num_devices: int, devices: Any, pfn_notify: int, user_data: int) -> Context:
    checked = context_properties(properties)
    if not devices or not num_devices:
        raise InvalidValue("a context needs devices")
    if user_data and not pfn_notify:
        raise InvalidValue("user_data is given without pfn_notify")
    platform = the_platform()
    chosen = device_list(num_devices, devices, platform.devices, "platform")
    mode = given_mode(checked)
    for device in chosen:
        if is_locked(device, mode):
            raise InvalidValue(
                f"device {device.id} is in use by a context whose programs come from elsewhere; compiler mode {mode} "
                "has to wait for that context's end"
            )
    return made_context(chosen, checked, mode, notifier(pfn_notify, user_data))


@entry("clCreateContextFromType")
def create_context_from_type(properties: Any, device_type: int, pfn_notify: int, user_data: int) -> Context:
    checked = context_properties(properties)
    if user_data and not pfn_notify:
        raise InvalidValue("user_data is given without pfn_notify")
    if device_type != cl.CL_DEVICE_TYPE_ALL and (not device_type or device_type & ~KNOWN_TYPES):
        raise InvalidDeviceType(f"{device_type:#x} is not a device type")
    platform = the_platform()
    if not platform.devices:
        raise InvalidPlatform("the platform has no devices")
    chosen = matching(platform, device_type)
    if not chosen:
        raise DeviceNotFound(f"no device of type {device_type:#x}")
    mode = given_mode(checked)
    free = [device for device in chosen if not is_locked(device, mode)]
    if not free:
        raise DeviceNotAvailable(f"contexts with another kind of compiler mode than {mode} have all devices")
    return made_context(free, checked, mode, notifier(pfn_notify, user_data))


@entry("clGetContextInfo")
def get_context_info(context: Context, param_name: int) -> Answer:
    return info.answer_of(CONTEXT_INFO, context, param_name, FIXED_CONTEXT_INFO)


@entry("clSetContextDestructorCallback")
def set_context_destructor_callback(context: Context, pfn_notify: int, user_data: int) -> None:
    call_when_destroyed(context, context.handle, pfn_notify, user_data)


@entry("clTerminateContextKHR")
def terminate_context(context: Context) -> None:
    raise InvalidOperation("cl_khr_terminate_context is not offered")
