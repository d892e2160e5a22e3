# SPDX-License-Identifier: Apache-2.0
"""The engine that is another OpenCL driver for this machine's CPU.

The board's DRAM is mapped into this process and each supported driver takes any host address as a
kernel argument through clSetKernelArgSVMPointer, so the driver never holds a buffer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from struct import Struct
from typing import Any

from fpgart import opencl as cl
from fpgart._native import ffi, lib
from fpgart.engine.driver import Driver, keeping_signal_handlers
from fpgart.engine.interface import (
    ArgumentInterface,
    BuildFailed,
    BuiltProgram,
    KernelInterface,
)
from fpgart.engine.opencl_c import size_of_type
from fpgart.errors import (
    CLError,
    InvalidBinary,
    InvalidLinkerOptions,
    InvalidOperation,
    LinkProgramFailure,
    error_of,
)

U32, U64, SIZE3 = Struct("I"), Struct("Q"), Struct("3Q")
ARG_INFO = "-cl-kernel-arg-info"


class OpenCLEngine:
    """An `Engine` on a driver's .so."""

    def __init__(self, name: str, path: Path) -> None:
        """Raises DriverError when the driver cannot be used."""
        self.name = name
        self.path = str(path)
        with keeping_signal_handlers(path):
            self.driver = Driver(path)
        self.version = self.driver.text("clGetPlatformInfo", self.driver.platform, cl.CL_PLATFORM_VERSION)
        self._queues = threading.local()

    def queue(self) -> int:
        """A queue of the driver for this thread alone: finishing it waits for this thread's kernel."""
        found: int = getattr(self._queues, "queue", 0)
        if not found:
            driver = self.driver
            found = driver.create("clCreateCommandQueue", driver.context, driver.device, 0)
            self._queues.queue = found
        return found

    def device_info(self, query: int) -> bytes:
        return self.driver.query_or(b"", "clGetDeviceInfo", self.driver.device, query)

    def from_source(self, source: str) -> BuiltProgram:
        text = ffi.new("char[]", source.encode(errors="surrogateescape"))
        texts = ffi.new("char *[]", [text])
        return Program(self, self.driver.create("clCreateProgramWithSource", self.driver.context, 1, texts, ffi.NULL))

    def from_il(self, il: bytes) -> BuiltProgram:
        if not self.device_info(cl.CL_DEVICE_IL_VERSION).rstrip(b"\0"):
            raise InvalidOperation(f"the engine '{self.name}' takes no intermediate language")
        data = ffi.new("char[]", il)
        return Program(self, self.driver.create("clCreateProgramWithIL", self.driver.context, data, len(il)))

    def from_binary(self, binary: bytes) -> BuiltProgram:
        driver = self.driver
        data = ffi.new("char[]", binary)
        state = ffi.new("int *")
        try:
            made = driver.create(
                "clCreateProgramWithBinary",
                driver.context,
                1,
                driver.devices,
                ffi.new("size_t[]", [len(binary)]),
                ffi.new("char *[]", [data]),
                state,
            )
        except CLError as error:
            raise InvalidBinary(f"the engine '{self.name}' does not take this binary ({error.name})") from None
        return Program(self, made)

    def link(self, options: str, programs: Sequence[BuiltProgram]) -> tuple[BuiltProgram, str]:
        handles = [p.handle for p in programs if isinstance(p, Program)]
        # PoCL forgets the kernels' arguments if it is not told so when linking; others know no such option.
        status, program = self._link(with_argument_info(options), handles)
        if status == InvalidLinkerOptions.status:
            status, program = self._link(options, handles)
        log = program.log() if program else ""
        if status == LinkProgramFailure.status:
            raise BuildFailed(status, log)
        if status != cl.CL_SUCCESS or program is None:
            raise error_of(status, f"the engine could not link: {log}")
        return program, log

    def _link(self, options: str, programs: list[int]) -> tuple[int, Program | None]:
        driver = self.driver
        handles = ffi.new("uintptr_t[]", programs)
        status = ffi.new("int *")
        with keeping_signal_handlers(self.path):
            made = int(
                driver.function("clLinkProgram")(
                    driver.context,
                    1,
                    driver.devices,
                    ffi.new("char[]", options.encode(errors="surrogateescape")),
                    len(handles),
                    handles,
                    ffi.NULL,
                    ffi.NULL,
                    status,
                )
            )
        return int(status[0]), Program(self, made) if made else None


def with_argument_info(options: str) -> str:
    """Argument information is always asked for: clSetKernelArg needs it."""
    return options if ARG_INFO in options.split() else f"{options} {ARG_INFO}".strip()


class Program:
    """A `BuiltProgram` of a driver."""

    def __init__(self, engine: OpenCLEngine, handle: int) -> None:
        self.engine = engine
        self.handle = handle
        self._kernels: dict[str, Kernel] = {}
        self._making = threading.Lock()

    def log(self) -> str:
        driver = self.engine.driver
        return driver.text("clGetProgramBuildInfo", self.handle, driver.device, cl.CL_PROGRAM_BUILD_LOG)

    def build(self, options: str) -> str:
        text = ffi.new("char[]", with_argument_info(options).encode(errors="surrogateescape"))
        return self._step("clBuildProgram", self.handle, 1, self.engine.driver.devices, text, ffi.NULL, ffi.NULL)

    def compile(self, options: str, headers: dict[str, BuiltProgram]) -> str:
        names = [ffi.new("char[]", name.encode()) for name in headers]
        return self._step(
            "clCompileProgram",
            self.handle,
            1,
            self.engine.driver.devices,
            ffi.new("char[]", with_argument_info(options).encode(errors="surrogateescape")),
            len(names),
            ffi.new("uintptr_t[]", [p.handle for p in headers.values() if isinstance(p, Program)]) or ffi.NULL
            if names
            else ffi.NULL,
            ffi.new("char *[]", names) if names else ffi.NULL,
            ffi.NULL,
            ffi.NULL,
        )

    def _step(self, name: str, *arguments: Any) -> str:
        with keeping_signal_handlers(self.engine.path):
            status = int(self.engine.driver.function(name)(*arguments))
        log = self.log()
        if status != cl.CL_SUCCESS:
            raise BuildFailed(status, log)
        return log

    def kernels(self) -> dict[str, KernelInterface]:
        names = self.engine.driver.text("clGetProgramInfo", self.handle, cl.CL_PROGRAM_KERNEL_NAMES)
        return {name: self.kernel(name).interface for name in names.split(";") if name}

    def kernel(self, name: str) -> Kernel:
        with self._making:
            found = self._kernels.get(name)
            if found is None:
                found = self._kernels[name] = Kernel(self, name)
            return found

    def binary(self) -> bytes:
        driver = self.engine.driver
        size = U64.unpack(driver.query("clGetProgramInfo", self.handle, cl.CL_PROGRAM_BINARY_SIZES)[:8])[0]
        data = ffi.new("char[]", max(size, 1))
        driver.call("clGetProgramInfo", self.handle, cl.CL_PROGRAM_BINARIES, 8, ffi.new("char *[]", [data]), ffi.NULL)
        return bytes(ffi.buffer(data, size))

    def specialize(self, id: int, value: bytes) -> None:
        self.engine.driver.call(
            "clSetProgramSpecializationConstant", self.handle, id, len(value), ffi.new("char[]", value)
        )

    def __del__(self) -> None:
        for kernel in self._kernels.values():
            self.engine.driver.function("clReleaseKernel")(kernel.handle)
        self.engine.driver.function("clReleaseProgram")(self.handle)


class Kernel:
    """An `EngineKernel`: one kernel object of the driver, shared by all launches.

    It does not keep its program alive; the runtime's kernel does.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.engine = program.engine
        self.handle = self.engine.driver.create("clCreateKernel", program.handle, ffi.new("char[]", name.encode()))
        self._accepted: dict[int, int] = {}
        self.launched = False
        self.wants_extents = False
        self.interface = self._read_interface(name)
        self._count = len(self.interface.arguments)

    def _read_interface(self, name: str) -> KernelInterface:
        driver = self.engine.driver
        count = U32.unpack(driver.query("clGetKernelInfo", self.handle, cl.CL_KERNEL_NUM_ARGS))[0]
        required = driver.query_or(
            bytes(24),
            "clGetKernelWorkGroupInfo",
            self.handle,
            driver.device,
            cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
        )
        return KernelInterface(
            name,
            tuple(self._argument(index) for index in range(count)),
            driver.text("clGetKernelInfo", self.handle, cl.CL_KERNEL_ATTRIBUTES),
            SIZE3.unpack(required),
        )

    def _argument(self, index: int) -> ArgumentInterface:
        driver = self.engine.driver

        def number(query: int, unit: Struct, default: int) -> int:
            answer = driver.query_or(b"", "clGetKernelArgInfo", self.handle, index, query)
            return int(unit.unpack(answer[: unit.size])[0]) if len(answer) >= unit.size else default

        return ArgumentInterface(
            driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_NAME),
            driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_TYPE_NAME),
            number(cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ADDRESS_PRIVATE),
            number(cl.CL_KERNEL_ARG_ACCESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ACCESS_NONE),
            number(cl.CL_KERNEL_ARG_TYPE_QUALIFIER, U64, cl.CL_KERNEL_ARG_TYPE_NONE),
        )

    def accepts(self, index: int, size: int) -> bool:
        if self._accepted.get(index) == size:
            return True
        known = size_of_type(self.interface.arguments[index].type_name)
        if known and size != known:
            return False
        if not 0 < size <= 1 << 16:
            return False
        status = self.engine.driver.function("clSetKernelArg")(self.handle, index, size, ffi.new("char[]", size))
        if status == cl.CL_SUCCESS:
            self._accepted[index] = size
        return bool(status == cl.CL_SUCCESS)

    def work_group_info(self, query: int) -> bytes:
        driver = self.engine.driver
        return driver.query("clGetKernelWorkGroupInfo", self.handle, driver.device, query)

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        driver = self.engine.driver
        value, size = ffi.new("char[]", max(length, 1)), ffi.new("size_t *")
        given = ffi.new("size_t[]", list(sizes)) if sizes else ffi.NULL
        driver.call(
            "clGetKernelSubGroupInfo",
            self.handle,
            driver.device,
            query,
            8 * len(sizes),
            given,
            length,
            value,
            size,
        )
        return bytes(ffi.buffer(value, min(int(size[0]), length)))

    def launch(
        self, image: bytes, dimensions: int, sizes: bytes, has_local: bool, extents: tuple[int, ...] = ()
    ) -> None:
        if self.launched:
            self._launch(image, dimensions, sizes, has_local)
        else:  # drivers compile for good at the first launch
            with keeping_signal_handlers(self.engine.path):
                self._launch(image, dimensions, sizes, has_local)

    def _launch(self, image: bytes, dimensions: int, sizes: bytes, has_local: bool) -> None:
        result = lib.driver_launch(self.engine.queue(), self.handle, self._count, image, dimensions, sizes, has_local)
        if result & 0xFFFFFFFF:
            status, place = int(ffi.cast("int32_t", result)), int(result) >> 32
            where = {-1: "enqueueing the kernel", -2: "the kernel"}.get(place, f"argument {place}")
            raise error_of(status, f"kernel '{self.interface.name}' failed on the engine, in {where}")
