# SPDX-License-Identifier: Apache-2.0
"""Kernel arguments that C sets without Python: a kind of value that Python has accepted once needs no second check.

C keeps them (icd/entry/arguments.c) until Python reads them, before the kernel's next launch at the latest.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from _fpgart_icd import ffi, lib

from fpgart.base.errors import InvalidMemObject
from fpgart.bridge.handles import find
from fpgart.runtime.memory.buffer import Buffer
from fpgart.runtime.programs.kernel import Kernel


class _Nothing:
    """What a reference to a buffer that is gone refers to."""


GONE: ref[Buffer] = ref(_Nothing())  # type: ignore[arg-type]


class SetInC:
    """The arguments of one kernel that it has not heard of. `pending[0]` is 0 while there are none."""

    __slots__ = ("_handle", "pending")

    def __init__(self, handle: int, pending: memoryview) -> None:
        self._handle = handle
        self.pending = pending

    def tell(self, kernel: Kernel) -> None:
        """Have the kernel hear of them."""
        taken = ffi.new("struct fpgart_argument[]", len(kernel.kinds))
        for number in range(lib.fpgart_take_arguments(self._handle, taken)):
            keep(kernel, taken[number])

    def changed(self, index: int) -> None:
        """Python has set the argument: C submits no launch of the kernel until Python has laid all out again."""
        lib.fpgart_argument_changed(self._handle, index)


def keep(kernel: Kernel, argument: Any) -> None:
    """Have the kernel take an argument that C has kept (`struct fpgart_argument`)."""
    if argument.is_local:
        kernel.keep_local(argument.index, argument.size)
    elif argument.pointer:
        kernel.keep_pointer(argument.index, argument.pointer)
    elif argument.buffer:
        kernel.keep_buffer(argument.index, buffer_of(argument.buffer, argument.serial))
    else:
        kernel.keep_value(argument.index, bytes(ffi.buffer(argument.value, argument.size)))


def buffer_of(handle: int, serial: int) -> ref[Buffer]:
    """The buffer that a handle stood for when it was set."""
    if lib.fpgart_handle_serial(handle) != serial:
        return GONE
    try:
        return ref(find(handle, Buffer))
    except InvalidMemObject:
        return GONE


def is_kept(kernel: Kernel) -> bool:
    """Whether C keeps arguments of the kernel, from now on if not before; it does not for kernels with very many."""
    if kernel.elsewhere is None:
        program, name = kernel.program.handle, kernel.name.encode(errors="surrogateescape")
        pending = lib.fpgart_arguments_new(kernel.handle, len(kernel.kinds), program, name)
        if pending:
            kernel.elsewhere = SetInC(kernel.handle, memoryview(ffi.buffer(pending, 8)).cast("Q"))
    return kernel.elsewhere is not None


def let_value_pass(kernel: Kernel, index: int, size: int) -> None:
    """Another value of `size` bytes for this argument needs no decision."""
    if is_kept(kernel):
        lib.fpgart_let_value_pass(kernel.handle, index, size)


def let_local_pass(kernel: Kernel, index: int) -> None:
    """Another size of local memory for this argument needs no decision."""
    if is_kept(kernel):
        lib.fpgart_let_local_pass(kernel.handle, index)


def let_buffers_pass(kernel: Kernel, index: int) -> None:
    """Another buffer of the context for this argument needs no decision.

    Where the argument says which memory it has to be in, a buffer needs a place.
    """
    if is_kept(kernel):
        needs_place = bool(kernel.interface.arguments[index].buffer_location)
        lib.fpgart_let_buffers_pass(kernel.handle, index, kernel.context.handle, needs_place)


def let_svm_pass(kernel: Kernel, index: int) -> None:
    """Another address for this argument by clSetKernelArgSVMPointer needs no decision."""
    if is_kept(kernel):
        lib.fpgart_let_svm_pass(kernel.handle, index, kernel.context.handle)


def let_usm_pass(kernel: Kernel, index: int, alignment: int) -> None:
    """A pointer into a live USM allocation for this argument needs no decision but that on its alignment.

    Where the argument says which memory it has to be in, each does.
    """
    if not kernel.interface.arguments[index].buffer_location and is_kept(kernel):
        lib.fpgart_let_usm_pass(kernel.handle, index, kernel.context.handle, alignment or 1)


def forget_in_c(kernel: Kernel) -> None:
    """What its launches need has changed, besides the arguments."""
    if kernel.elsewhere is not None:
        lib.fpgart_kernel_changed(kernel.handle)
