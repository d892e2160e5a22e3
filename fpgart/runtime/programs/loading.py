# SPDX-License-Identifier: Apache-2.0
"""Creates programs from binaries.

They are those of clGetProgramInfo, .aocx files with source or for real boards, and images for Intel's FPGA emulator.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fpgart.aocx.binary import SIGNATURE, ProgramBinary
from fpgart.aocx.container import BOARD, BOARD_IMAGE, EMULATOR_BOARD, MAGIC, RANDOM_HASH, Container
from fpgart.aocx.errors import AocxError
from fpgart.base import opencl as cl
from fpgart.base.digests import sha1
from fpgart.base.errors import CLError, InvalidBinary
from fpgart.engine.choice import EMULATOR
from fpgart.engine.models import ModelProgram
from fpgart.kernels.emulator_image import is_image, read_image
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.program import Origin, Program

if TYPE_CHECKING:
    from fpgart.runtime.programs.context import ProgramContext


def from_binary(context: ProgramContext, devices: list[Device], data: bytes) -> Program:
    """Returns a program. Raises InvalidBinary for bytes that are no binary, or one of another engine."""
    if is_image(data):
        return _from_image(context, devices, data)
    if data.startswith(MAGIC):
        return _from_container(context, devices, data)
    binary = ProgramBinary.decode(data)
    engine = context.platform.engine
    if binary.engine != f"{engine.name} {engine.version}":
        raise InvalidBinary(
            f"the binary was made with engine '{binary.engine}', this process runs '{engine.name} {engine.version}'"
        )
    return _of_engine(context, devices, binary)


def _from_image(context: ProgramContext, devices: list[Device], data: bytes) -> Program:
    engine = context.platform.engine
    if not Path(engine.path).name.startswith(EMULATOR):
        raise InvalidBinary("the binary is an image for Intel's FPGA emulator, which FPGART_ENGINE=emulator selects")
    made_with, kind = f"{engine.name} {engine.version}", cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
    kernels = [*read_image(data).kernels.values()]
    return _of_engine(context, devices, ProgramBinary(made_with, kind, "", kernels, None, {}, {}, data))


def _of_engine(context: ProgramContext, devices: list[Device], binary: ProgramBinary) -> Program:
    engine = context.platform.engine
    program = Program(context, devices, made=engine.from_binary(binary.payload), origin=Origin(binary=binary))
    for build in program.builds.values():
        build.kind = binary.kind
        build.options = binary.options
    return program


def from_binaries(context: ProgramContext, pairs: list[tuple[Device, bytes]]) -> Program:
    """Returns a program with one binary for each device; some may be equal. Raises InvalidBinary.

    Queries that name no device are answered from the binary of the first one.
    """
    groups: dict[bytes, list[Device]] = {}
    for device, data in pairs:
        groups.setdefault(data, []).append(device)
    first, *others = [from_binary(context, devices, data) for data, devices in groups.items()]
    for other in others:
        first.add(other)
    return first


def _from_container(context: ProgramContext, devices: list[Device], data: bytes) -> Program:
    """Returns a program from an .aocx, built. Raises InvalidBinary for one that does not fit a device."""
    from fpgart.aocx.checks import check  # few hosts need it

    try:
        container = Container.decode(data)
        systems = [check(container, device.board) for device in devices]
    except AocxError as error:
        raise InvalidBinary(str(error)) from None
    interleaving = tuple(memory.banks > 1 and memory.interleaved for memory in systems[0].memories)
    origin = Origin(data, container[BOARD_IMAGE], interleaving=interleaving)
    if not origin.image.startswith(SIGNATURE):
        return _from_hardware(context, devices, container, origin)
    binary = ProgramBinary.decode(origin.image)
    origin.options = binary.options
    if container.text(BOARD) == EMULATOR_BOARD:
        origin.memories = frozenset(memory.name for memory in systems[0].memories)
    program = Program(context, devices, source=binary.payload.decode(errors="surrogateescape"), origin=origin)
    program.claim(devices)
    try:
        program.build(devices, binary.options)
    except CLError as error:
        raise InvalidBinary(f"the engine does not accept its source: {error}") from None
    program.interfaces()
    program.identity = container.text(RANDOM_HASH)
    return program


def _from_hardware(context: ProgramContext, devices: list[Device], container: Container, origin: Origin) -> Program:
    """Returns a program for a real board: its kernels' interfaces are known, and Python models run them."""
    from fpgart.aocx.interfaces import interfaces_of, value_sizes

    made = ModelProgram(interfaces_of(container), value_sizes(container))
    program = Program(context, devices, made=made, origin=origin)
    program.identity = container.text(RANDOM_HASH) if RANDOM_HASH in container else sha1(origin.container).hexdigest()
    for build in program.builds.values():
        build.status, build.kind = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
    program.interfaces()
    return program
