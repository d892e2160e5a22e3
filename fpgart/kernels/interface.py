# SPDX-License-Identifier: Apache-2.0
"""Kernels and their arguments as their source or their SPIR-V declares them."""

from __future__ import annotations

from fpgart.base.named_tuples import NamedTuple


class PipeArgument(NamedTuple):
    """The declaration of a pipe argument; `depth` in packets, 0 if it has none."""

    type_name: str
    writes: bool
    blocking: bool
    host_accessible: bool
    depth: int = 0


class ArgumentInterface(NamedTuple):
    """A kernel argument as the compiler sees it; the qualifiers are the CL_KERNEL_ARG_* values.

    `buffer_location` names the memory that it has to be in, "" for the default one. `pipe` is for pipes.
    """

    name: str
    type_name: str
    address_qualifier: int
    access_qualifier: int
    type_qualifier: int
    buffer_location: str = ""
    pipe: PipeArgument | None = None


class KernelInterface(NamedTuple):
    name: str
    arguments: tuple[ArgumentInterface, ...]
    attributes: str = ""
    required_work_group_size: tuple[int, int, int] = (0, 0, 0)


def with_places(
    interfaces: dict[str, KernelInterface], locations: dict[str, tuple[str, ...]]
) -> dict[str, KernelInterface]:
    """Returns the interfaces with these buffer locations."""
    if not locations:
        return interfaces
    found = dict(interfaces)
    for name, places in locations.items():
        interface = interfaces.get(name)
        if interface is not None and len(places) == len(interface.arguments):
            pairs = zip(interface.arguments, places, strict=True)
            arguments = tuple(argument._replace(buffer_location=place) for argument, place in pairs)
            found[name] = interface._replace(arguments=arguments)
    return found


def without_locations_from(interface: KernelInterface, most: int) -> KernelInterface:
    """Returns the interface without buffer locations that are numbers from `most` on."""
    arguments = (
        each._replace(buffer_location="")
        if each.buffer_location.isdecimal() and int(each.buffer_location) >= most
        else each
        for each in interface.arguments
    )
    return interface._replace(arguments=tuple(arguments))
