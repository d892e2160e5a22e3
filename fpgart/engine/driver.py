# SPDX-License-Identifier: Apache-2.0
"""Another OpenCL driver, opened by its own file and called through its dispatch table.

Functions of extensions are not in the table; the driver is asked for their addresses by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import EXHAUSTED, CLError, OutOfResources, error_of
from fpgart.engine.library_file import why_not_opened

HOST_PIPE = "int(*)(uintptr_t, uintptr_t, char *, unsigned, void *, size_t, unsigned, uintptr_t *, uintptr_t *)"
GLOBAL_VARIABLE = (
    "int(*)(uintptr_t, uintptr_t, char *, unsigned, size_t, size_t, void *, unsigned, uintptr_t *, uintptr_t *)"
)
SUB_GROUP_INFO = "int(*)(uintptr_t, uintptr_t, unsigned, size_t, size_t *, size_t, void *, size_t *)"
SIGNATURES = {
    "clGetPlatformInfo": "int(*)(uintptr_t, unsigned, size_t, void *, size_t *)",
    "clGetDeviceIDs": "int(*)(uintptr_t, uint64_t, unsigned, uintptr_t *, unsigned *)",
    "clGetDeviceInfo": "int(*)(uintptr_t, unsigned, size_t, void *, size_t *)",
    "clCreateContext": "uintptr_t(*)(void *, unsigned, uintptr_t *, void *, void *, int *)",
    "clReleaseContext": "int(*)(uintptr_t)",
    "clCreateCommandQueue": "uintptr_t(*)(uintptr_t, uintptr_t, uint64_t, int *)",
    "clReleaseCommandQueue": "int(*)(uintptr_t)",
    "clCreateProgramWithSource": "uintptr_t(*)(uintptr_t, unsigned, char **, size_t *, int *)",
    "clCreateProgramWithBinary": "uintptr_t(*)(uintptr_t, unsigned, uintptr_t *, size_t *, char **, int *, int *)",
    "clCreateProgramWithIL": "uintptr_t(*)(uintptr_t, char *, size_t, int *)",
    "clCreateProgramWithILKHR": "uintptr_t(*)(uintptr_t, char *, size_t, int *)",
    "clSetProgramSpecializationConstant": "int(*)(uintptr_t, unsigned, size_t, char *)",
    "clReleaseProgram": "int(*)(uintptr_t)",
    "clBuildProgram": "int(*)(uintptr_t, unsigned, uintptr_t *, char *, void *, void *)",
    "clCompileProgram": "int(*)(uintptr_t, unsigned, uintptr_t *, char *, "
    "unsigned, uintptr_t *, char **, void *, void *)",
    "clLinkProgram": "uintptr_t(*)(uintptr_t, unsigned, uintptr_t *, char *, "
    "unsigned, uintptr_t *, void *, void *, int *)",
    "clGetProgramInfo": "int(*)(uintptr_t, unsigned, size_t, void *, size_t *)",
    "clGetProgramBuildInfo": "int(*)(uintptr_t, uintptr_t, unsigned, size_t, void *, size_t *)",
    "clCreateKernel": "uintptr_t(*)(uintptr_t, char *, int *)",
    "clReleaseKernel": "int(*)(uintptr_t)",
    "clSetKernelArg": "int(*)(uintptr_t, unsigned, size_t, char *)",
    "clGetKernelInfo": "int(*)(uintptr_t, unsigned, size_t, void *, size_t *)",
    "clGetKernelArgInfo": "int(*)(uintptr_t, unsigned, unsigned, size_t, void *, size_t *)",
    "clGetKernelWorkGroupInfo": "int(*)(uintptr_t, uintptr_t, unsigned, size_t, void *, size_t *)",
    "clGetKernelSubGroupInfo": SUB_GROUP_INFO,
    "clGetKernelSubGroupInfoKHR": SUB_GROUP_INFO,
    "clGetKernelSuggestedLocalWorkSizeKHR": "int(*)(uintptr_t, uintptr_t, unsigned, size_t *, size_t *, size_t *)",
    "clCreateBuffer": "uintptr_t(*)(uintptr_t, uint64_t, size_t, void *, int *)",
    "clCreateSubBuffer": "uintptr_t(*)(uintptr_t, uint64_t, unsigned, void *, int *)",
    "clFinish": "int(*)(uintptr_t)",
    "clReleaseMemObject": "int(*)(uintptr_t)",
    "clEnqueueReadBuffer": "int(*)(uintptr_t, uintptr_t, unsigned, size_t, size_t, uintptr_t, "
    "unsigned, uintptr_t *, uintptr_t *)",
    "clEnqueueWriteBuffer": "int(*)(uintptr_t, uintptr_t, unsigned, size_t, size_t, uintptr_t, "
    "unsigned, uintptr_t *, uintptr_t *)",
    "clEnqueueCopyBuffer": "int(*)(uintptr_t, uintptr_t, uintptr_t, size_t, size_t, size_t, "
    "unsigned, uintptr_t *, uintptr_t *)",
    "clEnqueueMapBuffer": "uintptr_t(*)(uintptr_t, uintptr_t, unsigned, uint64_t, size_t, size_t, "
    "unsigned, uintptr_t *, uintptr_t *, int *)",
    "clEnqueueUnmapMemObject": "int(*)(uintptr_t, uintptr_t, uintptr_t, unsigned, uintptr_t *, uintptr_t *)",
    "clSetKernelExecInfo": "int(*)(uintptr_t, unsigned, size_t, void *)",
    "clEnqueueReadHostPipeINTEL": HOST_PIPE,
    "clEnqueueWriteHostPipeINTEL": HOST_PIPE,
    "clEnqueueReadGlobalVariableINTEL": GLOBAL_VARIABLE,
    "clEnqueueWriteGlobalVariableINTEL": GLOBAL_VARIABLE,
    "clWaitForEvents": "int(*)(unsigned, uintptr_t *)",
    "clReleaseEvent": "int(*)(uintptr_t)",
}


class DriverError(Exception):
    """Raised for a driver that cannot be the engine; the sentence says why."""


def set_variable(name: str, value: str, *, unless_set: bool = False) -> None:
    """Sets a variable that drivers get from getenv(); the process's own environment stays as it is.

    With `unless_set` it does so only if the user has not set the variable. Raises DriverError.
    """
    if not lib.environment_say(os.fsencode(name), os.fsencode(value), unless_set):
        raise DriverError(f"no memory for the variable {name} of the engine")


@contextmanager
def keeping_signal_handlers(path: Path | str) -> Iterator[None]:
    """Restores the host's signal handlers at the end, if the driver at `path` has replaced them."""
    lib.signals_remember()
    try:
        yield
    finally:
        lib.signals_give_back(str(path).encode())


def compiles_for_no_processor(device_version: str) -> bool:
    """True if a CL_DEVICE_VERSION is that of a PoCL whose compiler does not know this machine's x86 processor.

    PoCL's version ends with the processor that it compiles for: "HSTR: pthread-x86_64-pc-linux-gnu-znver3". LLVM calls
    a processor that it does not know "generic". Clang takes this word on ARM; on x86 it refuses it for each program.
    """
    _, _, target = device_version.strip().partition(" HSTR: ")
    _, _, triple = target.partition("-")
    architecture = triple.partition("-")[0]
    return architecture in X86 and triple.endswith("-generic")


X86 = ("x86_64", "i386", "i486", "i586", "i686")


@contextmanager
def wide_stacks() -> Iterator[None]:
    """Gives the threads that the driver creates within stacks that have room for large private arrays of kernels."""
    lib.stacks_widen(True)
    try:
        yield
    finally:
        lib.stacks_widen(False)


ON_CALLER = ("basic", "cpu-minimal")
"""PoCL's names for devices that run a kernel on the thread that enqueues it."""
PLATFORM_OF_POCL = "Portable Computing Language"
KEEPS_LINKS = (3, 1)
"""The first PoCL that links intermediate code when that is built, and looks into its cache before."""


def pocl_version(platform_version: str) -> tuple[int, ...]:
    """Returns the first two numbers of PoCL's version in a CL_PLATFORM_VERSION; () for another driver."""
    found = re.search(r"\bPoCL (\d+)\.(\d+)", platform_version)
    return tuple(map(int, found.groups())) if found else ()


class Driver:
    """Has another driver's platform, device and context, and calls its functions on its objects.

    `on_caller`: a Driver for that driver's device that runs kernels on the thread that enqueues them; None if there is
    none.
    """

    on_caller: Driver | None = None

    def __init__(self, path: Path, must_build: bool = False) -> None:
        """Opens `path` (a driver's .so); raises DriverError if it has no device. One that is a CPU is preferred.

        With `must_build`, also if it is known that its compiler builds nothing on this machine.
        """
        reason = why_not_opened(path)
        if reason:
            raise DriverError(f"{path} {reason}")
        words = ffi.new("char[]", 512)
        library = lib.driver_open(str(path).encode(), words, 512)
        if not library:
            raise DriverError(ffi.string(words).decode(errors="replace"))
        platforms, found = ffi.new("uintptr_t[8]"), ffi.new("uint32_t *")
        status = lib.driver_platforms(library, 8, platforms, found)
        if status != cl.CL_SUCCESS or not found[0]:
            raise DriverError(f"{path} offers no OpenCL platform (status {status})")
        self.path = path
        self.platform = int(platforms[0])
        self._functions: dict[str, Any] = {}
        self.gives_objects = False
        """True if the binaries of compiled programs are complete, so that another process can load them.

        Intel's binaries lack the names and types of the kernels' arguments.
        """
        self.keeps_links = False
        """True if its cache keeps the result of building intermediate code as a program's binary."""
        self.context = 0
        try:
            self._take_devices(must_build)
        except (DriverError, CLError):
            self.close()
            raise

    def close(self) -> None:
        """Releases the contexts, and with them the last objects of the driver."""
        for each in (self.on_caller, self):
            if each is not None and each.context:
                each.function("clReleaseContext")(each.context)
                each.context = 0

    def _take_devices(self, must_build: bool) -> None:
        with wide_stacks():
            found_devices = self._find_devices()
        if must_build:
            self._demand_compiler(found_devices[0])
        on_caller = [
            d for d in found_devices if self.text("clGetDeviceInfo", d, cl.CL_DEVICE_NAME).startswith(ON_CALLER)
        ]
        others = [device for device in found_devices if device not in on_caller]
        if others and on_caller:
            self.on_caller = copy(self)
            self.on_caller._take(on_caller[0])
        self._take((others or on_caller)[0])
        lib.redirect_rest()
        if self.shares_memory:
            name = self.text("clGetPlatformInfo", self.platform, cl.CL_PLATFORM_NAME)
            self.gives_objects = name == PLATFORM_OF_POCL
            version = self.text("clGetPlatformInfo", self.platform, cl.CL_PLATFORM_VERSION)
            self.keeps_links = pocl_version(version) >= KEEPS_LINKS
            if self.on_caller is not None:
                self.on_caller.gives_objects, self.on_caller.keeps_links = self.gives_objects, self.keeps_links

    def _demand_compiler(self, device: int) -> None:
        version = self.text("clGetDeviceInfo", device, cl.CL_DEVICE_VERSION)
        if compiles_for_no_processor(version):
            raise DriverError(
                f"its compiler does not know the processor of this machine and builds no kernel ({version})"
            )

    def _find_devices(self) -> list[int]:
        devices, count = ffi.new("uintptr_t[8]"), ffi.new("unsigned *")
        for kind in (cl.CL_DEVICE_TYPE_CPU, cl.CL_DEVICE_TYPE_ALL):
            status = self.function("clGetDeviceIDs")(self.platform, kind, 8, devices, count)
            if status == cl.CL_SUCCESS and count[0]:
                return [int(device) for device in devices[0 : min(count[0], 8)]]
        raise DriverError(f"{self.path} offers no device (status {status})")

    def _take(self, device: int) -> None:
        self.device = device
        self.devices = ffi.new("uintptr_t[]", [device])
        self.context = self.create("clCreateContext", ffi.NULL, 1, self.devices, ffi.NULL, ffi.NULL)

    def function(self, name: str) -> Any:
        found = self._functions.get(name)
        if found is None:
            address = lib.driver_function(self.platform, name.encode())
            address = address or lib.driver_extension_function(self.platform, name.encode())
            if not address:
                raise OutOfResources(f"the engine {self.path} has no {name}")
            found = self._functions[name] = ffi.cast(SIGNATURES[name], address)
        return found

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function; raises the error that the driver returned."""
        status = int(self.function(name)(*arguments))
        if status != cl.CL_SUCCESS:
            raise error_of(status, f"the engine's {name} failed")

    def create(self, name: str, *arguments: Any) -> int:
        """Calls a function that creates an object; raises the driver's error."""
        status = ffi.new("int *")
        made = int(self.function(name)(*arguments, status))
        if status[0] != cl.CL_SUCCESS or not made:
            raise error_of(int(status[0]), f"the engine's {name} failed")
        return made

    def query(self, name: str, *arguments: Any) -> bytes:
        """Calls a clGet...Info function; returns the answer, whatever its size."""
        function = self.function(name)
        size = ffi.new("size_t *")
        status = int(function(*arguments, 0, ffi.NULL, size))
        if status == cl.CL_SUCCESS and size[0]:
            value = ffi.new("char[]", int(size[0]))
            status = int(function(*arguments, size[0], value, ffi.NULL))
            if status == cl.CL_SUCCESS:
                return bytes(ffi.buffer(value))
        if status != cl.CL_SUCCESS:
            raise error_of(status, f"the engine's {name} failed")
        return b""

    @cached_property
    def _in_core(self) -> bool:
        """True if SPIR-V and sub-groups are part of the platform's version (OpenCL 2.1), not extensions."""
        version = self.text("clGetPlatformInfo", self.platform, cl.CL_PLATFORM_VERSION)
        found = re.match(r"OpenCL (\d+)\.(\d+)", version)
        return found is None or (int(found[1]), int(found[2])) >= (2, 1)

    @property
    def create_with_il(self) -> str:
        """The function that creates programs from SPIR-V."""
        return "clCreateProgramWithIL" if self._in_core else "clCreateProgramWithILKHR"

    @property
    def sub_group_info(self) -> str:
        """The function that answers queries for a kernel's sub-groups."""
        return "clGetKernelSubGroupInfo" if self._in_core else "clGetKernelSubGroupInfoKHR"

    @property
    def shares_memory(self) -> bool:
        """True if its kernels can access memory of this process."""
        return self.device_number(cl.CL_DEVICE_SVM_CAPABILITIES) != 0

    def device_number(self, query: int) -> int:
        """Returns the device's answer to a query for a number; 0 if it has none."""
        return int.from_bytes(self.query_or(b"", "clGetDeviceInfo", self.device, query), "little")

    def query_or(self, default: bytes, name: str, *arguments: Any) -> bytes:
        """Returns the answer of query(), or `default` if the driver has none. Raises EXHAUSTED."""
        try:
            return self.query(name, *arguments)
        except EXHAUSTED:
            raise
        except CLError:
            return default

    def text(self, name: str, *arguments: Any) -> str:
        return self.query_or(b"", name, *arguments).rstrip(b"\0").decode(errors="replace")


def open_driver(path: Path, must_build: bool = False) -> Driver:
    """Opens a `Driver` and keeps the host's signal handlers, which the driver may replace. Raises DriverError."""
    with keeping_signal_handlers(path):
        return Driver(path, must_build)
