# SPDX-License-Identifier: Apache-2.0
"""A call of the engine that compiles or links, with all of its inputs, so that any process can make it."""

from __future__ import annotations

from fpgart.base.named_tuples import NamedTuple

BUILD, COMPILE, LINK = "clBuildProgram", "clCompileProgram", "clLinkProgram"
LIBRARY = "-create-library"


class ProgramInput(NamedTuple):
    """The input from which the engine creates a program: OpenCL C, intermediate language, or a binary of the engine.

    `constants`: specialisation constants by their numbers.
    """

    source: bytes = b""
    il: bytes = b""
    binary: bytes = b""
    constants: tuple[tuple[int, bytes], ...] = ()


class BuildStep(NamedTuple):
    """A call of the engine that compiles or links.

    `inputs`: several for clLinkProgram, one for the others. `headers`: names, and the text of each. `on_caller`: for
    the device of the engine that runs kernels on the thread that enqueues them.
    """

    call: str
    inputs: tuple[ProgramInput, ...]
    options: str
    headers: tuple[tuple[str, ProgramInput], ...] = ()
    on_caller: bool = False

    @property
    def is_executable(self) -> bool:
        """True if kernels of the result can be launched."""
        return self.call != COMPILE and not (self.call == LINK and LIBRARY in self.options.split())


class StepDone(NamedTuple):
    """The result of a step in another process: the log, and the binary that the host loads.

    The binary is empty if the host has to do the step itself; the step is then known to end.
    """

    log: str
    binary: bytes


class Objects(NamedTuple):
    """A program as objects of the engine, which have no machine code yet.

    The objects of an executable are linked with `options` when they are loaded. A program that is not executable is one
    object.
    """

    objects: tuple[bytes, ...]
    options: str
    is_executable: bool
