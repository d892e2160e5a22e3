# SPDX-License-Identifier: Apache-2.0
"""Linking programs (OpenCL 3.0, 5.8.3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpgart.base import opencl as cl
from fpgart.base.errors import CLError, error_of
from fpgart.engine.interface import BuildFailed
from fpgart.runtime.memory.device import Device
from fpgart.runtime.programs.build import first_error
from fpgart.runtime.programs.program import Program

if TYPE_CHECKING:
    from fpgart.runtime.programs.context import ProgramContext


def link(
    context: ProgramContext, devices: list[Device], options: str, programs: list[Program]
) -> tuple[Program, CLError | None]:
    """Links compiled programs into an executable or a library (OpenCL 3.0, 5.8.3.2).

    Returns the program, and the error if linking fails; the program then has the log. Raises the error of a link that
    cannot begin. Devices for which the programs were compiled in different ways get different binaries.
    """
    groups: dict[tuple[Program, ...], list[Device]] = {}
    for device in devices:
        groups.setdefault(tuple(program.on(device) for program in programs), []).append(device)
    first, *others = [_link(context, chosen, options, parts) for parts, chosen in groups.items()]
    program, error = first
    for other, other_error in others:
        program.add(other)
        error = error or other_error
    return program, error


def _link(
    context: ProgramContext, devices: list[Device], options: str, programs: tuple[Program, ...]
) -> tuple[Program, CLError | None]:
    engine = context.platform.engine
    try:
        made, log = engine.link(options, [program.made for program in programs])
    except BuildFailed as failed:
        program = Program(context, devices)
        program.adopt_failure(options, failed.log)
        return program, error_of(failed.status, f"the programs do not link: {first_error(failed.log)}")
    library = "-create-library" in options.split()
    program = Program(context, devices, made=made)
    kind = cl.CL_PROGRAM_BINARY_TYPE_LIBRARY if library else cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
    program.adopt(made, options, log, kind, programs)
    return program, None
