# SPDX-License-Identifier: Apache-2.0
"""fpgart: an OpenCL driver for accelerator boards that you do not have."""

from __future__ import annotations

from collections.abc import Callable

__version__ = "0.1.0"


def kernel(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have the decorated Python function run wherever a kernel of that name is launched (fpgart.engine.models)."""
    from fpgart.engine.models import kernel as register

    return register(name)
