# SPDX-License-Identifier: Apache-2.0
"""Finds the limit of the process because of which the system refused memory."""

from __future__ import annotations

import resource

STATM = "/proc/self/statm"
PAGES, DATA_PAGES = 0, 5
"""The indices of the words in it with the pages of the process's address space, and of its data."""


def limit_of_memory(size: int, own: int = 0) -> str:
    """Returns the limit that the process exceeds with `size` more bytes of address space, `own` of them its data.

    The text is in brackets behind a space; "" if there is no such limit.
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
