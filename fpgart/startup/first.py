# SPDX-License-Identifier: Apache-2.0
"""The driver's first Python module. It starts what runs while the rest is imported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from _fpgart_icd import ffi, lib

from fpgart.base import config, log

if TYPE_CHECKING:
    from fpgart.engine.isolated.spawning import Spawned

OF_THIS_PROCESS = ("none", "oclgrind")
"""Engines that board processes cannot load."""


def register(functions: str) -> None:
    """Starts the driver. C calls it once, when the interpreter runs. After an exception there is no platform.

    `functions`: every API function that Python has to implement, as chapters.open_at() reads them.
    """
    settle_options(os.fsdecode(ffi.string(lib.fpgart_first_folder())), secure=bool(lib.fpgart_is_secure()))
    process = early_process()
    from fpgart.startup import start

    start.register(functions, process)


def settle_options(folder: str = "", *, secure: bool = False) -> None:
    """Makes relative paths begin in `folder` ("": the working directory), and reports names that are no options.

    `fpgart run` reports such names itself. `secure`: the process runs with other rights than its user's, so that
    options that name files or code have no effect.
    """
    if secure and (words := config.distrust_environment()):
        log.warning(words)
    config.stay_in(folder or config.working_folder())
    if config.RUN not in os.environ:
        for words in config.misspelt(os.environ):
            log.warning(words)


def early_process() -> Spawned | None:
    """Starts a board process if kernels will probably run in one. Raises OptionError."""
    if not config.ISOLATE.value or config.SERVED.value or config.ENGINE.value in OF_THIS_PROCESS:
        return None
    from fpgart.engine.isolated.spawning import ProcessError, spawn

    try:
        return spawn()
    except ProcessError as error:
        raise config.OptionError(f"{config.ISOLATE.name}=1: {error}") from None
