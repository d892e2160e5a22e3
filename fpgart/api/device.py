# SPDX-License-Identifier: Apache-2.0
"""Devices (OpenCL 3.0, 4.2 and 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fpgart.base import opencl as cl
from fpgart.base.errors import DeviceNotFound, InvalidDevice, InvalidDeviceType, InvalidOperation, InvalidValue
from fpgart.bridge import info
from fpgart.bridge.entry import entry
from fpgart.bridge.handles import find
from fpgart.runtime.memory.device import Device
from fpgart.runtime.objects.platform import Platform

if TYPE_CHECKING:
    from fpgart.runtime.objects.context import Context

KNOWN_TYPES = (
    cl.CL_DEVICE_TYPE_DEFAULT
    | cl.CL_DEVICE_TYPE_CPU
    | cl.CL_DEVICE_TYPE_GPU
    | cl.CL_DEVICE_TYPE_ACCELERATOR
    | cl.CL_DEVICE_TYPE_CUSTOM
)


def device_list(count: int, devices: Any, allowed: list[Device], owner: str, *, optional: bool = False) -> list[Device]:
    """Returns the devices of a count and an array; all of `allowed` for an empty one, if `optional`.

    `owner` names the object that has the devices. Raises InvalidValue for a count that contradicts the array,
    InvalidDevice for others than `allowed`.
    """
    if not count and not devices and optional:
        return allowed
    if bool(count) != bool(devices):
        raise InvalidValue(f"{count} devices are announced, but the list is {'not NULL' if devices else 'NULL'}")
    found: list[Device] = []
    for index in range(count):
        device = find(int(devices[index]), Device)
        if device not in allowed:
            others = ", ".join(str(each.id) for each in allowed)
            raise InvalidDevice(f"device {device.id} is not one of the {owner}'s: {others}")
        if device not in found:
            found.append(device)
    return found


def check_device(context: Context, device: Device) -> Device:
    """Returns the device. Raises InvalidDevice if it is not one of the context's."""
    if device not in context.devices:
        raise InvalidDevice(f"device {device.id} does not belong to this context")
    return device


@entry("clGetDeviceIDs")
def get_device_ids(platform: Platform, device_type: int, num_entries: int, devices: Any, num_devices: Any) -> None:
    if device_type != cl.CL_DEVICE_TYPE_ALL and (not device_type or device_type & ~KNOWN_TYPES):
        raise InvalidDeviceType(f"{device_type:#x} is not a device type")
    if devices and not num_entries:
        raise InvalidValue("num_entries is 0, but devices is not NULL")
    if not devices and not num_devices:
        raise InvalidValue("devices and num_devices are both NULL")
    found = matching(platform, device_type)
    if not found:
        raise DeviceNotFound(
            f"no device of type {device_type:#x}; the platform has {len(platform.devices)} accelerators"
        )
    for index, device in enumerate(found[:num_entries] if devices else ()):
        devices[index] = device.handle
    if num_devices:
        num_devices[0] = len(found)
    info.remember(platform, 0, info.handles(found), info.of_type(device_type))


def matching(platform: Platform, device_type: int) -> list[Device]:
    if device_type == cl.CL_DEVICE_TYPE_ALL or device_type & cl.CL_DEVICE_TYPE_ACCELERATOR:
        return platform.devices
    return platform.devices[:1] if device_type & cl.CL_DEVICE_TYPE_DEFAULT else []


@entry("clCreateSubDevices", "clCreateSubDevicesEXT")
def create_sub_devices(
    in_device: Device, properties: Any, num_devices: int, out_devices: Any, num_devices_ret: Any
) -> None:
    if not properties or not properties[0]:
        raise InvalidValue("no way to partition the device is given")
    raise InvalidValue("a board cannot be partitioned: CL_DEVICE_PARTITION_PROPERTIES is empty")


@entry("clGetDeviceAndHostTimer")
def get_device_and_host_timer(device: Device, device_timestamp: Any, host_timestamp: Any) -> None:
    if not device_timestamp or not host_timestamp:
        raise InvalidValue("a timestamp pointer is NULL")
    device_timestamp[0] = host_timestamp[0] = device.scheduler.host_time()


@entry("clGetHostTimer")
def get_host_timer(device: Device, host_timestamp: Any) -> None:
    if not host_timestamp:
        raise InvalidValue("the timestamp pointer is NULL")
    host_timestamp[0] = device.scheduler.host_time()


@entry("clSetDefaultDeviceCommandQueue")
def set_default_device_command_queue(context: int, device: int, command_queue: int) -> None:
    """Refuses all queues, NULL included, because boards have no queues on the device."""
    from fpgart.runtime.objects.context import Context

    check_device(find(context, Context), find(device, Device))
    raise InvalidOperation("boards have no queues on the device")
