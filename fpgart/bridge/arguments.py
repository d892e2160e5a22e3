# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments that C has: those that it sets without Python, and those of launches that it carries.

A kind of value that Python has accepted once needs no second check. C keeps the arguments that it sets
(icd/entry/argument_calls.c) until Python reads them, before the kernel's next launch at the latest.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from _fpgart_icd import ffi, lib

from fpgart._native import ffi as native_ffi
from fpgart.base.errors import InvalidMemObject
from fpgart.bridge.handles import find
from fpgart.engine.interface import BYTES, LOCAL, NULL, POINTER
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.kernel import BUFFER, Argument, Kernel


class _Nothing:
    """An object that is destroyed at once, for a reference to a buffer that was destroyed."""


GONE: ref[Buffer] = ref(_Nothing())  # type: ignore[arg-type]


class SetInC:
    """The arguments of one kernel that C has set and Python has not read. `pending[0]` is 0 if there are none."""

    __slots__ = ("_handle", "pending")

    def __init__(self, handle: int, pending: memoryview) -> None:
        self._handle = handle
        self.pending = pending

    def tell(self, kernel: Kernel) -> None:
        """Passes the arguments to the kernel."""
        taken, value = ffi.new("struct fpgart_argument *"), ffi.new("char[]", lib.FPGART_VALUE)
        while lib.fpgart_take_argument(self._handle, taken, value):
            keep(kernel, taken, value)

    def changed(self, index: int) -> None:
        """Records that Python has set an argument, so that C submits no launch until Python has laid all out again."""
        lib.fpgart_argument_changed(self._handle, index)


def keep(kernel: Kernel, argument: Any, value: Any) -> None:
    """Passes an argument that C has kept (`struct fpgart_argument`, and the bytes of a value) to the kernel."""
    kept: Argument
    if argument.kind == BYTES:
        kept = BYTES, argument.size, bytes(ffi.buffer(value, argument.size))
    elif argument.kind == LOCAL:
        kept = LOCAL, argument.size, 0
    elif argument.kind == NULL:
        kept = NULL, 8, 0
    elif argument.buffer:
        kept = BUFFER, 8, buffer_of(argument.buffer, argument.serial)
    else:
        kept = POINTER, 8, argument.pointer
    kernel.arguments[argument.index] = kept


def buffer_of(handle: int, serial: int) -> ref[Buffer]:
    """Returns the buffer that a handle stood for when the argument was set."""
    if lib.fpgart_handle_serial(handle) != serial:
        return GONE
    try:
        return ref(find(handle, Buffer))
    except InvalidMemObject:
        return GONE


def is_kept(kernel: Kernel) -> bool:
    """True if C keeps arguments of the kernel, now or already before. It does not without memory."""
    if kernel.elsewhere is None:
        program, name = kernel.program.handle, kernel.name.encode(errors="surrogateescape")
        pending = lib.fpgart_arguments_new(kernel.handle, len(kernel.kinds), program, name)
        if pending:
            kernel.elsewhere = SetInC(kernel.handle, memoryview(ffi.buffer(pending, 8)).cast("Q"))
            if reach(kernel):  # it is a clone
                lib.fpgart_kernel_reaches(kernel.handle, reach(kernel))
    return kernel.elsewhere is not None


def _accept(kernel: Kernel, index: int, what: int, number: int = 0, detail: int = 0) -> None:
    if is_kept(kernel):
        lib.fpgart_accept(kernel.handle, index, what, number, detail)


def accept_values(kernel: Kernel, index: int, size: int, *, is_structure: bool) -> None:
    """Lets C set this argument to other values of `size` bytes."""
    _accept(kernel, index, lib.FPGART_VALUES, size, is_structure)


def accept_local_sizes(kernel: Kernel, index: int) -> None:
    """Lets C set this argument to other sizes of local memory."""
    _accept(kernel, index, lib.FPGART_LOCAL_SIZES)


def accept_buffers(kernel: Kernel, index: int) -> None:
    """Lets C set this argument to other buffers of the context.

    If the argument has a buffer_location, the buffer needs a place.
    """
    needs_place = bool(kernel.interface.arguments[index].buffer_location)
    _accept(kernel, index, lib.FPGART_BUFFERS, kernel.context.handle, needs_place)


def accept_svm_pointers(kernel: Kernel, index: int) -> None:
    """Lets C set this argument to other addresses (clSetKernelArgSVMPointer)."""
    _accept(kernel, index, lib.FPGART_SVM, kernel.context.handle)


def accept_usm_pointers(kernel: Kernel, index: int, alignment: int) -> None:
    """Lets C set this argument to other aligned pointers into USM allocations, unless it has a buffer_location."""
    if not kernel.interface.arguments[index].buffer_location:
        _accept(kernel, index, lib.FPGART_USM, kernel.context.handle, alignment or 1)


def reach(kernel: Kernel) -> int:
    """Returns what launches of the kernel may reach besides its arguments, in C's bits."""
    return int(kernel.indirect) | (lib.FPGART_LISTED if kernel.usm_pointers else 0)


def reach_in_c(kernel: Kernel) -> None:
    """Tells C which allocations launches of the kernel may reach besides its arguments."""
    if is_kept(kernel):
        lib.fpgart_kernel_reaches(kernel.handle, reach(kernel))


def list_in_c(kernels: list[Kernel]) -> None:
    """Lets C make all kernels of a program, which are these."""
    if kernels and all(map(is_kept, kernels)):
        lib.fpgart_kernels_are(kernels[0].program.handle, len(kernels), [kernel.handle for kernel in kernels])


def arguments_of(carried: Any, buffers: list[tuple[Buffer, int]]) -> list[Argument | None]:
    """Returns the arguments with which a launch was enqueued. `buffers`: those that are buffers, with their indices."""
    laid_out = native_ffi.cast("struct argument *", carried.more)
    arguments: list[Argument | None] = []
    for index in range(carried.count):
        kind, size, value = int(laid_out[index].kind), int(laid_out[index].size), int(laid_out[index].value)
        if kind == BYTES:
            arguments.append((kind, size, bytes(native_ffi.buffer(carried.more + value, size))))
        else:
            arguments.append((kind, size, value))
    for buffer, index in buffers:
        arguments[index] = (POINTER, 8, ref(buffer))
    return arguments
