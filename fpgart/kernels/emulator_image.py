# SPDX-License-Identifier: Apache-2.0
"""Images for Intel's FPGA emulator: the binaries of its programs, as compilers make them ahead of time, too.

An image is an ELF file with the bitcode of its kernels, before the emulator has translated it for the processor.
"""

from __future__ import annotations

import re
from functools import lru_cache
from io import BytesIO

from fpgart.base import opencl as cl
from fpgart.base.errors import InvalidBinary
from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.bitcode import Damaged, functions
from fpgart.kernels.interface import ArgumentInterface, KernelInterface

MAGIC = b"\x7fELF"
TYPE = slice(16, 18)
"""The place of the file's type in its header."""
EXECUTABLE = (0xFF04).to_bytes(2, "little")
"""The type of Intel's OpenCL executables."""
CODE = ".ocl.ir"
"""The section with the bitcode."""
PIPES = re.compile("pipe|channel", re.IGNORECASE)
"""A part of the names of the functions that move packets."""
ADDRESS = {1: cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, 2: cl.CL_KERNEL_ARG_ADDRESS_CONSTANT, 3: cl.CL_KERNEL_ARG_ADDRESS_LOCAL}
"""By the address space that an argument points to; structures that are passed by value have another one."""


class EmulatorImage(NamedTuple):
    """The kernels of an image; `has_pipes` is True if they may wait for each other."""

    kernels: dict[str, KernelInterface]
    has_pipes: bool


def is_image(data: bytes) -> bool:
    """True for bytes that may be an image. Files of other types with the same beginning are .aocx."""
    return data.startswith(MAGIC) and data[TYPE] == EXECUTABLE


@lru_cache(maxsize=1)  # several parts of the driver ask for one image in turn
def read_image(data: bytes) -> EmulatorImage:
    """Returns the kernels of an image, without the names and types of their arguments. Raises InvalidBinary."""
    from elftools.elf.elffile import ELFFile  # few hosts need it

    try:
        section = ELFFile(BytesIO(data)).get_section_by_name(CODE)
        found = [*functions(section.data())] if section is not None else []
    except Damaged as error:
        raise InvalidBinary(f"the image is damaged: {error}") from None
    except Exception as error:  # pyelftools may raise anything
        raise InvalidBinary(f"the image is damaged: {error!r}") from None
    kernels = {each.name: _interface(each.name, each.spaces) for each in found if each.is_kernel}
    if not kernels:
        raise InvalidBinary("the ELF file is no image for Intel's FPGA emulator: it has no kernels")
    return EmulatorImage(kernels, any(each.is_declared and PIPES.search(each.name) is not None for each in found))


def _interface(name: str, spaces: tuple[int, ...]) -> KernelInterface:
    arguments = (
        ArgumentInterface(
            "",
            "",
            ADDRESS.get(space, cl.CL_KERNEL_ARG_ADDRESS_PRIVATE),
            cl.CL_KERNEL_ARG_ACCESS_NONE,
            cl.CL_KERNEL_ARG_TYPE_NONE,
        )
        for space in spaces
    )
    return KernelInterface(name, tuple(arguments))
