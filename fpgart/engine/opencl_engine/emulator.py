# SPDX-License-Identifier: Apache-2.0
"""Intel's FPGA emulator as engine: pipes, host pipes and device globals of SPIR-V, which it implements itself.

Kernels of programs with pipes run at the same time, each on a thread, a queue and a kernel object of its own. The
emulator does not report how full its pipes are, nor which kernels wait for which.
"""

from __future__ import annotations

from functools import cached_property
from time import monotonic, monotonic_ns, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING

from fpgart._native import ffi, lib
from fpgart.base import opencl as cl
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.notices import NOTICES
from fpgart.channels.interface import History
from fpgart.engine.build_step import ProgramInput
from fpgart.engine.interface import BuiltProgram, KernelLaunch, Plugs, no_plugs
from fpgart.engine.opencl_engine.concurrent import SeatedKernel
from fpgart.engine.opencl_engine.engine import OpenCLEngine
from fpgart.engine.opencl_engine.kernel import DriverKernel
from fpgart.engine.opencl_engine.program import DriverProgram
from fpgart.kernels.emulator_image import is_image, read_image
from fpgart.kernels.fpga_spirv import HostVariable, kernels_with_pipes, variables_of_host
from fpgart.kernels.spirv import Module

if TYPE_CHECKING:
    from fpgart.channels.links import Links
    from fpgart.engine.driver import Driver
    from fpgart.kernels.lowering import Lowered

POLL_S = 0.0005
"""The interval, in seconds, at which a packet is tried again: the emulator cannot wait for a limited time."""


class EmulatorEngine(OpenCLEngine):
    """An `Engine` on the emulator's library."""

    def from_il(self, il: bytes) -> BuiltProgram:
        return self.new_program(self.driver, ProgramInput(il=il))

    def new_program(self, driver: Driver, given: ProgramInput, lowered: Lowered | None = None) -> DriverProgram:
        if given.il or is_image(given.binary):
            return EmulatorProgram(self, driver, given)
        return super().new_program(driver, given, lowered)

    def make_kernel(self, program: DriverProgram, name: str) -> DriverKernel:
        if isinstance(program, EmulatorProgram) and name in program.kernels_with_pipes:
            return EmulatorKernel(program, name)
        return super().make_kernel(program, name)


class EmulatorProgram(DriverProgram):
    """A program from SPIR-V, or from an image of it."""

    @cached_property
    def variables(self) -> dict[str, HostVariable]:
        """The pipes and device globals that the host names."""
        return variables_of_host(Module(self._given.il))

    @cached_property
    def kernels_with_pipes(self) -> frozenset[str]:
        """The kernels that may wait for others: in an image with pipes, all."""
        if self._given.binary:
            image = read_image(self._given.binary)
            return frozenset(image.kernels) if image.has_pipes else frozenset()
        return kernels_with_pipes(Module(self._given.il))

    def network(self, plugs: Plugs = no_plugs) -> EmulatorNetwork | None:
        return EmulatorNetwork(self) if self.kernels_with_pipes or self.variables else None


class EmulatorKernel(SeatedKernel):
    waits_for_others = True

    def run(self, launch: KernelLaunch) -> None:
        seat = self._seat()
        result = lib.driver_launch_by_event(seat.queue, seat.kernel, self.argument_count, *launch.for_driver(), True)
        self._seats.append(seat)
        self._check(result)


class EmulatorNetwork:
    """A `KernelNetwork` of the emulator's own pipes and variables."""

    def __init__(self, program: EmulatorProgram) -> None:
        self.program = program
        self.stopped = False
        self.began = monotonic_ns()
        self.autorun: dict[str, int] = {}
        self.links: Links = MappingProxyType({})

    def history(self) -> list[History]:
        """Returns nothing, because the emulator does not report it."""
        return []

    def stop(self) -> None:
        """Refuses further packets of the host. The emulator cannot stop a kernel that waits."""
        for listener in NOTICES.network_stopped:
            listener(self)
        self.stopped = True

    def channel(self, name: str) -> HostPipe | None:
        found = self.program.variables.get(name)
        return HostPipe(self.program, name, found.packet) if found and found.packet else None

    def variable(self, name: str) -> DeviceGlobal | None:
        found = self.program.variables.get(name)
        return DeviceGlobal(self.program, name, found.size) if found and found.size else None


class HostPipe(NamedTuple):
    """A pipe with one end in the host."""

    program: EmulatorProgram
    name: str
    packet: int

    def read(self, address: int, wait_ms: int = 0) -> bool:
        return self._move("clEnqueueReadHostPipeINTEL", address, wait_ms)

    def write(self, address: int, wait_ms: int = 0) -> bool:
        return self._move("clEnqueueWriteHostPipeINTEL", address, wait_ms)

    def _move(self, function: str, address: int, wait_ms: int) -> bool:
        end = monotonic() + wait_ms / 1000
        while not self._try(function, address):
            if monotonic() >= end:
                return False
            sleep(POLL_S)
        return True

    def _try(self, function: str, address: int) -> bool:
        """Moves a packet; False if none can be moved, which waiting for the event shows. Raises CLError."""
        program, event = self.program, ffi.new("uintptr_t[1]")
        driver = program.driver
        driver.call(
            function, program.engine.queues.of_thread(), program.handle, ffi.new("char[]", self.name.encode()), 0,
            ffi.cast("void *", address), self.packet, 0, ffi.NULL, event,
        )  # fmt: skip
        waited = int(driver.function("clWaitForEvents")(1, event))
        driver.function("clReleaseEvent")(event[0])
        return waited == cl.CL_SUCCESS


class DeviceGlobal(NamedTuple):
    """A program-scope variable that the host finds by name."""

    program: EmulatorProgram
    name: str
    size: int

    def read(self, offset: int, address: int, size: int) -> None:
        self._move("clEnqueueReadGlobalVariableINTEL", offset, address, size)

    def write(self, offset: int, address: int, size: int) -> None:
        self._move("clEnqueueWriteGlobalVariableINTEL", offset, address, size)

    def _move(self, function: str, offset: int, address: int, size: int) -> None:
        """Raises CLError."""
        program = self.program
        program.driver.call(
            function, program.engine.queues.of_thread(), program.handle, ffi.new("char[]", self.name.encode()), 1, size,
            offset, ffi.cast("void *", address), 0, ffi.NULL, ffi.NULL,
        )  # fmt: skip
