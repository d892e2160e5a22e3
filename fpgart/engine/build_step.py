# SPDX-License-Identifier: Apache-2.0
"""One call of the engine that compiles or links, with all that it needs, so that any process can make it."""

from __future__ import annotations

from fpgart.base.named_tuples import NamedTuple

BUILD, COMPILE, LINK = "clBuildProgram", "clCompileProgram", "clLinkProgram"
LIBRARY = "-create-library"


class ProgramInput(NamedTuple):
    """What a program of the engine is created from: OpenCL C, intermediate language, or a binary of the engine.

    `constants`: specialisation constants by their numbers.
    """

    source: bytes = b""
    il: bytes = b""
    binary: bytes = b""
    constants: tuple[tuple[int, bytes], ...] = ()


class BuildStep(NamedTuple):
    """A call. `inputs`: several for clLinkProgram, one for the others. `headers`: names, and what they name.

    `on_caller`: for the device of the engine that runs kernels on the thread that enqueues them.
    """

    call: str
    inputs: tuple[ProgramInput, ...]
    options: str
    headers: tuple[tuple[str, ProgramInput], ...] = ()
    on_caller: bool = False

    @property
    def is_executable(self) -> bool:
        """Whether kernels of the result can be launched."""
        return self.call != COMPILE and not (self.call == LINK and LIBRARY in self.options.split())


class StepDone(NamedTuple):
    """What came of a step elsewhere: the log, and the binary that the host loads.

    The binary is empty where the host does the step itself, which is known to end.
    """

    log: str
    binary: bytes


class Objects(NamedTuple):
    """A program as objects of the engine, which have no machine code yet.

    Those of an executable are linked with `options` where it is loaded; what is no executable is one object.
    """

    objects: tuple[bytes, ...]
    options: str
    is_executable: bool
