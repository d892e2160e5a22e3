# SPDX-License-Identifier: Apache-2.0
"""The first of the driver's Python that runs. What can go on by itself while the rest is imported begins here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from _fpgart_icd import ffi, lib

from fpgart.base import config
from fpgart.startup.options import settle_options

if TYPE_CHECKING:
    from fpgart.engine.isolated.spawning import Spawned

OF_THIS_PROCESS = ("none", "oclgrind")
"""Engines that no board process has."""


def register(functions: str) -> None:
    """Called once, when the interpreter is up; whatever is raised here means: no platform.

    `functions`: every API function that Python has to implement, as chapters.open_at() reads them.
    """
    settle_options(os.fsdecode(ffi.string(lib.fpgart_first_folder())), secure=bool(lib.fpgart_is_secure()))
    process = early_process()
    from fpgart.startup import start

    start.register(functions, process)


def early_process() -> Spawned | None:
    """A board process, where kernels will most likely run in one. Raises OptionError."""
    if not config.ISOLATE.value or config.SERVED.value or config.ENGINE.value in OF_THIS_PROCESS:
        return None
    from fpgart.engine.isolated.spawning import ProcessError, spawn

    try:
        return spawn()
    except ProcessError as error:
        raise config.OptionError(f"{config.ISOLATE.name}=1: {error}") from None
