# SPDX-License-Identifier: Apache-2.0
"""Kernels, their arguments, and launching them (OpenCL 3.0, 5.9 and 5.10)."""

from __future__ import annotations

from struct import Struct
from time import monotonic_ns
from typing import TYPE_CHECKING

from fpgart import opencl as cl
from fpgart.engine.interface import BYTES, LOCAL, NULL, POINTER, pack_arguments
from fpgart.errors import (
    InvalidArgIndex,
    InvalidArgSize,
    InvalidArgValue,
    InvalidKernelArgs,
)
from fpgart.runtime.buffer import Buffer
from fpgart.runtime.device import Device
from fpgart.runtime.event import Kind

if TYPE_CHECKING:
    from fpgart.runtime.program import Program

Argument = tuple[int, int, "bytes | int | Buffer"]
BUFFER = -1  # besides the engine's kinds: a buffer whose address is known at launch
SIZES = Struct("9Q")


class Kernel:
    """A kernel with the arguments that the next launch takes.

    Argument i is None while unset, else kind, size in bytes, and value.
    """

    __slots__ = ("__weakref__", "arguments", "context", "engine_kernel", "handle", "interface", "kinds", "program")

    def __init__(self, program: Program, name: str) -> None:
        self.handle = 0
        self.program = program
        self.context = program.context
        self.engine_kernel = program.engine_kernel(name)
        self.interface = program.interfaces()[name]
        self.kinds = [argument.address_qualifier for argument in self.interface.arguments]
        self.arguments: list[Argument | None] = [None] * len(self.kinds)
        program.kernels.add(self)

    @property
    def name(self) -> str:
        return self.interface.name

    def clone(self) -> Kernel:
        """Another kernel with the same arguments (OpenCL 3.0, 5.9.1)."""
        other = Kernel(self.program, self.name)
        other.arguments = list(self.arguments)
        return other

    def _kind_of(self, index: int) -> int:
        if index >= len(self.kinds):
            raise InvalidArgIndex(f"kernel '{self.name}' has {len(self.kinds)} arguments, there is no number {index}")
        return self.kinds[index]

    def is_pointer(self, index: int) -> bool:
        """Whether argument `index` is a pointer to global or constant memory. Raises InvalidArgIndex."""
        kind = self._kind_of(index)
        return kind in (cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, cl.CL_KERNEL_ARG_ADDRESS_CONSTANT)

    def is_local(self, index: int) -> bool:
        return self._kind_of(index) == cl.CL_KERNEL_ARG_ADDRESS_LOCAL

    def describe(self, index: int) -> str:
        argument = self.interface.arguments[index]
        return f"argument {index} ('{argument.type_name} {argument.name}') of kernel '{self.name}'"

    def set_buffer(self, index: int, buffer: Buffer | None) -> None:
        """A buffer, or no buffer, for a pointer argument. Nothing about the buffer changes."""
        self.arguments[index] = (NULL, 8, 0) if buffer is None else (BUFFER, 8, buffer)

    def set_local(self, index: int, size: int) -> None:
        """`size` bytes of local memory; raises InvalidArgSize for none."""
        if not size:
            raise InvalidArgSize(f"{self.describe(index)} needs a size of local memory above 0")
        self.arguments[index] = (LOCAL, size, 0)

    def set_value(self, index: int, value: bytes) -> None:
        """A value; raises InvalidArgSize when its size is not the argument's."""
        current = self.arguments[index]
        known = current is not None and current[0] == BYTES and current[1] == len(value)
        if not known and not self.engine_kernel.accepts(index, len(value)):
            raise InvalidArgSize(f"{self.describe(index)} does not have {len(value)} bytes")
        self.arguments[index] = (BYTES, len(value), value)

    def set_pointer(self, index: int, address: int) -> None:
        """An address that the kernel dereferences as it is (shared virtual memory)."""
        if not self.is_pointer(index):
            raise InvalidArgValue(f"{self.describe(index)} is no pointer to global memory")
        self.arguments[index] = (POINTER, 8, address) if address else (NULL, 8, 0)

    def launch(
        self,
        device: Device,
        dimensions: int,
        sizes: tuple[int, ...],
        has_local: bool,
    ) -> LaunchKernel:
        """The operation that runs the kernel with today's arguments.

        `sizes`: offset, global and local size, three each. Room for the buffers is reserved now.
        Raises InvalidKernelArgs, MemObjectAllocationFailure.
        """
        snapshot: list[Argument] = []
        for index, argument in enumerate(self.arguments):
            if argument is None:
                raise InvalidKernelArgs(f"{self.describe(index)} has not been set")
            kind, _, value = argument
            if kind == BUFFER and isinstance(value, Buffer) and value.owner.svm:
                argument = (POINTER, 8, value.address_in_host)
            snapshot.append(argument)
        buffers = [value for kind, _, value in snapshot if kind == BUFFER and isinstance(value, Buffer)]
        for buffer in buffers:
            buffer.reserve(device)
        return LaunchKernel(self, device, snapshot, buffers, dimensions, SIZES.pack(*sizes), has_local)


class LaunchKernel:
    """Run a kernel; its buffers are brought to the device first where they are elsewhere."""

    __slots__ = ("arguments", "buffers", "device", "dimensions", "has_local", "kernel", "sizes")
    kind = Kind.KERNEL

    def __init__(
        self,
        kernel: Kernel,
        device: Device,
        arguments: list[Argument],
        buffers: list[Buffer],
        dimensions: int,
        sizes: bytes,
        has_local: bool,
    ) -> None:
        self.kernel = kernel
        self.device = device
        self.arguments = arguments
        self.buffers = buffers
        self.dimensions = dimensions
        self.sizes = sizes
        self.has_local = has_local

    def run(self) -> MigrateForLaunch | None:
        device = self.device
        for buffer in self.buffers:
            owner = buffer.owner
            home = owner.home
            if home is None or home.device is not device:
                return MigrateForLaunch(self)
        packed: list[tuple[int, int, int | bytes]] = [
            (POINTER, size, value.aperture(device)) if kind == BUFFER else (kind, size, value)  # type: ignore[union-attr,misc]
            for kind, size, value in self.arguments
        ]
        begin = monotonic_ns()
        engine_kernel = self.kernel.engine_kernel
        engine_kernel.launch(pack_arguments(packed), self.dimensions, self.sizes, self.has_local)
        if not engine_kernel.launched:
            engine_kernel.launched = True
            device.platform.engine_grew()
        device.kernels_run += 1
        device.kernel_ns += monotonic_ns() - begin
        return None


class MigrateForLaunch:
    """The migrations in front of a launch."""

    __slots__ = ("device", "launch")
    kind = Kind.TRANSFER

    def __init__(self, launch: LaunchKernel) -> None:
        self.launch = launch
        self.device = launch.device

    def run(self) -> LaunchKernel:
        for buffer in self.launch.buffers:
            buffer.migrate(self.device)
        return self.launch
