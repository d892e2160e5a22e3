# SPDX-License-Identifier: Apache-2.0
"""The interfaces of a container's kernels."""

from __future__ import annotations

from fpgart.aocx import container as sections
from fpgart.aocx.autodiscovery import parse
from fpgart.aocx.container import Container
from fpgart.aocx.system import Access, AddressSpace, Argument, TypeQualifier
from fpgart.base import opencl as cl
from fpgart.kernels.interface import ArgumentInterface, KernelInterface

SPACES = {
    AddressSpace.NONE: cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
    AddressSpace.LOCAL: cl.CL_KERNEL_ARG_ADDRESS_LOCAL,
    AddressSpace.GLOBAL: cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
    AddressSpace.CONSTANT: cl.CL_KERNEL_ARG_ADDRESS_CONSTANT,
}
ACCESS = {
    Access.NONE: cl.CL_KERNEL_ARG_ACCESS_NONE,
    Access.READ_ONLY: cl.CL_KERNEL_ARG_ACCESS_READ_ONLY,
    Access.WRITE_ONLY: cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
    Access.READ_WRITE: cl.CL_KERNEL_ARG_ACCESS_READ_WRITE,
}
QUALIFIERS = (
    (TypeQualifier.CONST, cl.CL_KERNEL_ARG_TYPE_CONST),
    (TypeQualifier.RESTRICT, cl.CL_KERNEL_ARG_TYPE_RESTRICT),
    (TypeQualifier.VOLATILE, cl.CL_KERNEL_ARG_TYPE_VOLATILE),
    (TypeQualifier.PIPE, cl.CL_KERNEL_ARG_TYPE_PIPE),
)


def visible(argument: Argument) -> bool:
    """True if a host sets the argument; those of printf are hidden: they have a name and no type."""
    return not (argument.name and not argument.type_name)


def interfaces_of(container: Container) -> dict[str, KernelInterface]:
    """Returns the kernels' interfaces; raises AocxError."""
    system = parse(container.text(sections.AUTODISCOVERY))
    return {
        kernel.name: KernelInterface(
            kernel.name,
            tuple(_argument(argument) for argument in kernel.arguments if visible(argument)),
            "",
            kernel.required_work_group_size,
        )
        for kernel in system.kernels
    }


def value_sizes(container: Container) -> dict[str, dict[int, int]]:
    """Returns, by kernel, the bytes of the arguments passed by value."""
    system = parse(container.text(sections.AUTODISCOVERY))
    found = {}
    for kernel in system.kernels:
        arguments = [argument for argument in kernel.arguments if visible(argument)]
        found[kernel.name] = {i: a.size for i, a in enumerate(arguments) if a.space is AddressSpace.NONE}
    return found


def _argument(argument: Argument) -> ArgumentInterface:
    qualifier = 0
    for bit, value in QUALIFIERS:
        qualifier |= value if bit in argument.qualifiers else 0
    return ArgumentInterface(
        argument.name,
        argument.type_name,
        SPACES[argument.space],
        ACCESS[argument.access],
        qualifier,
        argument.buffer_location,
    )
