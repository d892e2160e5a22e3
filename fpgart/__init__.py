# SPDX-License-Identifier: Apache-2.0
"""fpgart: an OpenCL driver for accelerator boards that you do not have."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fpgart.version import __version__

if TYPE_CHECKING:
    from fpgart.activation import Activation, ShownReport

__all__ = ["__version__", "activate", "kernel", "load_ipython_extension", "report"]


def kernel(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have the decorated Python function run wherever a kernel of that name is launched (fpgart.engine.models)."""
    from fpgart.engine.models import kernel as register

    return register(name)


def activate(
    board: str | None = None,
    *,
    platform: str | None = None,
    engine: str | None = None,
    trace: bool | str | os.PathLike[str] = False,
    only: bool = True,
) -> Activation:
    """Make this driver the OpenCL platform of this process, a script or a notebook, and of programs that it starts.

    Call it before pyopencl lists platforms; before it is imported is best. `board`, `platform` and `engine` are what
    FPGART_BOARD, FPGART_PLATFORM and FPGART_ENGINE say (docs/options.md). `trace`: the file for a trace, or True
    for a temporary one, which report() shows. `only` False: pyopencl lists other platforms behind this one.

    What is returned can be used in a `with` statement, whose end takes everything back that can be taken back.
    Raises ActivationError.
    """
    from fpgart.activation import activate as begin

    return begin(board, platform=platform, engine=engine, trace=trace, only=only)


def report(trace: str | os.PathLike[str] | None = None) -> ShownReport:
    """What a trace shows: the text of `fpgart report` when it is printed, tables and a memory map in a notebook.

    Without a file: that of the activation with a trace, up to now. Raises ActivationError, TraceError, OSError.
    """
    from fpgart.activation import report as read

    return read(trace)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext fpgart` in a notebook: `%fpgart hetero` activates boards, `%%fpgart` shows what a cell did."""
    from fpgart.activation import add_magics

    add_magics(shell)
