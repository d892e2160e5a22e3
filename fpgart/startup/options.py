# SPDX-License-Identifier: Apache-2.0
"""Options that are evaluated when the driver is loaded."""

from __future__ import annotations

import os

from fpgart.base import config, log


def settle_options(folder: str = "", *, secure: bool = False) -> None:
    """Relative paths begin in `folder` ("": where the process is now), whatever the host does later.

    Names that are no options are told, unless `fpgart run` has done that. `secure`: the process runs with other
    rights than its user's, and obeys no option that leads to files or code.
    """
    if secure and (words := config.distrust_environment()):
        log.warning(words)
    config.stay_in(folder or config.working_folder())
    if config.RUN not in os.environ:
        for words in config.misspelt(os.environ):
            log.warning(words)
