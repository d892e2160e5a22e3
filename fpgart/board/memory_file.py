# SPDX-License-Identifier: Apache-2.0
"""Files in memory: boards' memories, and the memory that a host shares with its board process."""

from __future__ import annotations

import os
import resource

from fpgart.board.mmd import BoardError


def lengthen(descriptor: int, size: int, what: str) -> None:
    """Sets the size of a file. Raises BoardError, with the limit if that is the reason.

    The limit is checked first: exceeding it ends the process with SIGXFSZ, unless the host ignores that.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most != resource.RLIM_INFINITY and size > most:
        raise BoardError(
            f"the system provides no file of {size} bytes for {what}: files may have {most} bytes (ulimit -f)"
        )
    try:
        os.ftruncate(descriptor, size)
    except OSError as error:
        raise BoardError(f"the system provides no file of {size} bytes for {what}: {error.strerror}") from None
