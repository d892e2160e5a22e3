# SPDX-License-Identifier: Apache-2.0
"""Evaluates options when the driver is loaded."""

from __future__ import annotations

import os

from fpgart.base import config, log


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
