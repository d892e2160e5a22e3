# SPDX-License-Identifier: Apache-2.0
"""The errors of calls of aocl_mmd.h."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """The results of functions, with aocl_mmd.h's numbers."""

    SUCCESS = 0
    INVALID_HANDLE = -1
    OUT_OF_MEMORY = -2
    UNSUPPORTED_ALIGNMENT = -3
    UNSUPPORTED_PROPERTY = -4
    INVALID_POINTER = -5


FAILURE = -1
"""The result of a function that has one kind of error only."""


class MmdError(Exception):
    """A call has failed; `status` is its result."""

    def __init__(self, words: str, status: int = FAILURE) -> None:
        super().__init__(words)
        self.status = status
