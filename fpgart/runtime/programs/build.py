# SPDX-License-Identifier: Apache-2.0
"""The result of compiling, linking or building a program for one device."""

from __future__ import annotations

from fpgart.base import opencl as cl


class Build:
    """The result for one device."""

    __slots__ = ("binary", "kind", "log", "options", "status")

    def __init__(
        self,
        status: int = cl.CL_BUILD_NONE,
        options: str = "",
        log: str = "",
        kind: int = cl.CL_PROGRAM_BINARY_TYPE_NONE,
    ) -> None:
        self.status = status
        self.options = options
        self.log = log
        self.kind = kind
        self.binary = b""
        """Program.binary() fills it: hosts ask for the size and then for the bytes."""

    @property
    def is_executable(self) -> bool:
        return self.status == cl.CL_BUILD_SUCCESS and self.kind == cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE

    @property
    def has_result(self) -> bool:
        """True if there is a binary, or one is being made."""
        return self.status == cl.CL_BUILD_IN_PROGRESS or self.kind != cl.CL_PROGRAM_BINARY_TYPE_NONE


def first_error(log: str) -> str:
    """Returns the line of a compiler's log that has the reason of the failure."""
    lines = [line for line in log.splitlines() if "error" in line.lower()]
    return (lines or log.splitlines() or ["the compiler gave no reason"])[0]
