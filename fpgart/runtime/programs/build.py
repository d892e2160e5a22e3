# SPDX-License-Identifier: Apache-2.0
"""The result of compiling, linking or building a program for one device."""

from __future__ import annotations

from dataclasses import dataclass

from fpgart.base import opencl as cl


@dataclass(slots=True)
class Build:
    """The result for one device."""

    status: int = cl.CL_BUILD_NONE
    options: str = ""
    log: str = ""
    kind: int = cl.CL_PROGRAM_BINARY_TYPE_NONE


def first_error(log: str) -> str:
    """Returns the line of a compiler's log that has the reason of the failure."""
    lines = [line for line in log.splitlines() if "error" in line.lower()]
    return (lines or log.splitlines() or ["the compiler gave no reason"])[0]
