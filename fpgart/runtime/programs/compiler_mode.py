# SPDX-License-Identifier: Apache-2.0
"""The compiler modes: the origin of a context's programs."""

from __future__ import annotations

import enum


class CompilerMode(enum.IntEnum):
    """The values of CL_CONTEXT_COMPILER_MODE_INTELFPGA."""

    OFFLINE = 0
    CREATE_LIBRARY = 1
    USE_LIBRARY = 2
    PRELOADED = 3
    ONLINE = 4
    SPLIT_KERNEL = 5
