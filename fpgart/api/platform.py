# SPDX-License-Identifier: Apache-2.0
"""Platforms (OpenCL 3.0, 4.1)."""

from __future__ import annotations

from typing import Any

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidValue
from fpgart.base.personality import ICD_SUFFIX, PLATFORM_EXTENSIONS, PROFILE
from fpgart.bridge import info
from fpgart.bridge.entry import entry
from fpgart.bridge.handles import HELD
from fpgart.runtime.objects.platform import Platform

EXTENSIONS = {name: info.version(1, 0) for name in PLATFORM_EXTENSIONS}

PLATFORM_INFO: dict[int, info.Query[Platform]] = {
    cl.CL_PLATFORM_PROFILE: lambda p: info.string(PROFILE),
    cl.CL_PLATFORM_VERSION: lambda p: info.string(p.personality.version),
    cl.CL_PLATFORM_NUMERIC_VERSION: lambda p: info.u32(info.version(3, 0)),
    cl.CL_PLATFORM_NAME: lambda p: info.string(p.personality.name),
    cl.CL_PLATFORM_VENDOR: lambda p: info.string(p.personality.vendor),
    cl.CL_PLATFORM_EXTENSIONS: lambda p: info.string(" ".join(EXTENSIONS)),
    cl.CL_PLATFORM_EXTENSIONS_WITH_VERSION: lambda p: b"".join(
        info.name_version(name, number) for name, number in EXTENSIONS.items()
    ),
    cl.CL_PLATFORM_HOST_TIMER_RESOLUTION: lambda p: info.u64(1),
    cl.CL_PLATFORM_ICD_SUFFIX_KHR: lambda p: info.string(ICD_SUFFIX),
}


_platforms: list[Platform] = []


def adopt(platform: Platform, handle: int) -> None:
    """Makes hosts find the platform of this process, by the handle that C may have given them before."""
    platform.handle = handle
    HELD[handle] = platform
    _platforms[:] = [platform]


def the_platform() -> Platform:
    return _platforms[0]


@entry("clGetPlatformIDs")
def get_platform_ids(num_entries: int, platforms: Any, num_platforms: Any) -> None:
    if platforms and not num_entries:
        raise InvalidValue("num_entries is 0, but platforms is not NULL")
    if not platforms and not num_platforms:
        raise InvalidValue("platforms and num_platforms are both NULL")
    if platforms:
        platforms[0] = the_platform().handle
    if num_platforms:
        num_platforms[0] = 1


@entry("clGetPlatformInfo")
def get_platform_info(
    platform: Platform, param_name: int, param_value_size: int, param_value: int, param_value_size_ret: Any
) -> None:
    if param_name == cl.CL_PLATFORM_NAME and param_value:
        short, name = map(info.string, (platform.personality.short_name, platform.personality.name))
        if platform.personality.short_name and len(short) <= param_value_size < len(name):
            info.write(short, param_value_size, param_value, param_value_size_ret)
            return
    data = info.answer_of(PLATFORM_INFO, platform, param_name, PLATFORM_INFO)
    info.write(data, param_value_size, param_value, param_value_size_ret)


@entry("clUnloadPlatformCompiler")
def unload_platform_compiler(platform: Platform) -> None:
    """Does nothing: the call is a hint, and the engine keeps its compiler."""


@entry("clUnloadCompiler")
def unload_compiler() -> None:
    """Does nothing: the call is a hint, and the engine keeps its compiler."""
