# SPDX-License-Identifier: Apache-2.0
"""Kernels and their arguments (OpenCL 3.0, 5.9)."""

from __future__ import annotations

from typing import Protocol
from weakref import ref

from fpgart.base import opencl as cl
from fpgart.base.errors import EXHAUSTED, CLError, InvalidArgIndex, InvalidArgSize, InvalidArgValue
from fpgart.base.notices import NOTICES
from fpgart.engine.interface import BYTES, LOCAL, NULL, POINTER, EngineKernel
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.memory.usm_use import Indirect
from fpgart.runtime.programs.pipe import Pipe
from fpgart.runtime.programs.program import Program

Argument = tuple[int, int, "bytes | int | ref[Buffer] | Pipe"]
BUFFER, PIPE = -1, -2  # kinds beside the engine's: their addresses are known at the launch
LARGEST_VALUE = 1 << 16
"""The largest argument that is passed by value, in bytes."""


class Elsewhere(Protocol):
    """Holds the arguments that C has accepted from the host and has not passed to the Kernel yet."""

    pending: memoryview
    """pending[0] is not 0 while the kernel has not got all arguments."""

    def tell(self, kernel: Kernel) -> None:
        """Writes all arguments that were set into the kernel's `arguments`: they have been checked."""

    def changed(self, index: int) -> None:
        """Records that Python set an argument, so that the kernel's next launch may differ from those before."""


class Kernel:
    """A kernel with the arguments for its next launch.

    Argument i is None while it is not set; otherwise it is kind, size in bytes, and value. A kernel does not keep its
    buffers alive (OpenCL 3.0, 5.9.2); a launch does.
    """

    __slots__ = (
        "__weakref__",
        "arguments",
        "context",
        "elsewhere",
        "engine_kernel",
        "handle",
        "indirect",
        "interface",
        "kinds",
        "own_local_memory",
        "program",
        "usm_pointers",
    )

    def __init__(self, program: Program, name: str) -> None:
        self.handle = 0
        self.program = program
        self.context = program.context
        self.engine_kernel = program.engine_kernel(name)
        self.interface = program.interfaces()[name]
        self.kinds = [argument.address_qualifier for argument in self.interface.arguments]
        self.arguments: list[Argument | None] = [None] * len(self.kinds)
        self.own_local_memory: int | None = None
        """The bytes of its variables in local memory, once the engine has been asked (local_memory.py)."""
        self.elsewhere: Elsewhere | None = None
        """The arguments that C sets for this kernel."""
        self.indirect = Indirect.NONE
        self.usm_pointers: list[int] = []
        program.admit(self)

    @property
    def name(self) -> str:
        return self.interface.name

    def engine_kernel_on(self, program: Program) -> EngineKernel:
        """Returns the engine's kernel of the program for some device."""
        return self.engine_kernel if program is self.program else program.engine_kernel(self.name)

    def engine_answer(self, query: int) -> bytes:
        """Returns the engine's answer to clGetKernelWorkGroupInfo; b"" if it has none. Raises EXHAUSTED."""
        try:
            return self.engine_kernel.work_group_info(query)
        except EXHAUSTED:
            raise
        except CLError:
            return b""

    def clone(self) -> Kernel:
        """Returns another kernel with the same arguments (OpenCL 3.0, 5.9.1)."""
        self.update_arguments()
        other = Kernel(self.program, self.name)
        other.arguments = list(self.arguments)
        other.indirect = self.indirect
        other.usm_pointers = list(self.usm_pointers)
        return other

    def kind_of(self, index: int) -> int:
        """Returns the kind of argument `index`. Raises InvalidArgIndex."""
        if index >= len(self.kinds):
            raise InvalidArgIndex(
                f"kernel '{self.name}' has no argument {index}; the number of its arguments is {len(self.kinds)}"
            )
        return self.kinds[index]

    def is_pointer(self, index: int) -> bool:
        """True if argument `index` is a pointer to global or constant memory. Raises InvalidArgIndex."""
        kind = self.kind_of(index)
        return kind in (cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, cl.CL_KERNEL_ARG_ADDRESS_CONSTANT)

    def describe(self, index: int) -> str:
        argument = self.interface.arguments[index]
        declared = f"{argument.type_name} {argument.name}".strip()  # SPIR-V names no types
        return f"argument {index} ('{declared}') of kernel '{self.name}'"

    def describe_briefly(self, index: int) -> str:
        """Returns the words of describe() without the type."""
        return f"argument {index} ('{self.interface.arguments[index].name}') of kernel '{self.name}'"

    def update_arguments(self) -> None:
        """Copies the arguments that C has set to this kernel."""
        if self.elsewhere is not None and self.elsewhere.pending[0]:
            self.elsewhere.tell(self)

    def _set(self, index: int, argument: Argument) -> None:
        self.update_arguments()  # arguments that C set before must not replace this one later
        self.arguments[index] = argument
        if self.elsewhere is not None:
            self.elsewhere.changed(index)

    def set_buffer(self, index: int, buffer: Buffer | None) -> None:
        """Sets a pointer argument to a buffer, or to NULL for None.

        A buffer without a place keeps the memory of the first argument with a buffer_location; one that has a place
        does not change.
        """
        if buffer is None:
            self._set(index, (NULL, 8, 0))
            return
        location = self.interface.arguments[index].buffer_location
        if location and not buffer.placed:
            self._hint(buffer.owner, index, location)
        self._set(index, (BUFFER, 8, ref(buffer)))

    def _hint(self, buffer: Buffer, index: int, location: str) -> None:
        if not buffer.hint:
            buffer.hint = location
        for listener in NOTICES.place_hinted:
            listener(buffer, location, self.describe_briefly(index))

    def set_pipe(self, index: int, pipe: Pipe) -> None:
        """Sets a pipe argument. Raises InvalidArgValue, InvalidArgSize."""
        declared = self.interface.arguments[index].pipe
        if declared is None:
            raise InvalidArgValue(f"{self.describe(index)} is not a pipe")
        pipe.bind(self, declared, self.describe(index))
        self._set(index, (PIPE, 8, pipe))

    def set_local(self, index: int, size: int) -> None:
        """Sets an argument to `size` bytes of local memory. Raises InvalidArgSize for 0."""
        if not size:
            raise InvalidArgSize(f"{self.describe(index)} needs a size of local memory above 0")
        self._set(index, (LOCAL, size, 0))

    def check_value_size(self, index: int, size: int) -> None:
        """Raises InvalidArgSize if the argument does not have `size` bytes. It is called before the value is read."""
        current = self.arguments[index]
        known = current is not None and current[0] == BYTES and current[1] == size
        if not known and not (0 < size <= LARGEST_VALUE and self.engine_kernel.accepts(index, size)):
            raise InvalidArgSize(f"{self.describe(index)} does not have {size} bytes")

    def set_value(self, index: int, value: bytes) -> None:
        """Sets an argument to a value. Raises InvalidArgSize if its size is wrong."""
        self.check_value_size(index, len(value))
        self.set_checked_value(index, value)

    def set_checked_value(self, index: int, value: bytes) -> None:
        """Sets an argument to a value whose size check_value_size() has checked."""
        self._set(index, (BYTES, len(value), value))

    def set_pointer(self, index: int, address: int) -> None:
        """Sets an argument to an address that the kernel dereferences: an SVM or USM pointer. 0 is NULL.

        Raises InvalidArgValue for an argument that is no pointer to global memory.
        """
        if not self.is_pointer(index):
            raise InvalidArgValue(f"{self.describe(index)} is not a pointer to global memory")
        self._set(index, (POINTER, 8, address) if address else (NULL, 8, 0))
