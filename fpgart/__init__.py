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
    """Registers the decorated Python function as the model of kernels of that name (fpgart.engine.models)."""
    from fpgart.engine.models import kernel as register

    return register(name)


def activate(
    board: str | None = None,
    *,
    platform: str | None = None,
    engine: str | None = None,
    check: str | None = None,
    trace: bool | str | os.PathLike[str] = False,
    only: bool = True,
) -> Activation:
    """Makes this driver the OpenCL platform of this process (a script or a notebook) and of programs that it starts.

    Call it before pyopencl lists platforms, and best before importing pyopencl. `board`, `platform`, `engine` and
    `check` take the values of FPGART_BOARD, FPGART_PLATFORM, FPGART_ENGINE and FPGART_CHECK (docs/options.md). `trace`
    is the file for a trace, or True for a temporary one, which report() shows. With `only` False, pyopencl lists other
    platforms after this one.

    Returns a context manager. The end of its `with` statement restores everything that can be restored.

    Raises ActivationError.
    """
    from fpgart.activation import activate as begin

    return begin(board, platform=platform, engine=engine, check=check, trace=trace, only=only)


def report(trace: str | os.PathLike[str] | None = None) -> ShownReport:
    """Returns the report of a trace. Printed, it is the text of `fpgart report`; a notebook shows tables and figures.

    Without a file, it covers the trace of the current activation so far. Raises ActivationError, TraceError, OSError.
    """
    from fpgart.activation import report as read

    return read(trace)


def load_ipython_extension(shell: Any) -> None:
    """Adds `%fpgart hetero`, which activates boards, and `%%fpgart`, which reports on a cell (`%load_ext fpgart`)."""
    from fpgart.activation import add_magics

    add_magics(shell)
