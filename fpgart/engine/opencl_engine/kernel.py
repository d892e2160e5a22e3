# SPDX-License-Identifier: Apache-2.0
"""Kernels of the driver."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.errors import EXHAUSTED, CLError, error_of
from fpgart.base.patterns import pattern
from fpgart.engine.driver import Driver
from fpgart.engine.interface import KernelLaunch
from fpgart.engine.launches import launch_failure
from fpgart.engine.opencl_engine.queues import Queues
from fpgart.kernels.interface import ArgumentInterface, KernelInterface, PipeArgument
from fpgart.kernels.opencl_c import size_of_type

if TYPE_CHECKING:
    from fpgart.kernels.lowering import Lowered

U32, U64, SIZE3 = Struct("I"), Struct("Q"), Struct("3Q")
REQUIRED_SIZE = pattern(r"reqd_work_group_size\s*\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")


class KernelEngine(Protocol):
    """The part of the engine that kernels use."""

    queues: Queues
    """The driver's command queues."""

    def at_work(self) -> AbstractContextManager[None]:
        """A context in which the driver may compile."""


class KernelProgram(Protocol):
    """The part of the program that kernels use."""

    @property
    def engine(self) -> KernelEngine:
        """The engine that made the program."""

    driver: Driver
    """The driver's device that the program is for."""
    handle: int
    """The driver's program."""
    lowered: Lowered | None
    """The channels, pipes and variables of a program that has any."""

    def twin_kernel(self, name: str) -> DriverKernel | None:
        """Returns the same kernel for the device that runs kernels on the calling thread; None if there is none."""

    def local_variables(self, name: str) -> int:
        """Returns the bytes of a kernel's variables in local memory in the compiled code; 0 if it cannot be read."""


def required_size(attributes: str) -> tuple[int, int, int]:
    """Returns the work-group size in a kernel's attributes, where some drivers have it alone; zeros if none."""
    found = REQUIRED_SIZE.search(attributes)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


class DriverKernel:
    """An `EngineKernel`: one kernel object of the driver, shared by all launches.

    It does not keep its program alive; the runtime's kernel does.
    """

    wants_reaches = False
    waits_for_others = False

    def __init__(self, program: KernelProgram, name: str) -> None:
        self.engine = program.engine
        self.driver = program.driver
        self.pipes = program.lowered.pipes.get(name, {}) if program.lowered else {}
        self._program = weakref.ref(program)
        self.handle = self.driver.create("clCreateKernel", program.handle, ffi.new("char[]", name.encode()))
        try:
            count = self.driver.query("clGetKernelInfo", self.handle, cl.CL_KERNEL_NUM_ARGS)
        except CLError:
            self.driver.function("clReleaseKernel")(self.handle)
            raise
        self.argument_count = int(U32.unpack(count)[0])
        self._accepted: dict[int, int] = {}
        self.launched = False
        self.compile_ns = 0
        self.name = name

    @property
    def carried(self) -> int:
        return self.handle if self.__class__ is DriverKernel else 0

    def release(self) -> None:
        """Releases the driver's objects; nothing may run."""
        self.driver.function("clReleaseKernel")(self.handle)

    @cached_property
    def interface(self) -> KernelInterface:
        """The interface as the driver returns it; for kernels that do not come from OpenCL C, SPIR-V has more."""
        driver = self.driver
        required = driver.query_or(
            bytes(24), "clGetKernelWorkGroupInfo", self.handle, driver.device, cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE
        )
        attributes = driver.text("clGetKernelInfo", self.handle, cl.CL_KERNEL_ATTRIBUTES)
        sizes = SIZE3.unpack(required)
        return KernelInterface(
            self.name,
            tuple(self._argument(index) for index in range(self.argument_count)),
            attributes,
            sizes if any(sizes) else required_size(attributes),
        )

    def _argument(self, index: int) -> ArgumentInterface:
        driver = self.driver

        def number(query: int, unit: Struct, default: int) -> int:
            answer = driver.query_or(b"", "clGetKernelArgInfo", self.handle, index, query)
            return int(unit.unpack(answer[: unit.size])[0]) if len(answer) >= unit.size else default

        name = driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_NAME)
        if index in self.pipes:
            return pipe_interface(name, self.pipes[index])
        return ArgumentInterface(
            name,
            driver.text("clGetKernelArgInfo", self.handle, index, cl.CL_KERNEL_ARG_TYPE_NAME),
            number(cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ADDRESS_PRIVATE),
            number(cl.CL_KERNEL_ARG_ACCESS_QUALIFIER, U32, cl.CL_KERNEL_ARG_ACCESS_NONE),
            number(cl.CL_KERNEL_ARG_TYPE_QUALIFIER, U64, cl.CL_KERNEL_ARG_TYPE_NONE),
        )

    def on_own_thread(self) -> DriverKernel:
        program = self._program()
        twin = program.twin_kernel(self.name) if program is not None else None
        return self if twin is None else twin

    def accepts(self, index: int, size: int) -> bool:
        if self._accepted.get(index) == size:
            return True
        known = size_of_type(self.interface.arguments[index].type_name)
        if known and size != known:
            return False
        if not 0 < size <= 1 << 16:
            return False
        status = int(lib.driver_try_argument(self.handle, index, size, ffi.new("char[]", size)))
        if status in (each.status for each in EXHAUSTED):
            raise error_of(status, "the engine's clSetKernelArg failed")
        if status == cl.CL_SUCCESS:
            self._accepted[index] = size
        return status == cl.CL_SUCCESS

    def work_group_info(self, query: int) -> bytes:
        driver = self.driver
        if query == cl.CL_KERNEL_LOCAL_MEM_SIZE:
            return self._own_local_memory
        return driver.query("clGetKernelWorkGroupInfo", self.handle, driver.device, query)

    @cached_property
    def _own_local_memory(self) -> bytes:
        """The local memory of a kernel without arguments: drivers add the local arguments that the last launch has set.

        PoCL from 4.0 to 6.0 returns 0 for every kernel.
        """
        driver, program = self.driver, self._program()
        assert program is not None  # the runtime's kernel keeps it alive
        handle = driver.create("clCreateKernel", program.handle, ffi.new("char[]", self.name.encode()))
        try:
            answer = driver.query("clGetKernelWorkGroupInfo", handle, driver.device, cl.CL_KERNEL_LOCAL_MEM_SIZE)
        finally:
            driver.function("clReleaseKernel")(handle)
        return answer if any(answer) else U64.pack(program.local_variables(self.name))

    def sub_group_info(self, query: int, sizes: tuple[int, ...], length: int) -> bytes:
        driver = self.driver
        value, size = ffi.new("char[]", max(length, 1)), ffi.new("size_t *")
        given = ffi.new("size_t[]", list(sizes)) if sizes else ffi.NULL
        driver.call(
            driver.sub_group_info, self.handle, driver.device, query, 8 * len(sizes), given, length, value, size
        )
        return bytes(ffi.buffer(value, min(int(size[0]), length)))

    def suggested_local_size(
        self, arguments: Sequence[tuple[int, bytes | None]], offset: tuple[int, ...], sizes: tuple[int, ...]
    ) -> tuple[int, ...]:
        program = self._program()
        assert program is not None  # the runtime's kernel keeps it alive
        driver, suggested = self.driver, ffi.new("size_t[]", len(sizes))
        # A new kernel object: on the shared one, launches of other threads set their arguments meanwhile.
        handle = driver.create("clCreateKernel", program.handle, ffi.new("char[]", self.name.encode()))
        try:
            for index, (size, value) in enumerate(arguments):
                driver.call(
                    "clSetKernelArg", handle, index, size, ffi.NULL if value is None else ffi.from_buffer(value)
                )
            driver.call(
                "clGetKernelSuggestedLocalWorkSizeKHR",
                self.engine.queues.of_thread(),
                handle,
                len(sizes),
                ffi.new("size_t[]", offset),
                ffi.new("size_t[]", sizes),
                suggested,
            )
        finally:
            driver.function("clReleaseKernel")(handle)
        return tuple(suggested)

    def launch(self, launch: KernelLaunch) -> None:
        if self.launched:
            self.run(launch)
        else:  # drivers compile at the first launch
            with self.engine.at_work():
                self.run_first(launch)

    def run_first(self, launch: KernelLaunch) -> None:
        """Does as run(), and measures how long the driver compiled before the kernel began."""
        before = ffi.new("uint64_t *")
        with self.engine.queues.profiled() as queue:
            result = lib.driver_launch(queue, self.handle, self.argument_count, *launch.for_driver(), before)
        self.compile_ns = int(before[0])
        self._check(result)

    def run(self, launch: KernelLaunch) -> None:
        """Runs the kernel on the addresses that are in the image; raises CLError."""
        queue = self.engine.queues.of_thread()
        self._check(lib.driver_launch(queue, self.handle, self.argument_count, *launch.for_driver(), ffi.NULL))

    def _check(self, result: int) -> None:
        if result & 0xFFFFFFFF:
            raise launch_failure(self.name, result)


def pipe_interface(name: str, pipe: PipeArgument) -> ArgumentInterface:
    """Returns the interface of a pipe argument for the host; the engine has a pointer there."""
    return ArgumentInterface(
        name,
        pipe.type_name,
        cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
        cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY if pipe.writes else cl.CL_KERNEL_ARG_ACCESS_READ_ONLY,
        cl.CL_KERNEL_ARG_TYPE_PIPE,
        pipe=pipe,
    )
