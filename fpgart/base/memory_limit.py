# SPDX-License-Identifier: Apache-2.0
"""The limit of the process that made the system refuse memory."""

from __future__ import annotations

import resource

STATM = "/proc/self/statm"
PAGES, DATA_PAGES = 0, 5
"""Which words of it say how much address space the process has, and how much of that is for its own data."""


def limit_of_memory(size: int, own: int = 0) -> str:
    """The limit that the process exceeds with `size` bytes of address space more, `own` of them for its own data.

    In brackets behind a space; "" if there is none.
    """
    try:
        with open(STATM) as file:
            words = file.read().split()
    except OSError:
        words = ["0"] * (DATA_PAGES + 1)
    for option, limit, word, more in (
        ("-v", resource.RLIMIT_AS, PAGES, size),
        ("-d", resource.RLIMIT_DATA, DATA_PAGES, own),
    ):
        most, _ = resource.getrlimit(limit)
        if more and most != resource.RLIM_INFINITY and int(words[word]) * resource.getpagesize() + more > most:
            return f" (ulimit {option}: {most >> 10} KiB)"
    return ""
